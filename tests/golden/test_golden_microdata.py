"""The first release of kind microdata stays readable for ever, its rows too."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from tests.golden.make_microdata_1_4 import GRID_ROWS, expected

from noisewise.release import MicrodataRelease, load

GOLDEN = Path(__file__).parent / "microdata-1.4.nwr"
SHA256 = "7cb3654cf8331f3b93bc151acca1dd1c931f2edc08b838febdaf078dab32be6c"
TABLE = [
    {"ward": "A", "age": 18.0, "smoker": False, "Größe (cm)": 185.0625, "grade": "1", "copy": 1},
    {"ward": "B", "age": 12.2236328125, "smoker": False, "Größe (cm)": 182.96915817260742, "grade": "3.5", "copy": 2},
    {"ward": "C", "age": 58.000267028808594, "smoker": True, "Größe (cm)": 139.87474143505096, "grade": "two", "copy": 1},
    {"ward": "C", "age": 172.44091796875, "smoker": True, "Größe (cm)": -51.65457272529602, "grade": "two", "copy": 2},
    {"ward": "B", "age": 97.99996185302734, "smoker": False, "Größe (cm)": 139.875, "grade": "3.5", "copy": 1},
    {"ward": "A", "age": 57.99980926513672, "smoker": True, "Größe (cm)": 10780.40778529644, "grade": "1", "copy": 2},
]


def golden() -> MicrodataRelease:
    found = load(GOLDEN)
    assert isinstance(found, MicrodataRelease)
    return found


def test_it_says_what_it_always_said() -> None:
    found = golden()
    assert found.version == "1.4"
    assert found.file.sha256 == SHA256
    assert dataclasses.replace(found, file=expected().file) == expected()
    assert GOLDEN.read_text(encoding="utf-8").startswith('{\n  "format": "noisewise-release",\n  "version": "1.4",\n')


def test_its_rows_are_what_they_always_were() -> None:
    assert golden().table().to_pylist() == TABLE


def test_its_rows_in_scaled_units() -> None:
    scaled = golden().scaled()
    assert np.array_equal(scaled.numbers, GRID_ROWS[:, :, :2].transpose(1, 0, 2) * 2.0**-20)
    for place, name in enumerate(("ward", "smoker", "grade"), start=2):
        assert np.array_equal(scaled.codes[name], GRID_ROWS[:, :, place].T)
    assert scaled.noise.tolist() == [2.0, 2.0] and scaled.laplace
