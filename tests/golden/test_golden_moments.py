"""The first release file of kind moments stays readable for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.golden.make_moments_1_3 import FORMULA, NAMES, SCHEMA, TERMS, WEIGHTS, expected, sums

from noisewise.release import MomentsPart, load
from noisewise.schema import Schema

GOLDEN = Path(__file__).parent / "moments-1.3.nwr"


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = load(GOLDEN)
    assert release == expected()
    assert (release.version, release.kind, release.formula, release.terms) == ("1.3", "moments", FORMULA, TERMS)
    assert release.schema == Schema.from_dict(SCHEMA)
    assert release.basis.names == NAMES and release.blocks == tuple(WEIGHTS)
    assert [part.rows for part in release.parts] == [1200, 0]
    assert release.extra == release.parts[0].extra == {}


def test_its_numbers_are_exact() -> None:
    part = load(GOLDEN).parts[0]
    assert isinstance(part, MomentsPart)
    for name, block in part.blocks.items():
        assert np.array_equal(block.sums, sums(name, 37.5)) and block.weight == WEIGHTS[name], name
    assert part.blocks["yx"].sums[1] == 0.30000000000000004 and part.blocks["yx"].sums[2] == -1e-17
    assert part.blocks["xx"].noise == 21.125
    assert part.matrix[1, 2] == sums("xx", 37.5)[1] and part.matrix[2, -1] == 0.30000000000000004


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    again = load(GOLDEN).save(tmp_path / "again.nwr")
    assert again.read_bytes() == GOLDEN.read_bytes()
