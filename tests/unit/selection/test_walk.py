"""The walk against full enumeration, against terms that are independent, and where chains cannot meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.selection.made_moments import Array, made_moments, made_table, single_columns

from noisewise.run import nobody
from noisewise.selection import walk as module
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.subsets import memberships, sizes
from noisewise.selection.walk import Visited, walk


class MadeEvidence:
    """Terms with given Bayes factors; the columns are alike to each other as ``prior_moments`` says."""

    def __init__(self, count: int, log_bayes_factors: Any) -> None:
        self.groups = [[term] for term in range(count)]
        self.prior_moments = np.eye(count)
        self.weighed = 0
        self._factors = log_bayes_factors

    def log_bayes_factors(self, members: Array) -> Array:
        self.weighed += len(members)
        return np.asarray(self._factors(members))


def inclusion(found: Visited) -> Array:
    return found.probabilities @ found.members


@pytest.mark.parametrize(("sd", "rows", "model_prior"), [(30.0, 20_000, "beta-binomial"), (0.0, 500, "uniform")])
def test_inclusion_probabilities_are_those_of_all_models(sd: float, rows: int, model_prior: str) -> None:
    count = 12
    slopes = np.zeros(count)
    slopes[[0, 5, 10]] = 0.2, 0.1, 0.05
    evidence = single_columns(made_moments(made_table(1, rows, slopes), sd, seed=3), "zellner-siow")
    prior = log_prior_by_size(model_prior, count)
    logs = evidence.all_models() + prior[sizes([1] * count)]
    expected = np.exp(logs - logs.max())
    expected /= expected.sum()
    found = walk(evidence, prior, seed=1, tick=nobody)
    assert inclusion(found) == pytest.approx(expected @ memberships(count), abs=0.015)
    assert found.probabilities.sum() == pytest.approx(1.0)
    assert len(np.unique(found.members, axis=0)) == len(found.members)
    top = memberships(count)[np.argmax(expected)]
    assert np.array_equal(found.members[np.argmax(found.probabilities)], top)
    assert found.probabilities.max() == pytest.approx(expected.max(), abs=0.015)
    assert found.doubts == ()


def test_many_terms_of_known_probability_and_no_model_weighed_twice() -> None:
    count = 60
    expected = np.tile([0.02, 0.1, 0.5, 0.9, 0.999], count // 5)
    logits = np.log(expected / (1.0 - expected))
    evidence = MadeEvidence(count, lambda members: members @ logits)
    ticks: list[tuple[int, int | None]] = []
    found = walk(evidence, log_prior_by_size("uniform", count), 1, lambda done, total: ticks.append((done, total)))  # type: ignore[arg-type]
    assert inclusion(found) == pytest.approx(expected, abs=0.03)
    assert found.doubts == ()
    assert np.all(np.diff([done for done, _ in ticks]) > 0) and ticks[-1][0] <= (ticks[-1][1] or 0)
    again = walk(MadeEvidence(count, lambda members: members @ logits), log_prior_by_size("uniform", count), 1, nobody)  # type: ignore[arg-type]
    assert np.array_equal(inclusion(again), inclusion(found))
    weighed = evidence.weighed
    weights = module._Weights(evidence, log_prior_by_size("uniform", count))  # type: ignore[arg-type]
    some = np.random.default_rng(1).uniform(size=(50, count)) < 0.5
    first, second = weights(np.vstack([some, some])), weights(some)
    assert evidence.weighed == weighed + 50
    assert np.array_equal(first[1][:50], second[1]) and np.array_equal(weights.members(), some)


def test_chains_that_cannot_meet_raise_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two islands of equal weight, few terms and nearly all, with a sea between."""
    monkeypatch.setattr(module, "MOST_BLOCKS", 8)
    count = 40
    evidence = MadeEvidence(count, lambda members: -4.0 * np.minimum(members.sum(axis=1), (~members).sum(axis=1)))
    found = walk(evidence, log_prior_by_size("uniform", count), seed=1, tick=nobody)  # type: ignore[arg-type]
    assert len(found.doubts) == 1 and "do not agree" in found.doubts[0]


def test_a_stand_in_is_swapped_for_its_like() -> None:
    """Two columns that say nearly the same: one of them is needed, and neither is kept for having come first."""
    rng = np.random.default_rng(5)
    table = made_table(1, 3000, np.array([0.3] + [0.0] * 9))
    table[:, 2] = table[:, 1] + 0.02 * rng.normal(size=3000)
    evidence = single_columns(made_moments(table, 5.0, seed=3), "zellner-siow")
    prior = log_prior_by_size("beta-binomial", 10)
    logs = evidence.all_models() + prior[sizes([1] * 10)]
    expected = np.exp(logs - logs.max()) @ memberships(10) / np.exp(logs - logs.max()).sum()
    found = walk(evidence, prior, seed=2, tick=nobody)
    assert 0.05 < expected[1] < 0.95
    assert inclusion(found) == pytest.approx(expected, abs=0.02)


def test_swaps_alone_visit_all_models_of_a_size_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of one size and of equal weight, columns that are unequally alike: right only with the ratio of the proposals."""
    monkeypatch.setattr(module, "SWAPS", 1.0)
    monkeypatch.setattr(module, "SINGLES", 0.0)
    assert unevenness(7) < 0.1
    swap = module._Chains._swap

    def without_ratio(chains: module._Chains, model: Any) -> float:
        swap(chains, model)
        return 0.0

    monkeypatch.setattr(module._Chains, "_swap", without_ratio)
    assert unevenness(7) > 0.3


def unevenness(seed: int) -> float:
    rng = np.random.default_rng(seed)
    root = np.tril(rng.uniform(size=(5, 5)))
    evidence = MadeEvidence(5, lambda members: np.zeros(len(members)))
    evidence.prior_moments = root @ root.T
    weights = module._Weights(evidence, np.zeros(6))  # type: ignore[arg-type]
    start = np.tile([True, True, False, False, False], (module.CHAINS, 1))
    chains = module._Chains(weights, start, module._likeness(evidence), rng)  # type: ignore[arg-type]
    chains.begin(np.full(5, 0.5))
    for _ in range(1000):
        chains.step(learn=False)
    visits = np.bincount(np.concatenate([numbers for numbers, _ in chains.visits]),
                         np.concatenate([weight for _, weight in chains.visits]))
    assert len(visits) == 10
    return float(np.ptp(visits) / visits.mean())
