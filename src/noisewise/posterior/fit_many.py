"""``fit_many``: the default fit for many releases, or many formulas, in a few vectorised calls; on a GPU unchanged.

For studies, and for the many questions that one release answers. Regressions of the same shape are sampled side by side by
``kernels.batch``: the same posteriors as ``fit`` gives, by another sampler.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.conditional import ConditionalModel, weighted_model
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.fit import GAUSSIAN, assemble, check_family, check_glm, linear_prior_summary, whole
from noisewise.posterior.glm.families import FAMILIES as GLM_FAMILIES
from noisewise.posterior.glm.fit import GlmModel
from noisewise.posterior.kernels.batch import sample_batch
from noisewise.posterior.latent import LatentModel
from noisewise.posterior.methods import DEFAULT, default_model
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import Sampled
from noisewise.progress import Tick, progress_bar
from noisewise.release.combine import combine
from noisewise.release.model import Release
from noisewise.results import Posterior, PriorSummary
from noisewise.results.diagnostics import plain_r_hat
from noisewise.results.summary import DIVERGENCE_LIMIT
from noisewise.schema import Design

Array = npt.NDArray[np.float64]

METHODS: Final = (DEFAULT, "conditional-flat")
LOT: Final = 1024
"""At most so many regressions side by side: memory is bounded by it."""
LATENT_LOT: Final = 256
WIDE_LOT: Final = 8
"""Of regressions with so many columns that LAPACK has to factorise: see ``kernels.small_linear``."""
STEPS: Final = (3, 9)
LATENT_STEPS: Final = (8, 24)
"""Of a trajectory, at least and at most: unknown moments of the predictors are correlated, and short ones do not get far."""
FAR_APART: Final = 1.05
"""R-hat of chains that show at a glance that they are worth less than a hundred independent draws."""


@dataclass(frozen=True)
class Job:
    """One of the regressions."""

    formula: str
    release: Release
    design: Design
    prior: PriorSummary | None
    model: ConditionalModel | LatentModel | GlmModel

    @property
    def shape(self) -> tuple[Any, ...]:
        """Jobs with the same one can be sampled side by side."""
        sizes = tuple(sorted((key, value.shape) for key, value in self.model.data.items()))
        return self.model.log_density, getattr(self.model, "exact_rows", None), sizes

    @property
    def latent(self) -> bool:
        """Whether the predictors' moments are sampled too."""
        return self.model.latent if isinstance(self.model, GlmModel) else isinstance(self.model, LatentModel)

    @property
    def most(self) -> int:
        """So many like it are sampled side by side."""
        if self.latent:
            return LATENT_LOT
        return WIDE_LOT if isinstance(self.model, GlmModel) else LOT


def fit_many(
    formulas: str | Sequence[str],
    releases: Release | Sequence[Release | Sequence[Release]],
    *,
    family: str = GAUSSIAN,
    method: str = DEFAULT,
    prior: Prior | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
    progress: Tick | bool | None = None,
) -> list[Posterior]:
    """Fit one formula to many releases, many formulas to one release, or each formula to the release at its place.

    An entry of ``releases`` may itself be a list: the releases of several data holders to be fitted together. ``method`` is
    ``conditional`` or ``conditional-flat`` (families other than ``gaussian`` have one only); everything else is as for `fit`. One
    warning says which fits, if any, have problems.

    >>> fit_many(["stay ~ age", "stay ~ ward"], release)    # doctest: +SKIP
    """
    check_family(family)
    if family != GAUSSIAN:
        check_glm(family, method)
    if method not in METHODS:
        raise FitError("many fits at once are made by one of the methods " + ", ".join(METHODS), found=repr(method),
                       remedy="call fit in a loop for another method")
    draws, chains = whole("draws", draws, 1), whole("chains", chains, 1)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    started = time.perf_counter()
    jobs = _jobs(formulas, releases, prior, method, family)
    lots = _lots(jobs)
    # Lots with neighbouring seeds would share their random numbers: the sampler takes a seed and those after it.
    first, second = np.random.SeedSequence(seed).spawn(2)
    lot_seeds, job_seeds = _seeds(first, len(lots)), _seeds(second, len(jobs))
    sampled: dict[int, Sampled] = {}
    with progress_bar(progress, "Sampling", "lots of regressions") as tick:
        for number, lot in enumerate(lots):
            found = _sample([jobs[index] for index in lot], lot_seeds[number], chains, draws, [job_seeds[index] for index in lot])
            sampled.update(zip(lot, found, strict=True))
            tick(number + 1, len(lots))
    seconds = (time.perf_counter() - started) / len(jobs)
    posteriors = [assemble(job.formula, method, job.release, job.design, job.prior, sampled[index], seed=seed, seconds=seconds,
                           family=family) for index, job in enumerate(jobs)]
    _warn(posteriors)
    return posteriors


def _seeds(sequence: np.random.SeedSequence, count: int) -> list[int]:
    return [int(value) for value in sequence.generate_state(count, np.uint64) >> np.uint64(2)]


def _jobs(formulas: str | Sequence[str], releases: Release | Sequence[Release | Sequence[Release]], prior: Prior | None,
          method: str, family: str) -> list[Job]:
    for name, given, one in (("formulas", formulas, str), ("releases", releases, Release)):
        if not isinstance(given, (one, Iterable)):
            raise FitError(f"{name} are one of them or a list", found=type(given).__name__)
    texts = [formulas] if isinstance(formulas, str) else list(formulas)
    tables = [releases] if isinstance(releases, Release) else [
        entry if isinstance(entry, Release) else combine(entry) for entry in releases]
    count = max(len(texts), len(tables))
    if not texts or not tables or {len(texts), len(tables)} - {1, count}:
        raise FitError("formulas and releases are equally many, or there is one of either",
                       found=f"{len(texts)} formulas and {len(tables)} releases")
    texts, tables = texts * (count // len(texts)), tables * (count // len(tables))
    jobs: list[Job] = []
    for text, release in zip(texts, tables, strict=True):
        last = jobs[-1] if jobs else None
        same = last is not None and last.formula == text and last.release.schema == release.schema \
            and last.release.columns == release.columns
        design = last.design if last is not None and same else Design.of(text, release.basis, release.terms)
        jobs.append(_linear_job(text, release, design, prior, method) if family == GAUSSIAN else
                    _glm_job(text, release, design, prior, family))
    return jobs


def _linear_job(formula: str, release: Release, design: Design, prior: Prior | None, method: str) -> Job:
    if release.kind != "gram":
        raise FitError("many linear regressions at once need releases of kind gram", found=release.kind)
    resolved = ResolvedPrior.of(design, prior)
    choose = default_model if method == DEFAULT else weighted_model
    return Job(formula, release, design, linear_prior_summary(design, resolved),
               choose(release.parts, Coordinates.of(design), resolved))


def _glm_job(formula: str, release: Release, design: Design, prior: Prior | None, family: str) -> Job:
    model = GlmModel.of(release, design, GLM_FAMILIES[family], prior)
    return Job(formula, release, design, model.prior_summary(design), model)


def _lots(jobs: list[Job]) -> list[list[int]]:
    """Indices of jobs that are sampled side by side."""
    by_shape: dict[tuple[Any, ...], list[int]] = {}
    for index, job in enumerate(jobs):
        by_shape.setdefault(job.shape, []).append(index)
    lots = []
    for members in by_shape.values():
        most = jobs[members[0]].most
        lots += [members[first:first + most] for first in range(0, len(members), most)]
    return lots


def _sample(jobs: list[Job], seed: int, chains: int, draws: int, own_seeds: list[int]) -> list[Sampled]:
    models = [job.model for job in jobs]
    data = {key: np.stack([model.data[key] for model in models]) for key in models[0].data}
    if "copies" in data:  # so many matrices are factorised side by side
        data["copies"] = np.zeros((len(models), len(models) * chains))
    pairs = [model.start() for model in models]
    found = sample_batch(models[0].log_density, data, np.stack([start for start, _ in pairs]),
                         np.stack([scale for _, scale in pairs]), seed=seed, chains=chains, draws=draws,
                         steps=LATENT_STEPS if jobs[0].latent else STEPS)
    results = []
    for index, model in enumerate(models):
        if isinstance(model, GlmModel):
            results.append(model.sampled(found.draws[index], found.diverging[index], bool(found.converged[index])))
            continue
        working = found.draws[index]
        if isinstance(model, LatentModel):
            working = model.coefficients(working, own_seeds[index])
        doubts = () if found.converged[index] else ("the search for the posterior's mode did not settle",)
        results.append(Sampled(model.coordinates.to_user(working), found.diverging[index], doubts))
    return results


def _warn(posteriors: list[Posterior]) -> None:
    """One warning for all: which fits have problems that show at a glance; `diagnose` looks closer, and takes longer."""
    bad = [index for index, posterior in enumerate(posteriors)
           if posterior.info.doubts or posterior.info.divergences > DIVERGENCE_LIMIT * posterior.samples[..., 0].size
           or np.any(plain_r_hat(posterior.samples) > FAR_APART)]
    if bad:
        shown = ", ".join(map(str, bad[:8])) + (", …" if len(bad) > 8 else "")
        warnings.warn(f"{len(bad)} of {len(posteriors)} fits are not to be trusted yet (positions {shown}): see diagnose() of "
                      "each", ConvergenceWarning, stacklevel=3)
