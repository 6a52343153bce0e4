"""Bayes factors of models from a quadratic log likelihood, as a model release gives it.

With the precision H, which counts the sampling of rows and the privacy noise, the log likelihood of coefficients θ is

    bᵀθ − ½ θᵀHθ + a constant.

A model sets the coefficients of other terms to 0. Kept columns have a flat prior that all models share; they are integrated out,
which leaves A and b of the rest (a Schur complement). Given g, the prior of a model's coefficients is N(0, g S⁻¹), where S is the
information of all rows without noise about the columns that the model has, kept ones eliminated. So with g = n the prior is worth
one row, whatever the noise. Then

    log Bayes factor = −½ log|I + g S⁻¹A| + ½ bᵀ(A + S/g)⁻¹b,

and g is integrated out by quadrature. If the log likelihood is not quadratic, its excess over the quadratic is added at the
model's own coefficients: the best ones within the model at g = n.

*What the table itself would say.* Let F be the precision without privacy noise. Given the coefficients θ, the score of the table
differs from Fθ by e ~ N(0, F), and that of the release from Hθ by the share of e that the noise leaves, and noise. So given the
release and θ, the table's own b is N(Fθ + b − Hθ, F − H).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags
from noisewise.progress import Tick
from noisewise.schema.bayes_factors import CRITERIA
from noisewise.selection.averaged import AveragedDraws
from noisewise.selection.bands import MOST_FOUND, affordable_draws
from noisewise.selection.moments import without_leading
from noisewise.selection.probabilities import Weighed, log_probabilities
from noisewise.selection.subsets import memberships
from noisewise.selection.weigher import Effective, Places, Weigher, floored, log_determinants

TOGETHER: Final = 2**14
"""Pairs of a model and a draw that are weighed together. This bounds the memory."""


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A quadratic log likelihood in working units, the kept columns first: H, b, and S of the columns that are not kept.

    ``beyond`` says by how much the log likelihood of coefficients, which are rows, exceeds the quadratic.
    """

    precision: Array
    score: Array
    prior_moments: Array
    kept: int
    rows: float
    scales: Array
    """Equally likely values of the scale, as a column; no column if there is no scale."""
    beyond: Callable[[Array], Array]


class QuadraticEvidence(Weigher):
    """Weighs models by a quadratic log likelihood, and by what the log likelihood has beyond it."""

    most_listed = 12

    def __init__(self, quadratic: Quadratic, groups: Sequence[Sequence[int]], prior: str) -> None:
        super().__init__(groups, prior, quadratic.prior_moments, quadratic.kept, quadratic.rows)
        self.quadratic = quadratic
        score = quadratic.score
        self.whole = np.block([[quadratic.precision, score[:, None]], [score[None], np.zeros((1, 1))]])
        self.rest = without_leading(self.whole, self.kept)
        self._known: dict[bytes, float] = {}

    @property
    def width(self) -> int:
        """The coefficients and, if there is one, the scale."""
        return self.kept + self.columns + int(self.quadratic.scales.shape[1])

    def _effective(self, places: Places) -> Effective:
        columns = self.with_kept(places)
        inside = np.column_stack([places, np.full(len(places), self.columns)])
        values, cross, back = self.in_coordinates(self.rest[inside[:, :, None], inside[:, None, :]], places)
        head = self.whole[:self.kept][np.arange(self.kept)[None, :, None], columns[:, None, :]]
        keys = [row.tobytes() for row in places]
        new = [place for place, key in enumerate(keys) if key not in self._known]
        if new:
            slopes = np.einsum("mij,mj->mi", back[new], cross[new] / (values[new] + 1.0 / self.rows))
            found = self.quadratic.beyond(self._own_coefficients(places[new], slopes, head[new]))
            self._known.update(zip((keys[place] for place in new), map(float, found), strict=True))
        beyond = np.array([self._known[key] for key in keys])
        return Effective(values, cross, back, np.zeros(len(places)), beyond, head)

    def beyond(self, members: Flags) -> Array:
        """What the log likelihood has beyond the quadratic at each model's own coefficients."""
        return self.effective(members).log_scale

    def _own_coefficients(self, places: Places, slopes: Array, head: Array) -> Array:
        """Coefficients of all columns: those given of a model's columns, the best ones of kept columns, 0 of others."""
        found = np.zeros((len(places), self.kept + self.columns))
        np.put_along_axis(found, places + self.kept, slopes, axis=1)
        if self.kept:
            left = head[:, :, -1] - np.einsum("mki,mi->mk", head[:, :, self.kept:-1], slopes)
            found[:, :self.kept] = np.linalg.solve(head[:, :, :self.kept], left[..., None])[..., 0]
        return found

    def by_node(self, effective: Effective) -> Array:
        """Log evidence of each model for each g, including its weight in the mixture: (models, nodes)."""
        return self._by_node(effective.values, effective.cross[:, None, :])[:, 0] + effective.log_scale[:, None]

    def _by_node(self, values: Array, crosses: Array) -> Array:
        """For several b of each model: (models, b, nodes)."""
        g = self.nodes.g[None, :, None]
        stretched = g * values[:, None, :] + 1.0
        gain = 0.5 * crosses**2 @ np.swapaxes(g / stretched, 1, 2)
        return np.asarray(gain - log_determinants(stretched)[:, None] + self.nodes.log_weight)

    def _criterion(self, effective: Effective) -> Array:
        return self._criteria(effective.values, effective.cross[:, None, :])[:, 0] + effective.log_scale

    def _criteria(self, values: Array, crosses: Array) -> Array:
        raised = floored(values)
        gain = 0.5 * np.sum(crosses**2 / raised[:, None, :], axis=2)
        return self.by_criterion(raised[:, None, :], gain)

    def factors_of(self, members: Flags, scores: Array) -> Array:
        """Log Bayes factors of these models with other scores b and the quadratic alone: (scores, models)."""
        first, rest = scores[:, :self.kept], scores[:, self.kept:]
        if self.kept:
            across = self.whole[:self.kept, self.kept:-1]
            rest = rest - first @ np.linalg.solve(self.whole[:self.kept, :self.kept], across)
        found = np.zeros((len(scores), len(members)))
        for mine, places in self.by_size(members, max(1, TOGETHER // len(scores))):
            effective = self._effective(places)
            crosses = np.swapaxes(rest[:, places], 0, 1) @ effective.back
            if self.prior in CRITERIA:
                logs = self._criteria(effective.values, crosses)
            else:
                each = self._by_node(effective.values, crosses)
                highest = each.max(axis=2)
                logs = highest + np.log(np.sum(np.exp(each - highest[..., None]), axis=2))
            found[:, mine] = logs.T
        return found

    def variances(self, rest: Array, rng: np.random.Generator) -> Array:
        """None: the precision is that of the coefficients."""
        return np.ones(len(rest))

    def scales(self, variances: Array, rng: np.random.Generator) -> Array:
        """Draws of the scale, independent of the coefficients."""
        known = self.quadratic.scales
        return np.asarray(known[rng.integers(len(known), size=len(variances))])


def table_inclusion(released: QuadraticEvidence, precision: Array, weighed: Weighed, drawn: AveragedDraws, log_prior: Array,
                    seed: int, tick: Tick) -> Array:
    """Draws of the inclusion probabilities that the table itself would give: (draws, terms). ``precision`` is F.

    If there are too many models to list, the most probable of those found are weighed again.
    """
    terms = len(released.groups)
    members = (memberships(terms) if terms <= QuadraticEvidence.most_listed
               else weighed.members[np.argsort(-weighed.probabilities)[:MOST_FOUND]])
    count = affordable_draws(len(members), len(drawn.working))
    rng, quadratic = np.random.default_rng(seed), released.quadratic
    coefficients = drawn.working[:count, :len(precision)]
    less = precision - quadratic.precision
    values, vectors = np.linalg.eigh((less + less.T) / 2)
    noise = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.normal(size=(len(values), count))
    scores = coefficients @ less + quadratic.score + noise.T
    own = replace(quadratic, precision=precision, beyond=lambda working: np.zeros(len(working)))
    factors = QuadraticEvidence(own, released.groups, released.prior).factors_of(members, scores) + released.beyond(members)
    tick(count, count)
    shares = np.array([np.exp(log_probabilities(one, members, log_prior)) for one in factors])
    return np.asarray(np.minimum(shares @ members, 1.0))
