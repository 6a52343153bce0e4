"""The table of methods with others in it, for a test, and afterwards as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from noisewise.posterior.methods import METHODS, Method


@contextmanager
def only_methods(methods: Mapping[str, Any]) -> Iterator[None]:
    """These methods and no others; then all of them in their order, which messages and tables follow."""
    before = dict(METHODS)
    METHODS.clear()
    METHODS.update({name: given if isinstance(given, Method) else Method(name, "for a test", given)
                    for name, given in methods.items()})
    try:
        yield
    finally:
        METHODS.clear()
        METHODS.update(before)
