"""Draws of a table's moments: the structure holds in every draw, and they have the distribution that brute force finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from studies.simulated_release import simulated_release

import noisewise as nw
from noisewise.errors import FitError
from noisewise.run import QUIET
from noisewise.synthetic.moment_posterior import MomentSampler, NoisyMoments, draw_moments
from noisewise.synthetic.structure import Structure

Array = npt.NDArray[np.float64]
COLUMNS: dict[str, Any] = {"x": {"bounds": [-3, 3]}, "smoker": {"levels": ["no", "yes"]}, "ward": {"levels": ["A", "B", "C"]},
                           "y": {"bounds": [-4, 4]}}


def rows(count: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    ward = rng.choice(["A", "B", "C"], count, p=[0.5, 0.3, 0.2])
    x = rng.normal(size=count)
    return {"x": x, "smoker": np.where(rng.uniform(size=count) < 0.2 + 0.4 * (ward == "B"), "yes", "no"), "ward": ward,
            "y": 0.7 * x + (ward == "C") + 0.6 * rng.normal(size=count)}


def released(epsilon: float, *, delta: float | None = None, adjacency: str = "replace-one", count: int = 500, seed: int = 1,
             columns: dict[str, Any] = COLUMNS) -> nw.Release:
    schema = nw.Schema.from_dict({"adjacency": adjacency, "columns": columns})
    table = {name: cells for name, cells in rows(count, seed).items() if name in columns}
    return simulated_release(table, schema, np.random.default_rng([seed, 7]), epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_every_draw_is_one_that_a_table_could_have(adjacency: str, delta: float | None) -> None:
    release = released(0.3, delta=delta, adjacency=adjacency)
    structure = Structure.of(release)
    assert structure.size == 6
    sampler = MomentSampler(NoisyMoments.of(release.contributions, structure), structure, 20, seed=1)
    for _ in range(30):
        sampler.sweep()
    draws = np.moveaxis(sampler.state, -1, 0)
    n = draws[:, 0, 0]
    assert (n == 500).all() if adjacency == "replace-one" else len(set(n)) == 20
    np.testing.assert_allclose(draws[:, 2, 2], n)  # −1/+1
    for place in (3, 4):
        np.testing.assert_allclose(draws[:, place, place], draws[:, 0, place])  # 0/1
    assert (draws[:, 3, 4] == 0).all()
    assert (np.linalg.eigvalsh(draws) > 0).all()
    np.testing.assert_allclose(sampler.room, np.einsum("kij,cij->kc", structure.bounds(), draws), atol=1e-6 * n.max())
    assert (sampler.room >= 0).all()
    joint = [(draws[:, 0, place] + sign * draws[:, 2, place]) / 2 for place in (3, 4) for sign in (-1, 1)]
    assert (np.array(joint) >= -1e-9).all()  # counts of smokers and others in two wards
    products = np.einsum("cij,jkc->cik", draws, sampler.inverse)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(6), products.shape), atol=1e-5)


def test_draws_are_centred_on_the_table_and_as_wide_as_the_noise() -> None:
    """With little noise the constraints do not matter: entries are normal about the release, tied ones more precise."""
    release = released(50.0, delta=1e-6, count=5000)
    structure = Structure.of(release)
    noisy = NoisyMoments.of(release.contributions, structure)
    draws = draw_moments(noisy, structure, 1000, seed=2, sweeps=20)
    sd = np.sqrt(noisy.variances[0])
    for i, j in ((0, 1), (1, 1), (1, 5), (0, 2), (2, 3)):
        seen = draws[:, i, j]
        assert abs(seen.mean() - noisy.matrix[i, j]) < 0.2 * sd[i, j]
        assert 0.9 < seen.std() / sd[i, j] < 1.1
    both = 1 / np.sqrt(1 / sd[0, 3] ** 2 + 1 / sd[3, 3] ** 2)
    weighted = (noisy.matrix[0, 3] / sd[0, 3] ** 2 + noisy.matrix[3, 3] / sd[3, 3] ** 2) * both**2
    assert abs(draws[:, 0, 3].mean() - weighted) < 0.2 * both and 0.9 < draws[:, 0, 3].std() / both < 1.1


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_one_column_against_brute_force(delta: float | None) -> None:
    """One number, n public: the sum and the sum of squares have a density on a triangle-like set, which a grid can hold."""
    release = released(0.25, delta=delta, count=100, columns={"x": COLUMNS["x"]})
    structure = Structure.of(release)
    noisy = NoisyMoments.of(release.contributions, structure)
    n, sd = 100.0, np.sqrt(noisy.variances[0])
    # In the sum and the root of the sum of squares about the mean, prior and volume make a flat density.
    first, root = np.meshgrid(np.linspace(-n, n, 1001), np.linspace(0, np.sqrt(n), 501), indexing="ij")
    second = first**2 / n + root**2
    logs = np.zeros_like(first)
    for value, place in ((first, (0, 1)), (second, (1, 1))):
        gap = np.abs(value - noisy.matrix[place]) / sd[place]
        logs += -np.sqrt(2.0) * gap if delta is None else -0.5 * gap**2
    weights = np.where(second <= n, np.exp(logs - logs.max()), 0.0)
    weights /= weights.sum()
    draws = draw_moments(noisy, structure, 4000, seed=3, sweeps=60)
    for place, value in (((0, 1), first), ((1, 1), second)):
        mean = float(np.sum(weights * value))
        exact = float(np.sqrt(np.sum(weights * (value - mean) ** 2)))
        found = draws[:, place[0], place[1]]
        assert abs(found.mean() - mean) < 5 * exact / np.sqrt(4000) + 0.01 * exact
        assert abs(found.std() / exact - 1) < 0.06


def test_laplace_noise_of_two_holders_is_divided_among_them() -> None:
    """Each holder's own variance stays positive, and the draws are narrower than for twice the one holder's noise in one."""
    releases = [released(1.0, count=400, seed=seed) for seed in (1, 2)]
    together = nw.combine(releases)
    structure = Structure.of(together)
    noisy = NoisyMoments.of(together.contributions, structure)
    assert noisy.variances.shape == (2, 6, 6) and noisy.matrix[0, 0] == 800
    draws = draw_moments(noisy, structure, 500, seed=1, sweeps=60)
    sd = np.sqrt(noisy.variances.sum(axis=0)[0, 1])
    assert abs(draws[:, 0, 1].mean() - noisy.matrix[0, 1]) < 0.4 * sd and 0.6 < draws[:, 0, 1].std() / sd < 1.1


def test_a_release_without_a_declared_column_is_refused() -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"v": {"bounds": [0, 5]}, "w": {"bounds": [0, 5]}}})
    table = {"v": np.arange(5.0), "w": np.arange(5.0)}
    release = nw.release(table, schema, nw.Moments("v ~ 1", blocks={"y": 1}), epsilon=1.0, delta=1e-6, run=QUIET)
    with pytest.raises(FitError, match="not in the release"):
        Structure.of(release)
