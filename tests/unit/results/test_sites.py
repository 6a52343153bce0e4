"""Random effects by site as a result: tables, refusals, saving and loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.refusals import about
from tests.unit.results import draws_with_known_answers as known
from tests.unit.results.test_store import array_bytes, document_change, rewritten

from noisewise.errors import ConvergenceWarning, ResultError
from noisewise.results import Posterior
from noisewise.results.sites import LOG_SIGMA, SiteEffects

VARYING = ("Intercept", "age", LOG_SIGMA)
SAMPLES = known.normal_samples(draws=30)


def effects(**changes: Any) -> SiteEffects:
    generator = np.random.default_rng(3)
    values: dict[str, Any] = {"terms": known.TERMS, "varying": VARYING, "between": np.abs(generator.normal(size=(4, 30, 3))),
                              "own": generator.normal(size=(5, 50, 5)) + np.arange(5)[:, None, None]}
    return SiteEffects(**(values | changes))


def posterior(**changes: Any) -> Posterior:
    info = known.info(**{"draws": 30, "holders": 5, **changes})
    return Posterior(SAMPLES, known.TERMS, known.design(), info, known.prior(), None, effects())


def test_tables() -> None:
    sites = effects()
    assert sites.count == 5
    assert list(sites.summary().index) == list(VARYING)
    np.testing.assert_allclose(sites.summary()["mean"], sites.deviations.mean())
    np.testing.assert_array_equal(sites.coefficients(2)["age"], sites.own[1, :, 1])
    table = sites.table(0.5)
    assert table.index.names == ["site", "term"] and len(table) == 25
    assert table.loc[(4, "age"), "25%"] == pytest.approx(np.quantile(sites.own[3, :, 1], 0.25))
    assert "5 sites" in repr(sites)


@pytest.mark.parametrize("site", [0, 6, "1", True])
def test_a_site_that_is_not_there(site: Any) -> None:
    with pytest.raises(ResultError, check=about("site")):
        effects().coefficients(site)


@pytest.mark.parametrize("changes", [
    {"between": np.ones((4, 30, 2))}, {"between": -np.ones((4, 30, 3))}, {"own": np.full((5, 50, 5), np.nan)},
    {"own": np.ones((50, 5))}, {"own": np.ones((0, 50, 5))},
])
def test_draws_that_contradict_the_terms(changes: dict[str, Any]) -> None:
    with pytest.raises(ResultError):
        effects(**changes)


def test_sites_of_another_fit_are_refused() -> None:
    with pytest.raises(ResultError) as refused:
        Posterior(SAMPLES, known.TERMS, known.design(), known.info(), None, None, effects(between=np.ones((4, 29, 3))))
    assert refused.value.argument == "sites"


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    post = posterior()
    post.save(tmp_path / "fit.npz")
    back = Posterior.load(tmp_path / "fit.npz")
    assert back.sites is not None and post.sites is not None
    assert back.sites.varying == VARYING and back.sites.terms == known.TERMS
    assert back.sites.between.tobytes() == post.sites.between.tobytes()
    assert back.sites.own.tobytes() == post.sites.own.tobytes()
    pandas.testing.assert_frame_equal(back.sites.table(), post.sites.table())
    assert back.predict({"age": [40], "ward": "B"}).shape == (1, 3)


def remove(member: str) -> Any:
    return lambda members: members.pop(member)


@pytest.mark.parametrize("change", [
    remove("site_deviations.npy"),
    remove("site_coefficients.npy"),
    document_change(sites=...),
    document_change(sites=[1]),
    document_change(sites={"varying": 3}),
    document_change(sites={"varying": ["age"]}),
    lambda members: members.update({"site_coefficients.npy": array_bytes(np.ones((5, 50, 4)))}),
    lambda members: members.update({"site_deviations.npy": array_bytes(np.full((4, 30, 3), np.inf))}),
], ids=["no deviations", "no coefficients", "no names", "a list", "a number", "too few names", "too few terms", "infinite"])
def test_damaged_files_give_one_error(change: Any, tmp_path: Path) -> None:
    posterior().save(tmp_path / "fit.npz")
    rewritten(tmp_path / "fit.npz", change)
    with pytest.raises(ResultError):
        Posterior.load(tmp_path / "fit.npz")


def test_a_file_without_sites_says_nothing_about_them(tmp_path: Path) -> None:
    Posterior(SAMPLES, known.TERMS, known.design(), known.info()).save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz") as archive:
        assert set(archive) == {"samples", "metadata"}
        assert "sites" not in json.loads(archive["metadata"].tobytes())
    assert Posterior.load(tmp_path / "fit.npz").sites is None


def test_the_check_belongs_to_fits_with_one_set_of_coefficients() -> None:
    with pytest.raises(ResultError, match="site=None"):
        posterior().check([])


def test_the_remedy_for_sites_that_say_too_little() -> None:
    with pytest.warns(ConvergenceWarning, match="draws=120.*site=None"):
        posterior(doubts=("the noise hides the predictors",)).warn_if_bad()


def test_the_heading_says_that_it_is_about_an_average_site() -> None:
    assert "average of 5 sites" in posterior()._repr_html_()
