"""How often each unit was seen: a table of exact identifiers, for numbers as arrays and for all else as a dictionary.

Identifiers are compared in full. To keep only a digest of each would take less memory, but two people with the same digest would
share their rows' limit: one of them would have a say in which rows of the other are kept, and the sensitivity is not proved for
that.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

SMALLEST: Final = 1 << 12
"""Places of an empty table; it is doubled when half of them are taken."""
AT_ONCE: Final = 1 << 16


class CountsByNumber:
    """Counts of 64-bit numbers, by open addressing in arrays: 24 to 48 bytes for each, and a third more while it grows."""

    def __init__(self, most: int) -> None:
        self._most = min(most, 2**31 - 1)
        self._multiplier = np.uint64(secrets.randbits(64) | 1)  # nobody can choose numbers that all fall into one place
        self._begin(SMALLEST)
        self._taken = 0

    def _begin(self, places: int) -> None:
        self._shift = np.uint64(64 - (places.bit_length() - 1))
        self._keys = np.zeros(places, dtype=np.int64)
        self._counts = np.zeros(places, dtype=np.int32)  # 0: the place is free

    def add(self, numbers: Integers, counts: Integers) -> Integers:
        """How often each of these distinct numbers was seen before, up to the maximum; and count them."""
        while 2 * (self._taken + len(numbers)) > len(self._keys):
            self._grow()
        places = self._places(numbers)
        before = self._counts[places].astype(np.int64)
        self._taken += int(np.count_nonzero(before == 0))
        self._counts[places] = np.minimum(before + counts, self._most)
        return before

    def _places(self, numbers: Integers) -> npt.NDArray[np.intp]:
        """Where each number is, or is put now; its count there is for the caller to set."""
        places = ((numbers.view(np.uint64) * self._multiplier) >> self._shift).astype(np.intp)
        waiting = np.arange(len(numbers))
        claimed = np.zeros(0, dtype=np.intp)
        while len(waiting):
            here, wanted = places[waiting], numbers[waiting]
            free = self._counts[here] == 0
            self._keys[here[free]] = wanted[free]  # of several that want one place, one gets it
            settled = self._keys[here] == wanted
            won = here[free & settled]
            self._counts[won] = -1  # taken, and not yet counted
            claimed = np.concatenate([claimed, won])
            waiting = waiting[~settled]
            places[waiting] = (places[waiting] + 1) % len(self._keys)
        self._counts[claimed] = 0
        return places

    def _grow(self) -> None:
        taken = self._counts > 0
        keys, counts = self._keys[taken], self._counts[taken]
        self._begin(2 * len(self._keys))
        for start in range(0, len(keys), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            self._counts[self._places(keys[part])] = counts[part]


class CountsByName:
    """The same for identifiers of any type: about 100 bytes for each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[Hashable, int] = {}

    def add(self, names: list[Hashable], counts: Integers) -> Integers:
        """How often each of these distinct names was seen before, up to the maximum; and count them."""
        before = np.fromiter((self._seen.get(name, 0) for name in names), dtype=np.int64, count=len(names))
        self._seen.update(zip(names, np.minimum(before + counts, self._most).tolist(), strict=True))
        return before
