"""The golden file with Wishart noise stays readable for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden.make_gram_1_2 import DEGREES, SCALE, expected

from noisewise.errors import ReleaseFormatError
from noisewise.release import load
from noisewise.release.format import decode

GOLDEN = Path(__file__).parent / "gram-1.2.nwr"


def test_the_golden_file_holds_what_it_always_held() -> None:
    release = load(GOLDEN)
    assert release == expected()
    assert (release.version, release.kind) == ("1.2", "gram")
    noise = release.parts[0].noise
    assert (noise.distribution, noise.degrees, noise.scale) == ("wishart", DEGREES, SCALE)
    assert (noise.diagonal, noise.off_diagonal, noise.corner) == (49.42244555867303, 34.94694639736067, 0.0)
    assert release.parts[1].noise.distribution == "gaussian"


def test_its_noise_is_one_that_older_versions_do_not_know() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert document["parts"][0]["noise"] == {"distribution": "wishart", "diagonal": 49.42244555867303,
                                             "off_diagonal": 34.94694639736067, "corner": 0.0,
                                             "degrees_of_freedom": 74, "scale": 4.0625}
    with pytest.raises(ReleaseFormatError, match="wishart noise came with version 1.2"):
        decode(json.dumps({**document, "version": "1.1"}).encode())


def test_saving_reproduces_the_file_byte_for_byte(tmp_path: Path) -> None:
    assert load(GOLDEN).save(tmp_path / "again.nwr").read_bytes() == GOLDEN.read_bytes()
