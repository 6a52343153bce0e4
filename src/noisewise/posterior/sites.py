"""Random effects by site: every site has coefficients of its own, drawn from a population's (a two-stage meta-analysis).

Stage 1 (``site_information``) says what each release tells of its own site's y_j, as exp(−½ y_jᵀ Λ_j y_j + η_jᵀ y_j). Stage 2 is

    y_j = y + M (ω ∘ z_j),   z_j ~ N(0, I),   ω_k half-normal with scale 1,

where y are the population's coefficients in the prior's units and its log σ, and M holds the scales of ω for those parameters
that vary between sites. The prior of y is the user's. z_j is integrated out: with r = ω ∘ Mᵀ(η_j − Λ_j y) and
B = I + ω ∘ MᵀΛ_jM ∘ ωᵀ a site contributes

    −½ yᵀ Λ_j y + η_jᵀ y + ½ rᵀ B⁻¹ r − ½ log |B|,

which needs no inverse of Λ_j: a site that says nothing contributes nothing. Given (y, ω), z_j ~ N(B⁻¹ r, B⁻¹).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError
from noisewise.posterior.kernels.gradients import jax_density
from noisewise.posterior.kernels.mode import Mode, find_mode
from noisewise.posterior.kernels.nuts import NutsDraws, sample_nuts
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request, Sampled
from noisewise.posterior.site_information import LOG_SIGMA_MEAN, LOG_SIGMA_SD, Reference, SiteInformation, SiteModels

Array = npt.NDArray[np.float64]
Varying = Literal["random", "random-intercept"]

LEAST_SITES: Final = 3
DEVIATION_SCALE: Final = 0.5
"""Scale of the half-normal prior of ω, in units of the prior's standard deviation of the same coefficient."""
LOG_SIGMA_SCALE: Final = 0.25
"""The same for log σ: sites' residual standard deviations differ by a quarter or so."""


def log_density_population(x: Any, data: Mapping[str, Any], xp: Any = np) -> Any:
    """Log posterior density of (y, log ω), sites' own deviations integrated out."""
    size = data["total_shift"].shape[0]
    y, log_omega = x[:size], x[size:]
    omega = xp.exp(log_omega)
    rest = (data["mixed_shift"] - data["mixed_precision"] @ y) * omega
    b = data["mixed"] * (omega[:, None] * omega) + data["identity"]
    sites = -0.5 * y @ data["total_precision"] @ y + data["total_shift"] @ y
    sites = sites + 0.5 * xp.sum(rest * xp.linalg.solve(b, rest[..., None])[..., 0]) - 0.5 * xp.sum(xp.linalg.slogdet(b)[1])
    log_sigma = LOG_SIGMA_SD * y[-1] + LOG_SIGMA_MEAN  # in units of the half-normal prior's scale
    prior = -0.5 * xp.sum(y[:-1] ** 2) + log_sigma - 0.5 * xp.exp(2.0 * log_sigma)
    return sites + prior + xp.sum(log_omega - 0.5 * omega**2)


@dataclass(frozen=True)
class Population:
    """Stage 2 for given information of the sites; ``mixing`` is M."""

    information: SiteInformation
    mixing: Array

    @property
    def size(self) -> int:
        return len(self.mixing)

    def data(self) -> dict[str, Array]:
        precision, shift, m = self.information.precision, self.information.shift, self.mixing
        return {
            "total_precision": precision.sum(axis=0),
            "total_shift": shift.sum(axis=0),
            "mixed": m.T @ precision @ m,
            "mixed_precision": m.T @ precision,
            "mixed_shift": shift @ m,
            "identity": np.eye(m.shape[1]),
        }

    def start(self) -> tuple[Array, Array]:
        """Start at the estimate without differences between sites, with small ones."""
        total = self.information.precision.sum(axis=0) + np.eye(self.size)
        y = np.linalg.solve(total, self.information.shift.sum(axis=0))
        return np.append(y, np.full(self.mixing.shape[1], -1.5)), np.append(1.0 / np.sqrt(np.diag(total)), np.full(self.mixing.shape[1], 0.5))

    def sample(self, *, seed: int, chains: int, draws: int, tick: Any = None) -> tuple[NutsDraws, Mode]:
        data = self.data()
        mode = find_mode(jax_density(log_density_population, data), *self.start())
        return sample_nuts(log_density_population, data, mode, seed=seed, chains=chains, draws=draws, tick=tick), mode

    def reference(self, draws: Array) -> Reference:
        """Where the sites' coefficients are to be expected, from draws of (y, log ω); twice as wide."""
        flat = draws.reshape(-1, draws.shape[-1])
        y, omega = flat[:, : self.size], np.exp(flat[:, self.size:])
        between = (self.mixing * np.mean(omega**2, axis=0)) @ self.mixing.T
        return Reference.around(y.mean(axis=0), 4.0 * (np.cov(y.T) + between))

    def site_draws(self, draws: Array, seed: int) -> Array:
        """Each site's y_j for each draw (n, parameters) of (y, log ω), from its exact conditional: (sites, n, parameters)."""
        data, random = self.data(), np.random.default_rng(seed)
        y, omega = draws[:, : self.size], np.exp(draws[:, self.size:])
        found = np.empty((len(self.information.shift), *y.shape))
        for site in range(len(found)):  # over sites, so that memory is that of one site
            rest = (data["mixed_shift"][site] - y @ data["mixed_precision"][site].T) * omega
            b = data["mixed"][site] * (omega[:, :, None] * omega[:, None]) + data["identity"]
            lower = np.linalg.cholesky(b)
            mean = np.linalg.solve(b, rest[..., None])
            z = mean + np.linalg.solve(np.transpose(lower, (0, 2, 1)), random.normal(size=(*rest.shape, 1)))
            found[site] = y + (omega * z[..., 0]) @ self.mixing.T
        return found


def mixing_matrix(prior: ResolvedPrior, varying: str) -> tuple[Array, Array]:
    """M for the parameters that vary, and what ω = 1 is for each of them in the user's units (for log σ: as it is)."""
    size = len(prior.sd) + 1
    scales = np.append(DEVIATION_SCALE * prior.sd, LOG_SIGMA_SCALE)
    mixing = np.diag(np.append(np.full(size - 1, DEVIATION_SCALE), LOG_SIGMA_SCALE / LOG_SIGMA_SD))
    chosen = np.ones(size, dtype=bool)
    return mixing[:, chosen], scales[chosen]
