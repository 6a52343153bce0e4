"""The first release file of kind adassp stays readable for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.golden.make_adassp_1_1 import FORMULA, NAMES, SCHEMA, TERMS, expected, matrix, moments

from noisewise.release import AdasspPart, load
from noisewise.schema import Schema

GOLDEN = Path(__file__).parent / "adassp-1.1.nwr"


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = load(GOLDEN)
    assert release == expected()
    assert (release.version, release.kind, release.formula, release.terms) == ("1.1", "adassp", FORMULA, TERMS)
    assert release.schema == Schema.from_dict(SCHEMA)
    assert release.basis.names == NAMES
    assert [part.rows for part in release.parts] == [1200, 0]
    assert release.extra == release.parts[0].extra == {}


def test_its_numbers_are_exact() -> None:
    part = load(GOLDEN).parts[0]
    assert isinstance(part, AdasspPart)
    assert np.array_equal(part.matrix, matrix(1200, 37.5)) and np.array_equal(part.moments, moments(37.5))
    assert part.matrix[1, 2] == 0.30000000000000004 and part.moments[3] == -1e-17
    found = part.smallest_eigenvalue
    assert (found.value, found.noise, found.epsilon, found.delta, found.sensitivity) == (-121.875, 17.5, 0.25, 1e-08, 4.0625)


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    again = load(GOLDEN).save(tmp_path / "again.nwr")
    assert again.read_bytes() == GOLDEN.read_bytes()
