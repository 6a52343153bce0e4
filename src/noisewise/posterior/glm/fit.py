"""Fits a generalised linear model: from a release and a formula to draws of its coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags, Traced
from noisewise.posterior.glm.columns import Layout, distribution, start
from noisewise.posterior.glm.densities import flat_density, latent_density, possible_moments
from noisewise.posterior.glm.families import Family
from noisewise.posterior.glm.prior import INTERCEPT, coefficients, effect_scales, prior_data
from noisewise.posterior.glm.statistics import Response, Statistics, read_response
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import LogDensity, doubts_about, find_mode, jax_density
from noisewise.posterior.kernels.nuts import sample_nuts
from noisewise.posterior.prior import Prior
from noisewise.posterior.request import Sampled
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.results import PriorSummary
from noisewise.results.fit_info import TAKEN_FOR_NORMAL
from noisewise.run import nobody
from noisewise.schema import Categorical, Design

MOST_LATENT: Final = 13
"""With up to this many columns, sample their distribution too."""


@dataclass(frozen=True)
class GlmModel:
    """A density with its data, ready to be sampled; ``coefficients`` turns draws into the user's units."""

    family: Family
    layout: Layout
    data: Mapping[str, Array]
    latent: bool
    doubts: tuple[str, ...]

    @classmethod
    def of(cls, release: Release, design: Design, family: Family, prior: Prior | None) -> GlmModel:
        """Build the model; refuse a response that the family cannot have, and a release without the sums it needs."""
        response = read_response(release, design, family)
        used = [0, *(int(index) for index in np.flatnonzero(np.any(design.features != 0.0, axis=1)) if index != 0)]
        latent = len(used) - 1 <= MOST_LATENT
        layout = Layout.of(design.basis, used, cells=latent)
        found = Statistics.of(release.contributions, layout.order, response, family)
        found.check_released()
        data = model_data(found, design, layout, family, response) | prior_data(design, family, prior)
        if not latent:
            data["moments"] = possible_moments(found.gram / found.rows)
        return cls(family, layout, {key: np.asarray(value, dtype=float) for key, value in data.items()}, latent,
                   _doubts(release, found, latent) + _doubts_about_columns(design, layout))

    @property
    def log_density(self) -> LogDensity:
        """The log density: of the columns' distribution too if ``latent``, otherwise of the effects alone."""
        return latent_density(self.family) if self.latent else flat_density(self.family)

    def start(self) -> tuple[Array, Array]:
        """Return a starting point for the mode search, and a rough scale of each parameter."""
        point = np.zeros(self.data["features"].shape[1])
        if self.latent:
            count = np.log(self.data["rows"])[None] if len(self.data["count"]) else np.zeros(0)
            rows, variances = float(self.data["rows"]), self.data["gram_variance"]
            noise = float(np.sqrt(np.max(variances, initial=0.0, where=np.isfinite(variances)))) / rows
            point = np.concatenate([point, start(self.layout, self.data["gram"] / rows, noise), count])
        return point, np.full(len(point), 0.1)

    def coefficients(self, draws: Array) -> Array:
        """Draws in the user's units, whatever the leading axes."""
        flat = draws.reshape(-1, draws.shape[-1])
        with double_precision():
            found = np.asarray(_to_user(self.latent)(flat, dict(self.data)))
        return found.reshape(*draws.shape[:-1], -1)

    def sampled(self, draws: Array, diverging: Flags, settled: bool) -> Sampled:
        """Return the draws of one fit in the user's units, with any doubts."""
        return Sampled(self.coefficients(draws), diverging, self.doubts + doubts_about(settled))

    def sample(self, *, draws: int, chains: int, seed: int, tick: Tick = nobody) -> Sampled:
        """Draw coefficients by NUTS."""
        mode = find_mode(jax_density(self.log_density, self.data), *self.start())
        found = sample_nuts(self.log_density, self.data, mode, seed=seed, chains=chains, draws=draws, tick=tick)
        return self.sampled(found.draws, found.diverging, mode.converged)

    def prior_summary(self, design: Design) -> PriorSummary | None:
        """Return the prior in the user's units, at the released standard deviations, or None if it is not a product."""
        if len(self.data["ball"]):
            return None
        moments = possible_moments(self.data["gram"] / self.data["rows"])
        features = self.data["features"]
        means = moments[0] @ features
        deviations = effect_scales(features, moments, self.data["least_scale"], np)
        free = (self.data["named"] == 0) & (self.data["is_intercept"] == 0)
        sd = np.where(free, self.data["prior_sd"] / deviations, self.data["prior_sd"])
        centre = self.data["prior_mean"].copy()
        if INTERCEPT in design.terms and not self.data["named"][design.terms.index(INTERCEPT)]:
            slopes = self.data["is_intercept"] == 0
            sd[~slopes] = np.sqrt(sd[~slopes] ** 2 + np.sum((sd * means)[slopes] ** 2))
            centre[~slopes] = -np.sum((centre * means)[slopes])
        return PriorSummary(dict(zip(design.terms, map(float, centre), strict=True)),
                            dict(zip(design.terms, map(float, sd), strict=True)), None)


@cache
def _to_user(latent: bool) -> Program:
    import jax
    import jax.numpy as jnp

    def one(x: jax.Array, data: Mapping[str, jax.Array]) -> Traced:
        terms = data["features"].shape[1]
        moments = distribution(x[terms:], data, jnp)[0].second_moments() if latent else data["moments"]
        return coefficients(x[:terms], moments, data, jnp)[0]

    return jax.jit(jax.vmap(one, in_axes=(0, None)))


def model_data(found: Statistics, design: Design, layout: Layout, family: Family, response: Response) -> dict[str, Array]:
    """Return the arrays of a density, except those of the prior."""
    with np.errstate(divide="ignore"):
        precision = 1.0 / (found.gram_variance * (1.0 + (1.0 - np.eye(len(found.gram)))))  # both triangles are summed over
    precision[0, 0] = 0.0  # the number of rows has a term of its own
    data: dict[str, Array | float] = {
        "gram": np.where(np.isfinite(found.gram_variance), found.gram, 0.0),
        "gram_precision": precision,
        "gram_variance": found.gram_variance,
        "cross": np.where(np.isfinite(found.cross_variance), found.cross, 0.0),
        "cross_variance": np.minimum(found.cross_variance, 1e6 * max(found.rows, 1.0) ** 2),
        "rows": found.rows,
        "rows_ratio": found.rows_ratio,
        "count": np.zeros(0 if found.exact_rows else 1),
        "count_rows": found.rows,
        "count_variance": found.count_variance,
        "features": design.features[list(layout.order)],
        "response_centre": response.centre,
        "response_half": response.half,
        "copies": np.zeros(1),
        **layout.data(),
        **family.constants(response.largest),
    }
    return {key: np.asarray(value, dtype=float) for key, value in data.items()}


def _doubts(release: Release, found: Statistics, latent: bool) -> tuple[str, ...]:
    doubts = []
    if release.clipped_norm is not None:
        response = "but not the response" if release.kind.name == "moments" else "including the response"
        doubts.append(f"the model ignores that rows longer than the declared norm were shortened, {response}")
    if not latent and found.hidden():
        doubts.append("the noise is of the order of the predictors' smallest variance, and with more than "
                      f"{MOST_LATENT} columns that is not fully accounted for")
    return tuple(doubts)


def doubts_about_numbers(design: Design, near_normal: bool) -> tuple[str, ...]:
    """Warn about numeric predictors, which are taken for normal, unless the user says that they are nearly so.

    >>> from noisewise.schema import Basis, Schema
    >>> basis = Basis.of(Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "sick": {"levels": ["no", "yes"]}, "ward": {"levels": ["A", "B"]}, "age": {"bounds": [18, 98]}}}))
    >>> [len(doubts_about_numbers(Design.of(formula, basis), False)) for formula in ("sick ~ age", "sick ~ ward")]
    [1, 0]
    """
    schema, columns = design.basis.schema, design.basis.columns
    used = np.flatnonzero(np.any(design.features != 0.0, axis=1))
    factors = [factor.column for index in used for factor in columns[index].factors]
    numbers = list(dict.fromkeys(name for name in factors if not isinstance(schema.column(name), Categorical)))
    return () if near_normal or not numbers else (f"{TAKEN_FOR_NORMAL} ({', '.join(numbers)}), which this release cannot show: "
                                                  "if they are not, coefficients and intervals can be far off",)


def _doubts_about_columns(design: Design, layout: Layout) -> tuple[str, ...]:
    """Warn about powers of numbers and products with them, which are never normal."""
    columns = {index: design.basis.columns[index] for index in layout.order[1 + layout.kinds:]}
    derived = [index for index, column in columns.items() if len(column.factors) > 1 or column.factors[0].degree > 1]
    if not derived:
        return ()
    terms = [term for term, used in zip(design.terms, np.any(design.features[derived] != 0.0, axis=0), strict=True) if used]
    return (f"powers of numbers and products with them ({', '.join(terms)}) are treated as normal, which they are not: these "
            "coefficients can be far off",)
