"""The fields that all kinds of release share which are no matrices, as pydantic models."""

from __future__ import annotations

from pydantic import Field

from noisewise.release.fields import Fields, Items, SchemaFields


class GuaranteeFields(Fields):
    epsilon: float
    delta: float
    mechanism: str
    statement: str


class SingleFields(Fields):
    """The heading that all of these kinds share."""

    format: str
    version: str
    kind: str
    declared: SchemaFields = Field(alias="schema")
    rules: Items[str] = Field(default=[])
    rows: int | None = None
    privacy: GuaranteeFields
    library: str
    created: str
