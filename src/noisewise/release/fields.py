"""The fields of a release file as pydantic models: their names, types and shapes.

What must fit together is checked where a `Release` is built, so that a release made by this library and one
read from a file obey the same rules. Fields that are not known are kept, at every level.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field

Item = TypeVar("Item")
# One wrong item is enough for a message; a hostile list must not cost an error object per item.
Items: TypeAlias = Annotated[list[Item], FailFast()]
LevelField: TypeAlias = str | int | float | bool


class Fields(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False, frozen=True)


class ColumnFields(Fields):
    bounds: Annotated[list[int | float], Field(max_length=2)] | Literal["unknown"] = []
    levels: Items[LevelField] = []
    missing: LevelField | None = None
    other: LevelField | None = None


class UnitFields(Fields):
    column: str
    max_rows: int


class SchemaFields(Fields):
    adjacency: str
    unit: Literal["row"] | UnitFields
    norm_bound: int | float | None = None
    partition: dict[str, str] | None = None
    columns: dict[str, ColumnFields]


class FactorFields(Fields):
    column: str
    degree: int | None = None
    level: LevelField | None = None


class ReleasedColumnFields(Fields):
    name: str
    factors: Items[FactorFields]


class PrivacyFields(Fields):
    epsilon: float
    delta: float
    mechanism: str
    sensitivity: float
    statement: str


class NoiseFields(Fields):
    distribution: Literal["gaussian", "laplace", "wishart"]
    diagonal: float
    off_diagonal: float
    corner: float
    degrees_of_freedom: int | None = None
    scale: float | None = None


class GramPartFields(Fields):
    rows: int | None = None
    average: int | None = None
    privacy: PrivacyFields
    noise: NoiseFields
    statistic: Items[float]
    library: str
    created: str


class ReleaseHeadFields(Fields):
    """All of a release but its parts."""

    format: str
    version: str
    kind: str
    declared: SchemaFields = Field(alias="schema")  # pydantic's own models have an attribute `schema`
    terms: str | None = None
    rules: Items[str] = []
    columns: Items[ReleasedColumnFields]


class ReleaseFields(ReleaseHeadFields):
    parts: Items[GramPartFields]
