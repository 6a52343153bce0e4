"""The data holder's side of a release of kind microdata: rows in, noisy rows out, and the budget charged before noise is drawn.

    nw.release("patients.parquet", schema, kind="microdata", epsilon=8, output="patients.nwr")

writes ``patients.nwr`` and beside it ``patients.rows.parquet``. The ledger keeps the first. A repeated request is answered with
it if the second is still there, and refused if it is not: noise is never drawn again for what was paid for once.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from noisewise.errors import DeclarationError, NoisewiseError, PrivacyError, ReleaseError, ReleaseWriteError
from noisewise.holder.ledger import check_edition, check_ledger, released
from noisewise.holder.scratch import scratch_folder
from noisewise.privacy.ledger import BudgetLedger
from noisewise.privacy.microdata import MicrodataMechanism, calibrate
from noisewise.progress import Tick
from noisewise.release.microdata import (
    MOST_COPIES,
    CellNoise,
    LevelNoise,
    MicrodataRelease,
    NumberNoise,
    RowsFile,
    check_copy_column,
)
from noisewise.release.model import today
from noisewise.schema import Schema
from noisewise.schema.columns import Categorical, Numeric, is_finite_number
from noisewise.version import __version__

LARGEST_VALUE: Final = 1e290
"""Noisy cells in the units of the table stay below it."""

NOISE_REACH: Final = 2.0**43
"""Scaled cells with their noise have 64 bits on a grid of 2**-20."""


def release_microdata(
    data: Any, schema: Schema, *, epsilon: float, delta: float | None, mechanism: str | None, copies: int | None,
    shares: Mapping[str, float] | None, output: str | os.PathLike[str] | None, ledger: BudgetLedger | None, edition: str,
    threads: int | None, progress: Tick | bool | None,
) -> MicrodataRelease:
    """Publish every row with noise in each cell; the arguments are those of `noisewise.release`."""
    check_ledger(ledger)
    check_edition(edition)
    target = _target(output)
    chosen = plan_microdata(schema, epsilon, delta, mechanism, copies=copies, shares=shares)
    blank = _blank(schema, chosen, rows_name(target)).placed_at(target)
    made_now = False

    def read() -> Callable[[], MicrodataRelease]:
        from noisewise.data.microdata import open_rows
        from noisewise.data.passes import count_workers

        count_workers(threads, in_order=False)  # here, because the rows are passed over after the charge
        _refuse_existing(target)
        source, rows = open_rows(data, schema, progress)
        _check_room(target, rows, chosen)

        def perturb() -> MicrodataRelease:
            nonlocal made_now
            made_now = True
            return _written(blank, source, rows, chosen, target, threads, progress)

        return perturb

    found = released(ledger, blank, chosen.cost(), edition, read).placed_at(target)
    return _kept(found, target) if made_now else _repeated(found, target)


def plan_microdata(schema: Schema, epsilon: float, delta: float | None = None, mechanism: str | None = None, *,
                   copies: int | None = None, shares: Mapping[str, float] | None = None) -> MicrodataMechanism:
    """The noise that a release would have; from public declarations alone, and it spends nothing."""
    schema.require_bounds()
    if not schema.rows_are_public:
        raise PrivacyError("rows are published only under replace-one with a row as the unit: their number is seen by everyone",
                           found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
                           remedy='declare adjacency = "replace-one" and unit = "row" if that is true to what must be protected; '
                           'if not, release kind="gram"')
    if schema.norm_bound is not None:
        raise DeclarationError("norm_bound shortens rows, which are published here column by column",
                               found=f"norm_bound = {schema.norm_bound}", remedy="leave norm_bound out of this schema")
    count = 1 if copies is None else copies
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_COPIES:
        raise DeclarationError(f"copies is a whole number from 1 to {MOST_COPIES}", found=repr(copies),
                               remedy="leave it out for one")
    try:
        check_copy_column(schema, count)
    except ReleaseError as error:
        raise DeclarationError(error.rule, found=error.found, remedy=error.remedy) from None
    for column in schema.columns:
        if isinstance(column, Numeric):
            _check_size(column)
    levels = {column.name: len(column.levels) if isinstance(column, Categorical) else None for column in schema.columns}
    return calibrate(levels, epsilon=epsilon, delta=delta, mechanism=mechanism, copies=count, weights=_weights(schema, shares))


def rows_name(target: Path) -> str:
    """The name of the file of rows of a release file.

    >>> rows_name(Path("folder/patients.nwr"))
    'patients.rows.parquet'
    """
    return f"{target.name.removesuffix('.nwr')}.rows.parquet"


def _target(output: object) -> Path:
    if not isinstance(output, (str, os.PathLike)):
        raise DeclarationError("a release of kind microdata is as long as the table, so it is written while it is made",
                               found=f"output={output!r}", remedy='say where, for example output="patients.nwr"; the rows go '
                               "beside it, to patients.rows.parquet")
    target = Path(os.path.abspath(os.fsdecode(os.fspath(output))))
    if target.suffix != ".nwr":
        raise ReleaseWriteError("the ending of a release file is .nwr", found=target.name, remedy='for example "patients.nwr"')
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ReleaseWriteError("the folder of the output file must exist and be writable; nothing was done yet",
                                found=str(target.parent), remedy="make the folder, or choose another one")
    return target


def _weights(schema: Schema, shares: Mapping[str, float] | None) -> dict[str, Fraction]:
    """Of each column; 1 where none is given."""
    given = dict(shares or {})
    unknown = [name for name in given if name not in schema.names]
    if unknown:
        raise DeclarationError("shares are given by the names of declared columns", found=", ".join(map(repr, unknown))[:200],
                               remedy="the declared columns are " + ", ".join(schema.names))
    for name, weight in given.items():
        if not is_finite_number(weight) or not 1e-6 <= weight <= 1e6:
            raise DeclarationError("a share is a positive number between 1e-6 and 1e6, relative to the others",
                                   found=f"{weight!r} for '{name}'",
                                   remedy="a column with twice the share has about half the noise")
    return {name: Fraction(given.get(name, 1)) for name in schema.names}


def _check_size(column: Numeric) -> None:
    reach = abs(column.centre) + NOISE_REACH * column.half_width
    if not (reach <= LARGEST_VALUE and column.half_width >= 1 / LARGEST_VALUE):
        raise DeclarationError(f"column '{column.name}': noisy cells must be numbers that a double can hold",
                               found=f"bounds [{column.lower}, {column.upper}]", remedy="use another unit for this column")


def _blank(schema: Schema, chosen: MicrodataMechanism, name: str) -> MicrodataRelease:
    """The release as it will be, of no rows, and proof that it can be written."""
    from noisewise.release.format import encode

    blank = MicrodataRelease(
        schema=schema, rows=0, epsilon=chosen.epsilon, delta=chosen.delta, mechanism=chosen.name, statement=chosen.statement(),
        created=today(), library=f"noisewise {__version__}", copies=chosen.copies,
        columns={column: cell_noise(chosen, column) for column in schema.names}, file=RowsFile(name, 0, "0" * 64),
    )
    encode(blank)
    return blank


def cell_noise(chosen: MicrodataMechanism, name: str) -> CellNoise:
    """The noise of a column as the release states it."""
    share = float(chosen.shares[name])
    if name in chosen.scales:
        return NumberNoise(share, chosen.distribution, chosen.scales[name])
    return LevelNoise(share, chosen.keep_probability(name))


def _refuse_existing(target: Path) -> None:
    for path in (target, target.with_name(rows_name(target))):
        if os.path.lexists(path):
            raise ReleaseWriteError(
                "there is a file of that name already, and it could be the only copy of a release that was paid for",
                found=str(path), remedy="choose another name, or remove it yourself; nothing was released")


def _check_room(target: Path, rows: int | None, chosen: MicrodataMechanism) -> None:
    """Temporary files and the result take the room of all noisy cells each."""
    needed = 17 * (rows or 0) * chosen.copies * (len(chosen.shares) + 1) + 2**20
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ReleaseWriteError("there must be room for the noisy rows, twice; nothing was released",
                                found=f"{free} bytes in {target.parent}, {needed} are needed",
                                remedy="make room or choose another folder")


def _written(blank: MicrodataRelease, source: Any, expected: int | None, chosen: MicrodataMechanism, target: Path,
             threads: int | None, progress: Tick | bool | None) -> MicrodataRelease:
    """Draw the noise and write the rows under another name; at the end they get their own."""
    from noisewise.data.microdata import pass_noisy_rows
    from noisewise.data.shuffle import Shuffle
    from noisewise.release.rows_file import RowsWriter, describe_file

    width = len(chosen.shares)
    try:
        with scratch_folder(target.parent) as folder:
            shuffle = Shuffle(folder / "shuffle", chosen.copies * width)
            rows = pass_noisy_rows(source, blank.schema, chosen.perturb, lambda part: shuffle.add(part.reshape(len(part), -1)),
                                   copies=chosen.copies, expected=expected, threads=threads, progress=progress)
            unfinished = folder / "rows.parquet"
            with RowsWriter(unfinished, blank.schema, chosen.copies) as writer:
                for block in shuffle.blocks():
                    writer.write(block.reshape(-1, chosen.copies, width))
            file = describe_file(unfinished, blank.file.name)
            made = replace(blank, rows=rows, file=file)
            _move(unfinished, made.rows_path)
            return made
    except FileExistsError:
        raise ReleaseWriteError("a file of that name was written while the noise was drawn, and the budget is spent",
                                found=blank.file.name, remedy="it may be the same release, made by another process; if not, "
                                "choose another name") from None
    except OSError as error:
        raise ReleaseWriteError("the noisy rows could not be written, and the budget is spent", found=error.strerror,
                                remedy="make room in the folder of the output file before the next release") from None


def _move(unfinished: Path, place: Path) -> None:
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(unfinished, place)  # unlike a renaming it never replaces a file that has come in the meantime
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        unfinished.rename(place)


def _kept(made: MicrodataRelease, target: Path) -> MicrodataRelease:
    """Write the release file; if that fails it is rescued, because its budget is spent."""
    try:
        made.save(target)
    except (NoisewiseError, OSError) as error:
        rescue = Path(tempfile.mkdtemp(prefix="noisewise-")) / target.name
        from noisewise.release.files import save

        save(made, rescue)
        raise ReleaseWriteError("the release file could not be written where it was wanted, but it is kept elsewhere: its budget "
                                "is spent", found=getattr(error, "found", None) or type(error).__name__,
                                remedy=f"move it beside {made.file.name}: {rescue}") from error
    return made


def _repeated(found: MicrodataRelease, target: Path) -> MicrodataRelease:
    """What was released before, if its rows are still there."""
    from noisewise.release.files import load
    from noisewise.release.rows_file import bring_rows

    try:
        if target.exists():
            if load(target) != found:
                raise ReleaseWriteError("there is another release of that name already", found=str(target),
                                        remedy="choose another name, or remove it yourself")
            bring_rows(found, target)
            return found
        found.save(target)
        return found
    except ReleaseWriteError:
        raise
    except ReleaseError as error:
        raise ReleaseError(
            f"this was released before, and its rows are not here: {error.rule}", found=error.found,
            remedy=f"put {found.file.name} of that release into {target.parent}; the ledger does not keep rows, and noise is not "
            "drawn again. If they are lost, another edition is another release, which costs its budget again",
        ) from None
