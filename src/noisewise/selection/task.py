"""One checked comparison, and what a room's file for a kind of release turns it into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from noisewise.arrays import Array
from noisewise.errors import FitError
from noisewise.posterior.methods import Method
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.schema import Design
from noisewise.selection.probabilities import Weighed, log_prior_by_size
from noisewise.selection.question import TermGroups


@dataclass(frozen=True)
class Task:
    """The parsed and checked question."""

    release: Release
    design: Design
    terms: TermGroups
    prior: str
    model_prior: str
    log_prior: Array

    @classmethod
    def of(cls, formula: str, release: Release, prior: str, model_prior: str, keep: str | Sequence[str]) -> Task:
        """Parse and check the question."""
        design = Design.of(formula, release.basis, release.terms)
        terms = TermGroups.of(design, keep)
        return cls(release, design, terms, prior, model_prior, log_prior_by_size(model_prior, len(terms.optional)))

    def check_rows(self, rows: float) -> None:
        """Refuse tables with too few rows for the formula."""
        if rows < len(self.design.terms) + 2:
            raise FitError("comparing models needs more rows than columns",
                           found=f"{rows:,.0f} rows and {len(self.design.terms)} columns",
                           remedy="use a shorter formula, or a release of more rows")


@dataclass(frozen=True)
class Solution:
    """The models, draws of coefficients and scale in the user's units, draws of the table's own inclusion probabilities, if any,
    conclusions that the release does not support, and reasons not to trust the computation.
    """

    weighed: Weighed
    samples: Array
    without_noise: Array | None
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    estimand: str = ""


class Solver(Protocol):
    """A kind's file in ``selection.kinds`` has ``METHODS``, and ``solver``, which turns a task into this."""

    @property
    def family(self) -> str:
        """The family of the regression."""

    def solve(self, method: str, draws: int, seeds: Sequence[int], tick: Tick) -> Solution:
        """Answer by one of the methods. ``seeds``: for a walk, for draws of coefficients, and for the bands."""


Methods = Mapping[str, Method]
