"""Which terms of a formula are in every model and which are in question, and the columns of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from noisewise.errors import FitError
from noisewise.schema import Design

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class TermGroups:
    """Terms by their names in the formula; a category is one term, with a column for each of its levels.

    ``places`` are the places of the kept terms' columns in the formula, ``groups`` those of the terms in question, counted
    without the kept ones.
    """

    kept: tuple[str, ...]
    optional: tuple[str, ...]
    places: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, design: Design, keep: Sequence[str]) -> TermGroups:
        terms = list(dict.fromkeys(design.written))
        kept = _kept_terms(design, terms, keep)
        optional = tuple(term for term in terms if term not in kept)
        if not optional:
            raise FitError("a comparison needs terms that can be left out", found=f"{design.formula!r}"
                           + (f", with {', '.join(kept)} kept in every model" if kept else ""),
                           remedy="name fewer terms in keep" if any(term != INTERCEPT for term in kept) else "add predictors")
        places = tuple(place for place, term in enumerate(design.written) if term in kept)
        rest = [term for term in design.written if term not in kept]
        groups = tuple(tuple(place for place, term in enumerate(rest) if term == name) for name in optional)
        return cls(kept, optional, places, groups)


def names_of(what: str, given: str | Sequence[str]) -> list[str]:
    """One name, or a list of them."""
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise FitError(f"{what} is a name or a list of names", found=repr(given), remedy="names are texts, in quotes")
    return list(dict.fromkeys(names))


def _plain(term: str) -> str:
    """Without what a formula may or may not have: spaces, and backticks around names."""
    return term.replace(" ", "").replace("`", "")


def _kept_terms(design: Design, terms: list[str], keep: Sequence[str]) -> tuple[str, ...]:
    wanted = names_of("keep", keep)
    plain = {_plain(term): term for term in terms}
    kept = {INTERCEPT} & set(terms)
    for name in wanted:
        term = plain.get(_plain(name))
        if term is None:
            whole = dict(zip(design.terms, design.written, strict=True)).get(name)
            raise FitError("keep names terms of the formula", found=repr(name),
                           remedy=f"its columns enter together: keep {whole!r}" if whole else "its terms are " + ", ".join(terms))
        kept.add(term)
    return tuple(term for term in terms if term in kept)
