"""A process that compiles one program after another keeps within its memory maps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from noisewise.posterior.kernels import jax_setup
from noisewise.posterior.kernels.jax_setup import MAPS, MOST_MAPS, double_precision, make_room, many_maps


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count memory maps")
def test_programs_are_forgotten_if_they_take_many_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    with double_precision():
        program = jax.jit(lambda x: x + 1)
        assert program(1.0) == 2.0 and program._cache_size() == 1
        monkeypatch.setattr(jax_setup, "_looked", float("-inf"))
        make_room()
        assert program._cache_size() == 1  # there are few
    monkeypatch.setattr(jax_setup, "many_maps", lambda: MAPS.read_bytes().count(b"\n") / 2)
    monkeypatch.setattr(jax_setup, "_looked", float("inf"))
    make_room()
    assert program._cache_size() == 1  # it has just looked
    monkeypatch.setattr(jax_setup, "_looked", float("-inf"))
    with double_precision():
        assert program._cache_size() == 0 and program(1.0) == 2.0


def test_where_maps_are_not_counted_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    many_maps.cache_clear()
    monkeypatch.setattr(jax_setup, "MOST_MAPS", Path("/no/such/file"))
    try:
        assert many_maps() == float("inf")
        make_room()
    finally:
        many_maps.cache_clear()
    monkeypatch.undo()
    assert not MOST_MAPS.exists() or many_maps() > 10_000
