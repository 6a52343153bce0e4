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


class _GramView(SumsView):
    results: ClassVar[tuple[type, ...]] = (Posterior, Comparison)

    def what(self, release: Release) -> str:
        return f"Noisy sums of squares and products of {plural(release.basis.size - 1, 'column')} (kind {release.kind.variant})."

    def use(self, release: Release) -> str:
        return ("You can fit linear, logistic or Poisson regressions of any of its columns on any others, as often as you like, "
                "without spending more privacy.")

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("fit", some_formula(release.schema))]


def some_formula(schema: Schema) -> str:
    """A regression of one column, numeric if possible, on some others."""
    numbers = [column.name for column in schema.columns if isinstance(column, Numeric)]
    response = (numbers or list(schema.names))[0]
    others = [name for name in schema.names if name != response][:3]
    return f"{_in_formula(response)} ~ {' + '.join(map(_in_formula, others)) or '1'}"


def _in_formula(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


VIEW = _GramView()
