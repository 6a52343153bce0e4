"""The schema: everything public about a table, from a TOML file or a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from noisewise.checks import is_whole
from noisewise.errors import DeclarationError
from noisewise.schema.columns import DROP, UNFILLED, Column, Numeric, Unbounded, check_text, column_from_dict, is_finite_number
from noisewise.schema.toml import read_toml, to_toml
from noisewise.words import either

Adjacency: TypeAlias = Literal["replace-one", "add-remove"]
ADJACENCIES: Final = ("replace-one", "add-remove")
KEYS: Final = ("adjacency", "unit", "norm_bound", "stratum", "columns")


@dataclass(frozen=True)
class Unit:
    """What the guarantee protects: one row, or all rows with the same value in a column (at most ``max_rows`` are used)."""

    column: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if not is_whole(self.max_rows, 1, 2**31 - 1):
            raise DeclarationError("unit: max_rows must be a whole number from 1 to 2**31 - 1",
                                   found=repr(self.max_rows),
                                   remedy="declare how many rows of one unit to use; any others are left out")
        if self.column is None and self.max_rows != 1:
            raise DeclarationError("unit: max_rows requires a column that says who each row belongs to",
                                   found=repr(self.max_rows),
                                   remedy="name that column, or leave max_rows out if each row is one unit")

    @property
    def is_row(self) -> bool:
        """True if each row is a unit of its own."""
        return self.column is None

    def to_dict(self) -> str | dict[str, object]:
        """The unit as plain data."""
        return "row" if self.column is None else {"column": self.column, "max_rows": self.max_rows}


@dataclass(frozen=True)
class Schema:
    """Public declarations about a table: columns, privacy unit, adjacency and an optional bound on a row's norm.

    >>> schema = Schema.from_dict({
    ...     "adjacency": "replace-one",
    ...     "unit": "row",
    ...     "columns": {"age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}},
    ... })
    >>> schema.column("age").half_width
    40.0
    """

    columns: tuple[Column, ...]
    adjacency: Adjacency
    unit: Unit = Unit()
    norm_bound: float | None = None
    stratum: tuple[tuple[str, str], ...] = ()
    """The stratum of the population that this table covers, such as (("year", "2024"),). Nobody is in two strata with the
    same name, and it is public who is in which."""

    def __post_init__(self) -> None:
        if self.adjacency not in ADJACENCIES:
            raise DeclarationError("adjacency must be declared", argument="adjacency", found=repr(self.adjacency),
                                   known=ADJACENCIES,
                                   remedy="use replace-one if the number of rows is public, add-remove if it is not")
        if not self.columns:
            raise DeclarationError("a schema needs at least one column", remedy="add [columns.<name>] with bounds or levels")
        if len(set(self.names)) < len(self.columns):
            raise DeclarationError("each column must be declared only once", found=", ".join(self.names),
                                   remedy="remove the repetition")
        if any(column.name == self.unit.column for column in self.columns):
            raise DeclarationError("the unit column identifies people and cannot be analysed",
                                   found=repr(self.unit.column), remedy="remove it from columns")
        if self.norm_bound is not None and not (is_finite_number(self.norm_bound) and 2**-20 <= self.norm_bound <= 2**20):
            raise DeclarationError("norm_bound must be a number between 2**-20 and 2**20", found=repr(self.norm_bound),
                                   remedy="leave it out to use the bound implied by the columns")
        _check_stratum(self.stratum)
        for column in self.columns if self.adjacency == "replace-one" else ():
            if column.fill == DROP and not isinstance(column, Unbounded):
                raise DeclarationError(f"column '{column.name}': rows may not be dropped under replace-one, where their number "
                                       "is public", found="missing = \"drop\"",
                                       remedy="give missing a value, or declare adjacency = \"add-remove\"")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def without_bounds(self) -> list[str]:
        """The names of the columns whose bounds are declared unknown."""
        return [column.name for column in self.columns if isinstance(column, Unbounded)]

    def require_bounds(self) -> None:
        """Refuse columns without bounds. For releases whose noise is calibrated to bounds."""
        if self.without_bounds:
            name = self.without_bounds[0]
            raise DeclarationError(f"column '{name}': its bounds are unknown, and this kind of release needs them",
                                   found="bounds = \"unknown\"", remedy=f"declare bounds of '{name}' from public knowledge, "
                                   "estimate them with `noisewise bounds`, or make a release of kind partition: "
                                   + either("noisewise.Partition", "noisewise release partition"))

    def with_unit_bounds(self) -> Schema:
        """The same schema with bounds of -1 and 1 where they are unknown: for reading formulas, not for clipping."""
        return replace(self, columns=tuple(Numeric(column.name, -1.0, 1.0) if isinstance(column, Unbounded) else column
                                           for column in self.columns))

    @property
    def rows_are_public(self) -> bool:
        """True if the exact number of rows is public: under replace-one, if each row is a unit of its own.

        With a unit column, replacing one person by another can change the number of rows, so that number is noisy.
        """
        return self.adjacency == "replace-one" and self.unit.is_row

    def column(self, name: str) -> Column:
        """The declared column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DeclarationError("the schema does not declare this column", found=repr(name), known=self.names)

    @classmethod
    def from_dict(cls, declared: Mapping[str, object]) -> Schema:
        """Build a schema from a dictionary with the same keys as the TOML file."""
        if not isinstance(declared, dict):
            raise DeclarationError("a schema must be a dictionary", found=type(declared).__name__, known=KEYS)
        unknown = set(declared) - set(KEYS)
        if unknown:
            raise DeclarationError("unknown key in the schema", found=", ".join(sorted(map(str, unknown))), known=KEYS)
        columns = declared.get("columns")
        if not isinstance(columns, dict) or not columns:
            raise DeclarationError("a schema needs columns", found=repr(columns),
                                   remedy="add [columns.<name>] with bounds or levels for each column to be released")
        stratum = declared.get("stratum", {})
        if not isinstance(stratum, dict):
            raise DeclarationError("stratum must name the division of the population that this table covers", found=repr(stratum),
                                   remedy='write for example stratum = {year = "2024"}')
        return cls(
            columns=tuple(column_from_dict(str(name), column) for name, column in columns.items()),
            adjacency=cast(Adjacency, declared.get("adjacency", UNFILLED)),
            unit=_unit_from(declared.get("unit", "row")),
            norm_bound=cast("float | None", declared.get("norm_bound")),
            stratum=tuple(stratum.items()),
        )

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file."""
        return cls.from_dict(read_toml(path))

    def to_dict(self) -> dict[str, object]:
        """The schema as plain data, which `from_dict` reads."""
        return {"adjacency": self.adjacency, "unit": self.unit.to_dict(),
                **({} if self.norm_bound is None else {"norm_bound": self.norm_bound}),
                **({"stratum": dict(self.stratum)} if self.stratum else {}),
                "columns": {column.name: column.to_dict() for column in self.columns}}

    def to_toml(self) -> str:
        """The schema as the text of a TOML file; ``Schema.load`` reads it back."""
        return to_toml(self.to_dict())

    def rules(self) -> list[str]:
        """What happens to cells that do not fit, one sentence per column. Public, and stated in every release."""
        return [_rule(column) for column in self.columns]

    def _repr_html_(self) -> str:
        from noisewise.notebook import card, lines

        unit = "one row" if self.unit.is_row else f"one {self.unit.column} (at most {self.unit.max_rows} rows)"
        rows = [(name, rule.removeprefix(f"{name}: ")) for name, rule in zip(self.names, self.rules(), strict=True)]
        return card(f"Schema: protects {unit}, {self.adjacency}", lines(("column", "what happens to its cells"), rows))


def _rule(column: Column) -> str:
    def becomes(value: object) -> str:
        return "drops its row" if value == DROP else f"becomes {value}"

    if isinstance(column, Unbounded):
        return f"{column.name}: as it is; a missing or infinite value {becomes(column.fill)}"
    if isinstance(column, Numeric):
        return f"{column.name}: clipped to [{column.lower}, {column.upper}]; a missing value {becomes(column.fill)}"
    return (f"{column.name}: levels {', '.join(str(level) for level in column.levels)}; a missing value {becomes(column.fill)}, "
            f"any other value {becomes(column.unseen)}")


def _unit_from(declared: object) -> Unit:
    if declared == "row":
        return Unit()
    if isinstance(declared, dict) and set(declared) == {"column", "max_rows"} and isinstance(declared["column"], str):
        return Unit(declared["column"], declared["max_rows"])
    raise DeclarationError("unit must be \"row\" or a column with a maximum number of rows", found=repr(declared),
                           remedy="write unit = \"row\" or unit = {column = \"person\", max_rows = 5}")


def _check_stratum(stratum: tuple[tuple[str, str], ...]) -> None:
    if len(dict(stratum)) < len(stratum):
        raise DeclarationError("stratum: each name must be given only once", found=repr(stratum), remedy="remove the repetition")
    for name, value in stratum:
        if not (isinstance(name, str) and isinstance(value, str) and name.strip() and value.strip()):
            raise DeclarationError("stratum: names and values must be non-empty strings", found=repr((name, value)),
                                   remedy='write for example stratum = {year = "2024"}')
        check_text(name, "stratum: a name")
        check_text(value, "stratum: a value")
