"""Untyped cells as numbers or strings, by a total function: a public rule covers whatever a cell holds.

The result depends on that cell alone, never on its neighbours or on how rows were batched.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, SupportsFloat, cast

import numpy as np
import pyarrow as pa

from noisewise.arrays import Values
from noisewise.data.sources.base import Role, unusable


def number_from_text(text: str | bytes) -> float | None:
    """The number that a string spells in ASCII, or None.

    >>> number_from_text(" 1e3 "), number_from_text("abc"), number_from_text("1_000"), number_from_text("\u0663")
    (1000.0, None, None, None)
    """
    try:
        plain = text.decode("ascii") if isinstance(text, bytes) else text
        return float(plain) if plain.isascii() and "_" not in plain else None
    except (ValueError, OverflowError):
        return None


def exact_number_from_text(text: str | bytes) -> int | float | None:
    """The same, except that a whole number without point and exponent is not rounded to a double.

    >>> exact_number_from_text("9007199254740993"), exact_number_from_text("2.50")
    (9007199254740993, 2.5)
    """
    number = number_from_text(text)
    if number is None or not math.isfinite(number):
        return number
    try:
        return int(text)
    except ValueError:
        return number


def numbers_from_text(texts: pa.Array) -> pa.Array:
    """An array of strings as float64, where anything that is not a number is missing.

    Arrow's own parser is tried first. It accepts only strings that `number_from_text` accepts, with the same value (both round
    correctly), so the two ways agree on every cell.
    """
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        encoded = texts.dictionary_encode()
    distinct = encoded.dictionary.cast(pa.binary()).to_pylist()
    return pa.array([number_from_text(text) for text in distinct], pa.float64()).take(encoded.indices)


def number_from_object(cell: object) -> float | None:
    """A Python object as a number, or None if it is not one."""
    if isinstance(cell, (str, bytes)):
        return number_from_text(cell)
    try:
        return float(cast(SupportsFloat, cell))
    except OverflowError:
        # Whole numbers and fractions beyond the range of a double are clipped like any number outside the bounds.
        return math.inf if isinstance(cell, (int, Fraction)) and cell > 0 else -math.inf
    except Exception:  # a cell may hold an object of any class, and none may stop the pass
        return None


def text_from_object(cell: object) -> str | None:
    """The string to compare with levels for a Python object, or None if it is missing.

    >>> text_from_object(2.0), text_from_object(True), text_from_object(float("nan"))
    ('2', 'true', None)
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if isinstance(cell, (float, np.floating)):
        if math.isnan(cell):
            return None
        return str(int(cell)) if math.isfinite(cell) and cell == int(cell) else repr(float(cell))
    try:
        text = str(cell)
    except Exception:  # as above
        return None
    return None if text in ("NaT", "<NA>", "nan", "NaN") else text


def from_numpy(values: Values, role: Role) -> pa.Array:
    """A NumPy column as an Arrow array, without a copy where Arrow can do so."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    plain = np.ma.getdata(values) if mask is not None else values
    kind = plain.dtype.kind
    if kind in "OU":
        return _from_objects(values.tolist(), role)  # masked cells become None
    if kind == "f" and plain.dtype.itemsize > 8:
        plain = plain.astype(np.float64)
    if not plain.dtype.isnative:
        plain = plain.astype(plain.dtype.newbyteorder("="))
    return pa.array(plain, mask=mask)


def _from_objects(cells: list[object], role: Role) -> pa.Array:
    if role == "number":
        return pa.array([number_from_object(cell) for cell in cells], pa.float64())
    texts = (text_from_object(cell) for cell in cells)
    # As bytes, because a Python string may hold half of a surrogate pair, which UTF-8 cannot.
    return pa.array([None if text is None else text.encode("utf-8", "replace") for text in texts], pa.binary())


def numpy_type(dtype: np.dtype[Any]) -> pa.DataType:
    """The Arrow type of a NumPy column, from its dtype alone."""
    if dtype.kind in "OUS":
        return pa.binary() if dtype.kind == "S" else pa.string()
    if dtype.kind == "f" and dtype.itemsize > 8:
        return pa.float64()
    try:
        return pa.from_numpy_dtype(dtype.newbyteorder("="))
    except (pa.ArrowException, TypeError, ValueError):
        return unusable(str(dtype))
