"""The information of each site's release about its own coefficients, as the precision and shift of a normal likelihood.

One vectorised call serves all sites. A site has parameters y = (v, t): its coefficients v in the prior's units (standard normal
under the prior), and t, its log σ standardised to mean 0 and variance 1 under sigma's half-normal prior. The conditional
likelihood (as in ``conditional``, but with the moments of ``sites.moments``) times a normal density, the *reference*, is sampled.
A normal density with the mean and covariance of the draws is divided by the reference, and the quotient,

    exp( −½ yᵀ Λ y + ηᵀ y ),

approximates the site's likelihood. It is in information form: a site has no precision in directions about which it says nothing.

The likelihood of a noisy site is skewed, so its normal approximation depends on the reference. The first reference is the prior.
The second is the population according to a first fit, much widened, so that the approximation is good where the sites'
coefficients are (the idea of expectation propagation).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags, Namespace, Traced
from noisewise.posterior.contributions import Contributions
from noisewise.posterior.kernels.batch import sample_batch
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.sites.moments import SiteMoments

CHAINS: Final = 4
DRAWS: Final = 500
LEAST_INFORMATION: Final = 2.0 * math.sqrt(2.0 / (CHAINS * DRAWS))
"""Less information than this share of the reference's counts as none: twice the error of a variance from this many draws."""

LOG_SIGMA_MEAN: Final = -0.5 * (0.5772156649015329 + math.log(2.0))
LOG_SIGMA_SD: Final = math.pi / math.sqrt(8.0)
"""Mean and standard deviation of the logarithm of a half-normal variable of scale 1."""


def log_density_site(x: Traced, data: Mapping[str, Traced], xp: Namespace = np) -> Traced:
    """Log density of one site's (g, log σ): the conditional likelihood of its moments, times the reference."""
    size = len(x)
    g, variance = x[:-1], xp.exp(2.0 * x[-1])
    h = data["cross"] - data["gram"] @ g
    h2 = data["total"] - data["cross"] @ g - g @ h - variance * data["rows"]
    # c = (−g, 1) in the basis (Q, e). Noise N in the entries i ≤ j moves h by (N c) and cᵀNc − σ²·(noise of the rows).
    c = xp.concatenate([-g, xp.ones(1)])
    i, j = np.triu_indices(size)
    moved = np.eye(size)[:, i] * c[j] + np.eye(size)[:, j] * (c[i] * (i != j))
    effect = xp.concatenate([xp.concatenate([moved[:-1], (c @ moved)[None]]),
                             xp.concatenate([xp.zeros(size - 1), -variance[None]])[:, None]], axis=1) @ data["noise_root"]
    within = data["eigenmatrix"] * variance + data["corner"] * (2.0 * data["rows2"] * variance**2)
    covariance = within + effect @ effect.T
    both = xp.concatenate([h, h2[None]])
    quadratic = both @ xp.linalg.solve(covariance, both)
    result: Traced = -0.5 * (quadratic + xp.linalg.slogdet(covariance)[1]) + _log_reference(x, data, xp)
    return result


def _log_reference(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    v = data["units_slope"] @ x[:-1] + data["units_offset"]
    t = (x[-1:] - data["log_sigma_mean"]) / LOG_SIGMA_SD
    result: Traced = -0.5 * xp.sum((data["reference_root"] @ xp.concatenate([v, t]) - data["reference_shift"]) ** 2)
    return result


@dataclass(frozen=True)
class Reference:
    """A normal density of y under which ``root @ y − shift`` is standard normal, and its mean."""

    root: Array
    shift: Array
    centre: Array

    @classmethod
    def prior(cls, centre: Array) -> Reference:
        """The prior of y, standard normal. ``centre`` is only where sampling starts."""
        return cls(np.eye(len(centre)), np.zeros(len(centre)), centre)

    @classmethod
    def around(cls, mean: Array, covariance: Array) -> Reference:
        """The normal density with this mean and covariance."""
        root = np.linalg.cholesky(np.linalg.inv(covariance)).T
        return cls(root, root @ mean, mean)


@dataclass(frozen=True)
class SiteInformation:
    """Precisions Λ (sites, parameters, parameters) and shifts η (sites, parameters), with any problems."""

    precision: Array
    shift: Array
    doubts: tuple[str, ...] = ()

    def own_sd(self, varying: Flags) -> Array:
        """Each site's own standard deviation of each varying coefficient, in units of the prior's: 1 if it says nothing.

        Coefficients that do not vary are informed by all sites together, so a single site need not know them.
        """
        chosen = np.flatnonzero(np.append(varying, True))
        precision = self.precision[:, chosen][:, :, chosen]
        inverse = np.linalg.inv(precision + np.eye(len(chosen)))
        return np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))[:, :-1]


@dataclass(frozen=True)
class SiteModels:
    """The sites' likelihoods, ready for sampling; ``start`` is y of a rough fit to all sites together."""

    data: Mapping[str, Array]
    coordinates: Coordinates
    prior: ResolvedPrior
    start: Array
    clarity: Array

    @classmethod
    def of(cls, contributions: Contributions, coordinates: Coordinates, prior: ResolvedPrior) -> SiteModels:
        """Prepare the likelihoods of two or more sites, one per contribution."""
        moments = SiteMoments.of(contributions, coordinates)
        gram = moments.matrix[:, :-1, :-1]
        values, vectors = np.linalg.eigh(gram)
        sites, size = moments.matrix.shape[:2]
        eigenmatrix = np.zeros_like(moments.matrix)
        eigenmatrix[:, :-1, :-1] = (vectors * np.maximum(values, 0.0)[:, None]) @ np.transpose(vectors, (0, 2, 1))
        corner = np.zeros((size, size))
        corner[-1, -1] = 1.0
        pooled = ConditionalModel.of(contributions, coordinates, prior)
        beta = pooled.coordinates.to_user(pooled.start()[0])
        common = {
            "corner": corner,
            "units_slope": (prior.functionals @ coordinates.slope) / prior.sd[:, None],
            "units_offset": (prior.functionals @ coordinates.offset - prior.mean) / prior.sd,
            "log_sigma_mean": np.array(math.log(prior.sigma / coordinates.half_width) + LOG_SIGMA_MEAN),
        }
        data = {"gram": gram, "cross": moments.matrix[:, :-1, -1], "total": moments.matrix[:, -1, -1], "rows": moments.rows,
                "rows2": moments.rows, "eigenmatrix": eigenmatrix, "noise_root": moments.noise_root}
        data |= {key: np.broadcast_to(value, (sites, *value.shape)) for key, value in common.items()}
        return cls(data, coordinates, prior, from_user(beta, prior), moments.clarity)

    def look(self, reference: Reference, seed: int) -> SiteInformation:
        """Return the normal likelihood of each site, fitted around the reference."""
        return look_at(self.data, [reference] * len(self.data["rows"]), seed)


def look_at(data: Mapping[str, Array], references: Sequence[Reference], seed: int) -> SiteInformation:
    """Return the same with a separate reference for each site."""
    root, shift, centre = (np.stack([getattr(own, name) for own in references]) for name in ("root", "shift", "centre"))
    slope, offset = data["units_slope"], data["units_offset"]
    log_sigma_mean = data["log_sigma_mean"][:, None]
    g = np.linalg.solve(slope, (centre[:, :-1] - offset)[..., None])[..., 0]
    starts = np.concatenate([g, log_sigma_mean + LOG_SIGMA_SD * centre[:, -1:]], axis=1)
    result = sample_batch(log_density_site, {**data, "reference_root": root, "reference_shift": shift}, starts,
                          np.full_like(starts, 0.1), seed=seed, chains=CHAINS, draws=DRAWS)
    flat = result.draws.reshape(len(starts), -1, starts.shape[1])
    v = np.einsum("jkl,jnl->jnk", slope, flat[..., :-1]) + offset[:, None]
    y = np.concatenate([v, (flat[..., -1:] - log_sigma_mean[:, None]) / LOG_SIGMA_SD], axis=2)
    unsettled = int(np.sum(~result.converged))
    doubts = (f"the search for the mode did not converge at {unsettled} sites",) if unsettled else ()
    return SiteInformation(*likelihood_of(y, root, shift), doubts)


def from_user(coefficients: Array, prior: ResolvedPrior) -> Array:
    """Convert coefficients and sigma in the user's units to y."""
    v = (prior.functionals @ coefficients[:-1] - prior.mean) / prior.sd
    return np.append(v, (np.log(coefficients[-1] / prior.sigma) - LOG_SIGMA_MEAN) / LOG_SIGMA_SD)


def to_user(y: Array, prior: ResolvedPrior) -> Array:
    """Convert draws of y, with any leading axes, to coefficients and sigma in the user's units."""
    beta = (y[..., :-1] * prior.sd + prior.mean) @ np.linalg.inv(prior.functionals).T
    return np.concatenate([beta, prior.sigma * np.exp(LOG_SIGMA_SD * y[..., -1:] + LOG_SIGMA_MEAN)], axis=-1)


def likelihood_of(y: Array, root: Array, shift: Array) -> tuple[Array, Array]:
    """Divide the normal with the draws' moments by the reference; return precision and shift, with no negative information."""
    white = np.einsum("jkl,jnl->jnk", root, y) - shift[:, None]
    mean = white.mean(axis=1)
    centred = white - mean[:, None]
    covariance = np.einsum("jnk,jnl->jkl", centred, centred) / (white.shape[1] - 1)
    values, vectors = np.linalg.eigh(np.linalg.inv(covariance))
    gain = np.where(values - 1.0 > LEAST_INFORMATION, values - 1.0, 0.0)
    along = np.einsum("jkl,jk->jl", vectors, mean)
    precision = np.einsum("jkl,jl,jml->jkm", vectors, gain, vectors)
    push = np.einsum("jkl,jl->jk", vectors, np.where(gain > 0, values * along, 0.0))
    back = np.transpose(root, (0, 2, 1))
    turned = back @ precision @ root
    whole = push + np.einsum("jkl,jl->jk", precision, shift)
    return (turned + np.transpose(turned, (0, 2, 1))) / 2, np.einsum("jkl,jl->jk", back, whole)

