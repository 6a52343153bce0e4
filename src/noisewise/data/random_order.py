"""A uniformly random order of rows, from the operating system's randomness."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

RandomBytes: TypeAlias = Callable[[int], bytes]


def system_bytes(count: int) -> bytes:
    """Random bytes of the operating system, which nobody can predict."""
    return os.urandom(count)


def random_order(rows: int, random_bytes: RandomBytes = system_bytes) -> npt.NDArray[np.intp]:
    """The rows in a random order, each order being equally likely.

    They are put in the order of random keys of 64 bits. Should two keys be equal, all are drawn again: given that they differ,
    every order has exactly the same probability.

    >>> sorted(random_order(4).tolist())
    [0, 1, 2, 3]
    """
    while True:
        keys = np.frombuffer(random_bytes(8 * rows), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order
