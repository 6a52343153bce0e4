"""``noisewise release`` and ``show``: nothing is spent on what cannot be kept, and no value of a row is ever printed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.command_line import change, one_error

import noisewise
from noisewise.errors import ReleaseWriteError
from noisewise.releases.release import Release


@pytest.fixture
def unspent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Fails a test in which noise would be drawn."""
    spent: list[str] = []
    monkeypatch.setattr(noisewise, "release", lambda *_, **__: spent.append("spent"))
    return spent


def arguments(table: Path, schema: Path, output: Path) -> list[object]:
    return ["release", table, "--schema", schema, "--epsilon", 1, "--delta", 1e-6, "-o", output]


def test_it_writes_a_release_and_says_so_in_words(nw, table, schema, tmp_path) -> None:
    output = tmp_path / "out.nwr"
    result = nw(*arguments(table, schema, output))
    assert result.exit_code == 0, result.stderr
    assert noisewise.load(output).contributions[0].rows == 2000
    assert "Wrote" in result.stdout and "epsilon 1, delta 1e-06" in result.stdout
    assert f"noisewise fit {output} 'stay ~ age'" in result.stdout


def test_quiet_says_nothing(nw, table, schema, tmp_path) -> None:
    result = nw(*arguments(table, schema, tmp_path / "out.nwr"), "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    result = nw("--quiet", *arguments(table, schema, tmp_path / "out2.nwr"))
    assert (result.exit_code, result.output) == (0, "")


def test_json_and_show_agree(nw, table, schema, tmp_path) -> None:
    output = tmp_path / "out.nwr"
    made = nw.json(*arguments(table, schema, output), "--terms", "age:ward", "--threads", 1)
    assert made == nw.json("show", output)
    assert made["columns"] == ["stay", "age", "ward[B]", "ward[C]", "age:ward[B]", "age:ward[C]"]
    assert made["contributions"][0]["rows"] == 2000
    assert made["contributions"][0]["noise_sd"]["rows"] == 0


def test_show_is_in_words(nw, release) -> None:
    result = nw("show", release)
    assert result.exit_code == 0
    assert "2000 (public)" in result.stdout and "stay: clipped to [0, 60]" in result.stdout


def test_without_delta_the_noise_is_laplace_and_a_note_says_so(nw, table, schema, tmp_path) -> None:
    result = nw("release", table, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "out.nwr")
    assert noisewise.load(tmp_path / "out.nwr").contributions[0].mechanism == "laplace"
    assert "pure epsilon" in result.stderr and "instead of" not in result.stderr  # with few columns Laplace noise is smaller
    wide = ("-o", tmp_path / "wide.nwr", "--terms", "(age + ward + stay)**3")
    result = nw("release", table, "--schema", schema, "--epsilon", 1, *wide)
    assert "With --delta 1e-6 the noise would have" in result.stderr


def test_a_large_delta_warns(nw, table, schema, tmp_path) -> None:
    result = nw("release", table, "--schema", schema, "--epsilon", 1, "--delta", 0.01, "-o", tmp_path / "out.nwr", "-q")
    assert result.exit_code == 0 and "1/2000" in result.stderr


def test_an_existing_file_is_kept_unless_forced(nw, table, schema, release) -> None:
    old = release.read_bytes()
    result = nw(*arguments(table, schema, release))
    assert "--force" in one_error(result) and release.read_bytes() == old
    assert nw(*arguments(table, schema, release), "--force").exit_code == 0
    assert release.read_bytes() != old


@pytest.mark.parametrize("name", ["patients.nwr", "missing/out.nwr", "out.parquet", "out.csv", "schema.toml", "."])
def test_nothing_is_spent_if_the_output_cannot_be_kept(nw, table, schema, release, tmp_path, unspent, name) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    one_error(nw(*arguments(table, schema, tmp_path / name)))
    assert not unspent
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(os.name != "posix", reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_is_refused_first(nw, table, schema, unspent) -> None:
    one_error(nw(*arguments(table, schema, Path("/proc/out.nwr"))))
    assert not unspent


def test_a_release_whose_file_cannot_be_written_is_rescued(nw, table, schema, tmp_path, monkeypatch) -> None:
    save = Release.save

    def full(self: Release, path: Path) -> Path:
        if Path(path).parent == tmp_path:
            raise ReleaseWriteError("the release could not be written", found="No space left on device")
        return save(self, path)

    monkeypatch.setattr(Release, "save", full)
    message = one_error(nw(*arguments(table, schema, tmp_path / "out.nwr")))
    assert "No space left" in message
    rescued = Path(message.split("move it to a safe place: ")[1].strip())
    assert noisewise.load(rescued).contributions[0].rows == 2000
    rescued.unlink()


def test_where_nothing_can_be_written_the_loss_is_told(nw, table, schema, tmp_path, monkeypatch) -> None:
    """Even if it began with Ctrl-C, which would else be the whole answer."""
    def stopped_then_full(self: Release, path: Path) -> Path:
        if Path(path).parent == tmp_path:
            raise KeyboardInterrupt
        raise ReleaseWriteError("the release could not be written", found="No space left on device")

    monkeypatch.setattr(Release, "save", stopped_then_full)
    message = one_error(nw(*arguments(table, schema, tmp_path / "out.nwr")))
    assert "its budget is spent" in message and "stopped by Ctrl-C" in message and "otherwise the release is lost" in message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "-1"], "epsilon"),
        (["--epsilon", "nan"], "epsilon"),
        (["--epsilon", "1", "--delta", "0"], "delta"),
        (["--epsilon", "1", "--delta", "1"], "delta"),
        (["--epsilon", "1", "--mechanism", "magic"], "magic"),
        (["--epsilon", "1", "--mechanism", "gaussian"], "delta"),
        (["--epsilon", "1", "--terms", "age:beds"], "beds"),
        (["--epsilon", "1", "--terms", "exp(age)"], "exp(age)"),
    ],
)
def test_requests_that_cannot_be_granted(nw, table, schema, tmp_path, given, said) -> None:
    assert said in one_error(nw("release", table, "--schema", schema, *given, "-o", tmp_path / "out.nwr"))
    assert not (tmp_path / "out.nwr").exists()


@pytest.mark.parametrize(("old", "new", "said"), [
    ("bounds = [0, 60]", "", "exactly one of bounds and levels"),
    ("bounds = [0, 60]", "bounds = [60, 0]", "lower bound must be below"),
    ("bounds = [0, 60]", "bounds = [0, inf]", "finite"),
    ("bounds = [0, 60]", 'bounds = ["?", "?"]', "not been filled in"),
    ("columns.stay", "columns.beds", "no column 'beds'"),
    ("bounds = [0, 60]", "bounds = [0, 60", "not valid TOML"),
    ('"replace-one"', '"?"', "adjacency"),
])
def test_bad_schemas(nw, table, schema, tmp_path, old, new, said) -> None:
    change(schema, old, new)
    assert said in one_error(nw(*arguments(table, schema, tmp_path / "out.nwr")))
    assert not (tmp_path / "out.nwr").exists()


@pytest.mark.parametrize("name", ["nowhere.parquet", "nowhere.csv", "table.xlsx"])
def test_tables_that_are_not_there(nw, schema, tmp_path, name) -> None:
    assert name in one_error(nw(*arguments(tmp_path / name, schema, tmp_path / "out.nwr")))


def test_a_csv_without_a_header_is_refused_without_quoting_it(nw, schema, tmp_path) -> None:
    (tmp_path / "t.csv").write_text("31.25,A,7\n44.5,B,9\n")
    message = one_error(nw(*arguments(tmp_path / "t.csv", schema, tmp_path / "out.nwr")))
    assert "header" in message and "31.25" not in message


def test_a_release_from_csv(nw, schema, tmp_path) -> None:
    (tmp_path / "t.csv").write_text("age,ward,stay\n31,A,7\n44,B,9\n")
    assert nw.json(*arguments(tmp_path / "t.csv", schema, tmp_path / "out.nwr"))["contributions"][0]["rows"] == 2


def test_an_unexpected_error_does_not_quote_rows(nw, table, schema, tmp_path, monkeypatch) -> None:
    def leak(*_: object, **__: object) -> None:
        raise ValueError("cell 'Jane Doe' is odd")

    monkeypatch.setattr(noisewise, "release", leak)
    monkeypatch.setenv("NOISEWISE_TRACEBACK", "1")
    given = arguments(table, schema, tmp_path / "out.nwr")
    message = one_error(nw(*given))
    assert "ValueError" in message and "report" in message and "Jane" not in message
    result = nw(*given, "--json")
    assert "Jane" not in result.output and json.loads(result.stdout)["error"]["kind"] == "UnexpectedError"
    assert "Jane Doe" in nw(*given, "--traceback").stderr


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff", b'{"a": 1}'])
def test_files_that_are_no_release(nw, tmp_path, content) -> None:
    (tmp_path / "x.nwr").write_bytes(content)
    assert "x.nwr" in one_error(nw("show", tmp_path / "x.nwr"))


def test_a_release_of_a_newer_version_is_refused(nw, release) -> None:
    document = json.loads(release.read_text())
    document["version"] = "99.0"
    release.write_text(json.dumps(document))
    assert "99" in one_error(nw("show", release))


def test_a_hostile_release_cannot_play_tricks_on_a_terminal(nw, release) -> None:
    text = release.read_text()
    statement = json.loads(text)["contributions"][0]["privacy"]["statement"]
    release.write_text(text.replace(json.dumps(statement), json.dumps("all is \x1b]0;owned\x07 well")))
    result = nw("show", release)
    assert result.output and "\x1b" not in result.output and "\x07" not in result.output
    result = nw("fit", release, "stay ~ \x1b[31m")
    assert result.exit_code == 1 and "\x1b" not in result.output
