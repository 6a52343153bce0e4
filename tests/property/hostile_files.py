"""Release files that someone made to do harm, and all that must hold whatever is in one."""

from __future__ import annotations

import copy
import json
import shutil
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.golden.make_golden import GOLDEN, ROWS_FILE, path_of

from noisewise.errors import FitError, NoisewiseError, NoisewiseWarning, ReleaseError, ReleaseFormatError
from noisewise.literature.adassp import point_estimate
from noisewise.releases.files import load
from noisewise.releases.format import decode, encode
from noisewise.releases.release import Release
from noisewise.releases.start import start

Place = tuple[str | int, ...]
FILES = {name: path_of(name).read_bytes() for name in GOLDEN}
DOCUMENTS: dict[str, Any] = {name: json.loads(data) for name, data in FILES.items()}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["drop", "row", "add-remove", "gaussian", "laplace", "wishart", "?", "\ud800", "1.0", "1.1"])
    | st.sampled_from([10**400, -(2**63), 2**63 + 1, 2**53, 1e308, 5e-324, -0.0, 64, 65, 4.0625, -4.0625])
)
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4), max_leaves=10
)


# What must hold ------------------------------------------------------------------------------------------------------------


def assert_read_or_refused(data: bytes) -> Release | None:
    """The release, or None if it was refused in the one way that is allowed; any other exception fails the test.

    What is accepted is complete: it can be shown and used, it is written again with everything that the file said, and what is
    written reads as the same.
    """
    try:
        release = decode(data)
    except ReleaseFormatError as error:
        assert_says_what_is_wrong(error)
        return None
    assert release.describe() and repr(release) and json.dumps(release.facts(), allow_nan=False)
    written = encode(release)
    assert decode(written) == release
    said = json.loads(data)
    said.pop("rules", None)  # words for readers, made anew from the schema
    assert_says_the_same(said, json.loads(written))
    for one in release.contributions:
        USABLE[release.kind.name](release, one)
    return release


def assert_refused(data: bytes) -> None:
    assert assert_read_or_refused(data) is None


def assert_says_what_is_wrong(error: NoisewiseError) -> None:
    """The rule, what was found and what to do, in a few lines that a terminal can show."""
    assert error.rule.strip(": ") and error.found and error.advice
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
    path, copied, beside = folder / "given.nwr", folder / "copied.nwr", folder / ROWS_FILE.name
    copied.unlink(missing_ok=True)
    shutil.copy(path_of("rows").with_name(ROWS_FILE.name), beside)
    path.write_bytes(data)
    expected = assert_read_or_refused(data)
    there = [path, beside]
    try:
        load(path).save(copied)
    except ReleaseFormatError as error:
        assert_says_what_is_wrong(error)
        assert expected is None or expected.contributions[0].file != ROWS_FILE
    except ReleaseError as error:  # it names another file of rows, which is not there
        assert_says_what_is_wrong(error)
        assert expected is not None and expected.contributions[0].file.name != ROWS_FILE.name
    else:
        assert expected is not None and copied.read_bytes() == encode(expected)
        there.append(copied)
    assert sorted(folder.iterdir()) == sorted(there)
    assert path.read_bytes() == data


# What can be used ----------------------------------------------------------------------------------------------------------


def _gram(release: Release, one: Any) -> None:
    """Its columns have a bound, and Wishart noise is what its degrees of freedom say."""
    assert release.basis.radius > 0 and np.isfinite(one.matrix).all()
    if one.noise.distribution == "wishart":
        assert one.noise.degrees >= one.size
        assert one.noise.diagonal == pytest.approx(one.noise.scale * (2 * one.noise.degrees) ** 0.5)


def _adassp(release: Release, one: Any) -> None:
    """It gives finite coefficients, unless its formula does not fit its columns."""
    assert release.formula is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisewiseWarning)
        try:
            assert np.isfinite(point_estimate(release.formula, release).coefficients).all()
        except FitError as error:
            assert_says_what_is_wrong(error)


def _moments(release: Release, one: Any) -> None:
    """Its sums are finite, and its noise is no less than none."""
    assert np.isfinite(one.matrix).all() and (one.variances >= 0).all()


def _model(release: Release, one: Any) -> None:
    """Its noise has shares of a budget, its matrices have a row for each coefficient, and the last round can be begun from."""
    assert sum(one.shares()) == pytest.approx(1.0) and len(one.look.sums) == one.layout.size
    assert all(found.matrix.shape == (one.terms, one.terms) and np.isfinite(found.matrix).all() for found in one.rounds)
    alone = release.with_contributions((one,))
    assert len(start(alone).coefficients) == one.terms


def _partition(release: Release, one: Any) -> None:
    """There is noise on every number, and its limits hold a number."""
    assert one.noise > 0 and all(number.lower < number.upper for number in one.numbers)


def _rows(release: Release, one: Any) -> None:
    assert all(noise.scale > 0 for noise in one.numbers.values()) and all(noise.keep < 1 for noise in one.levels.values())


def _bounds(release: Release, one: Any) -> None:
    assert one.to_toml() and all(np.isfinite(one[name]).all() for name in release.kind.of)  # type: ignore[attr-defined]


def _binary(release: Release, one: Any) -> None:
    assert one.alpha > 0 and all(0 <= count <= one.synthetic_rows for count in one.counts)


USABLE: dict[str, Callable[[Release, Any], None]] = {
    "gram": _gram, "model": _model, "adassp": _adassp, "moments": _moments, "partition": _partition, "rows": _rows,
    "bounds": _bounds, "binary": _binary}
"""By kind: what can be done with every accepted release."""


# Changed files -------------------------------------------------------------------------------------------------------------


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Every place of a document; of a list the first three."""
    if path:
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else list(enumerate(value))[:3]
        for key, item in items:
            yield from places(item, (*path, key))


PLACES = {name: list(places(document)) for name, document in DOCUMENTS.items()}


def value_at(path: Place, document: Any) -> Any:
    for step in path:
        document = document[step]
    return document


def changed_at(path: Place, value: Any, document: Any) -> bytes:
    document = copy.deepcopy(document)
    value_at(path[:-1], document)[path[-1]] = value
    return json.dumps(document).encode()


def raw_at(path: Place, text: str, document: Any) -> bytes:
    """With a text in a place, whether it is JSON or not."""
    mark = "in the place of this"
    return changed_at(path, mark, document).replace(json.dumps(mark).encode(), text.encode("utf-8"))


def without(path: Place, document: Any) -> bytes:
    document = copy.deepcopy(document)
    del value_at(path[:-1], document)[path[-1]]
    return json.dumps(document).encode()


def flipped(data: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(data)
    for position, bit in flips:
        changed[position] ^= 1 << bit
    return bytes(changed)


def dotted(path: Place) -> str:
    return ".".join(map(str, path))
