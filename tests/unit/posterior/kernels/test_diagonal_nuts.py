"""NUTS with a scale for each parameter, against a distribution that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.posterior.kernels import diagonal_nuts
from noisewise.posterior.kernels.diagonal_nuts import sample_diagonal
from noisewise.results.diagnostics import ess_bulk, r_hat

MEAN = np.linspace(-1.0, 1.0, 6)
DEVIATIONS = np.array([0.01, 0.1, 1.0, 1.0, 10.0, 100.0])


def normal(x: Any, data: Any, xp: Any) -> Any:
    return -0.5 * xp.sum(((x - data["mean"]) / data["deviations"]) ** 2)


def sampled(**options: Any) -> diagonal_nuts.NutsDraws:
    guess = DEVIATIONS * np.array([3.0, 0.3, 1.0, 2.0, 0.5, 1.0])
    given = {"seed": 3, "chains": 4, "draws": 500} | options
    return sample_diagonal(normal, {"mean": MEAN, "deviations": DEVIATIONS}, MEAN + guess, guess, **given)


def test_draws_have_the_known_moments_though_the_scales_were_guessed_wrongly() -> None:
    found = sampled()
    assert found.draws.shape == (4, 500, 6) and found.diverging.shape == (4, 500)
    assert not found.diverging.any()
    assert r_hat(found.draws).max() < 1.02
    error = DEVIATIONS / np.sqrt(ess_bulk(found.draws))
    assert np.all(np.abs(found.draws.mean(axis=(0, 1)) - MEAN) < 4.0 * error)
    assert np.all(np.abs(np.log(found.draws.std(axis=(0, 1)) / DEVIATIONS)) < 0.15)


def test_the_number_of_threads_does_not_matter_and_a_seed_repeats_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sampled(draws=60)
    monkeypatch.setattr(diagonal_nuts.os, "cpu_count", lambda: 1)
    assert np.array_equal(first.draws, sampled(draws=60).draws)
    assert not np.array_equal(first.draws, sampled(draws=60, seed=4).draws)


def test_only_what_is_shown_is_kept_and_the_clock_ticks() -> None:
    ticks: list[tuple[int, int]] = []
    found = sampled(draws=70, warmup=100, shown=lambda draws: draws[..., :2],
                    tick=lambda done, total: ticks.append((done, total)))
    assert found.draws.shape == (4, 70, 2)
    assert ticks == [(50, 200), (100, 200), (150, 200), (200, 200)]
    assert np.array_equal(found.draws, sampled(draws=70, warmup=100).draws[..., :2])
