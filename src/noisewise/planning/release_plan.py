"""``plan``: the noise, cost and guarantee of a release, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noisewise.checks import is_whole
from noisewise.errors import DeclarationError
from noisewise.holder.plan import plan_of
from noisewise.holder.release import GRAM
from noisewise.holder.request import check_request
from noisewise.kinds import Kind
from noisewise.privacy.cost import Cost
from noisewise.releases.release import Release, wrapped
from noisewise.schema import Numeric, Schema


@dataclass(frozen=True)
class ReleasePlan:
    """A planned release. ``kind`` has every default filled in; ``noise`` describes the noise as plain data.

    ``means`` is the standard deviation of the noise in the mean of each numeric column, in its own units. It is empty if
    ``rows`` is unknown or the release has no such sums.
    """

    kind: Kind
    schema: Schema
    epsilon: float
    delta: float
    noise: dict[str, Any]
    means: dict[str, float]
    cost: Cost
    statement: str
    words: tuple[tuple[str, str], ...]

    def describe(self) -> str:
        """The plan as text."""
        lines = [*wrapped("for", self.kind.purpose), *wrapped("promise", self.statement)]
        for label, text in self.words:
            lines += wrapped(label, text)
        if self.means:
            means = "; ".join(f"{name} {sd:.3g}" for name, sd in self.means.items())
            lines += wrapped("means", f"standard deviation of the noise in the mean of each column: {means}")
        return "\n".join([f"plan of a {self.kind.name} release of {self.kind.title(self.schema)}: nothing is spent", *lines])

    __str__ = describe

    def __repr__(self) -> str:
        budget = f"(epsilon, delta) = ({self.epsilon}, {self.delta})"
        return f"<ReleasePlan {self.kind.name}: {self.kind.title(self.schema)}, {budget}>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import described

        return described(self.describe())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind.to_dict(), "epsilon": self.epsilon, "delta": self.delta, "cost": self.cost.as_dict(),
                "statement": self.statement, "noise": self.noise, "means": self.means}


def plan(schema: Schema, kind: Kind = GRAM, *, epsilon: float, delta: float | None = None,
         rows: int | None = None) -> ReleasePlan:
    """Plan a release: how much noise `release` would add for the same request, and at what cost. No data are read.

    With ``rows``, an approximate number, the plan also has the noise in the mean of each column.

    >>> schema = Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
    >>> planned = plan(schema, epsilon=1.0, delta=1e-6, rows=20_000)
    >>> planned.kind.mechanism, planned.means["stay"] < 0.02
    ('gaussian', True)
    """
    check_request(kind, schema, delta, "")
    if rows is not None and not is_whole(rows, 1):
        raise DeclarationError("rows, the approximate number of rows, must be a whole number, 1 or more", found=repr(rows),
                               remedy="leave rows out if it is unknown")
    made = plan_of(kind, schema, epsilon, delta)
    one = made.blank.contents
    return ReleasePlan(made.kind, schema, made.epsilon, made.delta, one.own_facts(), _means(made.blank, rows), made.cost(),
                       one.statement, tuple(one.lines(made.kind, schema)))


def _means(blank: Release, rows: int | None) -> dict[str, float]:
    """Noise in the mean of each numeric column that is released by itself, in its units."""
    if rows is None:
        return {}
    found = {}
    for place, column in enumerate(blank.columns):
        declared = blank.schema.column(column.factors[0].column) if len(column.factors) == 1 else None
        if isinstance(declared, Numeric) and column.factors[0].degree == 1:
            found[declared.name] = float(blank.contents.column_sums(place)[1]) ** 0.5 * declared.half_width / rows
    return found
