"""The fields of a release of kind partition, as pydantic models."""

from __future__ import annotations

from typing import Any

from noisewise.release.fields import Fields, Items
from noisewise.release.single_fields import SingleFields


class PriorFields(Fields):
    name: str
    g: float | None = None
    scale: float | None = None
    shape: float | None = None
    rate: float | None = None


class QuestionFields(Fields):
    """Of all questions together: which of them a question has, and what they may be, is for `noisewise.schema.questions`."""

    ask: str
    of: Any
    at: Any = None
    combine: Any = None
    limit: Any = None
    bounds: Any = None
    centre_share: Any = None
    width_share: Any = None
    prior: Any = None
    limits: Any = None


class NumberFields(Fields):
    name: str
    lower: float
    upper: float
    sum: float


class PartitionFields(SingleFields):
    formula: str
    prior: PriorFields
    parts: int
    balanced: bool
    questions: Items[QuestionFields]
    numbers: Items[NumberFields]
    noise: float
