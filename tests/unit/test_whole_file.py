"""A file is replaced whole or left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from noisewise.whole_file import whole_file


def write(path: Path, data: bytes) -> None:
    with whole_file(path) as file:
        file.write(data)


def test_a_new_file_and_one_that_replaces_another(tmp_path: Path) -> None:
    write(tmp_path / "a", b"one")
    write(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path: Path, failure: type[BaseException]) -> None:
    write(tmp_path / "a", b"one")
    with pytest.raises(failure), whole_file(tmp_path / "a") as file:
        file.write(b"tw")
        raise failure
    assert (tmp_path / "a").read_bytes() == b"one" and os.listdir(tmp_path) == ["a"]


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    write(tmp_path / "a", b"one")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "b").symlink_to("a")
    write(tmp_path / "b", b"two")
    assert (tmp_path / "b").is_symlink() and (tmp_path / "a").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_that_others_have(tmp_path: Path) -> None:
    write(tmp_path / "a", b"one")
    (tmp_path / "b").write_bytes(b"two")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("place", ["folder", "pipe", "nowhere/a"])
def test_what_is_no_place_for_a_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        write(tmp_path / place, b"one")
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]
