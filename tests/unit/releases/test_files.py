"""Files are written whole or not at all, and only ordinary files of reasonable size are read."""

from __future__ import annotations

import errno
import gzip
import os
import pickle
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.examples_of_releases import release_of

from noisewise.errors import ReleaseFormatError, ReleaseWriteError
from noisewise.releases import files
from noisewise.releases.files import load
from noisewise.releases.format import encode

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return release_of().save(tmp_path / "old.nwr")


def test_saved_and_loaded(saved: Path) -> None:
    assert load(saved) == load(str(saved)) == release_of()
    assert names_in(saved.parent) == ["old.nwr"]


def test_any_ending_will_do_and_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    release_of(seed=1).save(path)
    assert release_of(seed=2).save(str(path)) == path
    assert load(path) == release_of(seed=2)


def test_permissions_are_the_usual_ones_and_are_kept(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    path = release_of().save(tmp_path / "a.nwr")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    release_of(seed=2).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(saved: Path) -> None:
    link = saved.parent / "link.nwr"
    link.symlink_to(saved)
    release_of(seed=2).save(link)
    assert link.is_symlink()
    assert load(saved) == release_of(seed=2)


def _fails(*_: Any, **__: Any) -> Any:
    raise NO_SPACE


@pytest.mark.parametrize("function", ["fsync", "replace", "open"])
def test_on_a_full_disk_the_old_file_survives(saved: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    before = saved.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(files.os, function, _fails)
        with pytest.raises(ReleaseWriteError, match=r"unchanged.*No space left"):
            release_of(seed=2).save(saved)
    assert saved.read_bytes() == before
    assert names_in(saved.parent) == ["old.nwr"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_on_a_device_that_is_full_the_old_file_survives(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, really_open = saved.read_bytes(), os.open

    def open_full(path: str, flags: int, mode: int = 0o777) -> int:
        os.close(really_open(path, flags, mode))
        return really_open("/dev/full", os.O_WRONLY)

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "open", open_full)
        with pytest.raises(ReleaseWriteError, match="No space left"):
            release_of(seed=2).save(saved)
    assert saved.read_bytes() == before
    assert names_in(saved.parent) == ["old.nwr"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the operating system")
def test_when_the_system_refuses_to_write_more_the_old_file_survives(saved: Path) -> None:
    """Nothing is replaced by a stand-in here: the operating system stops the write half-way."""
    before = saved.read_bytes()
    program = f"""
import resource
from noisewise.errors import ReleaseWriteError
from noisewise.releases import files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.write_atomically({str(saved)!r}, b"x" * 100_000)
except ReleaseWriteError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "unchanged" in done.stdout
    assert saved.read_bytes() == before
    assert names_in(saved.parent) == ["old.nwr"]


def test_an_interruption_leaves_no_rubbish(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release_of(seed=2).save(saved)
    assert names_in(saved.parent) == ["old.nwr"]


def test_places_that_cannot_be_written(tmp_path: Path, saved: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "a.nwr", saved / "a.nwr", tmp_path / ("n" * 300), "nul\0byte"):
        with pytest.raises(ReleaseWriteError):
            release_of().save(path)
    assert names_in(tmp_path) == ["old.nwr"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_neither_read_nor_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/null"):
        with pytest.raises(ReleaseFormatError, match="device, pipe or socket"):
            load(path)  # and does not wait for a writer
        with pytest.raises(ReleaseWriteError, match="device, pipe or socket"):
            release_of().save(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_release_that_is_too_large_for_a_file_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SIZE_LIMIT", 1000)
    with pytest.raises(ReleaseWriteError, match=r"at most 1000 bytes.*release fewer columns"):
        release_of().save(tmp_path / "a.nwr")
    assert names_in(tmp_path) == []


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFormatError, match=r"release file does not exist.*gone\.nwr"):
        load(tmp_path / "gone.nwr")
    with pytest.raises(ReleaseFormatError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(ReleaseFormatError, match="cannot be read"):
        load("nul\0byte")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.nwr"
    with huge.open("wb") as file:
        file.truncate(40 * 2**30)  # sparse: it takes no room
    with pytest.raises(ReleaseFormatError, match=r"at most 268435456 bytes \(found: .*huge\.nwr has 42949672960\)"):
        load(huge)


def test_a_file_that_grows_while_it_is_read_is_refused(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_check_readable", lambda *_: None)
    with pytest.raises(ReleaseFormatError, match="at most 100 bytes"):
        files.read(saved, limit=100)


class _Bomb:
    def __reduce__(self) -> Any:
        return (os.mkdir, ("executed",))


def test_other_formats_are_refused_and_nothing_in_them_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = encode(release_of())
    with zipfile.ZipFile("zip.nwr", "w") as archive:
        archive.writestr("release.json", good)
    contents = {
        "pickle.nwr": (pickle.dumps(_Bomb()), "pickle, which is never opened"),
        "pickle0.nwr": (pickle.dumps(_Bomb(), protocol=0), "not valid JSON"),
        "gzip.nwr": (gzip.compress(good), "gzip"),
        "parquet.nwr": (b"PAR1....PAR1", "Parquet"),
        "bom.nwr": (b"\xef\xbb\xbf" + good, "byte order mark"),
        "utf16.nwr": (good.decode().encode("utf-16"), "UTF-16"),
        "latin.nwr": (good.replace(b"Whoever", b"Wh\xf6ever"), "text in UTF-8"),
        "empty.nwr": (b"", "not valid JSON"),
        "list.nwr": (b"[1, 2]", "one JSON object"),
        "number.nwr": (b"1", "one JSON object"),
        "two.nwr": (good + good, "not valid JSON"),
        "half.nwr": (good[: len(good) // 2], "truncated"),
        "cut.nwr": (good[:good.rindex(b'"')], "string starting at line"),
        "code.nwr": (b"import os; os.mkdir('executed')", "not valid JSON"),
    }
    for name, (data, words) in contents.items():
        Path(name).write_bytes(data)
        with pytest.raises(ReleaseFormatError, match=words) as refused:
            load(name)
        assert name in str(refused.value)
    with pytest.raises(ReleaseFormatError, match="zip"):
        load("zip.nwr")
    assert not Path("executed").exists()


def test_readers_see_the_old_or_the_new_file_and_nothing_between(saved: Path) -> None:
    versions = [encode(release_of(seed=seed)) for seed in (1, 2)]
    done = threading.Event()
    seen: set[int] = set()

    def watch() -> None:
        while not done.is_set():
            seen.add(versions.index(saved.read_bytes()) if saved.exists() else -1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for turn in range(40):
        files.write_atomically(saved, versions[turn % 2])
    done.set()
    watcher.join()
    assert seen <= {0, 1}
