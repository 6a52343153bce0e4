"""Reading only the contributions of files with a known beginning gives what reading all of them gives, right or wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import EXAMPLES, OF_HOLDERS, OF_ONE, release_of

import noisewise as nw
from noisewise.errors import ReleaseFormatError
from noisewise.releases.format import document_of, encode
from noisewise.releases.json_text import render
from noisewise.releases.reading import Reader
from noisewise.releases.release import Release

MAKERS: dict[str, Any] = {name: EXAMPLES[name] for name in (*OF_HOLDERS, *OF_ONE)} | {
    "two holders": lambda seed: nw.combine([release_of(seed=seed), release_of(seed=seed + 50)])}


def outcome(reading: Any, path: Path) -> Any:
    try:
        return reading(path)
    except ReleaseFormatError as error:
        return str(error)


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_every_kind_is_read_as_by_itself(make: Any, tmp_path: Path) -> None:
    reader, found = Reader(), []
    for seed in (1, 2, 3):
        path = make(seed=seed).save(tmp_path / f"{seed}.nwr")
        found.append(reader.read(path))
        assert found[-1] == nw.load(path) == make(seed=seed)
    assert (found[0].schema is found[1].schema is found[2].schema) == found[0].kind.holders


def test_unknown_fields_of_a_newer_format_are_kept(tmp_path: Path) -> None:
    reader = Reader()
    for seed in (1, 2):
        document = document_of(release_of(seed=seed))
        contributions = document.pop("contributions")
        document["colour"] = "blue"
        contributions[0]["taste"] = ["sweet", seed]
        (tmp_path / "a.nwr").write_text(render({**document, "contributions": contributions}))
        found = reader.read(tmp_path / "a.nwr")
        assert isinstance(found, Release) and found == nw.load(tmp_path / "a.nwr")
        assert found.extra == {"colour": "blue"} and found.contributions[0].extra == {"taste": ["sweet", seed]}


def test_files_that_are_written_otherwise_are_read_too(tmp_path: Path) -> None:
    reader = Reader()
    for seed in (1, 2):
        (tmp_path / "a.nwr").write_text(json.dumps(json.loads(encode(release_of(seed=seed)))))
        found = reader.read(tmp_path / "a.nwr")
        assert isinstance(found, Release) and found == release_of(seed=seed)


def test_fields_after_the_contributions_are_not_overlooked(tmp_path: Path) -> None:
    """Nor may they repeat a field before them, which one of two readers would then believe."""
    reader, text = Reader(), encode(release_of()).decode()
    (tmp_path / "a.nwr").write_text(text)
    reader.read(tmp_path / "a.nwr")
    for more, words in (('"kind": "moments"', "only once"), ('"contributions": []', "only once"), ('"colour": "blue"', None)):
        (tmp_path / "b.nwr").write_text(text.rstrip()[:-1] + f", {more}}}")
        if words is None:
            found = reader.read(tmp_path / "b.nwr")
            assert isinstance(found, Release) and found.extra == {"colour": "blue"}
        else:
            with pytest.raises(ReleaseFormatError, match=words):
                reader.read(tmp_path / "b.nwr")


def test_damaged_files_are_judged_as_by_themselves(tmp_path: Path) -> None:
    rng, good = np.random.default_rng(1), encode(release_of(seed=2))
    first, path = release_of(seed=1).save(tmp_path / "first.nwr"), tmp_path / "damaged.nwr"
    signs = [bytes([sign]) for sign in b'0123456789-+.eE"{}[],: \n\\antruf\x00\xff']
    start = good.index(b'"contributions"')
    refused = 0
    for _ in range(300):
        place, length = int(rng.integers(start - 20, len(good))), int(rng.integers(0, 3))
        path.write_bytes(good[:place] + b"".join(rng.choice(signs, 2)) + good[place + length:])
        reader = Reader()
        reader.read(first)
        expected = outcome(nw.load, path)
        assert outcome(reader.read, path) == expected
        refused += isinstance(expected, str)
    assert 50 < refused < 300  # both were tried
