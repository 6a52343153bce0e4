"""Thousands of files are read as one by one, in any number of processes, and a wrong one among them is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import columns_with, every_example, release_of, schema_with

import noisewise as nw
from noisewise.errors import IncompatibleReleasesError, ReleaseError, ReleaseFormatError
from noisewise.releases import reading
from noisewise.releases.many import release_paths
from noisewise.run import Run

FILES = 7
PROCESSES = [1, 2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of several holders, read in such small batches that two processes have some each."""
    monkeypatch.setattr(reading, "BATCH", 2)
    made = tmp_path / "sites"
    made.mkdir()
    for seed in range(FILES):
        release_of(seed=seed).save(made / f"{seed}.nwr")
    return made


class Recorded(subprocess.Popen[bytes]):
    """Processes that were started."""

    all: list[Recorded]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.all.append(self)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    Recorded.all = []
    monkeypatch.setattr(reading.subprocess, "Popen", Recorded)
    return Recorded.all


@pytest.mark.parametrize("processes", PROCESSES)
def test_it_is_the_combination_of_all_files_whatever_the_number_of_processes(folder: Path, processes: int,
                                                                             started: list[Recorded]) -> None:
    expected = nw.combine(nw.load(path) for path in sorted(folder.iterdir()))
    found = nw.load_many(folder, processes=processes)
    assert found == expected
    assert [one.matrix.tobytes() for one in found.contributions] == [one.matrix.tobytes() for one in expected.contributions]
    assert not any(one.matrix.flags.writeable for one in found.contributions)
    assert len(started) == (processes if processes > 1 else 0)


@pytest.mark.outer
@every_example(["adassp", "moments, persons"])
def test_other_kinds_pass_between_processes(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", 1)
    for seed in (1, 2, 3):
        make(seed=seed).save(tmp_path / f"{seed}.nwr")
    found = nw.load_many(tmp_path, processes=2)
    assert found == nw.combine(make(seed=seed) for seed in (1, 2, 3))
    for one in found.contributions:
        arrays = [value for value in vars(one).values() if isinstance(value, np.ndarray)]
        arrays += [block.sums for block in getattr(one, "blocks", {}).values()]
        assert arrays and not any(array.flags.writeable for array in arrays)


def test_folders_patterns_and_lists_of_them_are_files_in_order_of_their_names(folder: Path) -> None:
    (folder / "notes.txt").write_text("not a release")
    (folder / ".hidden.nwr").write_text("unfinished")
    names = [str(folder / f"{seed}.nwr") for seed in range(FILES)]
    assert release_paths(folder) == release_paths(str(folder)) == names
    assert release_paths(str(folder / "[0-2].nwr")) == names[:3]
    assert release_paths([names[5], folder / "[01].nwr"]) == [names[5], *names[:2]]
    assert release_paths(names[3]) == [names[3]]
    odd = folder / "odd[1].nwr"  # a file is itself, also if its name could be a pattern
    odd.write_text("")
    assert release_paths(odd) == [str(odd)]


def test_no_files_are_an_error_that_says_where(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseError, match=r"no release files.*empty"):
        nw.load_many(tmp_path / "empty")
    with pytest.raises(ReleaseError, match=r"matches.*z\*\.nwr"):
        nw.load_many(str(folder / "z*.nwr"))
    with pytest.raises(ReleaseError, match="at least one"):
        nw.load_many([])
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ReleaseError, match="processes must be"):
            nw.load_many(folder, processes=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("processes", PROCESSES)
def test_the_first_wrong_file_is_named(folder: Path, processes: int, started: list[Recorded]) -> None:
    good = (folder / "4.nwr").read_bytes()
    wrong: dict[str, tuple[type[ReleaseError], str, Any]] = {
        "truncated": (ReleaseFormatError, r"4\.nwr: this is not valid JSON", good[:-200]),
        "changed": (ReleaseFormatError, r"4\.nwr: the upper triangle", good.replace(b'"statistic": [', b'"statistic": [1.0, ')),
        "missing": (ReleaseFormatError, r"release file does not exist .*4\.nwr", None),
    }
    for error, words, data in wrong.values():
        (folder / "6.nwr").write_bytes(b"also wrong")
        (folder / "4.nwr").unlink() if data is None else (folder / "4.nwr").write_bytes(data)
        with pytest.raises(error, match=words):
            nw.load_many([folder / f"{seed}.nwr" for seed in range(FILES)], processes=processes)
    assert all(process.returncode is not None for process in started)


@pytest.mark.parametrize("processes", PROCESSES)
def test_files_that_do_not_belong_together_are_named(folder: Path, processes: int) -> None:
    release_of(schema_with(columns=columns_with(age={"bounds": [18, 99]}))).save(folder / "5.nwr")
    with pytest.raises(IncompatibleReleasesError, match=r"5\.nwr does not describe the same thing as .*0\.nwr.*98.*99"):
        nw.load_many(folder, processes=processes)
    release_of(schema_with(columns=columns_with(sex={"levels": ["f", "m"]}))).save(folder / "5.nwr")
    with pytest.raises(IncompatibleReleasesError, match=r"'sex': only in .*5\.nwr"):
        nw.load_many(folder, processes=processes)
    shutil.copy(folder / "2.nwr", folder / "5.nwr")
    with pytest.raises(IncompatibleReleasesError, match=r"2\.nwr and .*5\.nwr contain the same contribution"):
        nw.load_many(folder, processes=processes)
    with pytest.raises(IncompatibleReleasesError, match=r"3\.nwr is given twice"):
        nw.load_many([folder / "3.nwr", folder / ".." / "sites" / "3.nwr"], processes=processes)


def test_a_level_1_is_no_level_true(tmp_path: Path) -> None:
    """Python calls them equal; a file does not."""
    for name, levels in (("a", [1, 2]), ("b", [True, 2])):
        schema = schema_with(columns=columns_with(smoker={"levels": levels}))
        release_of(schema, seed=ord(name)).save(tmp_path / f"{name}.nwr")
    with pytest.raises(IncompatibleReleasesError, match="smoker"):
        nw.load_many(tmp_path)
    with pytest.raises(IncompatibleReleasesError, match="smoker"):
        nw.combine([nw.load(tmp_path / "a.nwr"), nw.load(tmp_path / "b.nwr")])


def test_what_only_some_files_say_is_not_said_of_all(tmp_path: Path) -> None:
    for seed, year in enumerate(("2024", "2025", "2025")):
        release_of(schema_with(stratum={"year": year}), seed=seed).save(tmp_path / f"{seed}.nwr")
    expected = nw.combine(nw.load(path) for path in sorted(tmp_path.iterdir()))
    assert nw.load_many(tmp_path) == expected and expected.schema.stratum == ()


def test_an_interrupted_reading_leaves_nothing_behind(folder: Path, started: list[Recorded]) -> None:
    before = sorted(os.listdir(folder))

    def interrupt(done: int, total: int | None) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nw.load_many(folder, processes=2, run=Run(progress=interrupt))
    assert len(started) == 2 and all(process.returncode is not None for process in started)
    assert sorted(os.listdir(folder)) == before


def test_a_process_that_ends_is_an_error_and_not_fewer_holders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PROGRAM", "import os, pickle, sys; pickle.load(sys.stdin.buffer); os._exit(9)")
    with pytest.raises(ReleaseError, match=r"ended early \(found: exit status 9\)"):
        nw.load_many(folder, processes=2)


def test_few_files_start_no_process_and_progress_is_told(folder: Path, started: list[Recorded]) -> None:
    told: list[tuple[int, int | None]] = []
    nw.load_many(folder, run=Run(progress=lambda done, total: told.append((done, total))))
    assert told == [(done, FILES) for done in range(1, FILES + 1)] and not started


def test_many_files_are_worth_processes(folder: Path, started: list[Recorded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FIRST", 2)
    monkeypatch.setattr(reading, "WORTH_SECONDS", 0.0)
    monkeypatch.setattr(reading, "processors", lambda: 2)
    assert nw.load_many(folder) == nw.load_many(folder, processes=1) and len(started) == 2


def test_a_script_needs_no_guard_and_is_not_run_again(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import noisewise as nw\nfrom noisewise.releases import reading\nreading.BATCH = 2\n"
        f"print('once', nw.load_many({str(folder)!r}, processes=2).holders)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout == f"once {FILES}\n"
