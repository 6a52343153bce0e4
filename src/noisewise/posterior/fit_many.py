"""``fit_many``: the default fit for many releases, or many formulas, in a few vectorised calls, on a CPU or GPU.

For studies, and for many regressions on one release. ``kernels.batch`` samples regressions of the same shape side by side. The
posteriors are those of ``fit``; only the sampler differs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.asked import GAUSSIAN, assemble, check_family, check_glm
from noisewise.posterior.fit import fit, knows_its_regression
from noisewise.posterior.glm.families import FAMILIES as GLM_FAMILIES
from noisewise.posterior.glm.fit import GlmModel, doubts_about_numbers
from noisewise.posterior.kernels.batch import Shown, sample_batch
from noisewise.posterior.kernels.jax_setup import on_accelerator
from noisewise.posterior.kernels.mode import doubts_about
from noisewise.posterior.linear.conditional import ConditionalModel, weighted_model
from noisewise.posterior.linear.coordinates import Coordinates, in_user_units
from noisewise.posterior.linear.latent import LatentModel
from noisewise.posterior.linear.methods import default_model, hidden_doubts
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import Sampled, sampling
from noisewise.releases.combine import combine
from noisewise.releases.release import Release
from noisewise.results import Posterior, PriorSummary
from noisewise.results.diagnostics import plain_r_hat
from noisewise.results.summary import DIVERGENCE_LIMIT
from noisewise.run import DEFAULT, Run
from noisewise.schema import Design
from noisewise.words import leave_out, option

METHODS: Final = (DEFAULT_METHOD, "conditional-flat")


@dataclass(frozen=True)
class Job:
    """One of the regressions."""

    formula: str
    release: Release
    design: Design
    prior: PriorSummary | None
    model: ConditionalModel | LatentModel | GlmModel

    @property
    def shape(self) -> tuple[object, ...]:
        """Key of the jobs that can be sampled side by side."""
        sizes = tuple(sorted((key, value.shape) for key, value in self.model.data.items()))
        return self.model.log_density, getattr(self.model, "exact_rows", None), sizes

    @property
    def latent(self) -> bool:
        """True if the predictors' moments are sampled too."""
        return self.model.latent if isinstance(self.model, GlmModel) else isinstance(self.model, LatentModel)

    @property
    def most(self) -> int:
        """The maximum number of jobs of this shape side by side."""
        if self.latent:
            return LATENT_LOT
        if isinstance(self.model, GlmModel):
            return WIDE_LOT
        return ACCELERATOR_LOT if on_accelerator() else LOT


LOT: Final = 1024
"""Maximum number of regressions side by side, to bound memory."""
ACCELERATOR_LOT: Final = 16 * LOT
"""The maximum on a GPU, where thousands side by side take no longer than a few hundred."""
LATENT_LOT: Final = 256
WIDE_LOT: Final = 8
"""The maximum for regressions with so many columns that LAPACK must factorise: see ``kernels.small_linear``."""


def fit_many(formulas: str | Sequence[str], releases: Release | Sequence[Release | Sequence[Release]], *,
             family: str | None = None, method: str = DEFAULT_METHOD, robust: bool = False, near_normal: bool = False,
             prior: Prior | None = None, draws: int = 1000, chains: int = 4, seed: int | None = None, run: Run = DEFAULT
             ) -> list[Posterior]:
    """Fit one formula to many releases, many formulas to one release, or each formula to the release at the same position.

    An entry of ``releases`` may itself be a list: the releases of several data holders to be fitted together. ``method`` is
    ``conditional`` or ``conditional-flat`` (families other than ``gaussian`` have one only); everything else is as for `fit`. One
    warning says which fits, if any, have problems. Model releases are fitted one after the other.

    >>> fit_many(["stay ~ age", "stay ~ ward"], release)    # doctest: +SKIP
    """
    if family is not None:
        check_family(family)
    draws, chains, seed = sampling(draws, chains, seed)
    texts, tables = _paired(formulas, releases)
    own = [knows_its_regression(table.kind) for table in tables]
    if all(own):
        options = {"family": family, "method": method, "robust": robust, "prior": prior, "draws": draws, "chains": chains}
        return _one_by_one(texts, tables, options, seed, run)
    if any(own):
        raise FitError("model releases must be fitted apart from others", argument="releases",
                       found=", ".join(dict.fromkeys(table.kind.name for table in tables)))
    if robust:
        raise FitError("only model releases can have robust intervals", argument="robust", found=option("robust", True),
                       remedy=leave_out("robust"))
    family = GAUSSIAN if family is None else family
    if family != GAUSSIAN:
        check_glm(family, method)
    if method not in METHODS:
        raise FitError("this method cannot make many fits at once", argument="method", found=repr(method), known=METHODS,
                       remedy="call fit in a loop for another method")
    started = time.perf_counter()
    jobs = _jobs(texts, tables, prior, method, family)
    lots = _lots(jobs)
    # Batches with neighbouring seeds would share random numbers: the sampler uses a seed and those after it.
    first, second = np.random.SeedSequence(seed).spawn(2)
    lot_seeds, job_seeds = _seeds(first, len(lots)), _seeds(second, len(jobs))
    sampled: dict[int, Sampled] = {}
    worst: dict[int, float] = {}
    with run.bar("Sampling", "lots of regressions") as tick:
        for number, lot in enumerate(lots):
            found, r_hats = _sample([jobs[index] for index in lot], lot_seeds[number], chains, draws,
                                    [job_seeds[index] for index in lot])
            sampled.update(zip(lot, found, strict=True))
            worst.update(zip(lot, r_hats, strict=True))
            tick(number + 1, len(lots))
    seconds = (time.perf_counter() - started) / len(jobs)
    if family != GAUSSIAN:
        sampled = {index: replace(found, doubts=found.doubts + doubts_about_numbers(jobs[index].design, near_normal))
                   for index, found in sampled.items()}
    posteriors = [assemble(job.formula, method, job.release, job.design, job.prior, sampled[index], seed=seed, seconds=seconds,
                           family=family) for index, job in enumerate(jobs)]
    _warn(posteriors, worst)
    return posteriors


def _one_by_one(formulas: list[str], releases: list[Release], options: Mapping[str, Any], seed: int, run: Run) -> list[Posterior]:
    """Fit releases that cannot be sampled side by side."""
    posteriors, quiet = [], replace(run, progress=False)
    with run.bar("Sampling", "regressions") as tick, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all of them follows
        for number, (formula, release) in enumerate(zip(formulas, releases, strict=True)):
            posteriors.append(fit(formula, release, seed=seed + number, run=quiet, **options))
            tick(number + 1, len(releases))
    r_hats = {number: float(np.max(plain_r_hat(found.samples))) for number, found in enumerate(posteriors)}
    _warn(posteriors, r_hats, stacklevel=4)
    return posteriors


def _seeds(sequence: np.random.SeedSequence, count: int) -> list[int]:
    return [int(value) for value in sequence.generate_state(count, np.uint64) >> np.uint64(2)]


def _paired(formulas: str | Sequence[str], releases: Release | Sequence[Release | Sequence[Release]]
            ) -> tuple[list[str], list[Release]]:
    """The formulas and the releases, as many of one as of the other."""
    for name, given, one in (("formulas", formulas, str), ("releases", releases, Release)):
        if not isinstance(given, (one, Iterable)):
            raise FitError(f"{name} must be one {name[:-1]} or a list", found=type(given).__name__)
    texts = [formulas] if isinstance(formulas, str) else list(formulas)
    tables = [releases] if isinstance(releases, Release) else [combine(entry) for entry in releases]
    count = max(len(texts), len(tables))
    if not texts or not tables or {len(texts), len(tables)} - {1, count}:
        raise FitError("give as many formulas as releases, or only one of either",
                       found=f"{len(texts)} formulas and {len(tables)} releases")
    return texts * (count // len(texts)), tables * (count // len(tables))


def _jobs(texts: list[str], tables: list[Release], prior: Prior | None, method: str, family: str) -> list[Job]:
    jobs: list[Job] = []
    shared: Regression | None = None
    for text, release in zip(texts, tables, strict=True):
        if shared is None or not shared.serves(text, release):
            shared = Regression(text, release, prior, family)
        jobs.append(shared.job(release, method))
    return jobs


@dataclass(frozen=True)
class Regression:
    """What all regressions of one formula share, whatever the released numbers; ``first`` is the release of the first."""

    formula: str
    first: Release
    prior: Prior | None
    family: str

    def serves(self, formula: str, release: Release) -> bool:
        """True if a regression has the same formula and released columns."""
        return formula == self.formula and release.terms == self.first.terms and release.schema == self.first.schema \
            and release.columns == self.first.columns

    @cached_property
    def design(self) -> Design:
        """The formula read once, for all releases."""
        return Design.of(self.formula, self.first.basis, self.first.terms)

    @cached_property
    def _linear(self) -> tuple[Coordinates, ResolvedPrior, PriorSummary]:
        resolved = ResolvedPrior.of(self.design, self.prior)
        return Coordinates.of(self.design), resolved, resolved.summary(self.design.terms)

    def job(self, release: Release, method: str) -> Job:
        """Set up the fit of one release; linear regressions need kind gram."""
        if self.family != GAUSSIAN:
            model = GlmModel.of(release, self.design, GLM_FAMILIES[self.family], self.prior)
            return Job(self.formula, release, self.design, model.prior_summary(self.design), model)
        if release.kind.name != "gram":
            raise FitError("fit_many requires releases of kind gram for linear regression", found=release.kind.name)
        coordinates, resolved, shown = self._linear
        choose = default_model if method == DEFAULT_METHOD else weighted_model
        return Job(self.formula, release, self.design, shown, choose(release.contributions, coordinates, resolved))


def _lots(jobs: list[Job]) -> list[list[int]]:
    """Indices of jobs that are sampled side by side."""
    by_shape: dict[tuple[object, ...], list[int]] = {}
    for index, job in enumerate(jobs):
        by_shape.setdefault(job.shape, []).append(index)
    lots = []
    for members in by_shape.values():
        most = jobs[members[0]].most
        lots += [members[first:first + most] for first in range(0, len(members), most)]
    return lots


STEPS: Final = (3, 9)
LATENT_STEPS: Final = (8, 24)
"""Minimum and maximum of a trajectory: unknown moments of the predictors are correlated, and short ones do not get far."""


def _sample(jobs: list[Job], seed: int, chains: int, draws: int, own_seeds: list[int]) -> tuple[list[Sampled], list[float]]:
    """Return each job's result, and its largest R-hat."""
    models = [job.model for job in jobs]
    data = {key: np.stack([model.data[key] for model in models]) for key in models[0].data}
    if "copies" in data:  # the number of matrices factorised side by side
        data["copies"] = np.zeros((len(models), len(models) * chains))
    pairs = [model.start() for model in models]
    shown = _shown(models)
    found = sample_batch(models[0].log_density, data, np.stack([start for start, _ in pairs]),
                         np.stack([scale for _, scale in pairs]), seed=seed, chains=chains, draws=draws,
                         steps=LATENT_STEPS if jobs[0].latent else STEPS, shown=shown)
    results = []
    for index, model in enumerate(models):
        if isinstance(model, GlmModel):
            results.append(model.sampled(found.draws[index], found.diverging[index], bool(found.converged[index])))
            continue
        samples = found.draws[index]
        if isinstance(model, LatentModel):
            samples = model.coordinates.to_user(model.coefficients(samples, own_seeds[index]))
        doubts = doubts_about(bool(found.converged[index]))
        if isinstance(model, ConditionalModel):
            doubts += hidden_doubts(model)
        results.append(Sampled(samples, found.diverging[index], doubts))
    r_hats = found.r_hat if shown is not None else [plain_r_hat(result.samples) for result in results]
    return results, [float(np.max(r_hat)) for r_hat in r_hats]


def _shown(models: Sequence[ConditionalModel | LatentModel | GlmModel]) -> Shown | None:
    """Convert many fits to the user's units at once, since the parameters of `ConditionalModel` are coefficients and sigma."""
    arrays = [model.coordinates.arrays for model in models if isinstance(model, ConditionalModel)]
    return Shown(in_user_units, {key: np.stack([each[key] for each in arrays]) for key in arrays[0]}) if arrays else None


FAR_APART: Final = 1.05
"""R-hat of chains that are clearly worth less than a hundred independent draws."""


def _warn(posteriors: list[Posterior], r_hats: Mapping[int, float], stacklevel: int = 3) -> None:
    """Warn once about all fits with obvious problems; `diagnose` is slower and more thorough."""
    bad = [index for index, posterior in enumerate(posteriors)
           if posterior.info.doubts or posterior.info.divergences > DIVERGENCE_LIMIT * posterior.samples[..., 0].size
           or r_hats[index] > FAR_APART]
    if bad:
        shown = ", ".join(map(str, bad[:8])) + (", …" if len(bad) > 8 else "")
        warnings.warn(f"{len(bad)} of {len(posteriors)} fits should not be trusted yet (positions {shown}): call diagnose() on "
                      "each", ConvergenceWarning, stacklevel=stacklevel)
