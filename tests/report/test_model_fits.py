"""Reports of fits to model releases: what they estimate, robust intervals, the check, and how to repeat them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.posterior.model import made_models as made

import noisewise as nw
from noisewise.errors import ConvergenceWarning
from noisewise.reports.write import report
from noisewise.run import QUIET


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    release = made.release("poisson", 1, epsilon=5.0, law="negative-binomial", rows=30_000)
    release.save(folder / "visits.nwr")
    with pytest.warns(ConvergenceWarning, match="counts vary"):
        nw.fit(release, seed=1, run=QUIET).save(folder / "robust-False.npz")
    nw.fit(release, robust=True, seed=1, run=QUIET).save(folder / "robust-True.npz")
    return shown(folder / "visits.nwr", [folder / "robust-False.npz", folder / "robust-True.npz"])


def shown(release: Path, fits: list[Path]) -> str:
    return " ".join(report(release, fits=fits).html.split())


def test_the_estimand_and_what_robust_means(page: str) -> None:
    assert page.count("The coefficients describe the log rate of events") == 2
    assert page.count("The intervals are robust: how much residuals vary was measured with noise") == 1
    assert "Poisson regression, method rounds" in page and "change of the log of the expected" in page


def test_the_check_is_shown(page: str) -> None:
    assert "Counts vary at least" in page and "use robust intervals" in page
    assert "only rounds that disagree, and the variance of counts or of residuals, can contradict it" in page
    assert "variance ratio of counts" in page


def test_the_commands_that_repeat_it(page: str) -> None:
    assert "noisewise fit visits.nwr --draws 1000 --chains 4" in page and "noisewise fit visits.nwr --robust --draws 1000" in page
    assert "Avella-Medina" in page and "Cantoni" in page


@pytest.mark.parametrize("family", ["negative-binomial", "gaussian"])
def test_a_family_with_a_scale(family: str, tmp_path: Path) -> None:
    made.usual(family).save(tmp_path / "one.nwr")
    made.fitted(family).save(tmp_path / "one.npz")
    page = shown(tmp_path / "one.nwr", [tmp_path / "one.npz"])
    assert {"gaussian": "sigma is the residual", "negative-binomial": "variance m + dispersion × m²"}[family] in page
    assert "Nothing in the release contradicts the fit" in page
