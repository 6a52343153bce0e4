"""The families of a model release. One file each, with `FAMILY`; to add one, add a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from noisewise.errors import DeclarationError
from noisewise.scores.families import gaussian, logistic, negative_binomial, poisson, probit
from noisewise.scores.families.family import Family

FAMILIES: Final[Mapping[str, Family]] = {
    one.FAMILY.name: one.FAMILY for one in (gaussian, logistic, probit, poisson, negative_binomial)}


def family_named(name: object) -> Family:
    """The family with this name."""
    if not isinstance(name, str) or name not in FAMILIES:
        raise DeclarationError("unknown family", argument="family", found=repr(name)[:80], known=FAMILIES)
    return FAMILIES[name]


__all__ = ["FAMILIES", "Family", "family_named"]
