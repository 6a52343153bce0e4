"""A release of kind ``microdata``: every row of a table, each cell with noise of its own, in a Parquet file beside it.

The release file has everything that is needed to use the rows: the noise of each column, and the name, the size and the SHA-256
digest of the file of rows, which is looked at before a row is read (`noisewise.release.rows_file`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

import numpy as np
import numpy.typing as npt

from noisewise.errors import NoisewiseError, ReleaseError
from noisewise.release.checks import LARGEST_ENTRY, number_of
from noisewise.release.json_text import short
from noisewise.release.single import SingleRelease, whole_number
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

COPY: Final = "copy"
"""The column that tells the copies of a row apart; only there if there are several."""

MOST_COPIES: Final = 1000
MOST_CELLS: Final = 2**30
"""Of a table in memory, copies included: 8 GiB of numbers. Batches have no such limit."""

MECHANISMS: Final = ("laplace", "gaussian", "randomised-response")
CELL_BYTES: Final = 8
"""Numbers are stored plainly, so that a small file cannot become a large table."""


@dataclass(frozen=True)
class NumberNoise:
    """Noise on the cells of a numeric column: Laplace noise of this scale, or Gaussian noise of this standard deviation.

    ``share`` is the column's share of the budget, ``scale`` is in scaled units, in which the bounds are -1 and 1.
    """

    share: float
    distribution: str
    scale: float

    @property
    def sd(self) -> float:
        """The standard deviation, in scaled units."""
        return float(np.sqrt(2) * self.scale) if self.distribution == "laplace" else self.scale

    def to_dict(self) -> dict[str, Any]:
        return {"share": self.share, "distribution": self.distribution, "scale": self.scale}


@dataclass(frozen=True)
class LevelNoise:
    """Randomised response: a cell keeps its level with probability ``keep``, else it is one of the others, all equally likely."""

    share: float
    keep: float

    def to_dict(self) -> dict[str, Any]:
        return {"share": self.share, "keep": self.keep}


CellNoise = NumberNoise | LevelNoise


@dataclass(frozen=True)
class RowsFile:
    """The file of rows: a name beside the release file, the number of bytes and the SHA-256 digest of them."""

    name: str
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and self.name.isprintable() and len(os.fsencode(self.name)) <= 200
        if not plain or not self.name.endswith(".parquet") or self.name.startswith(".") or re.search(r"[/\\:*?\"<>|]", self.name):
            raise ReleaseError("the file of rows has a plain name that ends in .parquet: it lies beside the release file",
                               found=short(self.name))
        object.__setattr__(self, "bytes", whole_number(self.bytes, "rows_file: bytes", least=0))
        if not isinstance(self.sha256, str) or not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ReleaseError("rows_file: sha256 is 64 hexadecimal digits", found=short(self.sha256))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.bytes, "sha256": self.sha256}


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Published rows as numbers, for an analysis.

    ``numbers`` (copies, rows, columns) are the noisy cells of the columns ``names`` in scaled units, ``noise`` (columns,) the
    scale of their noise: Laplace's, or if ``laplace`` is False a standard deviation. ``codes`` has for each category its noisy
    levels (copies, rows), counted from 0 as they are declared, ``keep`` the probability with which a level was kept.
    """

    names: tuple[str, ...]
    numbers: npt.NDArray[np.float64]
    noise: npt.NDArray[np.float64]
    laplace: bool
    codes: Mapping[str, npt.NDArray[np.int32]]
    keep: Mapping[str, float]

    @property
    def copies(self) -> int:
        return int(self.numbers.shape[0])

    @property
    def rows(self) -> int:
        return int(self.numbers.shape[1])


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MicrodataRelease(SingleRelease):
    """Every row of a table, ``copies`` times, with noise in each cell, in random order.

    ``columns`` has the noise of each column by its name, ``file`` says which Parquet file has the rows, ``folder`` where it lies:
    `load` knows it. The rows are read by `table`, `batches` and `scaled`, which refuse any other file.
    """

    kind: ClassVar[str] = "microdata"
    FIRST_VERSION: ClassVar[str] = "1.4"
    remedy_for_fit: ClassVar[str] = "noisewise.fit fits linear regressions to one such release by itself"

    copies: int
    columns: Mapping[str, CellNoise]
    file: RowsFile
    folder: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.schema.rows_are_public:
            raise ReleaseError("rows are published only under replace-one with a row as the unit",
                               found=f"{self.adjacency}, unit {short(self.schema.unit.to_dict())}")
        try:
            self.schema.require_bounds()
        except NoisewiseError as error:
            raise ReleaseError(error.rule, found=error.found) from None
        object.__setattr__(self, "copies", whole_number(self.copies, "copies", most=MOST_COPIES))
        object.__setattr__(self, "columns", MappingProxyType(self._checked_columns()))
        check_copy_column(self.schema, self.copies)
        self._check_mechanism()
        least = CELL_BYTES * self.table_rows * len(self.numbers)
        if self.file.bytes < least:
            raise ReleaseError(f"a file of so many rows and numbers has at least {least} bytes", found=str(self.file.bytes))

    def _checked_columns(self) -> dict[str, CellNoise]:
        if tuple(self.columns) != self.schema.names:
            raise ReleaseError("there is one noise for each declared column, in their order", found=short(list(self.columns)))
        found = {name: _checked(self.schema, name, noise) for name, noise in self.columns.items()}
        total = sum(noise.share for noise in found.values())
        if abs(total - 1) > 1e-9:
            raise ReleaseError("the shares of the columns add up to 1", found=repr(total))
        return found

    def _check_mechanism(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise ReleaseError("the mechanism of a microdata release is " + ", ".join(MECHANISMS), found=short(self.mechanism),
                               remedy="a newer noisewise may know it")
        expected = {self.mechanism} if self.numbers else set()
        kinds = {noise.distribution for noise in self.numbers.values()}
        if kinds != expected or (not kinds) != (self.mechanism == "randomised-response"):
            raise ReleaseError("the noise on numbers is that of the mechanism", found=f"{self.mechanism}, {sorted(kinds)}")
        if (self.mechanism == "gaussian") != (self.delta > 0):
            raise ReleaseError("a microdata release has a delta if and only if its noise is Gaussian", found=repr(self.delta))

    @property
    def numbers(self) -> dict[str, NumberNoise]:
        """The numeric columns and their noise."""
        return {name: noise for name, noise in self.columns.items() if isinstance(noise, NumberNoise)}

    @property
    def levels(self) -> dict[str, LevelNoise]:
        """The categories and their noise."""
        return {name: noise for name, noise in self.columns.items() if isinstance(noise, LevelNoise)}

    @property
    def table_rows(self) -> int:
        """The number of rows of the file: each row as often as there are copies."""
        return cast(int, self.rows) * self.copies

    @property
    def rows_path(self) -> Path:
        """Where the file of rows must be."""
        if self.folder is None:
            raise ReleaseError("this release does not know where its rows are", found=f"no folder for {self.file.name}",
                               remedy="load it from its file with noisewise.load, with the file of rows beside it")
        return self.folder / self.file.name

    def placed_at(self, path: str | os.PathLike[str]) -> Self:
        """The same release, read from or written to this path."""
        return replace(self, folder=Path(path).absolute().parent)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The noisy rows in the units of the table, some ten thousand at a time; copies of a row follow one another."""
        from noisewise.release.rows_file import read_batches

        return read_batches(self)

    def table(self) -> pa.Table:
        """All noisy rows in the units of the table, as an Arrow table; `batches` is for more than memory holds."""
        from noisewise.release.rows_file import read_table

        return read_table(self)

    def scaled(self) -> ScaledRows:
        """All noisy rows as numbers, in scaled units."""
        from noisewise.release.rows_file import read_scaled

        return read_scaled(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the release file; the file of rows is copied to its folder if it is not there."""
        from noisewise.release.rows_file import bring_rows

        bring_rows(self, Path(path))
        return super().save(path)

    def fingerprints(self) -> tuple[bytes, ...]:
        return (bytes.fromhex(self.file.sha256),)

    def contents(self) -> dict[str, Any]:
        return {"copies": self.copies, "columns": {name: noise.to_dict() for name, noise in self.columns.items()},
                "rows_file": self.file.to_dict()}

    def asked(self) -> dict[str, Any]:
        return {"copies": self.copies, "shares": {name: noise.share for name, noise in self.columns.items()}}

    @classmethod
    def own_arguments(cls, given: Any, schema: Schema) -> dict[str, Any]:
        return {
            "copies": given.copies,
            "columns": {name: _noise_of(name, fields) for name, fields in given.columns.items()},
            "file": RowsFile(given.rows_file.name, given.rows_file.bytes, given.rows_file.sha256),
        }

    def title(self) -> str:
        return f"{self.rows} rows, {self.title_before_reading()}"

    def title_before_reading(self) -> str:
        columns = f"{len(self.columns)} {'column' if len(self.columns) == 1 else 'columns'}"
        return columns + (f", {self.copies} copies" if self.copies > 1 else "")

    def summary_lines(self) -> list[tuple[str, str]]:
        numbers = [f"{name}, standard deviation {self.sd_in_units(name):.4g}" for name in self.numbers]
        levels = [f"{name}, kept with probability {_probability(noise.keep)}" for name, noise in self.levels.items()]
        copies = f" on each of {self.copies} copies" if self.copies > 1 else ""
        return [
            *([("numbers", f"{self.mechanism} noise{copies}: " + "; ".join(numbers))] if numbers else []),
            *([("levels", f"randomised response{copies}: " + "; ".join(levels))] if levels else []),
            ("file", f"{self.file.name}, {self.file.bytes:,} bytes, in random order; SHA-256 {self.file.sha256[:16]}…"),
        ]

    def sd_in_units(self, name: str) -> float:
        """The standard deviation of the noise on a numeric column, in its own units."""
        column = self.schema.column(name)
        assert isinstance(column, Numeric)
        return self.numbers[name].sd * column.half_width


def _probability(value: float) -> str:
    return f"{value:.4g}" if value < 0.9999 else "above 0.9999"


def check_copy_column(schema: Schema, copies: int) -> None:
    """Several copies need a column of their own."""
    if copies > 1 and COPY in schema.names:
        raise ReleaseError(f"with several copies the column '{COPY}' tells them apart, so no other may have this name",
                           found=f"a declared column '{COPY}'", remedy="rename it in the table and in the schema")


def check_regular(path: Path) -> os.stat_result:
    """Refuse what is no ordinary file before it is opened: a pipe would block."""
    try:
        found = path.stat()
    except OSError as error:
        raise ReleaseError("the rows of a release lie in a file of their own beside the release file",
                           found=f"{path.name}: {error.strerror}", remedy="get this file too, and put it there") from None
    if not stat.S_ISREG(found.st_mode):
        raise ReleaseError("the rows of a release are an ordinary file", found=path.name)
    return found


def _noise_of(name: str, fields: Any) -> CellNoise:
    if fields.keep is None and fields.distribution is not None and fields.scale is not None:
        return NumberNoise(fields.share, fields.distribution, fields.scale)
    if fields.keep is not None and fields.distribution is None and fields.scale is None:
        return LevelNoise(fields.share, fields.keep)
    raise ReleaseError(f"columns: '{short(name)}' states either distribution and scale, or keep", found="another combination")


def _checked(schema: Schema, name: str, noise: CellNoise) -> CellNoise:
    column = schema.column(name)
    where = f"column '{name}'"
    share = number_of(noise.share, f"{where}: share")
    if not 0 < share <= 1:
        raise ReleaseError(f"{where}: its share is positive and at most 1", found=repr(share))
    if isinstance(noise, NumberNoise) and isinstance(column, Numeric):
        scale = number_of(noise.scale, f"{where}: scale")
        if not 1 / LARGEST_ENTRY <= scale <= LARGEST_ENTRY:
            raise ReleaseError(f"{where}: the scale of its noise is positive and of ordinary size", found=repr(scale))
        return NumberNoise(share, noise.distribution, scale)
    if isinstance(noise, LevelNoise) and isinstance(column, Categorical):
        keep = number_of(noise.keep, f"{where}: keep")
        if not 1 / len(column.levels) - 1e-9 <= keep < 1:
            raise ReleaseError(f"{where}: a level is kept with a probability from 1/{len(column.levels)} to below 1",
                               found=repr(keep))
        return LevelNoise(share, keep)
    raise ReleaseError(f"{where}: numbers have noise of a scale, categories a probability to be kept",
                       found=type(noise).__name__)
