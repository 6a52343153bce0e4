"""Truths drawn from the prior: of the terms of model releases that get a probability of 0.7, seven in ten have an effect.

Six bins of said probabilities; in each the sum of (true − said) over its standard deviation; squares added up: χ² with as many
degrees of freedom as bins if the probabilities are right, tested at the level 0.001. Taking the noisy estimate for that of the
table itself must fail. ``studies.model_inclusion`` has more replicates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from studies.model_inclusion import said_about

from noisewise.selection.rounds import RoundsQuadratic


@pytest.mark.outer
@pytest.mark.parametrize("family", ["gaussian", "logistic", "poisson"])
def test_probabilities_come_true(family: str) -> None:
    found = said_about(family, 1.0, "hyper-g", 60, seed=1, band=False)
    squares, bins = found.squares
    assert bins >= 2 and squares < chi2.isf(0.001, df=bins)
    assert found.covered > 0.9


@pytest.mark.outer
def test_without_the_noise_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RoundsQuadratic.of

    def as_if_exact(*arguments: object) -> RoundsQuadratic:
        one = honest(*arguments)  # type: ignore[arg-type]
        found, precision = one.quadratic, one.without_noise
        score = precision @ np.linalg.solve(found.precision, found.score)
        return replace(one, quadratic=replace(found, precision=precision, score=score, beyond=lambda rows: np.zeros(len(rows))))

    monkeypatch.setattr(RoundsQuadratic, "of", as_if_exact)
    squares, bins = said_about("logistic", 0.3, "hyper-g", 40, seed=1, band=False).squares
    assert squares > 10 * chi2.isf(0.001, df=bins)
