"""JSON text: a reader that trusts nothing, and a writer whose output people can read.

Python's own JSON reader accepts NaN, repeated keys, numbers too large for any machine type and nesting of any depth. Here each of
these raises `ReleaseFormatError`. Nothing in a file is ever evaluated, looked up or imported.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np

from noisewise.errors import ReleaseFormatError

MAX_DEPTH: Final = 32
LINE_LENGTH: Final = 100
MAX_INTEGER: Final = 2**63
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_WORTH_A_LOOK: Final = (dict, list, str)
_OTHER_FORMATS: Final = (
    (b"\xef\xbb\xbf", "a byte order mark before the text", None),
    (b"\xff\xfe", "UTF-16 text", None),
    (b"\xfe\xff", "UTF-16 text", None),
    (b"\x80", "a Python pickle, which is never opened", None),
    (b"PK", "a zip archive", "give the release file (.nwr); `--save` writes results (.npz), which are "
                             "for `noisewise check` and `noisewise report`"),
    (b"\x1f\x8b", "a gzip archive", None),
    (b"PAR1", "a Parquet file", "the data holder turns a table into a release: noisewise.release"),
)


@dataclass(frozen=True)
class Triangle:
    """The upper triangle of a matrix of finite numbers, written with one line per row of the matrix."""

    values: Sequence[float]
    size: int


def parse(data: bytes) -> dict[str, Any]:
    """Parse a JSON object; anything else raises `ReleaseFormatError`."""
    for start, meaning, remedy in _OTHER_FORMATS:
        if data.startswith(start):
            raise ReleaseFormatError("a release file must be JSON in UTF-8 without a byte order mark", found=meaning,
                                     remedy=remedy)
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_float=_float, parse_int=_integer,
                              parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise ReleaseFormatError("a release file must be text in UTF-8", found=f"other bytes at position {error.start}") from None
    except json.JSONDecodeError as error:
        raise ReleaseFormatError("this is not valid JSON",
                                 found=f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}",
                                 remedy="the file may be truncated or damaged: get a new copy") from None
    except RecursionError:
        _too_deep()
    except MemoryError:
        raise ReleaseFormatError("the file does not fit into this machine's memory") from None
    if not isinstance(document, dict):
        raise ReleaseFormatError("a release file must hold one JSON object", found=f"a JSON {type(document).__name__}")
    _check_depth_and_text(document)
    return document


def short(value: object) -> str:
    """A value as text for a message, never long."""
    try:
        text = reprlib.repr(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        text = "a number with thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        [(repeated, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ReleaseFormatError("a key may appear only once in an object", found=short(repeated))
    return document


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ReleaseFormatError("numbers must be finite doubles", found=text[:40])
    return number


def _integer(text: str) -> int:
    # Length first: Python refuses to convert thousands of digits.
    if len(text) > 20 or abs(int(text)) > MAX_INTEGER:
        raise ReleaseFormatError("whole numbers must fit into 64 bits", found=text[:40])
    return int(text)


def _constant(text: str) -> NoReturn:
    raise ReleaseFormatError("numbers must be finite", found=text)


def _too_deep() -> NoReturn:
    raise ReleaseFormatError(f"objects and lists may be nested at most {MAX_DEPTH} levels deep", found="deeper nesting") from None


def _check_depth_and_text(document: dict[str, object]) -> None:
    """Limit depth, so that later code can recurse; refuse control characters, so that text is safe on any terminal."""
    waiting: list[tuple[Any, int]] = [(document, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            if _UNPRINTABLE.search(value):
                raise ReleaseFormatError("text must not contain control characters or lone surrogates", found=short(value))
            continue
        if depth > MAX_DEPTH:
            _too_deep()
        if isinstance(value, dict):
            waiting.extend((key, depth) for key in value)
            value = list(value.values())
        waiting.extend((item, depth + 1) for item in value if isinstance(item, _WORTH_A_LOOK))


def render(value: object, indent: str = "") -> str:
    """The value as JSON text: on one line if it fits, else one item per line. A `Triangle` always has its own lines."""
    deeper = indent + "  "
    if isinstance(value, Triangle):
        ends = np.cumsum(np.arange(value.size, 0, -1)).tolist()
        items = [", ".join(map(float.__repr__, value.values[start:end])) for start, end in pairwise([0, *ends])]
        brackets = "[]"
    else:
        on_one_line = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_too_long)
        if not isinstance(value, dict | list) or len(indent) + len(on_one_line) <= LINE_LENGTH:
            return on_one_line
        if isinstance(value, dict):
            items, brackets = [f"{render(key)}: {render(item, deeper)}" for key, item in value.items()], "{}"
        else:
            items, brackets = [render(item, deeper) for item in value], "[]"
    between = f",\n{deeper}".join(items)
    return f"{brackets[0]}\n{deeper}{between}\n{indent}{brackets[1]}"


def _too_long(value: object) -> str:
    """A placeholder for a `Triangle`, too long for one line."""
    if isinstance(value, Triangle):
        return " " * LINE_LENGTH
    raise TypeError(f"{type(value).__name__} is not JSON data")
