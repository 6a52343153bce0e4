"""The fields of a release of kind partition, as pydantic models."""

from __future__ import annotations

from typing import Any

from noisewise.release.fields import Fields, Items
from noisewise.release.single_fields import SingleFields


class NumberFields(Fields):
    name: str
    lower: float
    upper: float
    sum: float


class PartitionFields(SingleFields):
    formula: str
    prior: dict[str, Any]
    parts: int
    balanced: bool
    questions: Items[dict[str, Any]]
    numbers: Items[NumberFields]
    noise: float
