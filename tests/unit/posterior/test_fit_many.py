"""Many fits at once: the same posteriors as one by one, in the order they were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.posterior.seeded_release import seeded_release

import noisewise as nw
import noisewise.posterior.fit_many as fit_many_module
from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.kernels.batch import CHUNK, BatchDraws, Shown, sample_batch
from noisewise.results.diagnostics import ess_bulk, plain_r_hat
from noisewise.run import QUIET

pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    "y": {"bounds": [-1, 1]}, "x": {"bounds": [-1, 1]}, "w": {"bounds": [-1, 1]}}})


def made(seed: int, epsilon: float, rows: int = 2000) -> nw.Release:
    generator = np.random.default_rng(seed)
    x, w = generator.uniform(-1, 1, (2, rows))
    y = np.clip(0.1 + 0.3 * x - 0.2 * w + generator.normal(0, 0.2, rows), -1, 1)
    return seeded_release({"y": y, "x": x, "w": w}, SCHEMA, seed, epsilon=epsilon, delta=1e-6)


def normal_density(x: np.ndarray, data: dict[str, np.ndarray], xp: object) -> object:
    shifted = data["precision_root"] @ (x - data["mean"])
    return -0.5 * shifted @ shifted


@pytest.mark.outer
def test_the_batch_sampler_gets_normal_distributions_right() -> None:
    generator = np.random.default_rng(1)
    roots = generator.normal(size=(6, 3, 3)) + 2 * np.eye(3)
    means = generator.normal(size=(6, 3))
    found = sample_batch(normal_density, {"precision_root": roots, "mean": means}, np.zeros((6, 3)), np.ones((6, 3)), seed=2,
                         chains=4, draws=1500)
    assert found.converged.all() and not found.diverging.any()
    halves = np.concatenate([found.draws[:, :, :7 * CHUNK], found.draws[:, :, -7 * CHUNK:]], axis=2)  # of 15 rounds
    assert np.allclose(found.r_hat, [plain_r_hat(draws) for draws in halves], atol=2e-3)
    assert not np.allclose(found.r_hat, 1.0, atol=2e-4)
    for k in range(6):
        covariance = np.linalg.inv(roots[k].T @ roots[k])
        draws = found.draws[k]
        size = np.array([ess_bulk(draws)[j] for j in range(3)])
        z = (draws.mean(axis=(0, 1)) - means[k]) / np.sqrt(np.diag(covariance) / size)
        assert np.abs(z).max() < 5.0
        assert np.allclose(draws.reshape(-1, 3).var(axis=0) / np.diag(covariance), 1.0, atol=0.15)
        assert not np.allclose(draws.reshape(-1, 3).var(axis=0) / (1.5 * np.diag(covariance)), 1.0, atol=0.15)


@pytest.mark.outer
@pytest.mark.parametrize(("epsilon", "method"), [
    (0.3, "conditional-flat"), *(pytest.param(epsilon, "conditional", marks=pytest.mark.slow) for epsilon in (5.0, 0.05))])
def test_the_posteriors_are_those_of_fit(epsilon: float, method: str) -> None:
    releases = [made(seed, epsilon) for seed in range(3)]
    together = nw.fit_many("y ~ x + w", releases, method=method, draws=1500, seed=1, run=QUIET)
    for release, many in zip(releases, together, strict=True):
        one = nw.fit("y ~ x + w", release, method=method, draws=1500, seed=2, run=QUIET)
        for index in range(4):
            a, b = many.samples[..., index], one.samples[..., index]
            error = np.sqrt(a.var() / ess_bulk(a[..., None])[0] + b.var() / ess_bulk(b[..., None])[0])
            assert abs(a.mean() - b.mean()) < 5 * error < 0.4 * b.std()  # half a standard deviation more would be seen
            assert abs(np.log(a.std() / b.std())) < 0.25


def quick_sampler(seeds: list[int], away: float = 0.0) -> Any:
    """In the place of the sampler: normal draws, the first chain of the second fit so far away; notes the seeds that it takes."""

    def sample(log_density: Any, data: Any, starts: Any, scales: Any, *, seed: int, chains: int, draws: int,
               steps: tuple[int, int], shown: Shown | None) -> BatchDraws:
        seeds.extend(range(seed, seed + 20))  # one for each call of the compiled function
        shape = (len(starts), chains, draws)
        visited = starts[:, None, None] + 0.01 * np.random.default_rng(seed).normal(size=(*shape, starts.shape[1]))
        visited[1:2, 0] += away
        if shown is not None:
            of_each = [{key: value[index] for key, value in shown.arrays.items()} for index in range(len(starts))]
            visited = np.stack([shown.function(*pair, np) for pair in zip(visited, of_each, strict=True)])
        r_hat = np.array([plain_r_hat(each) for each in visited])
        return BatchDraws(visited, np.zeros(shape, dtype=bool), np.ones(len(starts), dtype=bool), r_hat)

    return sample


def test_each_of_several_formulas_has_its_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    release = made(1, 2.0)
    monkeypatch.setattr(fit_many_module, "sample_batch", quick_sampler([]))  # draws close to where the search starts
    several = nw.fit_many(["y ~ x", "y ~ w", "x ~ w"], release, draws=100, seed=1, run=QUIET)
    assert [posterior.info.formula for posterior in several] == ["y ~ x", "y ~ w", "x ~ w"]
    assert several[2].terms == ("Intercept", "w", "sigma")
    slopes = [float(posterior.samples[..., 1].mean()) for posterior in several]
    assert slopes == pytest.approx([0.3, -0.2, 0.0], abs=0.1)


@pytest.mark.outer
def test_formulas_and_releases_are_paired_and_a_seed_repeats_the_draws() -> None:
    a, b = made(1, 2.0), made(2, 2.0)
    paired, again = (nw.fit_many(["y ~ x", "y ~ w"], [a, [a, b]], draws=100, seed=1, run=QUIET) for _ in range(2))
    assert [posterior.info.holders for posterior in paired] == [1, 2]
    assert all(np.array_equal(one.samples, two.samples) for one, two in zip(paired, again, strict=True))


def test_lots_and_coefficients_have_random_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def coefficients(model: Any, draws: Any, seed: int) -> Any:
        seeds.append(seed)
        return draws[..., :model.data["theta_root"].shape[1] + 1]

    monkeypatch.setattr(fit_many_module, "sample_batch", quick_sampler(seeds))
    monkeypatch.setattr(fit_many_module, "LATENT_LOT", 2)
    monkeypatch.setattr(fit_many_module.LatentModel, "coefficients", coefficients)
    nw.fit_many("y ~ x + w", [made(seed, 0.05) for seed in range(5)], draws=50, seed=2**63 - 1, run=QUIET)
    assert len(seeds) == 3 * 20 + 5 and len(set(seeds)) == len(seeds) and max(seeds) < 2**63


@pytest.mark.filterwarnings("default::noisewise.errors.ConvergenceWarning")
def test_chains_that_are_far_apart_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    releases = [made(seed, 5.0) for seed in range(3)]
    monkeypatch.setattr(fit_many_module, "sample_batch", quick_sampler([], away=0.02))
    with pytest.warns(ConvergenceWarning, match=r"1 of 3 fits .*positions 1\)"):
        nw.fit_many("y ~ x", releases, draws=400, seed=1, run=QUIET)


@pytest.mark.parametrize(("formulas", "releases"), [(None, made(1, 1.0, 50)), ("y ~ x", None), (3, made(1, 1.0, 50))])
def test_what_is_no_list_is_refused(formulas: Any, releases: Any) -> None:
    with pytest.raises(FitError, match="or a list"):
        nw.fit_many(formulas, releases)


@pytest.mark.parametrize(("formulas", "count", "options", "words"), [
    (["y ~ x", "y ~ w", "x ~ w"], 2, {}, "as many formulas"),
    ([], 1, {}, "as many formulas"),
    ("y ~ x", 0, {}, "as many formulas"),
    ("y ~ x", 1, {"method": "collapsed"}, "cannot make many fits at once"),
    ("y ~ x", 1, {"draws": 0}, "draws must be"),
])
def test_wrong_requests_are_refused(formulas: str | list[str], count: int, options: dict[str, object], words: str) -> None:
    with pytest.raises(FitError, match=words):
        nw.fit_many(formulas, [made(seed, 1.0, 50) for seed in range(count)], **options)  # type: ignore[arg-type]
