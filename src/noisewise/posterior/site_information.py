"""What each site's release says about its own coefficients, as the precision and the shift of a normal likelihood.

All sites in one vectorised call. A site's parameters are y = (v, t): v are its coefficients in the prior's units (standard normal
under the prior), t its log σ, standardised to the moments that it has under sigma's half-normal prior. The conditional
likelihood (``conditional``) times a normal density, the *reference*, is sampled; the normal with the same mean and covariance is
divided by the reference again, and what remains,

    exp( −½ yᵀ Λ y + ηᵀ y ),

stands for the site's likelihood. It is in information form: a site that says nothing about a direction has no precision there.

The likelihood of a noisy site is skewed, so that the normal that fits it depends on where it is looked at. The first
reference is the prior. The second is what a first fit says of the population, with a doubled standard deviation: then the
normal fits where the sites' coefficients are (the idea of expectation propagation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.posterior.conditional import ConditionalModel, log_density_dense, log_density_rotated
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.kernels.batch import sample_batch
from noisewise.posterior.parts import Part
from noisewise.posterior.prior import ResolvedPrior

Array = npt.NDArray[np.float64]

CHAINS: Final = 4
DRAWS: Final = 500
LEAST_INFORMATION: Final = 2.0 * math.sqrt(2.0 / (CHAINS * DRAWS))
"""Information less than this share of the reference's is not told from none: twice the error of a variance of so many draws."""

LOG_SIGMA_MEAN: Final = -0.5 * (0.5772156649015329 + math.log(2.0))
LOG_SIGMA_SD: Final = math.pi / math.sqrt(8.0)
"""Mean and standard deviation of the logarithm of a half-normal variable of scale 1."""


def log_density_site_rotated(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """Log density of one site's (g, log σ): conditional likelihood for symmetric Gaussian noise, times the reference."""
    return log_density_rotated(_with_sigma(x, xp), data, xp) + _log_reference(x, data, xp)


def log_density_site_dense(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """The same for independent noise of any variances."""
    return log_density_dense(_with_sigma(x, xp), data, xp) + _log_reference(x, data, xp)


def _with_sigma(x: Any, xp: Any) -> Any:
    return xp.concatenate([x[:-1], xp.exp(x[-1:])])


def _log_reference(x: Any, data: Mapping[str, Any], xp: Any) -> Any:
    v = data["units_slope"] @ x[:-1] + data["units_offset"]
    t = (x[-1:] - data["log_sigma_mean"]) / LOG_SIGMA_SD
    return -0.5 * xp.sum((data["reference_root"] @ xp.concatenate([v, t]) - data["reference_shift"]) ** 2)


@dataclass(frozen=True)
class Reference:
    """A normal density of y under which ``root @ y − shift`` is standard normal."""

    root: Array
    shift: Array

    @classmethod
    def prior(cls, size: int) -> Reference:
        return cls(np.eye(size), np.zeros(size))

    @classmethod
    def around(cls, mean: Array, covariance: Array) -> Reference:
        root = np.linalg.cholesky(np.linalg.inv(covariance)).T
        return cls(root, root @ mean)


@dataclass(frozen=True)
class SiteInformation:
    """Precisions Λ (sites, parameters, parameters) and shifts η (sites, parameters); what went wrong, in words."""

    precision: Array
    shift: Array
    doubts: tuple[str, ...] = ()

    @property
    def own_sd(self) -> Array:
        """Each site's own standard deviation of each parameter, in units of the prior's: 1 if it says nothing."""
        inverse = np.linalg.inv(self.precision + np.eye(self.precision.shape[1]))
        return np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))


@dataclass(frozen=True)
class SiteModels:
    """The conditional likelihoods of the sites, ready to be sampled together."""

    models: tuple[ConditionalModel, ...]
    units: Array
    """(functionals, mean and sd of the prior): v = (functionals @ beta − mean) / sd, as slope and offset for each site."""
    offset: Array
    log_sigma_mean: float

    @classmethod
    def of(cls, parts: Sequence[Part], coordinates: Coordinates, prior: ResolvedPrior) -> SiteModels:
        models = tuple(ConditionalModel.of([part], coordinates, prior) for part in parts)
        return cls(models, np.stack([model.data["prior_slope"] for model in models]), models[0].data["prior_offset"],
                   math.log(prior.sigma / coordinates.half_width) + LOG_SIGMA_MEAN)

    def look(self, references: Sequence[Reference], *, seed: int,
             tick: Callable[[int, int], None] | None = None) -> SiteInformation:
        """The normal likelihood of each site, fitted where its reference lies."""
        size = self.units.shape[1] + 1
        precision, shift = np.zeros((len(self.models), size, size)), np.zeros((len(self.models), size))
        unsettled = 0
        for rotated in (True, False):
            chosen = [index for index, model in enumerate(self.models) if model.rotated is rotated]
            if not chosen:
                continue
            own = [references[index] for index in chosen]
            y, settled = self._draws(chosen, own, rotated, seed, tick)
            precision[chosen], shift[chosen] = likelihood_of(y, own)
            unsettled += int(np.sum(~settled))
        doubts = (f"the search for the mode did not settle at {unsettled} sites",) if unsettled else ()
        return SiteInformation(precision, shift, doubts)

    def to_user(self, y: Array, prior: ResolvedPrior) -> Array:
        """Coefficients and sigma in the user's units from draws of y, whatever the leading axes."""
        beta = (y[..., :-1] * prior.sd + prior.mean) @ np.linalg.inv(prior.functionals).T
        sigma = prior.sigma * np.exp(LOG_SIGMA_SD * y[..., -1:] + LOG_SIGMA_MEAN)
        return np.concatenate([beta, sigma], axis=-1)

    def _draws(self, chosen: list[int], references: Sequence[Reference], rotated: bool, seed: int,
               tick: Callable[[int, int], None] | None) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Draws of y at the chosen sites (sites, draws, parameters), and whether each mode was found."""
        data = [self._data(index, reference) for index, reference in zip(chosen, references, strict=True)]
        stacked = {key: np.stack([own[key] for own in data]) for key in data[0]}
        starts = np.array([self._start(index, reference) for index, reference in zip(chosen, references, strict=True)])
        result = sample_batch(log_density_site_rotated if rotated else log_density_site_dense, stacked, starts[:, 0],
                              starts[:, 1], seed=seed, chains=CHAINS, draws=DRAWS, tick=tick)
        flat = result.draws.reshape(len(chosen), -1, starts.shape[2])
        v = np.einsum("jkl,jnl->jnk", stacked["units_slope"], flat[..., :-1]) + self.offset
        t = (flat[..., -1:] - self.log_sigma_mean) / LOG_SIGMA_SD
        return np.concatenate([v, t], axis=2), result.converged

    def _data(self, index: int, reference: Reference) -> dict[str, Array]:
        """The arrays of one site's density: its conditional likelihood with a flat prior, and the reference."""
        data = dict(self.models[index].data)
        flat = {"prior_slope": np.zeros_like(data["prior_slope"]), "prior_offset": np.zeros_like(data["prior_offset"]),
                "prior_sigma2": np.array(1e300)}
        return data | flat | {"units_slope": self.units[index], "units_offset": self.offset,
                              "log_sigma_mean": np.array(self.log_sigma_mean),
                              "reference_root": reference.root, "reference_shift": reference.shift}

    def _start(self, index: int, reference: Reference) -> Array:
        """Where the search for the mode begins, and its rough scale: half way between the site's own data and the reference."""
        point, scale = self.models[index].start()
        centre = np.linalg.solve(reference.root, reference.shift)
        g = np.linalg.solve(self.units[index], centre[:-1] - self.offset)
        log_sigma = self.log_sigma_mean + LOG_SIGMA_SD * centre[-1]
        middle = 0.5 * np.append(point[:-1] + g, np.log(point[-1]) + log_sigma)
        return np.stack([middle, np.append(scale[:-1], 0.1)])


def likelihood_of(y: Array, references: Sequence[Reference]) -> tuple[Array, Array]:
    """Precision and shift of the normal that has the draws' moments, divided by the reference; never less than nothing."""
    root = np.stack([reference.root for reference in references])
    shift = np.stack([reference.shift for reference in references])
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
    return (turned + np.transpose(turned, (0, 2, 1))) / 2, np.einsum("jkl,jl->jk", back, push + np.einsum("jkl,jl->jk", precision, shift))

