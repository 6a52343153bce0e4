"""The population of sites: every site has its own coefficients, drawn from a population (a two-stage meta-analysis).

Stage 1 (``sites.information``) gives each site's likelihood of its own y_j, exp(−½ y_jᵀ Λ_j y_j + η_jᵀ y_j). Stage 2 is

    y_j = y + M (ω ∘ z_j),   z_j ~ N(0, I),   ω_k half-normal with scale 1,

where y has the population's coefficients in the prior's units and its log σ, and M has the scales of ω for the parameters that
vary between sites. The prior of y is the user's. z_j is integrated out: with r = ω ∘ Mᵀ(η_j − Λ_j y) and
B = I + ω ∘ MᵀΛ_jM ∘ ωᵀ a site contributes

    −½ yᵀ Λ_j y + η_jᵀ y + ½ rᵀ B⁻¹ r − ½ log |B|,

which needs no inverse of Λ_j: a site without information contributes nothing. Given ω this is quadratic in y, and so is the prior
of y except for log σ. With few sites ω may be large, which leaves y free: a funnel in which a sampler gets stuck. So coefficients
are integrated out too, and the sampler sees log σ in its own standard units u: given ω, and with a standard normal prior of
log σ, y = L⁻ᵀ(w + (ξ, u)) with ξ and u standard normal, where LLᵀ is y's precision and Lw its precision times its mean. The
density of (u, log ω) has the quotient of the two priors of log σ as a factor. ξ is drawn afterwards; given (y, ω),
z_j ~ N(B⁻¹ r, B⁻¹).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from noisewise.arrays import Array, Flags, Namespace, Traced
from noisewise.errors import FitError
from noisewise.posterior.kernels.jax_setup import Program, double_precision
from noisewise.posterior.kernels.mode import Mode, find_mode, jax_density
from noisewise.posterior.kernels.nuts import NutsDraws, sample_nuts
from noisewise.posterior.kernels.small_linear import MANY, cholesky, solve_lower
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.request import Request, Sampled
from noisewise.posterior.sites.information import LOG_SIGMA_MEAN, LOG_SIGMA_SD, Reference, SiteInformation, SiteModels, to_user
from noisewise.progress import Tick
from noisewise.results.sites import LOG_SIGMA, SiteEffects
from noisewise.results.summary import problems
from noisewise.run import nobody
from noisewise.words import leave_out, option

LEAST_SITES: Final = 3
DEVIATION_SCALE: Final = 0.5
"""Scale of the half-normal prior of a coefficient's deviation between sites, in units of the prior's standard deviation."""
CLEAR: Final = 4.0
"""A site is clear if its least moment of predictors is at least this many standard deviations of the noise away from zero."""
ROUGH_DRAWS: Final = 800
SITE_DRAWS: Final = 1000
"""Number of draws to keep of each site's own coefficients."""
SITE_OPTIONS: Final = ("random", "random-intercept")
LOG_SIGMA_SCALE: Final = 0.25
"""Scale of the same for log σ: sites' residual standard deviations differ by a quarter or so."""


def log_density_population(x: Traced, data: Mapping[str, Traced], xp: Namespace) -> Traced:
    """Log posterior density of (u, log ω): the coefficients and the sites' own deviations are integrated out."""
    standard, log_omega = x[0], x[1:]
    omega = xp.exp(log_omega)
    lower, white, rest = _given_deviations(omega, data, xp)
    sites = rest + 0.5 * xp.sum(white**2) - xp.sum(xp.log(xp.diagonal(lower))) - 0.5 * standard**2
    last = (white[-1] + standard) / lower[-1, -1]
    log_sigma = LOG_SIGMA_SD * last + LOG_SIGMA_MEAN  # in units of the half-normal prior's scale
    result: Traced = sites + log_sigma - 0.5 * xp.exp(2.0 * log_sigma) + 0.5 * last**2 + xp.sum(log_omega - 0.5 * omega**2)
    return result


def _given_deviations(omega: Traced, data: Mapping[str, Traced], xp: Namespace) -> tuple[Traced, Traced, Traced]:
    """Return L, w and the rest: given ω, all sites and a standard normal prior are exp(−½ yᵀ LLᵀ y + wᵀ Lᵀ y + rest)."""
    import jax

    def one(mixed: Traced, precision: Traced, shift: Traced) -> tuple[Traced, Traced]:
        root = cholesky(mixed * (omega[:, None] * omega) + data["identity"], MANY)
        both = xp.concatenate([precision, shift[:, None]], axis=1) * omega[:, None]
        known = solve_lower(root, both, copies=MANY)
        return known.T @ known, xp.sum(xp.log(xp.diagonal(root)))

    products, log_determinants = jax.vmap(one)(data["mixed"], data["mixed_precision"], data["mixed_shift"])
    joint = xp.sum(products, axis=0)
    lower = cholesky(data["total_precision"] - joint[:-1, :-1] + xp.eye(len(joint) - 1), MANY)
    white = solve_lower(lower, data["total_shift"] - joint[:-1, -1], copies=MANY)
    return lower, white, 0.5 * joint[-1, -1] - xp.sum(log_determinants)


@cache
def _population_draws() -> Program:
    """Compile the function that maps many standard normal vectors (ξ, u) and log ω to y."""
    import jax
    import jax.numpy as jnp

    def one(inputs: tuple[Traced, Traced], data: Mapping[str, Traced]) -> Traced:
        standard, log_omega = inputs
        lower, white, _ = _given_deviations(jnp.exp(log_omega), data, jnp)
        return solve_lower(lower, white + standard, transposed=True, copies=MANY)

    return jax.jit(lambda standard, log_omega, data: jax.lax.map(lambda inputs: one(inputs, data), (standard, log_omega)))


@dataclass(frozen=True)
class Population:
    """Stage 2, given the information of the sites; ``mixing`` is M."""

    information: SiteInformation
    mixing: Array

    def data(self) -> dict[str, Array]:
        """The arrays of `log_density_population`."""
        precision, shift, m = self.information.precision, self.information.shift, self.mixing
        return {
            "total_precision": precision.sum(axis=0),
            "total_shift": shift.sum(axis=0),
            "mixed": m.T @ precision @ m,
            "mixed_precision": m.T @ precision,
            "mixed_shift": shift @ m,
            "identity": np.eye(m.shape[1]),
        }

    @property
    def size(self) -> int:
        """The number of parameters of a site: its coefficients and log σ."""
        return len(self.mixing)

    def start(self) -> tuple[Array, Array]:
        """Start with differences of the size of a site's uncertainty."""
        known = np.diagonal(self.mixing.T @ self.information.precision @ self.mixing, axis1=1, axis2=2).mean(axis=0)
        return np.append(0.0, -0.5 * np.log(1.0 + known)), np.append(1.0, np.full(len(known), 0.5))

    def sample(self, *, seed: int, chains: int, draws: int, tick: Tick = nobody) -> tuple[NutsDraws, Mode]:
        """Draws of (y, log ω)."""
        own, other = (int(value) for value in np.random.SeedSequence(seed).generate_state(2) >> 1)
        data = self.data()
        mode = find_mode(jax_density(log_density_population, data), *self.start())
        found = sample_nuts(log_density_population, data, mode, seed=own, chains=chains, draws=draws, tick=tick)
        return NutsDraws(self.with_coefficients(found.draws, other), found.diverging), mode

    def with_coefficients(self, draws: Array, seed: int) -> Array:
        """Convert draws of (u, log ω), with any leading axes, to draws of (y, log ω)."""
        flat = draws.reshape(-1, draws.shape[-1])
        standard = np.random.default_rng(seed).normal(size=(len(flat), self.size))
        standard[:, -1] = flat[:, 0]
        with double_precision():
            y = np.asarray(_population_draws()(standard, flat[:, 1:], self.data()))
        return np.concatenate([y, flat[:, 1:]], axis=1).reshape(*draws.shape[:-1], -1)

    def reference(self, draws: Array) -> Reference:
        """Return a reference that covers the sites' coefficients, from draws of (y, log ω).

        It is twice as wide, and at least as wide as the uncertainty of a single site: otherwise a site's information would be
        lost in the error of its moments.
        """
        flat = draws.reshape(-1, draws.shape[-1])
        y, omega = flat[:, : self.size], np.exp(flat[:, self.size:])
        between = (self.mixing * np.mean(omega**2, axis=0)) @ self.mixing.T
        return Reference.around(y.mean(axis=0), max(4.0, len(self.information.shift)) * np.cov(y.T) + 4.0 * between)

    def site_draws(self, draws: Array, seed: int) -> Array:
        """Draw each site's y_j for each draw (n, parameters) of (y, log ω), exactly: (sites, n, parameters)."""
        data, random = self.data(), np.random.default_rng(seed)
        y, omega = draws[:, : self.size], np.exp(draws[:, self.size:])
        found = np.empty((len(self.information.shift), *y.shape))
        for site in range(len(found)):  # site by site, to limit memory
            rest = (data["mixed_shift"][site] - y @ data["mixed_precision"][site].T) * omega
            b = data["mixed"][site] * (omega[:, :, None] * omega[:, None]) + data["identity"]
            lower = np.linalg.cholesky(b)
            mean = np.linalg.solve(b, rest[..., None])
            z = mean + np.linalg.solve(np.transpose(lower, (0, 2, 1)), random.normal(size=(*rest.shape, 1)))
            found[site] = y + (omega * z[..., 0]) @ self.mixing.T
        return found


def mixing_matrix(prior: ResolvedPrior, varying: Flags | None = None) -> tuple[Array, Array]:
    """Return M for the parameters that vary, and the size of ω = 1 for each of them in the user's units (log σ unchanged)."""
    scales = np.append(DEVIATION_SCALE * prior.sd, LOG_SIGMA_SCALE)
    mixing = np.diag(np.append(np.full(len(prior.sd), DEVIATION_SCALE), LOG_SIGMA_SCALE / LOG_SIGMA_SD))
    chosen = np.ones(len(scales), dtype=bool) if varying is None else np.append(varying, True)
    return mixing[:, chosen], scales[chosen]


def random_sites(request: Request, terms: Sequence[str], site: str = "random") -> Sampled:
    """``fit(..., site="random")``: all coefficients vary between sites, or only the intercept (``"random-intercept"``)."""
    varying = _varying(request, terms, site)
    seeds = [int(value) for value in np.random.SeedSequence(request.seed).generate_state(5) >> 1]
    models = SiteModels.of(request.release.contributions, request.coordinates, request.prior)
    mixing, scales = mixing_matrix(request.prior, varying)
    first = Population(models.look(Reference.prior(models.start), seeds[0]), mixing)
    rough, _ = first.sample(seed=seeds[1], chains=request.chains, draws=-(-ROUGH_DRAWS // request.chains))
    population = Population(models.look(first.reference(rough.draws), seeds[2]), mixing)
    found, mode = population.sample(seed=seeds[3], chains=request.chains, draws=request.draws, tick=request.tick)

    between = np.exp(found.draws[..., population.size:]) * scales
    flat = found.draws.reshape(-1, found.draws.shape[-1])
    kept = flat[:: -(-len(flat) // SITE_DRAWS)]
    names = (*(name for name, varies in zip(terms, varying, strict=True) if varies), LOG_SIGMA)
    effects = SiteEffects((*terms, "sigma"), names, between, to_user(population.site_draws(kept, seeds[4]), request.prior))
    doubts = (*_doubts(models, population, mode, varying), *problems(between, [f"the deviation of {name}" for name in names], 0))
    return Sampled(to_user(found.draws[..., : population.size], request.prior), found.diverging, doubts, effects)


def _varying(request: Request, terms: Sequence[str], site: str) -> Flags:
    """Return which coefficients vary; refuse what cannot be fitted."""
    if site not in SITE_OPTIONS:
        raise FitError("unknown kind of differences between sites", argument="site", found=repr(site),
                       known=SITE_OPTIONS, remedy="without site, all sites share the same coefficients")
    if request.release.kind.name != "gram":
        raise FitError("random effects by site need releases of kind gram", argument="site",
                       found=request.release.kind.name, remedy=leave_out("site"))
    if request.release.pooled:
        raise FitError("random effects by site need the release of each site", found="sites that were added up",
                       remedy="leave " + option("pooled", True) + " out when you load them")
    if request.release.holders < LEAST_SITES:
        raise FitError(f"differences between sites need at least {LEAST_SITES} sites",
                       argument="site", found=f"only {request.release.holders}", remedy="fit with " + option("site", None))
    if site == "random":
        return np.ones(len(terms), dtype=bool)
    varying = np.array([name == "Intercept" for name in terms])
    if not varying.any():
        raise FitError("the formula has no intercept that could vary", argument="site", found=", ".join(terms),
                       remedy="use " + option("site", "random"))
    return varying


def _doubts(models: SiteModels, population: Population, mode: Mode, varying: Flags) -> tuple[str, ...]:
    """Return reasons not to trust the fit, known before sampling."""
    found = [*population.information.doubts, *mode.doubts]
    clear = int(np.sum(models.clarity >= CLEAR))
    needed = max(LEAST_SITES, -(-len(models.clarity) // 2))
    if clear < needed:
        found.append(f"the noise hides the predictors at most sites: only {clear} of {len(models.clarity)} determine "
                     "the least varying combination of predictors by themselves, so intervals may be too narrow; fit with "
                     "site=None")
    informed = np.sum(population.information.own_sd(varying) < 1.0 / 3.0, axis=0)
    if (informed < LEAST_SITES).any():
        found.append(f"for some coefficient only {int(informed.min())} sites are informative by themselves; fit with site=None")
    return tuple(found)
