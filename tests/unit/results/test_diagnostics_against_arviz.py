"""Our diagnostics and ArviZ's on the same draws. ArviZ is slow to import, so it is met in this module only."""

from __future__ import annotations

import sys
import types
import warnings

import numpy as np
import pytest
import xarray
from numpy.typing import NDArray
from tests.unit.results import draws_with_known_answers as known

from noisewise.results import Posterior, diagnostics

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")


def autoregressive(generator: np.random.Generator, shape: tuple[int, int, int], memory: float) -> NDArray[np.float64]:
    noise = generator.standard_normal(shape)
    values = np.empty(shape)
    values[:, 0] = noise[:, 0]
    for step in range(1, shape[1]):
        values[:, step] = memory * values[:, step - 1] + np.sqrt(1 - memory**2) * noise[:, step]
    return values


def cases() -> dict[str, NDArray[np.float64]]:
    generator = np.random.default_rng(2021)
    shape = (4, 501, 3)
    shift = np.arange(4.0)[:, None, None]
    return {
        "independent": generator.standard_normal((4, 1000, 3)),
        "odd length": generator.standard_normal(shape),
        "autoregressive 0.9": autoregressive(generator, shape, 0.9),
        "autoregressive 0.99": autoregressive(generator, shape, 0.99),
        "antithetic": autoregressive(generator, shape, -0.6),
        "shifted chains": generator.standard_normal(shape) + 0.7 * shift,
        "chains of different spread": generator.standard_normal(shape) * (1 + shift),
        "heavy tails": generator.standard_cauchy(shape),
        "ties": np.round(generator.standard_normal(shape), 1),
        "few draws": generator.standard_normal((2, 30, 3)),
        "many chains": generator.standard_normal((16, 50, 3)),
    }


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_arviz(name: str) -> None:
    draws = CASES[name]
    columns = [draws[:, :, position] for position in range(draws.shape[2])]
    np.testing.assert_allclose(diagnostics.r_hat(draws), [arviz.rhat(column) for column in columns], rtol=1e-9)
    bulk = [arviz.ess(column, method="bulk") for column in columns]
    np.testing.assert_allclose(diagnostics.ess_bulk(draws), bulk, rtol=1e-6)
    tail = [arviz.ess(column, method="tail", prob=(0.05, 0.95)) for column in columns]
    np.testing.assert_allclose(diagnostics.ess_tail(draws), tail, rtol=1e-6)


def test_one_chain_has_arviz_effective_sizes_and_a_split_r_hat() -> None:
    draws = CASES["autoregressive 0.9"][:1]
    assert diagnostics.ess_bulk(draws)[0] == pytest.approx(arviz.ess(draws[:, :, 0], method="bulk"), rel=1e-6)
    halves = np.concatenate([draws[:, :250], draws[:, -250:]])
    # ArviZ refuses one chain; two halves, split again, are not the same, so only the range is compared.
    assert np.isfinite(diagnostics.r_hat(draws)).all()
    assert diagnostics.r_hat(draws)[0] == pytest.approx(arviz.rhat(halves[:, :, 0]), abs=0.2)


def with_divergences() -> Posterior:
    post = known.posterior()
    diverging = np.zeros((4, 1000), dtype=bool)
    diverging[2, 17] = True
    return Posterior(post.samples, post.terms, post.design, post.info, post.prior, diverging)


def check_groups(exported: object, post: Posterior) -> None:
    group = exported["posterior"]  # type: ignore[index]
    assert list(group["term"].values) == list(post.terms[:-1])
    ages = group["coefficient"].sel(term="age").values
    np.testing.assert_array_equal(ages, post.samples[:, :, 1])
    np.testing.assert_array_equal(group["sigma"].values, post.samples[:, :, -1])
    assert group.attrs["formula"] == post.info.formula
    marks = exported["sample_stats"]["diverging"].values  # type: ignore[index]
    assert marks[2, 17]
    assert marks.sum() == 1


def test_export_keeps_names_draws_and_divergences() -> None:
    post = with_divergences()
    check_groups(post.to_arviz(), post)


def test_export_says_what_it_was_made_from_where_that_is_known() -> None:
    known_source = known.posterior(source="0a" * 32).to_arviz()
    assert known_source["posterior"].attrs["source"] == "0a" * 32
    assert "source" not in known.posterior().to_arviz()["posterior"].attrs


def test_arviz_reads_the_export_like_we_do() -> None:
    post = known.posterior()
    table = arviz.summary(post.to_arviz(), round_to="none")
    ours = post.summary()
    for term in known.TERMS[:-1]:
        theirs = table.loc[f"coefficient[{term}]"]
        assert ours.loc[term, "mean"] == pytest.approx(float(theirs["mean"]), rel=1e-12)
        assert ours.loc[term, "r_hat"] == pytest.approx(float(theirs["r_hat"]), rel=1e-9)
        assert ours.loc[term, "ess_bulk"] == pytest.approx(float(theirs["ess_bulk"]), rel=1e-6)


def test_export_without_divergences_has_no_sampler_group() -> None:
    assert hasattr(with_divergences().to_arviz(), "sample_stats")
    assert not hasattr(known.posterior().to_arviz(), "sample_stats")


def test_export_for_newer_arviz_is_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of ArviZ 1.x take an xarray DataTree; it answers to the old name with a warning and that class."""
    newer = types.ModuleType("arviz")
    newer.__dict__.update(__version__="1.3.0", InferenceData=xarray.DataTree)
    monkeypatch.setitem(sys.modules, "arviz", newer)
    post = with_divergences()
    tree = post.to_arviz()
    assert isinstance(tree, xarray.DataTree)
    check_groups(tree, post)
