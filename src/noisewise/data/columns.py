"""Arrow columns as numbers to scale, or as codes of declared levels.

Types alone decide whether a column fits its declaration, before a row is read. After that no cell can fail: missing and
undeclared cells follow the column's public rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as t

from noisewise.arrays import Flags, Values
from noisewise.data.sources.base import Source, Wanted
from noisewise.data.sources.cells import exact_number_from_text
from noisewise.errors import DataError
from noisewise.schema.columns import DROP, Categorical, Column, Level

DROPPED: Final = -1
"""The code of a cell that drops its row."""

Codes = npt.NDArray[np.int32]


def wanted_columns(columns: Sequence[Column], unit: str | None) -> list[Wanted]:
    """The columns to read from a source for these declarations."""
    wanted = [Wanted(column.name, "level", frozenset(map(str, column.levels)), column.levels)
              if isinstance(column, Categorical) else Wanted(column.name, "number") for column in columns]
    return wanted if unit is None else [*wanted, Wanted(unit, "unit")]


def require_columns(source: Source, wanted: Sequence[Wanted]) -> None:
    """Refuse a source that lacks a column or has it in an unusable type."""
    types = source.column_types()
    for column in wanted:
        if column.name not in types:
            # Without a header, the first row of a CSV file would be taken for names. So names from a header are not shown.
            hidden = source.header_is_text
            hint = "separate columns by commas, and " if hidden else ""  # always: the first line may be a row
            raise DataError(f"the table has no column '{column.name}', which the schema declares",
                            found=None if hidden else f"'{column.name}'", known=None if hidden else types,
                            remedy=f"{hint}correct the name in the schema or in the data ({source.description})")
        kind = types[column.name]
        if column.name in source.untyped:
            continue
        if not _fits(kind, column):
            needed = {"number": "a number", "level": "a category (text, number or boolean)", "unit": "an identifier"}[column.role]
            raise DataError(f"column '{column.name}' is declared as {needed} but has another type",
                            found=str(kind), remedy=f"convert '{column.name}' before the release, or change its declaration")
        if not _can_occur(column.declared, kind):
            raise DataError(f"column '{column.name}' has a type that cannot hold any of its declared levels",
                            found=f"{kind}, levels {list(column.declared)}",
                            remedy=f"declare the levels of '{column.name}' as they appear in the table, or convert the column")


def _fits(kind: pa.DataType, column: Wanted) -> bool:
    if t.is_dictionary(kind):
        kind = kind.value_type
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_boolean(kind) or t.is_null(kind):
        return True
    if column.role == "number":
        return False
    if _is_text(kind):
        return True
    return column.role == "unit" and bool((t.is_temporal(kind) and not t.is_interval(kind)) or t.is_fixed_size_binary(kind))


def _can_occur(levels: Sequence[Level], kind: pa.DataType) -> bool:
    """True if a column of this type can hold any of the levels. If not, every row would silently become the same level."""
    if t.is_dictionary(kind):
        kind = kind.value_type
    if not levels or _is_text(kind) or t.is_null(kind):
        return True
    known = [number for level in levels if (number := _level_number(level, boolean=t.is_boolean(kind))) is not None]
    if t.is_boolean(kind):
        return not {0, 1}.isdisjoint(known)
    return bool(known) and (not t.is_integer(kind) or any(number % 1 == 0 for number in known))


def _is_text(kind: pa.DataType) -> bool:
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
                or t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind))


def numbers(array: pa.Array) -> Values:
    """A numeric column as a NumPy array, NaN where missing. A view if nothing is missing."""
    if not t.is_floating(array.type) and not t.is_integer(array.type):
        if t.is_dictionary(array.type):
            return numbers(array.dictionary_decode())
        if t.is_null(array.type):
            return np.full(len(array), np.nan)
        array = array.cast("uint8" if t.is_boolean(array.type) else "float64")
    values: Values = array.to_numpy(zero_copy_only=False)
    return values


@dataclass(frozen=True)
class LevelReader:
    """Maps the cells of one categorical column to the positions of its levels."""

    column: Categorical

    def codes(self, array: pa.Array) -> Codes:
        """The position of each cell's level, or DROPPED."""
        kind = array.type.value_type if t.is_dictionary(array.type) else array.type
        if t.is_null(kind):
            return np.full(len(array), self._missing, dtype=np.int32)
        if not t.is_dictionary(array.type):
            if not _is_text(kind):
                return self._value_codes(array)
            if t.is_string_view(kind) or t.is_binary_view(kind):  # views have no hash kernel, and bytes need not be valid UTF-8
                array = array.cast("large_binary")
            array = array.dictionary_encode()
        of_dictionary = self._text_codes(array.dictionary) if _is_text(kind) else self._value_codes(array.dictionary)
        # A missing cell points one past the dictionary.
        table = np.append(of_dictionary, np.int32(self._missing))
        indices = array.indices
        if indices.null_count:
            indices = indices.cast("int64").fill_null(len(of_dictionary))
        result: Codes = table.take(indices.to_numpy(zero_copy_only=False).astype(np.intp, copy=False))
        return result

    def code(self, level: Level) -> int:
        """The position of a declared level; DROPPED for "drop"."""
        if level in self.column.levels:
            return self.column.levels.index(level)
        assert level == DROP
        return DROPPED

    @cached_property
    def _missing(self) -> int:
        return self.code(self.column.fill)

    @cached_property
    def _unseen(self) -> int:
        return self.code(self.column.unseen)

    @cached_property
    def _by_text(self) -> Mapping[bytes, int]:
        texts = {(str(level).lower() if isinstance(level, bool) else str(level)).encode(): index
                 for index, level in enumerate(self.column.levels)}
        # Booleans have many spellings; a string level has only its own.
        for index, level in enumerate(self.column.levels):
            if isinstance(level, bool):
                for spelling in (str(level), str(level).upper(), str(level)[0], str(level)[0].lower(), str(int(level))):
                    texts.setdefault(spelling.encode(), index)
        return texts

    @cached_property
    def _by_number(self) -> Mapping[int | float, int]:
        return {level: index for index, level in enumerate(self.column.levels) if not isinstance(level, str)}

    def _text_codes(self, dictionary: pa.Array) -> Codes:
        texts = dictionary.cast("large_binary").to_pylist()
        return np.fromiter((self._text_code(text) for text in texts), dtype=np.int32, count=len(texts))

    def _text_code(self, text: bytes | None) -> int:
        if text is None:
            return self._missing
        found = self._by_text.get(text)
        if found is None and self._by_number:
            number = exact_number_from_text(text)
            found = None if number is None else self._by_number.get(number)
        return self._unseen if found is None else found

    def _value_codes(self, array: pa.Array) -> Codes:
        """Codes by comparing numbers: whole numbers exactly, others in the precision of the column.

        So 0.1 is found in a column of single precision: a level that such a column cannot hold is rounded to one it can.
        """
        if not t.is_integer(array.type):
            cells = numbers(array)
            if cells.dtype.kind != "f":
                cells = cells.astype(np.float64)
            return self._number_codes(cells, np.isnan(cells), boolean=bool(t.is_boolean(array.type)))
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else np.zeros(len(array), dtype=bool)
        whole = array.fill_null(0) if array.null_count else array
        return self._number_codes(whole.to_numpy(zero_copy_only=False), missing, boolean=False)

    def _number_codes(self, cells: Values, missing: Flags, *, boolean: bool) -> Codes:
        pairs = [(_level_number(level, boolean), index) for index, level in enumerate(self.column.levels)]
        known = sorted((number, index) for number, index in pairs if number is not None and _holds(cells.dtype, number))
        result = np.full(len(cells), self._unseen, dtype=np.int32)
        if known:
            with np.errstate(over="ignore"):  # a level beyond the range of a narrow type becomes infinite
                levels = np.array([number for number, _ in known], dtype=cells.dtype)
            places = np.searchsorted(levels, cells).clip(max=len(levels) - 1)
            positions = np.array([index for _, index in known], dtype=np.int32)
            result = np.where(levels[places] == cells, positions[places], result)
        result[missing] = self._missing
        return result


def _level_number(level: Level, boolean: bool) -> int | float | None:
    """The number that a level is or spells. None for other strings and for "NaN", which no cell equals."""
    if not isinstance(level, str):
        return level
    if boolean and level.lower() in ("true", "false"):
        return int(level.lower() == "true")
    number = exact_number_from_text(level)
    return None if number is None or number != number else number


def _holds(kind: np.dtype[Any], number: int | float) -> bool:
    """True if a type can hold a number. A floating-point type holds all numbers, rounded."""
    if kind.kind == "f":
        return True
    limits = np.iinfo(kind)
    return bool(number % 1 == 0 and limits.min <= number <= limits.max)
