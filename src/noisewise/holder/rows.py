"""The plan of a `Rows` release: every row, with noise in each cell.

    nw.release("patients.parquet", schema, nw.Rows(), epsilon=8, to="patients.nwr")

writes ``patients.nwr`` and, beside it, ``patients.rows.parquet``. The ledger keeps the first. A repeated request returns it if
the second file still exists and is refused otherwise: noise is never drawn twice for one charge.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from noisewise.errors import DeclarationError, NoisewiseError, PrivacyError, ReleaseError, ReleaseWriteError
from noisewise.holder.plan import Plan, blank_release, head
from noisewise.holder.scratch import scratch_folder
from noisewise.kinds import Rows
from noisewise.privacy.mechanisms.rows import RowsMechanism, calibrate
from noisewise.releases.contents.rows import (
    CELL_RANGE,
    CellNoise,
    LevelNoise,
    NumberNoise,
    RowsContribution,
    RowsFile,
    check_copy_column,
)
from noisewise.releases.release import Release
from noisewise.run import Run
from noisewise.schema import Schema
from noisewise.schema.columns import Categorical, Numeric
from noisewise.words import option

if TYPE_CHECKING:
    from noisewise.data.sources import Source

LARGEST_VALUE: Final = 1e290
"""Limit on noisy cells in the units of the table."""
NOISE_REACH: Final = 2.0**43
"""Limit on scaled cells with their noise, which must fit into 64 bits on a grid of 2**-20."""


class RowsPlan(Plan[RowsMechanism]):
    """Noisy rows, written as they are made."""

    def check_target(self, to: str | os.PathLike[str] | None) -> Path:
        """The path to write the release to: required, and it must end in ``.nwr``."""
        target = super().check_target(to)
        if target is None:
            raise DeclarationError("a rows release is as long as the table and is written as it is made; it needs a file",
                                   argument="to", found=repr(to), remedy="for example " + option("to", "patients.nwr")
                                   + "; the rows go beside it, to patients.rows.parquet")
        if target.suffix != ".nwr":
            raise ReleaseWriteError("the name of a release file must end in .nwr", found=target.name,
                                    remedy='for example "patients.nwr"')
        return target

    def read(self, data: object, to: Path | None, run: Run) -> Callable[[], RowsContribution]:
        """Refuse existing files and a full disk; check that all rows can be read, but read a stream only to draw the noise."""
        from noisewise.data.statistics.rows import open_rows

        assert to is not None
        _refuse_existing(to)
        source, rows = open_rows(data, self.blank.schema, run)
        _check_room(to, rows, self.mechanism)
        one = self.blank.contents
        named = replace(one, file=replace(one.file, name=rows_name(to))).placed_at(to)
        return lambda: _written(named, source, rows, self.mechanism, to, run)

    def keep(self, made: Release, to: Path | None) -> Release:
        """Write the release file. If that fails, save it elsewhere, because its budget is spent."""
        assert to is not None
        made = made.placed_at(to)
        try:
            made.save(to)
        except (NoisewiseError, OSError) as error:
            rescue = Path(tempfile.mkdtemp(prefix="noisewise-")) / to.name
            from noisewise.releases.files import save

            save(made, rescue)
            raise ReleaseWriteError("the release file could not be written to its target and was saved elsewhere, because its "
                                    "budget is spent", found=getattr(error, "found", None) or type(error).__name__,
                                    remedy=f"move it beside {made.contents.file.name}: {rescue}") from error
        return made

    def found_again(self, made: Release, to: Path | None) -> Release:
        """The earlier release, if its rows are still there."""
        from noisewise.releases.files import load

        assert to is not None
        found = made.placed_at(to)
        try:
            if not to.exists():
                found.save(to)
            elif load(to) == found:
                found.contents.bring_files(to)
            else:
                raise ReleaseWriteError("a different release of that name exists", found=str(to),
                                        remedy="choose another name, or remove it yourself")
            return found
        except ReleaseWriteError:
            raise
        except ReleaseError as error:
            raise ReleaseError(
                f"this was released before, but its rows are not here: {error.rule}", found=error.found,
                remedy=f"put that release's {found.contents.file.name} into {to.parent}; the ledger does not keep rows, and "
                "noise is not drawn again. If they are lost, use another edition, which costs the budget again",
            ) from None


def plan(kind: Rows, schema: Schema, epsilon: float, delta: float | None) -> RowsPlan:
    """Plan the release."""
    mechanism = plan_rows(schema, kind, epsilon, delta)
    one = RowsContribution(
        schema=schema, copies=mechanism.copies, columns={name: cell_noise(mechanism, name) for name in schema.names},
        file=RowsFile("rows.parquet", 0, "0" * 64), **head(mechanism, schema, CELL_RANGE))
    shares = {name: float(weight) for name, weight in _weights(schema, kind.shares).items()}
    settled = replace(kind, mechanism=mechanism.name, shares=shares)
    return RowsPlan(mechanism, blank_release(settled, schema, one))


def plan_rows(schema: Schema, kind: Rows, epsilon: float, delta: float | None = None) -> RowsMechanism:
    """Choose the noise from public declarations alone; this spends nothing."""
    schema.require_bounds()
    if not schema.rows_are_public:
        raise PrivacyError("rows are published only under replace-one with a row as the unit, since everyone sees how many there "
                           "are", found=f"adjacency {schema.adjacency}, unit {schema.unit.to_dict()!r}",
                           remedy='declare adjacency = "replace-one" and unit = "row" if that matches what must be protected; '
                           "otherwise make a gram release")
    if schema.norm_bound is not None:
        raise DeclarationError("norm_bound shortens whole rows, but a rows release publishes them column by column",
                               found=f"norm_bound = {schema.norm_bound}", remedy="remove norm_bound from this schema")
    try:
        check_copy_column(schema, kind.copies)
    except ReleaseError as error:
        raise error.into(DeclarationError) from None
    for column in schema.columns:
        if isinstance(column, Numeric) and not (abs(column.centre) + NOISE_REACH * column.half_width <= LARGEST_VALUE
                                                and column.half_width >= 1 / LARGEST_VALUE):
            raise DeclarationError(f"column '{column.name}': noisy cells would be out of range for a double",
                                   found=f"bounds [{column.lower}, {column.upper}]", remedy="use another unit for this column")
    levels = {column.name: len(column.levels) if isinstance(column, Categorical) else None for column in schema.columns}
    return calibrate(levels, epsilon=epsilon, delta=delta, mechanism=kind.mechanism, copies=kind.copies,
                     weights=_weights(schema, kind.shares))


def rows_name(target: Path) -> str:
    """The name of the rows file that belongs to a release file.

    >>> rows_name(Path("folder/patients.nwr"))
    'patients.rows.parquet'
    """
    return f"{target.name.removesuffix('.nwr')}.rows.parquet"


def _weights(schema: Schema, shares: Mapping[str, float] | None) -> dict[str, Fraction]:
    """The weight of each column relative to the smallest, so that equal shares written differently agree; 1 by default."""
    given = dict(shares or {})
    unknown = [name for name in given if name not in schema.names]
    if unknown:
        raise DeclarationError("shares must name declared columns", argument="shares",
                               found=", ".join(map(repr, unknown))[:200], known=schema.names)
    weights = {name: Fraction(given.get(name, 1)) for name in schema.names}
    smallest = min(weights.values())
    return {name: Fraction(float(weight / smallest)) for name, weight in weights.items()}


def cell_noise(chosen: RowsMechanism, name: str) -> CellNoise:
    """The noise of a column, as stated in the release."""
    share = float(chosen.shares[name])
    if name in chosen.scales:
        return NumberNoise(share, chosen.distribution, chosen.scales[name])
    return LevelNoise(share, chosen.keep_probability(name))


def _refuse_existing(target: Path) -> None:
    for path in (target, target.with_name(rows_name(target))):
        if os.path.lexists(path):
            raise ReleaseWriteError(
                "a file of that name exists, and may be the only copy of a release that was paid for",
                found=str(path), remedy="choose another name, or remove it yourself; nothing was released")


def _check_room(target: Path, rows: int | None, chosen: RowsMechanism) -> None:
    """Check the disk: the temporary files and the result each hold all noisy cells."""
    needed = 17 * (rows or 0) * chosen.copies * (len(chosen.shares) + 1) + 2**20
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise ReleaseWriteError("there must be enough disk space to hold the noisy rows twice; nothing was released",
                                found=f"{free} bytes free in {target.parent}, {needed} needed",
                                remedy="free some space, or choose another folder")


def _written(blank: RowsContribution, source: Source, expected: int | None, chosen: RowsMechanism, target: Path,
             run: Run) -> RowsContribution:
    """Draw the noise and write the rows under a temporary name; rename at the end."""
    from noisewise.data.splitting.order import Shuffle
    from noisewise.data.statistics.rows import pass_noisy_rows
    from noisewise.releases.rows_file import RowsWriter, describe_file

    width = len(chosen.shares)
    try:
        with scratch_folder(target.parent) as folder:
            shuffle = Shuffle(folder / "shuffle", chosen.copies * width)
            rows = pass_noisy_rows(source, blank.schema, chosen.perturb, lambda part: shuffle.add(part.reshape(len(part), -1)),
                                   copies=chosen.copies, expected=expected, run=run)
            unfinished = folder / "rows.parquet"
            with RowsWriter(unfinished, blank.schema, chosen.copies) as writer:
                for block in shuffle.blocks():
                    writer.write(block.reshape(-1, chosen.copies, width))
            made = replace(blank, rows=rows, file=describe_file(unfinished, blank.file.name))
            _move(unfinished, made.rows_path)
            return made
    except FileExistsError:
        raise ReleaseWriteError("a file of that name appeared while the noise was drawn; the budget is spent",
                                found=blank.file.name, remedy="it may be the same release, made by another process; if not, "
                                "choose another name") from None
    except OSError as error:
        raise ReleaseWriteError("the noisy rows could not be written; the budget is spent", found=error.strerror,
                                remedy="free some space in the output folder before the next release") from None


def _move(unfinished: Path, place: Path) -> None:
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(unfinished, place)  # unlike rename, never replaces a file that appeared in the meantime
    except FileExistsError:
        raise
    except OSError:  # the file system has no hard links
        unfinished.rename(place)
