"""Holders with like noise per row are added up: the sum has the law that the sum of them has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import OPEN, adassp, gram_of, laplace, release_of, wishart

import noisewise as nw
from noisewise.errors import IncompatibleReleasesError, ReleaseError, ReleaseWriteError
from noisewise.posterior.contributions import holder_weights
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.releases.pooled import STEP, Pool, PooledContribution


def pooled(contributions: list[GramContribution]) -> tuple[GramContribution, ...]:
    pool = Pool()
    for one in contributions:
        pool.add(one)
    return pool.contributions()


def with_rows(rows: int, seed: int, **changes: Any) -> GramContribution:
    matrix = gram_of(seed=seed).matrix.copy()
    matrix[0, 0] = rows
    return gram_of(seed=seed, rows=rows, matrix=matrix, **changes)


def test_holders_that_are_alike_become_one_sum() -> None:
    given = [gram_of(seed=seed) for seed in range(5)]
    [found] = pooled(given)
    assert isinstance(found, PooledContribution) and found.holders == 5 and found.rows == found.groups == 1250
    np.testing.assert_array_equal(found.matrix, sum(one.matrix for one in given))
    np.testing.assert_allclose(found.noise.variances(found.size), 5 * given[0].noise.variances(found.size), rtol=1e-12)
    assert found.noise.distribution == "gaussian" and found.counts.tolist() == [250.0] * 5


def test_one_that_is_like_no_other_is_itself() -> None:
    alone = gram_of(seed=9, noise=EntryNoise("gaussian", 80.0, 80.0 / np.sqrt(2), 0.0))
    found = pooled([gram_of(seed=1), alone, gram_of(seed=2)])
    assert [one.holders for one in found] == [2, 1] and found[1] is alone


def test_the_number_of_sums_is_bounded_by_the_range_of_the_noise_per_row() -> None:
    rng = np.random.default_rng(1)
    given = [with_rows(int(rows), seed) for seed, rows in enumerate(rng.integers(100, 401, size=400))]
    found = pooled(given)
    assert len(found) <= 2 * 32 + 2
    assert sum(one.holders for one in found) == 400
    assert sum(one.rows or 0 for one in found) == sum(one.rows or 0 for one in given)
    for one in found:
        assert one.counts.max() / one.counts.min() <= STEP * (1 + 1e-12)


def test_different_budgets_with_the_same_noise_per_row_go_together_and_the_largest_is_stated() -> None:
    twice = EntryNoise("gaussian", 8.0 * np.sqrt(2), 8.0, 0.0)
    [found] = pooled([with_rows(250, 1), with_rows(500, 2, noise=twice, epsilon=0.5, delta=1e-5)])
    assert (found.epsilon, found.delta, found.rows) == (1.0, 1e-5, 750)
    assert found.noise.diagonal**2 == pytest.approx(64 + 128)


def test_averaged_rows_keep_the_number_of_their_groups() -> None:
    [found] = pooled([with_rows(251, seed, average=5) for seed in range(3)])
    assert found.average == 5 and found.rows == 753 and found.groups == 3 * 51
    assert len(pooled([with_rows(250, 1, average=5), with_rows(250, 2)])) == 2


def test_wishart_noise_adds_up_its_degrees_and_laplace_noise_is_taken_for_normal() -> None:
    [found] = pooled([gram_of(seed=seed, noise=wishart(50, 3.0)) for seed in range(4)])
    assert (found.noise.distribution, found.noise.degrees, found.noise.scale) == ("wishart", 200, 3.0)
    [found] = pooled([gram_of(seed=seed, noise=laplace(), delta=0.0) for seed in range(4)])
    assert found.noise == EntryNoise("gaussian", 18.0, 18.0, 0.0) and found.delta == 0.0


def test_noisy_numbers_of_rows_are_kept_one_by_one() -> None:
    given = [gram_of(OPEN, seed=seed) for seed in range(6)]
    found = pooled(given)
    assert all(one.rows is None and one.groups is None for one in found)
    assert sorted(np.concatenate([one.counts for one in found])) == sorted(one.matrix[0, 0] for one in given)


def test_noisy_numbers_of_rows_do_not_decide_which_budgets_are_weighed_alike() -> None:
    """Two budgets with nearly the same noise per row: a sum of both would be weighed by which noisy numbers fell into it."""
    rng, rows, sds = np.random.default_rng(3), np.tile([200.0, 800.0], 200), np.tile([17.0, 33.0], 200)
    given = []
    for seed, (true, sd) in enumerate(zip(rows, sds, strict=True)):
        matrix = gram_of(OPEN, seed=seed).matrix.copy()
        matrix[0, 0] = true + rng.normal(0, sd)
        given.append(gram_of(OPEN, seed=seed, matrix=matrix, noise=EntryNoise("gaussian", sd, sd / np.sqrt(2), sd)))
    sums = pooled(given)
    assert len(sums) < 50
    apart, together = holder_weights(given, 0.1, 1.5, 0.3), holder_weights(sums, 0.1, 1.5, 0.3)
    assert apart is not None and together is not None
    weight_of = {count: weight for one, weight in zip(sums, together, strict=True) for count in one.counts}
    found = np.array([weight_of[one.matrix[0, 0]] for one in given]) / apart
    assert found.max() / found.min() < STEP**2  # 8 if both budgets may be in one sum


def test_what_sums_are_not_for_is_refused(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        release_of(seed=seed).save(tmp_path / f"{seed}.nwr")
    found = nw.load_many(tmp_path, pooled=True)
    assert found.pooled and found.holders == 3 and len(found.contributions) == 1
    assert "in 1 sums" in repr(found) and "the sum of 3 holders" in found.describe()
    with pytest.raises(ReleaseWriteError, match="not the release of any holder"):
        found.save(tmp_path / "all.nwr")
    assert not (tmp_path / "all.nwr").exists()
    with pytest.raises(IncompatibleReleasesError, match="duplicate would go unnoticed"):
        nw.combine([found, release_of(seed=4)])
    adassp().save(tmp_path / "adassp.nwr")
    with pytest.raises(ReleaseError, match=r"adassp\.nwr: only releases of kind gram can be pooled"):
        nw.load_many(tmp_path / "adassp.nwr", pooled=True)


def test_a_repetition_is_refused_although_the_first_one_was_added_up_already(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2), ("c", 1)):
        release_of(seed=seed).save(tmp_path / f"{name}.nwr")
    with pytest.raises(IncompatibleReleasesError, match=r"a\.nwr and .*c\.nwr contain the same contribution"):
        nw.load_many(tmp_path, pooled=True)
