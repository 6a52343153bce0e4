"""The contents of a `Rows` release: how much noise each cell has, and which file of noisy rows belongs to it.

The rows are in a Parquet file next to the release file. That file is checked before any row is read
(`noisewise.releases.rows_file`).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, Self, Unpack, cast

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Vector
from noisewise.errors import ReleaseError
from noisewise.kinds import Rows
from noisewise.releases.checks import number_of, ordinary, refused_as_release, require, settle, whole_number
from noisewise.releases.contribution import Contribution, StoredHead
from noisewise.releases.fields import RecordFields, known_part, named, shape, shape_of
from noisewise.releases.json_text import short
from noisewise.releases.promises import check_gaussian, check_pure
from noisewise.schema.basis import BasisColumn
from noisewise.schema.columns import Categorical, Numeric
from noisewise.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

COPY: Final = "copy"
"""The column that distinguishes copies of a row; present only if there are several copies."""

MOST_CELLS: Final = 2**30
"""The limit for a table in memory, copies included: 8 GiB of numbers. Batches have no such limit."""

MECHANISMS: Final = ("laplace", "gaussian", "randomised-response")
CELL_BYTES: Final = 8
"""Numbers are stored uncompressed, so that a small file cannot become a large table."""
CELL_RANGE: Final = 2.0
"""The largest distance between two scaled cells."""


@dataclass(frozen=True)
class NumberNoise:
    """Noise on the cells of a numeric column: Laplace noise of this scale, or Gaussian noise of this standard deviation.

    ``share`` is the column's share of the budget; ``scale`` is in scaled units, in which the bounds are -1 and 1.
    """

    share: float
    distribution: str
    scale: float

    @property
    def sd(self) -> float:
        """The standard deviation, in scaled units."""
        return float(np.sqrt(2) * self.scale) if self.distribution == "laplace" else self.scale


@dataclass(frozen=True)
class LevelNoise:
    """Randomised response: a cell keeps its level with probability ``keep``; otherwise it becomes any other, equally likely."""

    share: float
    keep: float


CellNoise = NumberNoise | LevelNoise
CELL_FIELDS: Final = shape("CellNoiseFields", share=float, distribution=(str | None, None), scale=(float | None, None),
                           keep=(float | None, None))


@dataclass(frozen=True)
class RowsFile:
    """The file of rows: its name in the folder of the release file, its size in bytes and its SHA-256 digest."""

    name: str
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and self.name.isprintable() and len(os.fsencode(self.name)) <= 200
        if not plain or not self.name.endswith(".parquet") or self.name.startswith(".") or re.search(r"[/\\:*?\"<>|]", self.name):
            raise ReleaseError("the file of rows must have a plain name that ends in .parquet: it is next to the release file",
                               found=short(self.name))
        settle(self, whole_number, "bytes", where="rows_file: {}", least=0)
        require(isinstance(self.sha256, str) and re.fullmatch("[0-9a-f]{64}", self.sha256) is not None,
                "rows_file: sha256 must be 64 hexadecimal digits", short(self.sha256))


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Published rows as numbers, for an analysis.

    ``numbers`` (copies, rows, columns) are the noisy cells of the columns ``names`` in scaled units. ``noise`` (columns,) is the
    scale of their noise: of Laplace noise, or a standard deviation if ``laplace`` is False. For each category, ``codes`` has its
    noisy levels (copies, rows), counted from 0 in the declared order, and ``keep`` the probability with which a level was kept.
    """

    names: tuple[str, ...]
    numbers: Array
    noise: Vector
    laplace: bool
    codes: Mapping[str, npt.NDArray[np.int32]]
    keep: Mapping[str, float]

    @property
    def rows(self) -> int:
        """The number of rows of the table, without copies."""
        return int(self.numbers.shape[1])


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RowsContribution(Contribution):
    """Every row of a table, ``copies`` times, with noise in each cell, in random order.

    ``columns`` has the noise of each column by name, ``file`` says which Parquet file has the rows, and ``folder``, set by
    `load`, is where it is. `table`, `batches` and `scaled` read the rows and refuse any other file. ``sensitivity`` is the
    largest distance between two scaled cells.
    """

    FIELDS: ClassVar[type[RecordFields]] = shape("RowsFields", columns=named(CELL_FIELDS), rows_file=shape_of(RowsFile))

    schema: Schema
    copies: int
    columns: Mapping[str, CellNoise]
    file: RowsFile
    folder: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.rows is not None, "releasing rows requires replace-one adjacency with a row as the unit",
                f"{self.schema.adjacency}, unit {short(self.schema.unit.to_dict())}")
        with refused_as_release():
            self.schema.require_bounds()
        object.__setattr__(self, "columns", MappingProxyType(self._checked_columns()))
        check_copy_column(self.schema, self.copies)
        self._check_mechanism()
        least = CELL_BYTES * self.table_rows * len(self.numbers)
        require(self.file.bytes >= least, f"a file with these rows and columns must have at least {least} bytes", self.file.bytes)

    def _checked_columns(self) -> dict[str, CellNoise]:
        require(tuple(self.columns) == self.schema.names, "noise must be stated for each declared column, in their order",
                list(self.columns))
        found = {name: _checked(self.schema, name, noise) for name, noise in self.columns.items()}
        total = sum(noise.share for noise in found.values())
        require(abs(total - 1) <= 1e-9, "the shares of the columns must add up to 1", total)
        return found

    def _check_mechanism(self) -> None:
        require(self.mechanism in MECHANISMS, "the mechanism of a rows release must be one of " + ", ".join(MECHANISMS),
                short(self.mechanism), "a newer noisewise may know it")
        expected = {self.mechanism} if self.numbers else set()
        kinds = {noise.distribution for noise in self.numbers.values()}
        require(kinds == expected and (not kinds) == (self.mechanism == "randomised-response"),
                "the noise on numeric columns must be that of the mechanism", f"{self.mechanism}, {sorted(kinds)}")
        require((self.mechanism == "gaussian") == (self.delta > 0),
                "delta must be > 0 if and only if the noise is Gaussian", self.delta)

    def check_promise(self) -> None:
        """Check each column against its share of epsilon; columns with Gaussian noise share theirs."""
        for name, level in self.levels.items():
            column = cast(Categorical, self.schema.column(name))
            ratio = level.keep * (len(column.levels) - 1) / (1 - level.keep)
            check_pure(self.copies * math.log(max(ratio, 1.0)), level.share * self.epsilon)
        if self.mechanism == "gaussian":
            squared = sum(self.copies * (CELL_RANGE / noise.scale) ** 2 for noise in self.numbers.values())
            own = sum(noise.share for noise in self.numbers.values())
            check_gaussian(math.sqrt(squared), own * self.epsilon, self.delta)
        else:
            for noise in self.numbers.values():
                check_pure(self.copies * CELL_RANGE / noise.scale, noise.share * self.epsilon)

    def check(self, kind: Rows, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        """Refuse a schema other than that of the release, and shares or copies other than the requested ones."""
        self.check_sensitivity(CELL_RANGE)
        require(schema == self.schema, "the rows must have the schema of the release", "another schema")
        weights = {name: (kind.shares or {}).get(name, 1.0) for name in self.columns}
        total = sum(weights.values())
        require(all(math.isclose(noise.share, weights[name] / total, rel_tol=1e-9) for name, noise in self.columns.items()),
                "the columns must have the shares that the kind asks for",
                {name: noise.share for name, noise in self.columns.items()})
        require(kind.copies == self.copies, "the number of copies must be the one that the kind asks for",
                f"{self.copies}, asked for {kind.copies}")

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
        """The number of rows of the file, with all copies."""
        return cast(int, self.rows) * self.copies

    @property
    def rows_path(self) -> Path:
        """The path of the file of rows."""
        require(self.folder is not None, "this release does not know where its rows are", f"no folder for {self.file.name}",
                "load it from its file with noisewise.load, with the file of rows in the same folder")
        return cast(Path, self.folder) / self.file.name

    def placed_at(self, path: Path) -> Self:
        """The same contribution, of a release file at this path."""
        return replace(self, folder=Path(path).absolute().parent)

    def bring_files(self, path: Path) -> None:
        """Copy the file of rows to the folder of this path if it is not there yet."""
        from noisewise.releases.rows_file import bring_rows

        bring_rows(self, path)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the noisy rows in the units of the table, tens of thousands at a time. Copies of a row are adjacent."""
        from noisewise.releases.rows_file import read_batches

        return read_batches(self)

    def table(self) -> pa.Table:
        """All noisy rows in the units of the table, as an Arrow table. Use `batches` for tables larger than memory."""
        from noisewise.releases.rows_file import read_table

        return read_table(self)

    def scaled(self) -> ScaledRows:
        """All noisy rows as numbers, in scaled units."""
        from noisewise.releases.rows_file import read_scaled

        return read_scaled(self)

    def fingerprint(self) -> bytes:
        """The SHA-256 digest that the file states for its rows; the rows are not read."""
        return bytes.fromhex(self.file.sha256)

    def count(self) -> int:
        """The number of noisy cells, with all copies."""
        return self.table_rows * len(self.columns)

    def contents(self) -> dict[str, object]:
        """The noise of each column, and the name, size and digest of the file of rows."""
        return {"columns": {name: asdict(noise) for name, noise in self.columns.items()}, "rows_file": asdict(self.file)}

    @classmethod
    def from_contents(cls, contents: RecordFields, kind: Rows, schema: Schema, columns: Sequence[BasisColumn],
                      **head: Unpack[StoredHead]) -> Self:
        """Build the contribution without its rows. ``folder`` is None until `placed_at` sets it."""
        return cls(schema=schema, copies=kind.copies, file=RowsFile(**known_part(contents.rows_file)),
                   columns={name: _noise_of(name, fields) for name, fields in contents.columns.items()}, **head)

    def lines(self, kind: Rows, schema: Schema) -> list[tuple[str, str]]:
        """Describe the noise of each column, numbers in their own units, and the file of rows."""
        numbers = [f"{name}, standard deviation {self.sd_in_units(name):.4g}" for name in self.numbers]
        levels = [f"{name}, kept with probability " + (f"{noise.keep:.4g}" if noise.keep < 0.9999 else "above 0.9999")
                  for name, noise in self.levels.items()]
        copies = f" on each of {self.copies} copies" if self.copies > 1 else ""
        return [
            *([("numbers", f"{self.mechanism} noise{copies}: " + "; ".join(numbers))] if numbers else []),
            *([("levels", f"randomised response{copies}: " + "; ".join(levels))] if levels else []),
            ("file", f"{self.file.name}, {self.file.bytes:,} bytes, in random order; SHA-256 {self.file.sha256[:16]}…"),
        ]

    def own_facts(self) -> dict[str, object]:
        """The number of copies, the noise of each column in scaled units, and the file of rows."""
        return {"copies": self.copies, **self.contents()}

    def sd_in_units(self, name: str) -> float:
        """The standard deviation of the noise on a numeric column, in its own units."""
        column = self.schema.column(name)
        assert isinstance(column, Numeric)
        return self.numbers[name].sd * column.half_width


def check_copy_column(schema: Schema, copies: int) -> None:
    """Refuse several copies of a table in which a column has the name reserved for their number."""
    require(copies == 1 or COPY not in schema.names,
            f"with several copies, the column name '{COPY}' is reserved for their number",
            f"a declared column '{COPY}'", "rename it in the table and in the schema")


def _noise_of(name: str, fields: RecordFields) -> CellNoise:
    if fields.keep is None and fields.distribution is not None and fields.scale is not None:
        return NumberNoise(fields.share, fields.distribution, fields.scale)
    if fields.keep is not None and fields.distribution is None and fields.scale is None:
        return LevelNoise(fields.share, fields.keep)
    raise ReleaseError(f"columns: '{short(name)}' must state either distribution and scale, or keep", found="another combination")


def _checked(schema: Schema, name: str, noise: CellNoise) -> CellNoise:
    column = schema.column(name)
    where = f"column '{name}'"
    share = number_of(noise.share, f"{where}: share")
    require(0 < share <= 1, f"{where}: its share must be > 0 and at most 1", share)
    if isinstance(noise, NumberNoise) and isinstance(column, Numeric):
        scale = ordinary(noise.scale, f"{where}: the scale of its noise")
        return NumberNoise(share, noise.distribution, scale)
    if isinstance(noise, LevelNoise) and isinstance(column, Categorical):
        keep = number_of(noise.keep, f"{where}: keep")
        require(1 / len(column.levels) - 1e-9 <= keep < 1,
                f"{where}: keep must be at least 1/{len(column.levels)} and below 1", keep)
        return LevelNoise(share, keep)
    raise ReleaseError(f"{where}: a numeric column must state the scale of its noise, a category the probability keep",
                       found=type(noise).__name__)


CONTRIBUTION = RowsContribution
