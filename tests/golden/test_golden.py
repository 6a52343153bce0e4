"""Release files of format 1.0 stay readable for ever, and a ledger knows again what was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden.make_golden import FOLDER, GOLDEN, GRID_ROWS, QUESTIONS, ROWS_FILE, matrix, path_of, write_rows
from typer.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app
from noisewise.errors import ReleaseFormatError
from noisewise.holder.request import Request
from noisewise.kinds import kinds
from noisewise.releases.format import decode, encode
from noisewise.releases.source import source_of

every_file = pytest.mark.parametrize("name", GOLDEN)

SOURCES: dict[str, str] = {
    "gram": "e44cf689b79d8eab", "gram-laplace": "4575905d7b08df7a", "gram-wishart": "cf419d3f3bbdfbba",
    "gram-averaged": "fffe13de66c18049", "gram-holders": "4b12b5d56d65dc75", "model": "fd36d56b08627150",
    "model-start": "7d4a12a31543407e", "moments": "fe1aa97b36b10916",
    "adassp": "a057f4d1584e6607", "partition": "1cb07558be2ac9df", "partition-k-norm": "97d39ae7f0508e08",
    "rows": "12bdde7fa2585c70", "bounds": "1af07e2285f20f0a", "binary": "a90407650c879863",
}
"""What a result says that it was made from: a fit of today is told from others by every later version."""

REQUESTS: dict[str, str] = {
    "gram": "3ab506b7e991da46", "gram-laplace": "a45a530e56d9d7f0", "gram-wishart": "9c252881742b1f39",
    "gram-averaged": "1e36916a96b7b6fd", "gram-holders": "e29783dfe1160d0a", "model": "49163b3f2f776e51",
    "model-start": "d14ffb0e804da897", "moments": "d9b9cd34ac47b73b",
    "adassp": "5625f644a29b0917", "partition": "257bd2911c4deae9", "partition-k-norm": "f62a21f6c69ed4ae",
    "rows": "33a62db74d3d5094", "bounds": "ed7388fec39b83ff", "binary": "b93eabab4bc95e46",
}
"""What a ledger knows a request by: the same question is answered with what was released before, by every later version."""


def test_every_kind_has_a_golden_file() -> None:
    """A kind that is added needs one."""
    assert {GOLDEN[name]().kind.name for name in GOLDEN} == {kind.name for kind in kinds()}
    assert {path.name for path in FOLDER.glob("*.nwr")} == {path_of(name).name for name in GOLDEN}


@every_file
def test_a_file_holds_what_it_always_held(name: str) -> None:
    release, expected = nw.load(path_of(name)), GOLDEN[name]()
    assert release == expected and release.version == "1.0" and release.extra == {}
    assert release.kind.to_dict() == expected.kind.to_dict()  # also in the order of their names
    assert [column.name for column in release.schema.columns] == [column.name for column in expected.schema.columns]
    assert all(one.extra == {} for one in release.contributions)


@every_file
def test_writing_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    data = path_of(name).read_bytes()
    assert nw.load(path_of(name)).save(tmp_path / "again.nwr").read_bytes() == data == encode(GOLDEN[name]())


@every_file
def test_a_file_has_the_source_that_it_always_had(name: str) -> None:
    release = nw.load(path_of(name))
    assert source_of(release)[:16] == SOURCES[name]
    assert len(set(release.fingerprints())) == release.holders


@every_file
def test_a_ledger_knows_the_request_again(name: str) -> None:
    release = nw.load(path_of(name))
    one = release.contributions[0]
    request = Request(release.kind, release.schema, one.epsilon, one.delta)
    assert request.digest()[:16] == REQUESTS[name]
    assert Request(release.kind, release.schema, one.epsilon, one.delta, edition="2027").digest()[:16] != REQUESTS[name]


@every_file
def test_a_file_is_shown(name: str) -> None:
    """In words for people, as data for machines, and by the command."""
    release = nw.load(path_of(name))
    assert f"release of kind {release.kind.name}: " in release.describe() and release.kind.name in repr(release)
    facts = json.loads(json.dumps(release.facts(), allow_nan=False))
    assert facts["kind"] == release.kind.to_dict() and facts["format_version"] == "1.0"
    assert [one["epsilon"] for one in facts["contributions"]] == [one.epsilon for one in release.contributions]
    shown = CliRunner().invoke(app, ["show", str(path_of(name)), "--json"])
    assert shown.exit_code == 0 and json.loads(shown.stdout)["kind"] == facts["kind"]


# What is exact -------------------------------------------------------------------------------------------------------------


def test_numbers_are_exact() -> None:
    first = nw.load(path_of("gram")).contents.matrix
    assert np.array_equal(first, matrix(1200, 37.5)) and (first[1, 2], first[3, 4]) == (0.30000000000000004, -1e-17)
    assert nw.load(path_of("moments")).contributions[0].blocks["yx"].sums[1] == 0.30000000000000004
    assert nw.load(path_of("adassp")).contributions[1].moments[3] == -1e-17
    model = nw.load(path_of("model")).contributions[0]
    assert (model.look.sums[5], model.rounds[2].spread[3, 4], model.rounds[0].matrix[1, 2]) == (
        0.30000000000000004, -1e-17, 0.30000000000000004)
    release = nw.load(path_of("partition"))
    location, scale = release.contents.of(release.kind, QUESTIONS[3])
    assert release.contents.numbers[1].sum == 0.30000000000000004
    assert (location.mean(100), scale.mean(100)) == (2.3, 0.2 * 81.25 / 100)


def test_noise_and_averages_mean_what_they_meant() -> None:
    assert nw.load(path_of("gram")).contents.variances[0, :2].tolist() == [0.0, (26.881 / 2**0.5) ** 2]
    noise = nw.load(path_of("gram-wishart")).contents.noise
    assert (noise.diagonal, noise.off_diagonal, noise.corner) == (46.31962664465249, 32.75292210246286, 0.0)
    averaged = nw.load(path_of("gram-averaged")).contents
    assert (averaged.rows, averaged.average, averaged.groups) == (1201, 10, 121)
    moments = nw.load(path_of("moments")).contributions[0]
    assert moments.matrix[1, 2] == moments.blocks["xx"].sums[1] and moments.variances[1, 2] == 32.2341**2 / 2


def test_levels_keep_their_types() -> None:
    schema = nw.load(path_of("gram")).schema
    assert [repr(level) for name in ("grade", "smoker") for level in schema.column(name).levels] == [  # type: ignore[union-attr]
        "1", "2", "3", "False", "True",
    ]


TABLE = [
    {"ward": "A", "age": 18.0, "smoker": False, "Größe (cm)": 185.0625, "grade": "1", "copy": 1},
    {"ward": "B", "age": 12.2236328125, "smoker": False, "Größe (cm)": 182.96915817260742, "grade": "3.5", "copy": 2},
    {"ward": "C", "age": 58.000267028808594, "smoker": True, "Größe (cm)": 139.87474143505096, "grade": "two", "copy": 1},
    {"ward": "C", "age": 172.44091796875, "smoker": True, "Größe (cm)": -51.65457272529602, "grade": "two", "copy": 2},
    {"ward": "B", "age": 97.99996185302734, "smoker": False, "Größe (cm)": 139.875, "grade": "3.5", "copy": 1},
    {"ward": "A", "age": 57.99980926513672, "smoker": True, "Größe (cm)": 10780.40778529644, "grade": "1", "copy": 2},
]


def test_rows_are_what_they_always_were(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    found = nw.load(path_of("rows")).contents
    assert found.table().to_pylist() == TABLE
    write_rows(tmp_path / ROWS_FILE.name)
    assert pq.read_table(tmp_path / ROWS_FILE.name).to_pylist() == TABLE
    scaled = found.scaled()
    assert np.array_equal(scaled.numbers, GRID_ROWS[:, :, :2].transpose(1, 0, 2) * 2.0**-20)
    for place, name in enumerate(("ward", "smoker", "grade"), start=2):
        assert np.array_equal(scaled.codes[name], GRID_ROWS[:, :, place].T)
    assert scaled.noise.tolist() == [1.0, 2.0] and scaled.laplace


# Newer and older formats ---------------------------------------------------------------------------------------------------

NAMES = {("schema", "columns"), ("schema", "stratum"), ("contents", "blocks"), ("contents", "columns")}
"""Objects whose keys are names of other things: a further key would be a further thing."""


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[dict[str, Any]]:
    """All objects of a document that may have further fields in a newer version."""
    if isinstance(value, dict) and path[-2:] not in NAMES:
        yield value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if path or key != "kind":
            yield from objects(item, (*path, key))


@every_file
def test_fields_of_a_newer_minor_version_survive_reading_and_writing(name: str) -> None:
    document = json.loads(path_of(name).read_bytes())
    document["version"] = "1.1"
    for place, one in enumerate(list(objects(document))):
        one["x-newer"] = [place, {"a": [None, True, "kept"]}]
    release = decode(json.dumps(document).encode())
    assert release.version == "1.1" and "x-newer" in release.extra and "x-newer" in release.extra["schema"]
    assert all({"x-newer", "privacy", "contents"} <= set(one.extra) for one in release.contributions)
    assert json.loads(encode(release)) == document
    assert release.kind == GOLDEN[name]().kind and release != GOLDEN[name]()


@every_file
def test_an_option_of_a_newer_kind_is_refused_because_it_may_change_what_the_numbers_mean(name: str) -> None:
    document = json.loads(path_of(name).read_bytes())
    document["version"] = "1.1"
    document["kind"]["x-newer"] = 1
    with pytest.raises(ReleaseFormatError, match=r"unknown option of kind \w+ \(found: x-newer\); upgrade noisewise"):
        decode(json.dumps(document).encode())


UNPUBLISHED = {
    "gram": '{"format": "noisewise-release", "version": "1.0", "kind": "gram", "schema": {}, "columns": [], "parts": []}',
    "wishart": '{"format": "noisewise-release", "version": "1.2", "kind": "gram", "schema": {}, "columns": [], "parts": []}',
    "averaged-gram": '{"format": "noisewise-release", "version": "1.1", "kind": "averaged-gram", "schema": {}, "parts": []}',
    "adassp": '{"format": "noisewise-release", "version": "1.1", "kind": "adassp", "formula": "y ~ x", "parts": []}',
    "moments": '{"format": "noisewise-release", "version": "1.3", "kind": "moments", "formula": "y ~ x", "parts": []}',
    "microdata": '{"format": "noisewise-release", "version": "1.4", "kind": "microdata", "rows": 3, "rows_file": {}}',
    "partition": '{"format": "noisewise-release", "version": "1.4", "kind": "partition", "parts": 8, "questions": []}',
}
"""The formats of the versions before 0.2, in which a kind was a text."""


@pytest.mark.parametrize("kind", UNPUBLISHED)
def test_a_file_of_an_unpublished_version_gets_one_clear_sentence(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "old.nwr"
    path.write_text(UNPUBLISHED[kind])
    rule = "this file was written before noisewise 0.2, and no published version reads it"
    found = f"format '{json.loads(UNPUBLISHED[kind])['version']}' of an unpublished noisewise"
    remedy = "ask its holder: a new release with this version spends privacy again"
    with pytest.raises(ReleaseFormatError) as refused:
        nw.load(path)
    assert str(refused.value) == f"{path}: {rule} (found: {found}); {remedy}"
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert shown.exit_code == 1 and not shown.stdout
    assert " ".join(shown.stderr.split()) == f"Error: {path}: {rule} found: {found} remedy: {remedy}"


@pytest.mark.parametrize("other", ["noisewise-bounds", "noisewise-binary"])
def test_a_file_of_a_format_that_was_given_up_is_told_from_a_release(other: str, tmp_path: Path) -> None:
    path = tmp_path / "old.nwr"
    path.write_text(json.dumps({"format": other, "version": "1.0", "columns": []}))
    with pytest.raises(ReleaseFormatError, match=f'must say "format": "noisewise-release" .found: \'{other}\''):
        nw.load(path)
