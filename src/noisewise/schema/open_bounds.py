"""A schema that is not complete yet: which bounds are still open, and what is declared about the people in the table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from noisewise.errors import DeclarationError
from noisewise.schema.columns import UNFILLED

Known: TypeAlias = tuple[float | None, float | None]
"""The lower and the upper bound of a column, None where it is not known."""


@dataclass(frozen=True)
class OpenBounds:
    """What a file declares of adjacency, unit and partition, and the columns of which it leaves a bound open."""

    people: Mapping[str, Any]
    columns: Mapping[str, Known]

    @classmethod
    def load(cls, path: str | Path) -> OpenBounds:
        """Read a schema file in which bounds may be "?"; all else is checked when it is complete."""
        try:
            declared = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
        except OSError as error:
            raise DeclarationError("the schema file cannot be read", found=f"{path}: {error.strerror}",
                                   remedy="check the path; `noisewise schema init DATA` writes a template") from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DeclarationError("a schema file must be valid TOML", found=str(path), remedy="correct it first") from error
        columns = declared.get("columns", {})
        named = columns.items() if isinstance(columns, dict) else ()
        people = {key: value for key, value in declared.items() if key in ("adjacency", "unit", "partition")}
        return cls(people, {name: _known(column["bounds"]) for name, column in named if _is_open(column)})


def _is_open(column: object) -> bool:
    bounds = column.get("bounds") if isinstance(column, dict) else None
    return isinstance(bounds, list) and len(bounds) == 2 and UNFILLED in bounds


def _known(bounds: list[Any]) -> Known:
    lower, upper = (None if bound == UNFILLED else bound for bound in bounds)
    return lower, upper
