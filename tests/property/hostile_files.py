"""Release files that someone made to do harm, and all that must hold whatever is in one."""

from __future__ import annotations

import copy
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from noisewise.errors import NoisewiseError, ReleaseFormatError
from noisewise.release import Release, load
from noisewise.release.format import decode, encode
from noisewise.release.single import SingleRelease

GOLDEN = Path(__file__).parents[1] / "golden"
Place = tuple[str | int, ...]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["drop", "row", "add-remove", "laplace", "wishart", "?", "\ud800"])
    | st.sampled_from([10**400, -(2**63), 2**63 + 1, 1e308, 5e-324, -0.0])
)
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4), max_leaves=10
)


def assert_read_or_refused(data: bytes) -> Release | SingleRelease | None:
    """The release, or None if it was refused in the one way that is allowed; any other exception fails the test.

    A refusal is short and can be shown on a terminal. What is accepted is complete: it can be shown, it is written again with
    everything that the file said, and what is written reads as the same.
    """
    try:
        release = decode(data)
    except ReleaseFormatError as error:
        assert_short_and_printable(error)
        return None
    assert release.describe() and repr(release)
    written = encode(release)
    assert decode(written) == release
    said = json.loads(data)
    said.pop("rules", None)  # words for readers, made anew from the schema
    assert_says_the_same(said, json.loads(written))
    return release


def assert_refused(data: bytes) -> None:
    assert assert_read_or_refused(data) is None


def assert_short_and_printable(error: NoisewiseError) -> None:
    text = str(error)
    assert 0 < len(text) < 2000
    assert not any(unicodedata.category(character) == "Cc" for character in text), "a terminal would obey it"


def assert_says_the_same(given: Any, written: Any) -> None:
    """All that was given is written, and equal; a field that was left out may be written with its default."""
    if isinstance(given, dict):
        assert isinstance(written, dict)
        assert all(name in written or value in (None, {}) for name, value in given.items())
        for name in given.keys() & written.keys():
            assert_says_the_same(given[name], written[name])
    elif isinstance(given, list):
        assert isinstance(written, list) and len(given) == len(written)
        for one, other in zip(given, written, strict=True):
            assert_says_the_same(one, other)
    else:
        if type(given) is int and isinstance(written, float):  # 26019073486328125, say: more digits than a number of a file has
            given = float(given)
        assert written == given and isinstance(written, bool) == isinstance(given, bool)


def assert_no_other_file_is_touched(data: bytes, folder: Path) -> None:
    """By way of files the answer is the same, the file stays as it is, and nothing else appears: least of all half a release."""
    path, copied = folder / "given.nwr", folder / "copied.nwr"
    copied.unlink(missing_ok=True)
    path.write_bytes(data)
    expected = assert_read_or_refused(data)
    if expected is None:
        with pytest.raises(ReleaseFormatError) as refused:
            load(path).save(copied)
        assert_short_and_printable(refused.value)
        assert sorted(folder.iterdir()) == [path]
    else:
        load(path).save(copied)
        assert copied.read_bytes() == encode(expected)
        assert sorted(folder.iterdir()) == [copied, path]
    assert path.read_bytes() == data


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    if path:
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else list(enumerate(value))[:3]
        for key, item in items:
            yield from places(item, (*path, key))


def value_at(path: Place, document: Any) -> Any:
    for step in path:
        document = document[step]
    return document


def changed_at(path: Place, value: Any, document: Any) -> bytes:
    document = copy.deepcopy(document)
    value_at(path[:-1], document)[path[-1]] = value
    return json.dumps(document).encode()


def without(path: Place, document: Any) -> bytes:
    document = copy.deepcopy(document)
    del value_at(path[:-1], document)[path[-1]]
    return json.dumps(document).encode()


def flipped(data: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for position, bit in flips:
        changed[position] ^= 1 << bit
    return bytes(changed)
