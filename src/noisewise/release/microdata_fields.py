"""The fields of a release of kind microdata, as pydantic models."""

from __future__ import annotations

from noisewise.release.fields import Fields
from noisewise.release.single_fields import SingleFields


class CellNoiseFields(Fields):
    share: float
    distribution: str | None = None
    scale: float | None = None
    keep: float | None = None


class RowsFileFields(Fields):
    name: str
    bytes: int
    sha256: str


class MicrodataFields(SingleFields):
    copies: int
    columns: dict[str, CellNoiseFields]
    rows_file: RowsFileFields
