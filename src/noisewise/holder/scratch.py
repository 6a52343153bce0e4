"""A folder for unfinished files beside the output. Folders left behind by a killed process are removed by the next one."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = ".noisewise-rows-"
LOCK: Final = "lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder, removed afterwards. A process at work holds the lock in it; a dead process does not."""
    for path in parent.glob(f"{PREFIX}*"):
        _remove_if_left(path)
    with tempfile.TemporaryDirectory(dir=parent, prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with _locked(folder / "new"):
            (folder / "new").rename(folder / LOCK)  # so the file is locked from the moment it has this name
            yield folder


def _remove_if_left(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if folder.is_dir() and not folder.is_symlink() and (folder / LOCK).is_file():
            with _locked(folder / LOCK) as mine:
                if mine:
                    shutil.rmtree(folder)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """True if we hold the lock. Systems without such locks never do, and then nothing is removed."""
    with path.open("ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = True
        except (ImportError, OSError):
            mine = False
        yield mine
