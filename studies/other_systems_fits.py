"""How each system fits the problem of ``studies.other_systems_problem``: one adapter each, which imports it on use.

A system that is missing, or does not offer the problem, raises `NotRunError` with the reason, which its row shows.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.run import QUIET
from studies.other_systems_problem import DELTA, RESPONSE_BOUND, Array, Fit, Problem, Table, exact_fit, table, textbook_interval
from studies.other_systems_r import NotRunError, dapper_fit

OURS, OURS_PURE, EXACT = "noisewise", "noisewise, Laplace noise", "no privacy"
OURS_MODEL = "noisewise, model release"
DIFFPRIVLIB, DIFFPRIVLIB_RIDGE, D3P, THEIL_SEN = "diffprivlib", "diffprivlib, C = 0.1", "d3p", "OpenDP Theil–Sen"
DP_STATSMODELS, DAPPER = "dp-statsmodels", "dapper"
LEVELS = ("no", "yes")
CANDIDATES = 10_000
"""The number of values that OpenDP's medians are chosen from. With its default of 100, spacing would be most of the error."""
WORKER_LIMIT = 3000
MODEL_DRAWS = 250
"""Of each of four chains: enough for the ends of an interval, and faster than the default."""


@dataclass(frozen=True)
class Where:
    """Programs of other environments: a Python that has d3p, and R."""

    d3p_python: str = sys.executable
    rscript: str = "Rscript"


@dataclass(frozen=True)
class System:
    """``many`` fits the tables 0, 1, … of a problem; ``one`` fits one table and is timed."""

    name: str
    intervals: str
    """``own``, or ``naive``: `textbook_interval` around the private estimate."""
    one: Callable[[Problem, int, Where], Fit]
    many: Callable[[Problem, int, Where], list[Fit]] | None = None

    def fits(self, problem: Problem, replicates: int, where: Where) -> list[Fit]:
        if self.many is not None:
            return self.many(problem, replicates, where)
        return [self.one(problem, replicate, where) for replicate in range(replicates)]


def needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotRunError(str(error)) from error


def _terms(problem: Problem) -> list[str]:
    return [f"x{number + 1}" for number in range(problem.predictors)]


def our_table(problem: Problem, data: Table) -> tuple[dict[str, Any], Any]:
    """The columns and their schema."""
    import noisewise as nw

    terms = _terms(problem)
    linear = problem.family == "linear"
    response: dict[str, Any] = {"bounds": [-RESPONSE_BOUND, RESPONSE_BOUND]} if linear else {"levels": list(LEVELS)}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "y": response, **{term: {"bounds": [-1, 1]} for term in terms}}})
    columns = {"y": data.y if linear else np.array(LEVELS)[data.y.astype(int)],
               **{term: data.x[:, place] for place, term in enumerate(terms)}}
    return columns, schema


def our_release(problem: Problem, data: Table, mechanism: str | None = None) -> Any:
    import noisewise as nw

    return nw.release(*our_table(problem, data), nw.Gram(mechanism=mechanism), epsilon=problem.epsilon,
                      delta=None if mechanism == "laplace" else DELTA, run=QUIET)


def formula(problem: Problem) -> str:
    return "y ~ " + " + ".join(_terms(problem))


def _family(problem: Problem) -> str:
    return "gaussian" if problem.family == "linear" else problem.family


def _our_fit(problem: Problem, posterior: Any) -> Fit:
    found = posterior.summary().loc[_terms(problem)]
    return Fit(*(found[name].to_numpy(dtype=float) for name in ("mean", "2.5%", "97.5%")))


def noisewise_one(mechanism: str | None) -> Callable[[Problem, int, Where], Fit]:
    def one(problem: Problem, replicate: int, where: Where) -> Fit:
        import noisewise as nw

        release = our_release(problem, table(problem, replicate), mechanism)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nw.errors.NoisewiseWarning)  # the warning about much noise: that is what is studied
            return _our_fit(problem, nw.fit(formula(problem), release, family=_family(problem), seed=replicate, run=QUIET))
    return one


def noisewise_many(mechanism: str | None) -> Callable[[Problem, int, Where], list[Fit]]:
    def many(problem: Problem, replicates: int, where: Where) -> list[Fit]:
        import noisewise as nw

        releases = [our_release(problem, table(problem, replicate), mechanism) for replicate in range(replicates)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nw.errors.NoisewiseWarning)
            found = nw.fit_many(formula(problem), releases, family=_family(problem), seed=1, run=QUIET)
            return [_our_fit(problem, posterior) for posterior in found]
    return many


def model_one(problem: Problem, replicate: int, where: Where) -> Fit:
    """A release for this one regression, and its fit."""
    import noisewise as nw

    kind = nw.Model(formula(problem), family=_family(problem))
    release = nw.release(*our_table(problem, table(problem, replicate)), kind, epsilon=problem.epsilon, delta=DELTA, run=QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nw.errors.NoisewiseWarning)
        return _our_fit(problem, nw.fit(release, seed=replicate, draws=MODEL_DRAWS, run=QUIET))


def exact_one(problem: Problem, replicate: int, where: Where) -> Fit:
    data = table(problem, replicate)
    return textbook_interval(problem.family, data, exact_fit(problem.family, data))


def diffprivlib_one(problem: Problem, replicate: int, where: Where, inverse_ridge: float = 1.0) -> Fit:
    models = needed("diffprivlib.models")
    data = table(problem, replicate)
    if problem.family == "linear":
        model = models.LinearRegression(epsilon=problem.epsilon, bounds_X=(-1, 1), bounds_y=(-RESPONSE_BOUND, RESPONSE_BOUND))
    else:
        model = models.LogisticRegression(epsilon=problem.epsilon, data_norm=float(np.sqrt(problem.predictors)),
                                          C=inverse_ridge, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn about its own future, and of an optimiser that ends early
        model.fit(data.x, data.y)
    return textbook_interval(problem.family, data, np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)]))


def diffprivlib_ridge_one(problem: Problem, replicate: int, where: Where) -> Fit:
    """With a stronger ridge than the default, C = 1, at which ε = 1 happens to leave next to nothing for the noise."""
    if problem.family == "linear":
        raise NotRunError("not offered: its linear regression has no ridge")
    return diffprivlib_one(problem, replicate, where, inverse_ridge=0.1)


def theil_sen(scale: float) -> Any:
    needed("sklearn")
    dp = needed("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    return dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[(-1.0, 1.0)], y_bounds=(-RESPONSE_BOUND, RESPONSE_BOUND), scale=scale,
        candidates_count=CANDIDATES)


def theil_sen_one(problem: Problem, replicate: int, where: Where) -> Fit:
    if problem.family != "linear" or problem.predictors > 1:
        raise NotRunError("not offered: its regression is linear and has one predictor")
    data = table(problem, replicate)
    # A replaced row is one removed and one added: distance 2. The loss is proportional to 1 / scale.
    found = theil_sen(theil_sen(1.0).measurement.map(2) / problem.epsilon).fit(data.x, data.y)
    return textbook_interval("linear", data, np.array([found.intercept_, found.coef_[0]]))


def dp_statsmodels_one(problem: Problem, replicate: int, where: Where) -> Fit:
    """Written from the project's README. It could not be installed, so this has never been run."""
    session = needed("dp_statsmodels.api").Session(
        epsilon=problem.epsilon, delta=DELTA, bounds_X=(-1, 1), bounds_y=(-RESPONSE_BOUND, RESPONSE_BOUND))
    data = table(problem, replicate)
    result = (session.OLS if problem.family == "linear" else session.Logit)(data.y, data.x, epsilon=problem.epsilon)
    low, high = np.asarray(result.conf_int())[1:].T
    return Fit(np.asarray(result.params)[1:], low, high)


def d3p_many(problem: Problem, replicates: int, where: Where) -> list[Fit]:
    """By a worker, because d3p needs a NumPy older than ours."""
    asked = ["-m", "studies.other_systems_d3p", problem.family, str(problem.rows), str(problem.predictors), str(problem.epsilon),
             str(replicates)]
    root = Path(__file__).parent.parent
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")} | {"PYTHONPATH": str(root)}
    try:
        done = subprocess.run([where.d3p_python, *asked], capture_output=True, text=True, cwd=root, env=environment,
                              timeout=WORKER_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotRunError(f"{type(error).__name__} of the worker") from error
    if done.returncode:
        raise NotRunError((done.stderr.strip().splitlines() or ["the worker failed"])[-1])
    return [Fit(_array(found["estimate"]), _array(found["low"]), _array(found["high"]), found["seconds"])
            for found in json.loads(done.stdout)]


def _array(values: list[float]) -> Array:
    return np.array(values, dtype=float)


def d3p_one(problem: Problem, replicate: int, where: Where) -> Fit:
    return d3p_many(problem, 2, where)[-1]  # the first compiles


def dapper_one(problem: Problem, replicate: int, where: Where) -> Fit:
    if problem.family != "linear":
        raise NotRunError("not written here: each model needs functions of its own")
    return dapper_fit(problem, our_release(problem, table(problem, replicate)), replicate, where.rscript)


SYSTEMS = {system.name: system for system in (
    System(OURS, "own", noisewise_one(None), noisewise_many(None)),
    System(OURS_PURE, "own", noisewise_one("laplace"), noisewise_many("laplace")),
    System(OURS_MODEL, "own", model_one),
    System(DIFFPRIVLIB, "naive", diffprivlib_one),
    System(DIFFPRIVLIB_RIDGE, "naive", diffprivlib_ridge_one),
    System(THEIL_SEN, "naive", theil_sen_one),
    System(D3P, "own", d3p_one, d3p_many),
    System(DP_STATSMODELS, "own", dp_statsmodels_one),
    System(DAPPER, "own", dapper_one),
    System(EXACT, "own", exact_one),
)}


def versions(where: Where) -> dict[str, str]:
    """The installed versions that matter for the figures."""
    found = {}
    for name in ("noisewise", "diffprivlib", "opendp", "scikit-learn", "jax", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "–"
    if found["noisewise"] == "–":
        found["noisewise"] = importlib.import_module("noisewise").__version__
    return found
