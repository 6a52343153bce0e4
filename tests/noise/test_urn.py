"""The urn draws beta-binomial numbers. There is no seed: a test fails by chance less than once in 1e9 runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from noisewise.errors import PrivacyError
from noisewise.privacy import noise
from noisewise.privacy.noise import urn_draws

DRAWS = 3000
LEVEL = 1e-12


def p_value(white: int, black: int, rows: int, assumed: tuple[float, float]) -> float:
    counts = np.bincount([urn_draws(white, black, rows) for _ in range(DRAWS)], minlength=rows + 1)
    expected = DRAWS * stats.betabinom.pmf(np.arange(rows + 1), rows, *assumed)
    return float(stats.chisquare(counts, expected).pvalue)


def test_numbers_are_beta_binomial() -> None:
    assert p_value(3, 5, 6, (3, 5)) > LEVEL


def test_other_parameters_would_be_noticed() -> None:
    assert p_value(3, 5, 6, (4, 5)) < LEVEL
    assert p_value(3, 5, 6, (300, 500)) < LEVEL  # an urn to which nothing is added is binomial


def test_every_ball_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def always_first(below: int) -> int:
        asked.append(below)
        return 0

    monkeypatch.setattr(noise.secrets, "randbelow", always_first)
    assert urn_draws(2, 3, 4) == 4 and asked == [5, 6, 7, 8]


@pytest.mark.parametrize(("white", "black", "draws"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 10**9)])
def test_an_urn_that_hides_nothing_is_refused(white: int, black: int, draws: int) -> None:
    with pytest.raises(PrivacyError):
        urn_draws(white, black, draws)
