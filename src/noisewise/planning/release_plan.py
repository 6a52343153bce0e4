"""``plan``: the noise, cost and guarantee of a release, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from noisewise.checks import is_whole
from noisewise.errors import DeclarationError
from noisewise.holder.plan import plan_of
from noisewise.holder.release import GRAM
from noisewise.holder.request import check_request
from noisewise.kinds import Kind, Model
from noisewise.privacy.cost import Cost
from noisewise.releases.release import Release, wrapped
from noisewise.schema import Numeric, Schema

if TYPE_CHECKING:
    from noisewise.planning.model_words import Expected


@dataclass(frozen=True)
class ReleasePlan:
    """A planned release. ``kind`` has every default filled in; ``noise`` describes the noise as plain data.

    ``means`` is the standard deviation of the noise in the mean of each numeric column, in its own units. It is empty if
    ``rows`` is unknown or the release has no such sums. ``widths`` is the expected width of each coefficient's 95 % interval, for
    a kind that serves one regression; empty if ``rows`` is unknown.
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
    widths: dict[str, float] = field(default_factory=dict)

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
                "statement": self.statement, "noise": self.noise, "means": self.means, "widths": self.widths}


def plan(schema: Schema, kind: Kind = GRAM, *, epsilon: float, delta: float | None = None,
         rows: int | None = None) -> ReleasePlan:
    """Plan a release: how much noise `release` would add for the same request, and at what cost. No data are read.

    With ``rows``, an approximate number, the plan also has the noise in the mean of each column. That of a `Model` has the width
    of each coefficient's interval instead, and says whether a `Gram` would be better; `plan_power` takes better assumptions.

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
    more = MORE[type(made.kind)](made.kind, schema, made.epsilon, delta, rows) if type(made.kind) in MORE else None
    words = (*one.lines(made.kind, schema), *(() if more is None else more.words))
    return ReleasePlan(made.kind, schema, made.epsilon, made.delta, one.own_facts(), _means(made.blank, rows), made.cost(),
                       one.statement, words, {} if more is None else more.widths)


def _of_model(kind: Kind, schema: Schema, epsilon: float, delta: float | None, rows: int | None) -> Expected:
    from noisewise.planning.model_words import expected

    return expected(kind, schema, epsilon, delta, rows)


MORE: Final[Mapping[type[Kind], Callable[[Kind, Schema, float, float | None, int | None], Expected]]] = {Model: _of_model}
"""Kinds about which there is more to say than their noise."""


def _means(blank: Release, rows: int | None) -> dict[str, float]:
    """Noise in the mean of each numeric column that is released by itself, in its units."""
    sums = getattr(blank.contents, "column_sums", None)
    if rows is None or sums is None:
        return {}
    found = {}
    for place, column in enumerate(blank.columns):
        declared = blank.schema.column(column.factors[0].column) if len(column.factors) == 1 else None
        if isinstance(declared, Numeric) and column.factors[0].degree == 1:
            found[declared.name] = float(sums(place)[1]) ** 0.5 * declared.half_width / rows
    return found
