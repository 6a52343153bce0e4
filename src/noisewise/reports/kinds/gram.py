"""A `Gram` release in a report."""

from __future__ import annotations

from typing import ClassVar

from noisewise.releases.release import Release
from noisewise.reports.kinds.sums import SumsView
from noisewise.reports.numbers import plural
from noisewise.results.comparison import Comparison
from noisewise.results.posterior import Posterior
from noisewise.schema.columns import Numeric
from noisewise.schema.schema import Schema


class GramView(SumsView):
    results: ClassVar[tuple[type, ...]] = (Posterior, Comparison)

    def what(self, release: Release) -> str:
        return f"Noisy sums of squares and products of {plural(release.basis.size - 1, 'column')} (kind {release.kind.variant})."

    def use(self, release: Release) -> str:
        return ("A linear, logistic or Poisson regression of any of its columns on any others can be fitted to it, as often as "
                "one likes, without spending more privacy.")

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("fit", some_formula(release.schema))]


def some_formula(schema: Schema) -> str:
    """The regression of a column, a number if there is one, on some others."""
    numbers = [column.name for column in schema.columns if isinstance(column, Numeric)]
    response = (numbers or list(schema.names))[0]
    others = [name for name in schema.names if name != response][:3]
    return f"{_in_formula(response)} ~ {' + '.join(map(_in_formula, others)) or '1'}"


def _in_formula(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


VIEW = GramView()
