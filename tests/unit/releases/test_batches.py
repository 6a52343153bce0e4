"""Batches in one file: nothing is lost, whatever fails and whoever else is writing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import PERSONS, PUBLIC, TERMS, release_of, schema_with

import noisewise as nw
from noisewise.errors import IncompatibleReleasesError, ReleaseFormatError, ReleaseWriteError
from noisewise.releases import batches
from noisewise.releases.batches import append, check_append
from noisewise.releases.files import load
from noisewise.releases.release import Release


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return release_of(seed=1).save(tmp_path / "all.nwr")


def test_a_batch_is_added_at_the_end_and_the_rest_is_as_it_was(file: Path) -> None:
    first, second, third = (release_of(seed=seed, epsilon=seed) for seed in (1, 2, 3))
    first.save(file)
    assert append(file, second) == load(file)
    append(file, third)
    assert load(file).contributions == (*first.contributions, *second.contributions, *third.contributions)
    assert [path.name for path in file.parent.iterdir()] == ["all.nwr"]


def test_averaged_rows_go_beside_others(file: Path) -> None:
    append(file, release_of(seed=2, average=5))
    assert [one.average for one in load(file).contributions] == [1, 5]


@pytest.mark.parametrize("other", [
    release_of(PERSONS),
    release_of(terms=None),
    release_of(schema_with(norm_bound=1.0)),
])
def test_another_schema_or_other_terms_are_refused_and_the_file_stays(file: Path, other: Release) -> None:
    before = file.read_bytes()
    with pytest.raises(IncompatibleReleasesError):
        append(file, other)
    with pytest.raises(IncompatibleReleasesError, match="nothing was released"):
        check_append(file, other.kind, other.schema)
    assert file.read_bytes() == before and len(os.listdir(file.parent)) == 1


def test_the_check_passes_what_can_be_appended_and_tells_what_is_there(file: Path) -> None:
    assert check_append(file, nw.Gram(TERMS), PUBLIC) == load(file)
    assert check_append(file, nw.Gram("I(age**2) + ward:age"), PUBLIC).holders == 1  # the same columns in other words


def test_another_kind_is_refused(file: Path) -> None:
    with pytest.raises(IncompatibleReleasesError, match=r"in the file and now: kind: gram and adassp.*nothing was released"):
        check_append(file, nw.AdaSSP("age ~ ward"), PUBLIC)


def test_the_same_batch_twice_is_refused(file: Path) -> None:
    with pytest.raises(IncompatibleReleasesError, match="may be used only once"):
        append(file, load(file))


def test_a_file_that_would_grow_too_large_is_refused_before(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SIZE_LIMIT", 50_000)
    with pytest.raises(ReleaseWriteError, match="50000 bytes"):
        check_append(file, nw.Gram(TERMS), PUBLIC)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFormatError, match="release file does not exist"):
        append(tmp_path / "none.nwr", release_of())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_locked_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(ReleaseWriteError, match="could not be locked"):
        append(tmp_path / "missing" / "all.nwr", release_of())


def test_a_failure_while_writing_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ReleaseWriteError, match="No space left"):
        append(file, release_of(seed=2))
    assert file.read_bytes() == before and len(os.listdir(file.parent)) == 1


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_is_followed(file: Path) -> None:
    (file.parent / "link.nwr").symlink_to(file)
    append(file.parent / "link.nwr", release_of(seed=2))
    assert (file.parent / "link.nwr").is_symlink() and load(file).holders == 2


def append_in_threads(file: Path, count: int) -> list[BaseException]:
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            append(file, release_of(seed=seed))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2, 2 + count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_threads_that_append_at_once_lose_nothing(file: Path) -> None:
    assert append_in_threads(file, 12) == []
    assert load(file).holders == 13
    assert os.listdir(file.parent) == ["all.nwr"]


def test_without_the_lock_batches_would_be_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong one: all read the file before any of them writes."""
    everyone = threading.Barrier(3)

    def slow(path: Any) -> Release:
        found = load(path)
        everyone.wait(timeout=600)
        return found

    monkeypatch.setattr(batches, "load", slow)
    monkeypatch.setattr(batches, "_alone", lambda _: contextlib.nullcontext())
    assert append_in_threads(file, 3) == []
    assert load(file).holders == 2


def test_processes_that_append_at_once_lose_nothing(file: Path) -> None:
    program = ("import sys; from tests.unit.releases.examples_of_releases import release_of\n"
               "from noisewise.releases import append\n"
               "[append(sys.argv[1], release_of(seed=seed)) for seed in range(int(sys.argv[2]), int(sys.argv[2]) + 6)]")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    commands = [[sys.executable, "-c", program, str(file), str(first)] for first in (100, 200, 300)]
    running = [subprocess.Popen(command, env=environment) for command in commands]
    assert [process.wait(timeout=600) for process in running] == [0, 0, 0]
    assert load(file).holders == 19 and os.listdir(file.parent) == ["all.nwr"]


@pytest.mark.skipif(os.name != "posix", reason="uses the lock of POSIX systems")
def test_a_lock_file_left_by_a_dead_process_is_no_obstacle(file: Path) -> None:
    (file.parent / ".all.nwr.lock").touch()
    append(file, release_of(seed=2))
    assert os.listdir(file.parent) == ["all.nwr"]


def test_a_file_with_unknown_fields_is_not_written_again(file: Path) -> None:
    """It may be of a newer format: this version would lose what it does not know."""
    document = json.loads(file.read_text())
    file.write_text(json.dumps(document | {"version": "1.9", "weather": "rain"}))
    assert load(file).extra, "the example has no unknown field"
    before = file.read_bytes()
    with pytest.raises(IncompatibleReleasesError, match="fields unknown to this version of noisewise"):
        append(file, release_of(seed=2))
    with pytest.raises(IncompatibleReleasesError, match="fields unknown to this version of noisewise"):
        check_append(file, nw.Gram(TERMS), PUBLIC)
    assert file.read_bytes() == before


def test_that_the_file_cannot_be_locked_is_known_before_anything_is_spent(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> int:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(batches, "_locked", refused)
    with pytest.raises(ReleaseWriteError, match="could not be locked"):
        check_append(file, nw.Gram(TERMS), PUBLIC)
