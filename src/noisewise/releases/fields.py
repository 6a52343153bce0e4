"""The fields of a release file as pydantic models: their names, types and shapes.

Whether fields fit together is checked when a `Release` is built, so a release made by this library and one read from a file obey
the same rules. Unknown fields are kept, at every level, and put back in their places.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, FailFast, Field, create_model

Item = TypeVar("Item")
# One wrong item is enough for a message: a hostile list must not cost an error object per item.
Items: TypeAlias = Annotated[list[Item], FailFast()]
LevelField: TypeAlias = str | int | float | bool

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Fields(BaseModel):
    """The base of all fields: types are strict, numbers finite, and unknown fields kept."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False, frozen=True)


class RecordFields(Fields):
    """A model made by `shape`, so a type checker does not know its fields."""

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


def shape(name: str, /, **fields: object) -> type[RecordFields]:
    """Make a model with fields of these types; a pair is a type and a default."""
    declared: dict[str, Any] = {field: kind if isinstance(kind, tuple) else (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=RecordFields, **declared)


def shape_of(record: type[DataclassInstance], /, **otherwise: object) -> type[RecordFields]:
    """Make a model with the fields of a dataclass, except those that a file states differently."""
    hints = get_type_hints(record)
    defaults = {one.name: ... if one.default is dataclasses.MISSING else one.default for one in dataclasses.fields(record)}
    return shape(f"{record.__name__}Fields", **{name: (hints[name], default) for name, default in defaults.items()} | otherwise)


def items(of: Any) -> object:
    """The type of a list of such items."""
    return Items[of]


def named(of: Any) -> object:
    """The type of an object whose values are such items."""
    return dict[str, of]


class ColumnFields(Fields):
    """A declared column: a number has ``bounds``, a category ``levels``. None leaves ``missing`` or ``other`` at its default."""

    bounds: Annotated[list[int | float], Field(max_length=2)] | Literal["unknown"] = []
    levels: Items[LevelField] = []
    missing: LevelField | None = None
    other: LevelField | None = None


class UnitFields(Fields):
    """A unit other than a row: the column that identifies it, and the most rows used of each."""

    column: str
    max_rows: int


class SchemaFields(Fields):
    """The schema. ``norm_bound`` and ``stratum`` are None if they are not declared."""

    adjacency: str
    unit: Literal["row"] | UnitFields
    norm_bound: int | float | None = None
    stratum: dict[str, str] | None = None
    columns: dict[str, ColumnFields]


class FactorFields(Fields):
    """A factor of a released column: a polynomial with its ``degree``, or one ``level`` of a larger category."""

    column: str
    degree: int | None = None
    level: LevelField | None = None


class ReleasedColumnFields(Fields):
    """A released column: the product of its factors, from which its name follows."""

    name: str
    factors: Items[FactorFields]


class PrivacyFields(Fields):
    """What one contribution guarantees, and by which mechanism."""

    epsilon: float
    delta: float
    mechanism: str
    sensitivity: float
    statement: str


class HolderFields(Fields):
    """The fields of every contribution; ``contents`` depends on the kind."""

    rows: int | None = None
    privacy: PrivacyFields
    library: str
    created: str


class ReleaseFields(Fields):
    """The fields of a release without its contributions."""

    format: str
    version: str
    kind: dict[str, object]
    declared: SchemaFields = Field(alias="schema")  # pydantic's own models have an attribute `schema`
    rules: Items[str] = []
    columns: Items[ReleasedColumnFields] = []


def known_part(fields: object) -> Any:
    """The known fields that the file states, as plain data."""
    if isinstance(fields, BaseModel):
        return {name: known_part(getattr(fields, name)) for name in type(fields).model_fields if name in fields.model_fields_set}
    if isinstance(fields, dict):
        return {name: known_part(value) for name, value in fields.items()}
    if isinstance(fields, list) and fields and isinstance(fields[0], BaseModel):
        return [known_part(item) for item in fields]
    return fields


def unknown_part(fields: object) -> Any:
    """The unknown fields, each in its place; lists keep their length."""
    if isinstance(fields, BaseModel):
        known = {(info.alias or name): getattr(fields, name) for name, info in type(fields).model_fields.items()}
        return unknown_part(known) | (fields.model_extra or {})
    if isinstance(fields, dict):
        return {name: kept for name, value in fields.items() if (kept := unknown_part(value))}
    if isinstance(fields, list) and fields and isinstance(fields[0], BaseModel):
        kept_items = [unknown_part(item) for item in fields]
        return kept_items if any(kept_items) else []
    return {}


def put_back(known: object, unknown: object) -> Any:
    """Put unknown fields back in their places; known fields win."""
    if isinstance(known, dict) and isinstance(unknown, dict):
        return known | {name: put_back(known[name], value) if name in known else value for name, value in unknown.items()}
    if isinstance(known, list) and isinstance(unknown, list) and len(known) == len(unknown):
        return [put_back(one, other) for one, other in zip(known, unknown, strict=True)]
    return known
