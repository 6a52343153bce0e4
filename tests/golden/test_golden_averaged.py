"""The golden file with averaged rows stays readable for ever."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.make_averaged_gram_1_1 import expected

from noisewise.release import load

GOLDEN = Path(__file__).parent / "averaged-gram-1.1.nwr"


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = load(GOLDEN)
    assert release == expected()
    assert (release.version, release.kind) == ("1.1", "gram")
    assert [(part.rows, part.average, part.groups) for part in release.parts] == [(1201, 10, 121), (1200, 1, 1200)]


def test_its_kind_is_one_that_version_1_0_does_not_know() -> None:
    assert json.loads(GOLDEN.read_text(encoding="utf-8"))["kind"] == "averaged-gram"


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    assert load(GOLDEN).save(tmp_path / "again.nwr").read_bytes() == GOLDEN.read_bytes()
