"""Which terms are in every model and which are in question, and their columns of a gram release in working units.

Working units are halves of a column's declared range; the kept columns come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.releases.combine import Releases, combine
from noisewise.releases.release import Release
from noisewise.schema import Design

INTERCEPT = "Intercept"


def gram_release(release: Releases) -> Release:
    """Combine several releases into one; refuse kinds other than gram."""
    together = combine(release)
    if together.kind.name != "gram":
        raise FitError("this works with releases of kind gram only, because others lack the response's sum of squares",
                       found=f"a release of kind {together.kind.name}", remedy="the data holder can make a release of kind gram")
    return together


@dataclass(frozen=True)
class TermGroups:
    """Terms by their names in the formula; a category is one term, with a column for each of its levels.

    ``places`` are the indices of the kept terms' columns in the formula. ``groups`` are those of the terms in question, counted
    without the kept ones.
    """

    kept: tuple[str, ...]
    optional: tuple[str, ...]
    places: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, design: Design, keep: Sequence[str]) -> TermGroups:
        """Divide a formula's terms; refuse a ``keep`` that names no term, or leaves none in question."""
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
    """A name or a list of names, as a list without duplicates."""
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise FitError(f"{what} must be a name or a list of names", found=repr(given), remedy="write names as strings, in quotes")
    return list(dict.fromkeys(names))


def _plain(term: str) -> str:
    """Drop the optional characters of a formula: spaces, and backticks around names."""
    return term.replace(" ", "").replace("`", "")


def _kept_terms(design: Design, terms: list[str], keep: Sequence[str]) -> tuple[str, ...]:
    wanted = names_of("keep", keep)
    plain = {_plain(term): term for term in terms}
    kept = {INTERCEPT} & set(terms)
    for name in wanted:
        term = plain.get(_plain(name))
        if term is None:
            whole = dict(zip(design.terms, design.written, strict=True)).get(name)
            raise FitError("keep must name terms of the formula", argument="keep", found=repr(name), known=terms,
                           remedy=f"its columns enter together: keep {whole!r}" if whole else None)
        kept.add(term)
    return tuple(term for term in terms if term in kept)


@dataclass(frozen=True)
class Units:
    """A formula's columns as combinations of released ones; ``order`` has their indices in the formula."""

    features: Array
    target: Array
    kept: int
    order: npt.NDArray[np.int64]
    scales: Array
    constants: Array
    """Share of the constant in each predictor and, last, in the response; taken out if there is an intercept."""

    @classmethod
    def of(cls, design: Design, kept: Sequence[int]) -> Units:
        """``kept``: the indices of the columns that are in every model, besides the intercept."""
        intercept = design.terms[:1] == ("Intercept",)
        first = [*([0] if intercept else []), *(place for place in kept if not (intercept and place == 0))]
        order = np.array([*first, *(place for place in range(len(design.terms)) if place not in first)])
        bounds = [*(design.term_bounds[place] for place in order), design.response_bounds]
        scales = np.array([(upper - lower) / 2 or 1.0 for lower, upper in bounds])
        features, target = design.features[:, order] / scales[:-1], design.target / scales[-1]
        constants = np.zeros(len(scales))
        if intercept:  # it absorbs the middles of the ranges; without them the columns are less alike
            constants[1:] = np.append(features[0, 1:], target[0])
            features[0, 1:], target[0] = 0.0, 0.0
        return cls(features, target, len(first), order, scales, constants)

    def to_user(self, working: Array) -> Array:
        """(coefficients in the formula's order, σ) from draws of them in working units."""
        shifted = working.copy()
        if self.constants.any():  # they belong to the intercept, which comes first
            shifted[:, 0] += self.constants[-1] - working[:, 1:-1] @ self.constants[1:-1]
        result = shifted * self.scales[-1] / np.append(self.scales[:-1], 1.0)
        result[:, self.order] = result[:, :-1].copy()
        return np.asarray(result)
