"""The fields of a release file of kind ``moments``, beside those that it shares with the others (``docs/moments.md``)."""

from __future__ import annotations

from noisewise.release.fields import Fields, Items, PrivacyFields, ReleaseHeadFields


class BlockFields(Fields):
    weight: float
    noise: float
    sums: Items[float]


class MomentsPartFields(Fields):
    rows: int | None = None
    privacy: PrivacyFields
    blocks: dict[str, BlockFields]
    library: str
    created: str


class MomentsReleaseFields(ReleaseHeadFields):
    formula: str
    parts: Items[MomentsPartFields]
