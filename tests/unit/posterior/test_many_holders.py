"""Fits of many holders: sums in bounded memory, and holders that were added up give the fit of all of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from studies.simulated_release import simulated_release
from studies.tables import SimulatedPart

import noisewise as nw
from noisewise.errors import FitError, ResultError
from noisewise.posterior.contributions import holder_weights, weighted_sum, weighted_variances
from noisewise.posterior.linear.conditional import ConditionalModel, weighted_model
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.releases.pooled import Pool
from noisewise.releases.release import Release
from noisewise.run import QUIET
from noisewise.schema import Design

FORMULA = "y ~ x + z"


def holders(rows: Sequence[int], adjacency: str = "replace-one", epsilon: float = 5.0, seed: int = 1,
            delta: float | None = 1e-6) -> Release:
    """One release of each of many small tables."""
    schema = nw.Schema.from_dict({"adjacency": adjacency, "columns": {name: {"bounds": [-1, 1]} for name in ("x", "z", "y")}})
    rng, made = np.random.default_rng(seed), []
    for count in rows:
        x, z = rng.uniform(-1, 1, (2, count))
        table = {"x": x, "z": z, "y": 0.2 + 0.4 * x - 0.2 * z + rng.normal(0, 0.2, count)}
        made.append(simulated_release(table, schema, rng, epsilon=epsilon, delta=delta))
    return nw.combine(made)


def added_up(release: Release) -> Release:
    pool = Pool()
    for part in release.contributions:
        pool.add(part)
    return release.with_contributions(pool.contributions())


def problem(release: Release) -> tuple[tuple[GramContribution, ...], Coordinates, ResolvedPrior]:
    design = Design.of(FORMULA, release.basis, release.terms)
    return release.contributions, Coordinates.of(design), ResolvedPrior.of(design, None)


def laplace(release: Release) -> nw.Posterior:
    return nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)


def test_sums_are_those_of_stacked_matrices() -> None:
    parts = holders([40, 80, 300], "add-remove").contributions
    weights = np.array([1.0, 0.5, 0.25])
    np.testing.assert_allclose(weighted_sum(weights, parts), np.einsum("j,jkl->kl", weights, [part.matrix for part in parts]),
                               rtol=1e-13)
    variances = np.einsum("j,jkl->kl", weights**2, [part.noise.variances(4) for part in parts])
    np.testing.assert_allclose(weighted_variances(weights, parts), variances, rtol=1e-13)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("model", [ConditionalModel, LatentModel])
def test_adding_up_takes_the_memory_of_a_few_matrices(model: type[ConditionalModel | LatentModel], weighed: bool) -> None:
    names = [f"x{place}" for place in range(30)]
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [-1, 1]} for name in (*names, "y")}})
    rng = np.random.default_rng(1)
    first = simulated_release({name: rng.uniform(-1, 1, 50) for name in schema.names}, schema, rng, epsilon=1.0, delta=1e-6)
    [part] = first.contributions
    parts = [replace(part, matrix=part.matrix + place * np.diag([0.0, *np.ones(31)])) for place in range(500)]
    design = Design.of("y ~ " + " + ".join(names), first.basis, None)
    weights = np.linspace(0.1, 1.0, len(parts)) if weighed else None
    given = Coordinates.of(design), ResolvedPrior.of(design, None)
    model.of(parts[:2], *given, None)  # loads what is loaded on first use
    tracemalloc.start()
    try:
        model.of(parts, *given, weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * part.matrix.nbytes  # 500 stacked ones would be 500


@pytest.mark.parametrize(("adjacency", "delta"), [("replace-one", 1e-6), ("replace-one", None), ("add-remove", 1e-6)])
def test_holders_of_one_size_and_noise_give_the_same_model_added_up(adjacency: str, delta: float | None) -> None:
    """Noisy numbers of rows that differ only by noise are no reason for weights."""
    release = holders([60] * 200, adjacency, epsilon=2.0, delta=delta)
    together = added_up(release)
    assert together.holders == release.holders == 200 and len(together.contributions) < 100
    one, other = weighted_model(*problem(release)), weighted_model(*problem(together))
    assert one.weights is None and other.weights is None
    assert one.data.keys() == other.data.keys()
    for name, value in one.data.items():
        np.testing.assert_allclose(other.data[name], value, rtol=1e-9, atol=1e-9 * np.max(np.abs(value)), err_msg=name)


@pytest.mark.outer(but=["replace-one"])
@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_holders_of_many_sizes_have_nearly_their_own_weights(adjacency: str) -> None:
    rows = np.random.default_rng(5).integers(50, 2000, 400).tolist()
    release = holders(rows, adjacency)
    together = added_up(release)
    assert len(together.contributions) < 200
    own, common = laplace(release), laplace(together)
    assert common.info.holders == own.info.holders == 400
    means, sds = (np.array([[post.summary()[name] for name in ("mean", "sd")] for post in (own, common)]).transpose(1, 0, 2))
    assert np.max(np.abs(means[1] - means[0]) / sds[0]) < 0.05
    np.testing.assert_allclose(sds[1], sds[0], rtol=0.01)


def test_a_sum_deserves_the_weight_of_its_members() -> None:
    release = holders([100] * 5 + [400] * 3)
    together = added_up(release)
    own, common = (holder_weights(found.contributions, 0.1, 1.5, 0.3) for found in (release, together))
    assert own is not None and common is not None and len(common) == 2
    np.testing.assert_allclose(own, np.repeat(common, [5, 3]), rtol=1e-9)


@pytest.mark.parametrize("skewed", [False, True])
def test_weights_do_not_count_the_noise_of_private_numbers_of_rows(skewed: bool) -> None:
    """Holders whose number of rows came out too large by chance may not count for more: the sum of all would be too large."""
    noise, rng, found = EntryNoise("gaussian", 20.0, 20.0 / np.sqrt(2), 20.0), np.random.default_rng(1), []
    for _ in range(40):
        rows = 10.0 * (1 + rng.pareto(1.5, size=2000)) if skewed else rng.integers(10, 90, size=2000, endpoint=True)
        errors = rng.normal(0, 20.0, size=len(rows))
        weights = holder_weights([SimulatedPart(np.diag([count, count]), None, noise) for count in rows + errors], 0.04, 1.2, 0.1)
        assert weights is not None and np.ptp(weights) > 0
        # What equal weights give has mean 0 and nearly the same chance in it.
        found.append(weights @ errors / (20.0 * np.linalg.norm(weights)) - errors.sum() / (20.0 * np.sqrt(len(rows))))
    assert abs(np.mean(found)) < 0.1 + 4 * np.std(found) / np.sqrt(40)  # weights that follow noisy numbers as they are fail this


def test_weights_follow_noisy_numbers_of_rows_where_these_say_something() -> None:
    noise = EntryNoise("gaussian", 20.0, 20.0 / np.sqrt(2), 20.0)
    rows = np.array([1000.0, 2000.0, 8000.0])
    found, expected = (holder_weights([SimulatedPart(np.diag([count, count]), known and int(count), noise) for count in rows],
                                      0.04, 1.2, 0.1) for known in (None, 1))
    assert found is not None and expected is not None
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(("least", "most"), [(20, 3000), (30, 100)])
def test_noisy_numbers_of_rows_are_drawn_together_by_holder_and_not_by_sum(least: int, most: int) -> None:
    """In the second case about half of their spread is noise."""
    release = holders(np.random.default_rng(3).integers(least, most, 300).tolist(), "add-remove", epsilon=1.0)
    together = added_up(release)
    own, common = (holder_weights(found.contributions, 0.1, 1.5, 0.3) for found in (release, together))
    assert own is not None and common is not None and len(common) < 150
    of_count = {count: weight for part, weight in zip(together.contributions, common, strict=True) for count in part.counts}
    found = np.array([of_count[part.matrix[0, 0]] for part in release.contributions])
    np.testing.assert_allclose(found, own, rtol=0.03)


def test_what_needs_every_holder_is_refused_for_sums() -> None:
    release = added_up(holders([100] * 5, epsilon=50.0))
    with pytest.raises(FitError, match="each site"):
        nw.fit(FORMULA, release, site="random", run=QUIET)
    posterior = laplace(holders([100] * 5, epsilon=50.0))
    with pytest.raises(ResultError, match="each holder"):
        posterior.check(release)


def test_the_default_is_among_the_methods_that_take_sums() -> None:
    release = added_up(holders([500] * 20, epsilon=20.0))
    posterior = nw.fit(FORMULA, release, method=DEFAULT_METHOD, draws=400, seed=1, run=QUIET)
    table = posterior.summary()
    for term, truth in (("Intercept", 0.2), ("x", 0.4), ("z", -0.2), ("sigma", 0.2)):
        assert abs(table.loc[term, "mean"] - truth) < 4 * table.loc[term, "sd"]
