"""At most k rows of each privacy unit (a person, a household), when rows are not units themselves.

The first k rows of each unit in the order of the source are kept. That order may depend on values (a file may be sorted). This
does no harm: which rows of a unit are kept depends only on that unit's rows and their relative order, never on another unit's
rows. So adding, removing or replacing all rows of one unit changes the statistic by at most k rows, which is what the sensitivity
counts. A random choice would protect no better, and would need a second pass or k stored rows per unit. The order matters for
the analysis, though: if a file is sorted by date, the first k visits of each person are analysed.

A database or a cluster has no such order: the order in which it returns the rows of one unit may depend on how many rows others
have. Such a source chooses k rows of each unit itself, by a rule that uses only that unit's rows (`UnorderedSource`).

Rows without an identifier form one unit. This is a fixed public rule, so no cell can raise an exception.

Memory: one counter per unit, so unlike the rest of the pass it grows with the number of distinct units. Rows are counted by one
thread, in order. Identifiers are compared in full: numbers in arrays, everything else in a dictionary. Keeping only digests would
take less memory, but two people with the same digest would share a limit. Then one would affect which rows of the other are kept,
and the sensitivity is not proved for that.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from noisewise.data.sources.base import Source, UnorderedSource, Wanted
from noisewise.schema.schema import Unit

Integers: TypeAlias = npt.NDArray[np.int64]

SMALLEST: Final = 1 << 12
"""Places in an empty table, which is doubled when half of them are taken."""
AT_ONCE: Final = 1 << 16


def limit_units(source: Source, unit: Unit, wanted: Sequence[Wanted]) -> tuple[Source, UnitLimit | None]:
    """The source, and the limit to apply to its rows. None if each row is a unit or if the source applies the limit itself."""
    if unit.column is None:
        return source, None
    if isinstance(source, UnorderedSource):
        return source.with_few_rows_of_each(unit.column, unit.max_rows, wanted), None
    return source, UnitLimit(unit.max_rows)


class UnitLimit:
    """Counts the rows of each unit and decides which to keep."""

    def __init__(self, max_rows: int) -> None:
        self.max_rows = max_rows
        self._by_number = CountsByNumber(max_rows)
        self._by_name = CountsByName(max_rows)

    def keep(self, identifiers: pa.Array) -> npt.NDArray[np.bool_]:
        """Flags of the rows of the next batch that are among the first ``max_rows`` of their unit."""
        codes, distinct = _encoded(identifiers)
        counts = np.bincount(codes, minlength=len(distinct) + 1)
        before = np.append(self._before(distinct, counts[:-1]), self._by_name.add([None], counts[-1:]))
        # For each row, how many rows of its unit come before it in this batch. 16-bit numbers sort faster.
        order = np.argsort(codes.astype(np.uint16) if len(counts) <= 2**16 else codes, kind="stable")
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - firsts
        kept: npt.NDArray[np.bool_] = before[codes] + rank < self.max_rows
        return kept

    def _before(self, distinct: pa.Array, counts: Integers) -> Integers:
        if t.is_integer(distinct.type):
            whole = distinct.view(pa.int64()) if t.is_uint64(distinct.type) else distinct.cast(pa.int64())
            return self._by_number.add(whole.to_numpy(zero_copy_only=False), counts)
        return self._by_name.add(distinct.to_pylist(), counts)


def encode_units(identifiers: pa.Array) -> tuple[Integers, list[Hashable]]:
    """Each row's unit as a number within this batch, and the units. None is the unit of rows without an identifier."""
    codes, distinct = _encoded(identifiers)
    return codes, [*distinct.to_pylist(), None]


def _encoded(identifiers: pa.Array) -> tuple[Integers, pa.Array]:
    """Each row's unit as a number within this batch, and the units. A row without an identifier has the number after the last."""
    encoded = _comparable(identifiers).dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary))
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary


def _comparable(array: pa.Array) -> pa.Array:
    """Identifiers in a form common to all batches, whose values can all be converted to Python objects."""
    if t.is_dictionary(array.type):
        if t.is_string_view(array.type.value_type) or t.is_binary_view(array.type.value_type):  # cannot be decoded as such
            array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.large_binary()))
        array = array.dictionary_decode()
    kind = array.type
    if t.is_decimal32(kind) or t.is_decimal64(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind) or t.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if t.is_floating(kind):
        # Adding zero turns -0.0 into 0.0: one number, one unit.
        wide = pc.add(array.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(wide), pa.scalar(None, pa.float64()), wide)
    if t.is_temporal(kind):
        return array.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return array


class CountsByNumber:
    """Counts of 64-bit numbers, with open addressing in arrays: 24 to 48 bytes for each, and a third more while growing."""

    def __init__(self, most: int) -> None:
        self._most = min(most, 2**31 - 1)
        self._multiplier = np.uint64(secrets.randbits(64) | 1)  # secret, so that nobody can choose numbers that all collide
        self._begin(SMALLEST)
        self._taken = 0

    def _begin(self, places: int) -> None:
        self._shift = np.uint64(64 - (places.bit_length() - 1))
        self._keys = np.zeros(places, dtype=np.int64)
        self._counts = np.zeros(places, dtype=np.int32)  # 0: the place is free

    def add(self, numbers: Integers, counts: Integers) -> Integers:
        """Count these distinct numbers. Return how often each was seen before, up to the maximum."""
        while 2 * (self._taken + len(numbers)) > len(self._keys):
            self._grow()
        places = self._places(numbers)
        before = self._counts[places].astype(np.int64)
        self._taken += int(np.count_nonzero(before == 0))
        self._counts[places] = np.minimum(before + counts, self._most)
        return before

    def _places(self, numbers: Integers) -> npt.NDArray[np.intp]:
        """The place of each number, old or new. The caller sets its count there."""
        places = ((numbers.view(np.uint64) * self._multiplier) >> self._shift).astype(np.intp)
        waiting = np.arange(len(numbers))
        claimed = np.zeros(0, dtype=np.intp)
        while len(waiting):
            here, wanted = places[waiting], numbers[waiting]
            free = self._counts[here] == 0
            self._keys[here[free]] = wanted[free]  # if several want one place, one gets it
            settled = self._keys[here] == wanted
            won = here[free & settled]
            self._counts[won] = -1  # taken but not yet counted
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
    """The same for identifiers of any type, at about 100 bytes each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[Hashable, int] = {}

    def add(self, names: list[Hashable], counts: Integers) -> Integers:
        """Count these distinct names. Return how often each was seen before, up to the maximum."""
        before = np.fromiter((self._seen.get(name, 0) for name in names), dtype=np.int64, count=len(names))
        self._seen.update(zip(names, np.minimum(before + counts, self._most).tolist(), strict=True))
        return before
