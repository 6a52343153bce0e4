"""The public numbers of a search for limits: both sides know the same candidates."""

from __future__ import annotations

import pytest

from noisewise.schema.search_grid import centre_candidates, limits_about, previous_candidates, sought, width_candidates


def test_limits_and_their_search_agree_on_the_candidates() -> None:
    """The analyst knows, without the privacy code, which candidate comes before another."""
    centres = centre_candidates()
    for place in range(1, len(centres), 7):
        before, nearer = previous_candidates(float(centres[place]), float(width_candidates()[40]))
        assert before == pytest.approx(centres[place - 1], rel=1e-12)
        assert nearer == pytest.approx(width_candidates()[39])
        centre, distance = sought(*limits_about(float(centres[place]), 0.125 * abs(float(centres[place])) + 1e-9))
        assert centre == pytest.approx(centres[place], rel=1e-12)
        assert distance == pytest.approx(0.125 * abs(centre) + 1e-9, rel=1e-6)
    assert all(previous_candidates(float(centres[index]), 1.0)[0] == pytest.approx(centres[index - 1], rel=1e-12, abs=0.0)
               for index in (1, 90, 91, 1979, 1980, 1981, 1982, len(centres) - 1))
