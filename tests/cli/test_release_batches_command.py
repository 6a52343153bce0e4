"""``noisewise release --append`` and ``--average``: refused before anything is spent, and no batch is ever lost."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import change, one_error, rows

import noisewise
import noisewise.data
from noisewise.errors import ReleaseWriteError


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "may.parquet"
    pq.write_table(pa.table(rows(6, n=300)), path)
    return path


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes every attempt to read rows or to draw noise."""
    touched: list[str] = []
    for name in ("gram_sum", "averaged_gram_sum"):
        monkeypatch.setattr(noisewise.data, name, lambda *_, name=name, **__: touched.append(name))
    return touched


def appending(table: Path, schema: Path, file: Path) -> list[object]:
    return ["release", table, "-s", schema, "-e", 1, "-d", 1e-6, "--append", file]


def test_a_batch_is_added_and_the_message_says_what_matters(nw, batch, schema, release) -> None:
    before = noisewise.load(release)
    result = nw(*appending(batch, schema, release))
    assert result.exit_code == 0, result.stderr
    after = noisewise.load(release)
    assert after.contributions[:1] == before.contributions and [one.rows for one in after.contributions] == [2000, 300]
    words = " ".join(result.stdout.split())
    assert "now holds 2" in words and "one batch only" in words and "add up" in words and "may be erased" in words
    assert nw("fit", release, "stay ~ age", "--method", "laplace").exit_code == 0


def test_json_is_that_of_the_whole_file(nw, batch, schema, release) -> None:
    assert nw.json(*appending(batch, schema, release)) == nw.json("show", release)


def test_quiet_says_nothing(nw, batch, schema, release) -> None:
    result = nw(*appending(batch, schema, release), "-q")
    assert (result.exit_code, result.output) == (0, "") and noisewise.load(release).holders == 2


@pytest.mark.parametrize(("old", "new", "said"), [
    ("bounds = [0, 60]", "bounds = [0, 61]", "bounds"),
    ('levels = ["A", "B", "C"]', 'levels = ["A", "C", "B"]', "levels"),
    ('"replace-one"', '"add-remove"', "adjacency"),
    ("[columns.stay]\nbounds = [0, 60]\n", "", "stay"),
])
def test_another_schema_is_refused_before_rows_are_read(nw, batch, schema, release, unread, old, new, said) -> None:
    before = release.read_bytes()
    change(schema, old, new)
    message = one_error(nw(*appending(batch, schema, release)))
    assert said in message and "nothing was released" in message
    assert not unread and release.read_bytes() == before


def test_other_terms_are_refused_before_rows_are_read(nw, batch, schema, release, unread) -> None:
    assert "terms" in one_error(nw(*appending(batch, schema, release), "--terms", "age:ward"))
    assert not unread


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_file_that_is_no_release_is_refused_before_rows_are_read(nw, batch, schema, tmp_path, unread, content) -> None:
    target = tmp_path / "x.nwr"
    if content is not None:
        target.write_bytes(content)
    message = one_error(nw(*appending(batch, schema, target)))
    assert "x.nwr" in message and (content is not None or "-o" in message)
    assert not unread


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a folder that its owner cannot write to")
def test_a_folder_that_cannot_be_written_is_refused_first(nw, batch, schema, release, unread) -> None:
    release.parent.chmod(0o500)
    try:
        one_error(nw(*appending(batch, schema, release)))
    finally:
        release.parent.chmod(0o700)
    assert not unread


@pytest.mark.parametrize("given", [["-o", "new.nwr"], ["--force"]])
def test_append_goes_with_neither_output_nor_force(nw, batch, schema, release, unread, given) -> None:
    result = nw(*appending(batch, schema, release), *given)
    assert result.exit_code == 2 and not unread


def test_one_of_output_and_append_is_needed(nw, batch, schema, unread) -> None:
    result = nw("release", batch, "-s", schema, "-e", 1)
    assert result.exit_code == 2 and "--append" in result.output and not unread


@pytest.mark.parametrize("error", [ReleaseWriteError("it could not be written", found="No space left"), KeyboardInterrupt()])
def test_a_batch_that_cannot_be_added_is_rescued(nw, batch, schema, release, monkeypatch, error) -> None:
    def fail(*_: object) -> None:
        raise error

    before = release.read_bytes()
    monkeypatch.setattr("noisewise.releases.batches.append", fail)
    message = one_error(nw(*appending(batch, schema, release)))
    rescued = Path(message.split("move it to a safe place: ")[1].strip())
    assert noisewise.load(rescued).contributions[0].rows == 300 and release.read_bytes() == before
    noisewise.combine([noisewise.load(release), noisewise.load(rescued)])
    rescued.unlink()
    rescued.parent.rmdir()


def test_a_file_that_goes_away_meanwhile_does_not_lose_the_batch(nw, batch, schema, release, monkeypatch) -> None:
    made = noisewise.release

    def slow(*given, **more):  # type: ignore[no-untyped-def]
        release.unlink()
        return made(*given, **more)

    monkeypatch.setattr(noisewise, "release", slow)
    message = one_error(nw(*appending(batch, schema, release)))
    rescued = Path(message.split("move it to a safe place: ")[1].strip())
    assert noisewise.load(rescued).holders == 1
    rescued.unlink()
    rescued.parent.rmdir()


def test_averaged_rows_are_said_to_be(nw, table, schema, tmp_path) -> None:
    output = tmp_path / "averaged.nwr"
    result = nw("release", table, "-s", schema, "-e", 1, "-d", 1e-6, "--average", 10, "-o", output)
    assert result.exit_code == 0, result.stderr
    assert "averaged in 200 random groups of 10" in " ".join(result.stdout.split())
    [part] = nw.json("show", output)["contributions"]
    assert (part["rows"], part["average"], part["groups"]) == (2000, 10, 200)


def test_an_average_of_one_is_none(nw, table, schema, tmp_path) -> None:
    found = nw.json("release", table, "-s", schema, "-e", 1, "-d", 1e-6, "--average", 1, "-o", tmp_path / "out.nwr")
    assert found["format_version"] == "1.0" and "average" not in found["contributions"][0]


def test_an_averaged_batch_may_join_others(nw, batch, schema, release) -> None:
    found = nw.json(*appending(batch, schema, release), "--average", 3)
    assert [part.get("average") for part in found["contributions"]] == [None, 3] and found["format_version"] == "1.0"


@pytest.mark.parametrize(("given", "said"), [
    (["-e", 1], "Gaussian"),
    (["-e", 1, "-d", 1e-6, "--mechanism", "laplace"], "Gaussian"),
])
def test_laplace_noise_is_refused_before_rows_are_read(nw, table, schema, tmp_path, unread, given, said) -> None:
    message = one_error(nw("release", table, "-s", schema, *given, "--average", 2, "-o", tmp_path / "out.nwr"))
    assert said in message and "leave --average out" in message and not unread


@pytest.mark.parametrize(("old", "new"), [('"replace-one"', '"add-remove"'), ('"row"', '{column = "person", max_rows = 1}')])
def test_other_neighbours_are_refused_before_rows_are_read(nw, table, schema, tmp_path, unread, old, new) -> None:
    change(schema, old, new)
    message = one_error(nw("release", table, "-s", schema, "-e", 1, "-d", 1e-6, "--average", 2, "-o", tmp_path / "out.nwr"))
    assert "replace-one with a row as the unit" in message and not unread
