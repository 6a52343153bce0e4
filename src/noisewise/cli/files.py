"""Output files: refused before any work or budget is spent on them, and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noisewise.errors import NoisewiseError, ReleaseWriteError, ResultError
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    from noisewise.schema import Schema

INPUT_ENDINGS: Final = (".parquet", ".pq", ".csv", ".csv.gz", ".duckdb", ".toml")


def check_release_target(target: Path, *, force: bool, room: int) -> None:
    """Refuse a place where a release could not be kept, before the budget is spent. ``room``: bytes that it will need."""
    if target.name.lower().endswith(INPUT_ENDINGS):
        raise ReleaseWriteError("the ending of a release file is .nwr, not that of a table or a schema", found=str(target),
                                remedy=f"for example -o {target.with_suffix('.nwr').name}")
    if target.is_dir():
        raise ReleaseWriteError("a release is written to a file", found=f"{target} is a folder",
                                remedy=f"for example -o {target / 'release.nwr'}")
    if target.exists() and not force:
        raise ReleaseWriteError(
            "there is a file of that name already, and it could be the only copy of a release that was paid for from the budget",
            found=str(target),
            remedy="choose another name, or give --force to replace it; nothing was released",
        )
    check_folder(target, ReleaseWriteError, room)


def check_batch_target(target: Path, schema: Schema, terms: str | None, *, room: int, **more: Any) -> None:
    """Refuse a release file to which a batch could not be added, before the budget is spent; ``more``: its kind and formula."""
    from noisewise.release.batches import check_append

    if not target.exists():
        raise ReleaseWriteError("a batch is added to a release file that is there", found=f"no file {target}",
                                remedy=f"begin it with the first batch: -o {target}; nothing was released")
    check_append(target, schema, terms, **more)
    check_folder(target.resolve(), ReleaseWriteError, target.stat().st_size + room)


def check_results(targets: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Refuse places where results cannot be kept, before the work is done."""
    given = {path.resolve() for path in inputs}
    wanted = [target for target in targets if target is not None]
    for target in wanted:
        if target.resolve() in given or target.name.lower().endswith(".nwr"):
            raise ResultError("a result may not replace a release, or the file that it is made from", found=str(target),
                              remedy="choose another name")
        if target.is_dir():
            raise ResultError("a result is written to a file", found=f"{target} is a folder", remedy="give the name of a file")
        check_folder(target, ResultError)
    if len({target.resolve() for target in wanted}) < len(wanted):
        raise ResultError("each result needs a file of its own", found=", ".join(map(str, wanted)), remedy="choose other names")


def check_folder(target: Path, kind: type[NoisewiseError], room: int = 1) -> None:
    """Try out whether a file of that size can be made beside the target; nothing is left behind."""
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".noisewise-", suffix=".trial") as trial:
            trial.write(b"\0" * room)
            trial.flush()
            os.fsync(trial.fileno())
    except OSError as error:
        raise kind(
            "the folder of the output file must exist, be writable and have room; nothing was done yet",
            found=f"{target.parent}: {error.strerror or type(error).__name__}",
            remedy="make the folder, or choose another one",
        ) from error


def write_text(target: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    write_bytes(target, text.encode("utf-8"))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    try:
        with whole_file(target) as file:
            file.write(content)
    except OSError as error:
        raise ResultError("the file could not be written; one that was there before is unchanged",
                          found=f"{target}: {error.strerror or type(error).__name__}",
                          remedy="make room or choose another folder") from error
