"""A release of published rows: what it must state, its file and its rows, which are read only if they are the right ones."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden.make_microdata_1_4 import SCHEMA as DECLARED
from tests.golden.make_microdata_1_4 import expected, write

from noisewise.errors import ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.release import MicrodataRelease, load
from noisewise.release.files import load_matrices
from noisewise.release.format import decode, encode
from noisewise.release.microdata import LevelNoise, NumberNoise, RowsFile
from noisewise.schema import Schema

SCHEMA = Schema.from_dict(DECLARED)


@pytest.fixture
def release(tmp_path: Path) -> MicrodataRelease:
    write(tmp_path / "rows.nwr")
    found = load(tmp_path / "rows.nwr")
    assert isinstance(found, MicrodataRelease)
    return found


def changed(release: MicrodataRelease, **columns: Any) -> MicrodataRelease:
    return dataclasses.replace(release, columns={**release.columns, **columns})


def test_what_is_written_is_read_back(release: MicrodataRelease) -> None:
    assert decode(encode(release)) == release
    assert release.describe().startswith("noisewise release of kind microdata: 3 rows, 5 columns, 2 copies")
    assert repr(release).startswith("<Release microdata: 3 rows")


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "copies": ({"copies": 0}, "copies must be a whole number"),
    "mechanism": ({"mechanism": "wishart"}, "the mechanism of a microdata release"),
    "mechanism of other noise": ({"mechanism": "gaussian", "delta": 1e-6}, "the noise on numbers is that of the mechanism"),
    "delta": ({"delta": 1e-6}, "if and only if its noise is Gaussian"),
    "rows": ({"rows": None}, "the number of rows is stated exactly"),
    "more rows than bytes": ({"rows": 10**6}, "at least 32000000 bytes"),
    "add-remove": ({"schema": Schema.from_dict({**DECLARED, "adjacency": "add-remove"}), "rows": None}, "only under replace-one"),
    "columns": ({"columns": {}}, "one noise for each declared column"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused(name: str, release: MicrodataRelease) -> None:
    change, words = CONTRADICTIONS[name]
    with pytest.raises(ReleaseError, match=words):
        dataclasses.replace(release, **change)


@pytest.mark.parametrize(("columns", "words"), [
    ({"age": NumberNoise(0.3, "laplace", 1.0)}, "add up to 1"),
    ({"age": NumberNoise(0.2, "laplace", 0.0)}, "positive and of ordinary size"),
    ({"age": NumberNoise(0.2, "cauchy", 1.0)}, "that of the mechanism"),
    ({"age": LevelNoise(0.2, 0.9)}, "numbers have noise of a scale"),
    ({"ward": LevelNoise(0.2, 0.2)}, "from 1/3 to below 1"),
    ({"ward": LevelNoise(0.2, 1.0)}, "from 1/3 to below 1"),
    ({"ward": LevelNoise(-0.2, 0.9)}, "share is positive"),
])
def test_noise_that_no_release_has_is_refused(columns: dict[str, Any], words: str, release: MicrodataRelease) -> None:
    with pytest.raises(ReleaseError, match=words):
        changed(release, **columns)


@pytest.mark.parametrize("name", ["../rows.parquet", "/etc/rows.parquet", "a\\b.parquet", "C:rows.parquet", ".rows.parquet",
                                  "rows.csv", "rows\n.parquet", "", "..", "x" * 300 + ".parquet", 7])
def test_rows_lie_beside_the_release_file_and_nowhere_else(name: Any) -> None:
    with pytest.raises(ReleaseError, match="a plain name that ends in .parquet"):
        RowsFile(name, 0, "0" * 64)


@pytest.mark.parametrize(("size", "digest"), [(-1, "0" * 64), (1.5, "0" * 64), (1, "0" * 63), (1, "Z" * 64), (1, None)])
def test_size_and_digest_have_their_form(size: Any, digest: Any) -> None:
    with pytest.raises(ReleaseError):
        RowsFile("rows.parquet", size, digest)


def test_saving_elsewhere_brings_the_rows_along(release: MicrodataRelease, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    release.save(other / "again.nwr")
    found = load(other / "again.nwr")
    assert isinstance(found, MicrodataRelease)
    assert found == release and found.table() == release.table()
    assert sorted(os.listdir(other)) == ["again.nwr", release.file.name]
    release.save(other / "again.nwr")  # what is there already is the right one


def test_saving_beside_other_rows_is_refused(release: MicrodataRelease, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / release.file.name).write_bytes(b"other rows")
    with pytest.raises(ReleaseFormatError, match="not the one"):
        release.save(other / "again.nwr")
    assert os.listdir(other) == [release.file.name]


def test_rows_that_cannot_be_copied_leave_nothing_behind(release: MicrodataRelease, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(ReleaseWriteError, match="could not be copied"):
        release.save(other / "again.nwr")
    assert not os.listdir(other)


def test_a_release_that_does_not_know_its_place_says_so(release: MicrodataRelease) -> None:
    lost = decode(encode(release))
    assert isinstance(lost, MicrodataRelease)
    with pytest.raises(ReleaseError, match="does not know where its rows are"):
        lost.table()


def test_missing_rows_are_named(release: MicrodataRelease) -> None:
    release.rows_path.unlink()
    with pytest.raises(ReleaseError, match=r"rows\.rows\.parquet: No such file"):
        release.scaled()


def test_it_is_not_fitted_as_a_matrix(release: MicrodataRelease, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="kind microdata"):
        load_matrices(tmp_path / "rows.nwr")


def test_levels_of_every_type_come_back(release: MicrodataRelease) -> None:
    table, scaled = release.table(), release.scaled()
    for name, codes in scaled.codes.items():
        levels = release.schema.column(name).levels  # type: ignore[union-attr]
        values = [levels[code] for code in codes.T.ravel()]
        assert [str(value) for value in table.column(name).to_pylist()] == [str(value) for value in values]
    assert np.array_equal(np.stack([batch.num_rows for batch in release.batches()]), [6])


def test_unknown_fields_are_kept(release: MicrodataRelease, tmp_path: Path) -> None:
    document = json.loads((tmp_path / "rows.nwr").read_text(encoding="utf-8"))
    document["version"] = "1.9"
    document["columns"]["age"]["later"] = 1
    document["rows_file"]["rows_in_a_group"] = 7
    (tmp_path / "later.nwr").write_text(json.dumps(document), encoding="utf-8")
    found = load(tmp_path / "later.nwr")
    found.save(tmp_path / "kept.nwr")
    kept = json.loads((tmp_path / "kept.nwr").read_text(encoding="utf-8"))
    assert (kept["columns"]["age"]["later"], kept["rows_file"]["rows_in_a_group"], kept["version"]) == (1, 7, "1.9")


def test_the_expected_release_is_that_of_the_file(release: MicrodataRelease) -> None:
    assert release.columns == expected().columns
