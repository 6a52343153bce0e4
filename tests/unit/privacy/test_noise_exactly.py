"""What samplers ask of others: of OpenDP for which noise, and of the operating system for how many numbers below which limit."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.errors import PrivacyError
from noisewise.privacy import noise


def test_opendp_is_asked_for_the_noise_that_is_named() -> None:
    """Two vectors at distance 2 lose 2/scale with Laplace noise, and with Gaussian noise half the square of that."""
    assert noise._measurement("laplace", 4.0).map(2) == pytest.approx(0.5, rel=1e-9)
    assert noise._measurement("gaussian", 4.0).map(2.0) == pytest.approx(0.125, rel=1e-9)
    assert noise._measurement("selection", 4.0).map(2) == pytest.approx(1.0, rel=1e-9)  # scores may move both ways: twice as much


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_another_level_is_one_of_all_but_one(monkeypatch: pytest.MonkeyPatch, levels: int) -> None:
    asked = []
    zeros = np.zeros(5, dtype=np.int64)
    monkeypatch.setattr(noise, "_random_below", lambda count, limit: asked.append((count, limit)) or zeros)
    noise.randomised_response(zeros, levels, 2**53 - 1)
    assert asked == [(5, levels - 1)]


@pytest.mark.parametrize(("scale", "count", "words"), [
    (2.0**53 * (1 + 2.0**-50), 3, "64-bit grid"), (1.0, 5, "at least 1.25 grid units")])
def test_a_cube_that_cannot_be_drawn_is_refused_when_it_is_drawn(scale: float, count: int, words: str) -> None:
    """The sum of the noise on three numbers would leave 64 bits, though each of its four parts does not."""
    with pytest.raises(PrivacyError, match=words):
        noise.cube_integers(np.zeros(count, dtype=np.int64), scale)


@pytest.mark.parametrize("values", [(-(2**62) - 1, 0), (0, 2**62 + 1), (0, -(2**62) - 1, 0)])
def test_every_value_must_leave_room_for_noise(values: tuple[int, ...]) -> None:
    with pytest.raises(PrivacyError, match="room for noise"):
        noise.laplace_integers(np.array(values, dtype=np.int64), 1.0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_number_of_a_vector_of_any_length_gets_noise(size: int) -> None:
    """With a scale of 2**40 that no number moves is less likely than one in 10**11."""
    for add in (noise.gaussian_integers, noise.laplace_integers, noise.cube_integers):
        assert np.all(add(np.full(size, 7, dtype=np.int64), 2.0**40) != 7)
