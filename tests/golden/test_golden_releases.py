"""Release files of every format version stay readable for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.golden.make_gram_1_0 import NAMES, SCHEMA, TERMS, expected, matrix

from noisewise.release import load
from noisewise.schema import Schema

GOLDEN = Path(__file__).parent / "gram-1.0.nwr"


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = load(GOLDEN)
    assert release == expected()
    assert release.version == "1.0"
    assert release.schema == Schema.from_dict(SCHEMA)
    assert release.terms == TERMS
    assert release.basis.names == NAMES
    assert [part.rows for part in release.parts] == [1200, 0]
    assert release.parts[0].noise.variances(11)[0, 1] == (21.125 / 2**0.5) ** 2
    assert release.extra == release.parts[0].extra == {}


def test_its_numbers_are_exact() -> None:
    first = load(GOLDEN).parts[0].matrix
    assert np.array_equal(first, matrix(1200, 37.5))
    assert first[1, 2] == 0.30000000000000004


def test_levels_keep_their_types() -> None:
    schema = load(GOLDEN).schema
    assert [repr(level) for name in ("grade", "smoker") for level in schema.column(name).levels] == [  # type: ignore[union-attr]
        "1", "2", "3", "False", "True",
    ]


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    again = load(GOLDEN).save(tmp_path / "again.nwr")
    assert again.read_bytes() == GOLDEN.read_bytes()
