"""The fields of a release file of kind ``adassp``, beside those that it shares with the others (``docs/adassp.md``)."""

from __future__ import annotations

from noisewise.release.fields import Fields, GramPartFields, Items, ReleaseHeadFields


class SmallestEigenvalueFields(Fields):
    value: float
    noise: float
    epsilon: float
    delta: float
    sensitivity: float


class AdasspPartFields(GramPartFields):
    moments: Items[float]
    smallest_eigenvalue: SmallestEigenvalueFields


class AdasspReleaseFields(ReleaseHeadFields):
    formula: str
    parts: Items[AdasspPartFields]
