"""``compare``: from a formula and one or several releases to the probabilities of its models. This file wires."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name

import numpy as np

from noisewise.errors import FitError
from noisewise.kinds.registry import has_room, kinds, module_of
from noisewise.posterior.fit import given, own_formula
from noisewise.posterior.methods import from_the_literature
from noisewise.posterior.request import sampling
from noisewise.releases.combine import Releases
from noisewise.releases.release import Release
from noisewise.releases.source import source_of
from noisewise.results.comparison import AVERAGED, Comparison, Question
from noisewise.results.fit_info import FitInfo
from noisewise.run import DEFAULT, Run
from noisewise.schema.bayes_factors import LAPLACE, ZELLNER_SIOW, check_prior
from noisewise.selection.methods import AGREEMENT, DEFAULT_METHOD, METHODS
from noisewise.selection.question import names_of
from noisewise.selection.task import Methods, Solution, Solver, Task
from noisewise.words import leave_out


def compare(formula: str | Releases, release: Releases | None = None, *, prior: str = ZELLNER_SIOW,
            model_prior: str = "beta-binomial", method: str | Sequence[str] = DEFAULT_METHOD, keep: str | Sequence[str] = (),
            draws: int = 4000, seed: int | None = None, run: Run = DEFAULT) -> Comparison:
    """Find which terms of a formula matter: the probability of every subset of them, given one or several releases.

    Releases must be of kind gram or model. A release of kind model knows its own formula and family: ``compare(release)``.

    ``prior`` of the coefficients within a model: ``zellner-siow`` (default), ``zellner`` (g = n), ``hyper-g``, or ``bic`` and
    ``aic``, which replace a prior; ``zellner-siow-laplace`` is for plug-in methods only. ``model_prior``: ``beta-binomial``
    (default: every number of terms is equally likely), ``uniform`` (every model is), ``bernoulli(0.2)``. ``keep`` names terms
    to include in every model; the intercept always is. The columns of a category enter together. ``method``:

    - ``noise-aware`` (default) accounts for the privacy noise.

    From the literature, for comparison only, not for reporting: ``ridge`` and ``thresholded`` make the noisy moments positive
    definite and treat them as exact; ``histogram`` averages over a confidence region of them.

    With several methods the result is that of the first, and its ``agreement()`` compares them all. ``draws``: the number of
    draws of the averaged coefficients; ``seed`` makes them reproducible. ``run``: see `Run`.
    """
    names = _known_methods(method)
    check_prior(prior)
    if prior == LAPLACE and DEFAULT_METHOD in names:
        raise FitError("this prior is for methods that treat the moments as exact",
                       found=f"{prior!r} with method {DEFAULT_METHOD!r}",
                       remedy=f"prior={ZELLNER_SIOW!r} is the same prior without the Laplace approximation")
    draws, _, seed = sampling(draws, 1, seed)
    together, wanted = given(formula, release, "compare")
    able, solver = _of_kind(together)
    _check_able(names, able, together)
    task = Task.of(own_formula(together, "compare") if wanted is None else wanted, together, prior, model_prior, keep)
    solve = _Solving(task, solver(task), draws, seed, run)
    found = {name: solve(name) for name in names}
    result = found.pop(names[0])
    if found:
        inside = {one.question.method: one.inclusion_probabilities for one in (result, *found.values())}
        result = replace(result, others=found, verdicts=tuple(resolve_name(AGREEMENT)(inside, task.terms.optional)))
    result.warn_if_bad(stacklevel=2)
    return result


def _known_methods(method: str | Sequence[str]) -> list[str]:
    names = names_of("method", method)
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise FitError("unknown method", argument="method", found=", ".join(map(repr, unknown)) or "no method",
                       known=METHODS, remedy=from_the_literature(METHODS))
    return names


def _of_kind(release: Release) -> tuple[Methods, Callable[[Task], Solver]]:
    """The methods for a kind of release, and what turns a task into its solver."""
    if not has_room(release.kind, "selection"):
        able = " and ".join(kind.name for kind in kinds() if has_room(kind, "selection"))
        raise FitError(f"models can be compared by releases of kind {able} only", found=f"a release of kind {release.kind.name}",
                       remedy=f"the data holder can make a release of kind {able.replace('and', 'or')}")
    module = module_of(release.kind, "selection")
    return module.METHODS, module.solver


def _check_able(names: Sequence[str], able: Methods, release: Release) -> None:
    for name in names:
        if name not in able:
            raise FitError(f"the method {name} needs a release of kind {METHODS[name].kind}", argument="method",
                           found=f"a release of kind {release.kind.name}",
                           remedy=leave_out("method") + f": {DEFAULT_METHOD} weighs the models of this release")


@dataclass(frozen=True)
class _Solving:
    """Answers a task by one method after another."""

    task: Task
    solver: Solver
    draws: int
    seed: int
    run: Run

    def __call__(self, method: str) -> Comparison:
        """Answer by one method. The same seed gives the same answer."""
        started = time.perf_counter()
        seeds = [int(value) for value in np.random.SeedSequence(self.seed).generate_state(3, np.uint32)]
        with self.run.bar("Comparing", "%") as tick:
            found = self.solver.solve(method, self.draws, seeds, tick)
        release = self.task.release
        info = FitInfo(method=AVERAGED, family=self.solver.family, formula=self.task.design.formula, seed=self.seed, chains=1,
                       draws=self.draws, holders=release.holders, seconds=time.perf_counter() - started, doubts=found.doubts,
                       source=source_of(release), estimand=found.estimand)
        return self._result(method, found, info)

    def _result(self, method: str, found: Solution, info: FitInfo) -> Comparison:
        task, weighed = self.task, found.weighed
        order = np.lexsort((-weighed.log_bayes_factors, -weighed.probabilities))  # many probabilities may be 0 in floats
        return Comparison(
            design=task.design,
            question=Question(task.terms.optional, task.terms.kept, task.prior, task.model_prior, method),
            members=weighed.members[order], probabilities=weighed.probabilities[order],
            log_bayes_factors=weighed.log_bayes_factors[order], samples=found.samples, info=info,
            without_noise=found.without_noise, complete=weighed.complete, notes=found.notes,
        )
