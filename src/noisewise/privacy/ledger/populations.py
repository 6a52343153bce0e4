"""Who is affected by which charges: releases about disjoint parts of the population do not add up.

A schema may declare which part of the population its table is (``partition = {year = "2024"}``). Nobody is in two parts of one
name, so that the budget of a person is spent by charges about everyone and by those about their own parts. Parts of different
names (a year and a site) may overlap: a person has one of each. Who is in which part must be public; a change of one person's
data then changes the table of no other part.

Values that differ only in case, in spaces around them or in how Unicode writes them are taken for the same part.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from noisewise.privacy.cost import Cost

Charge: TypeAlias = tuple[Mapping[str, str], Cost]
MOST: Final = 2048
"""So many kinds of people at most are told apart; with more, all charges add up, which is never too little."""


def per_person(charges: Sequence[Charge]) -> list[list[Cost]]:
    """For every kind of person that differs from others in what is charged: their costs."""
    parts = [{name: _plain(value) for name, value in partition.items()} for partition, _ in charges]
    values: dict[str, set[str]] = {}
    for partition in parts:
        for name, value in partition.items():
            values.setdefault(name, set()).add(value)
    if math.prod(len(found) for found in values.values()) > MOST:
        return [[cost for _, cost in charges]]
    choices = itertools.product(*(sorted(found) for found in values.values()))
    people = (dict(zip(values, chosen, strict=True)) for chosen in choices)
    different = {tuple(number for number, partition in enumerate(parts) if _includes(partition.items(), person))
                 for person in people}
    return [[charges[number][1] for number in numbers] for numbers in sorted(different)]


def _plain(value: str) -> str:
    """Two spellings of one part would count as two that share nobody: the budget would be spent twice."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", str(value)).casefold()).strip()


def _includes(partition: Iterable[tuple[str, str]], person: Mapping[str, str]) -> bool:
    return all(person[name] == value for name, value in partition)
