"""Models of model releases: against integrals of the likelihood of all rows, several holders, and what is refused."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from studies.model_inclusion import WARDS, WORLDS, schema_of
from studies.simulated_release import simulated_model_release

import noisewise as nw
from noisewise.arrays import Array
from noisewise.errors import FitError, NoisewiseWarning
from noisewise.kinds.registry import has_room, kinds
from noisewise.run import QUIET
from noisewise.selection.kinds.model import solver
from noisewise.selection.task import Task

FORMULA = "y ~ x1 + x2 + flag + ward"
GROUPS = ((0,), (1,), (2,), (3, 4))
EFFECTS = {"gaussian": 0.05, "logistic": 0.1, "probit": 0.06, "poisson": 0.03, "negative-binomial": 0.05}
START = {"gaussian": 0.0, "logistic": -0.85, "probit": -0.52, "poisson": math.log(3.0), "negative-binomial": math.log(3.0)}


def made_rows(family: str, rows: int, seed: int, size: float = 1.0) -> tuple[dict[str, Any], Array]:
    """A table, and its predictors as columns of numbers."""
    rng = np.random.default_rng(seed)
    flag, ward = rng.random(rows) < 0.2, rng.choice(3, rows, p=(0.5, 0.3, 0.2))
    skewed = np.minimum(np.exp(0.7 * rng.normal(size=rows)) / 4.0, 2.0) - 1.0
    columns = np.column_stack([rng.uniform(-1, 1, rows), skewed, flag, ward == 1, ward == 2]).astype(float)
    slopes = size * EFFECTS[family] * np.array([1.5, 1.0, 1.2, 0.0, 1.5])
    response = WORLDS[family].draw(START[family] + (columns - columns.mean(axis=0)) @ slopes, rng)
    return {"x1": columns[:, 0], "x2": skewed, "flag": np.where(flag, "yes", "no"), "ward": np.array(WARDS)[ward],
            "y": response}, columns


def simulated(family: str, table: dict[str, Any], epsilon: float, seed: int = 1) -> nw.Release:
    return simulated_model_release(table, schema_of(WORLDS[family]), nw.Model(FORMULA, family=family),
                                   np.random.default_rng(seed), epsilon=epsilon, delta=1e-6)


class Exact:
    """Log evidence of models from all rows, by Laplace's approximation with the prior N(0, n S⁻¹)."""

    def __init__(self, family: str, table: dict[str, Any], columns: Array) -> None:
        self.columns, y = columns, table["y"]
        y = (y == "yes").astype(float) if WORLDS[family].declared.get("levels") else y.astype(float)
        mean, variance = y.mean(), y.var()
        self.log_likelihood, information = {
            "gaussian": (lambda eta: -0.5 * np.sum((y - eta) ** 2) / variance, 1.0 / variance),
            "logistic": (lambda eta: np.sum(y * eta - np.logaddexp(0.0, eta)), mean * (1.0 - mean)),
            "poisson": (lambda eta: np.sum(y * eta - np.exp(eta)), mean),
        }[family]
        self.unit = np.cov(columns.T, bias=True) * information
        self.start = START[family]

    def log_evidence(self, places: Sequence[int]) -> float:
        design = np.column_stack([np.ones(len(self.columns)), self.columns[:, places]])
        prior = np.zeros((len(places) + 1,) * 2)
        prior[1:, 1:] = self.unit[np.ix_(places, places)]

        def cost(theta: Array) -> float:
            return float(0.5 * theta @ prior @ theta - self.log_likelihood(design @ theta))

        mode = minimize(cost, np.r_[self.start, np.zeros(len(places))], method="BFGS", options={"gtol": 1e-3}).x
        steps = 1e-3 * np.eye(len(mode))
        hessian = np.array([[(cost(mode + a + b) - cost(mode + a - b) - cost(mode - a + b) + cost(mode - a - b)) / 4e-6
                             for a in steps] for b in steps])
        determinant = 0.5 * np.linalg.slogdet(prior[1:, 1:])[1] if len(places) else 0.0
        return -cost(mode) - 0.5 * np.linalg.slogdet(hessian)[1] + float(determinant)


@pytest.mark.outer(but=["logistic-0.6"])
@pytest.mark.parametrize(("family", "tolerance"), [("logistic", 0.6), ("poisson", 0.8), ("gaussian", 2.0)])
def test_with_little_noise_bayes_factors_are_those_of_all_rows(family: str, tolerance: float) -> None:
    """Clipped residuals have 96 % of the information, so z differs by 0.2 or so, and a log Bayes factor of 10 by about 1."""
    table, columns = made_rows(family, 20_000, 3)
    found = nw.compare(simulated(family, table, 1e6), prior="zellner", seed=1, run=QUIET)
    exact = Exact(family, table, columns)
    nothing = exact.log_evidence(())
    expected = np.array([exact.log_evidence([place for group, inside in zip(GROUPS, model, strict=True) if inside
                                             for place in group]) - nothing for model in found.members])
    assert np.abs(found.log_bayes_factors - expected).max() < tolerance, (found.log_bayes_factors, expected)
    assert expected.max() > 5.0 and expected.min() < 0.0


@functools.cache
def released(family: str = "logistic", epsilon: float = 2.0, size: float = 4.0) -> nw.Release:
    return simulated(family, made_rows(family, 6000, 5, size)[0], epsilon)


@pytest.mark.outer(but=["logistic", "gaussian"])
@pytest.mark.parametrize("family", sorted(WORLDS))
def test_every_family_has_models_averages_and_predictions(family: str, tmp_path) -> None:
    found = nw.compare(released(family), seed=1, run=QUIET)
    assert found.info.family == family and found.question.terms == ("x1", "x2", "flag", "ward")
    assert found.design.formula == FORMULA and len(found.members) == 16 and found.complete
    assert found.inclusion_probabilities[0] > 0.9
    scale = {"gaussian": ("sigma",), "negative-binomial": ("dispersion",)}.get(family, ())
    terms = ("Intercept", "x1", "x2", "flag[T.yes]", "ward[T.B]", "ward[T.C]")
    assert found.columns == (*terms, *scale) and found.samples.shape == (4000, 6 + len(scale))
    table = found.coefficients()
    assert tuple(table.index) == terms
    fit = nw.fit(released(family), seed=1, run=QUIET).summary()
    assert abs(table.loc["x1", "mean"] - fit.loc["x1", "mean"]) < fit.loc["x1", "sd"]
    posterior = found.posterior()
    if scale:
        assert posterior.draws(scale[0]).mean() == pytest.approx(fit.loc[scale[0], "mean"], rel=0.1)
    rows = {"x1": [0.0, 0.9], "x2": -0.5, "flag": "no", "ward": "C"}
    predicted = found.predict(rows)
    assert predicted["mean"].iloc[1] > predicted["mean"].iloc[0]
    assert predicted.equals(posterior.predict(rows))
    found.save(tmp_path / "found.npz")
    again = nw.Comparison.load(tmp_path / "found.npz")
    assert np.array_equal(again.samples, found.samples) and again.describe() == found.describe()
    assert np.array_equal(again.without_noise, found.without_noise) and again.info == found.info
    assert nw.Posterior.load(tmp_path / "found.npz").terms == found.columns
    draws = found.without_noise
    assert draws is not None
    assert (np.abs(draws.mean(axis=0) - found.inclusion_probabilities) < 0.05).all()


def test_a_category_is_one_term_and_kept_terms_are_in_every_model() -> None:
    found = nw.compare(released(epsilon=1.0, size=2.5), keep="x2", model_prior="uniform", seed=2, run=QUIET)
    assert found.question.kept == ("Intercept", "x2") and found.question.terms == ("x1", "flag", "ward")
    draws = found.posterior().draws()
    is_in = draws["ward[T.B]"] != 0
    assert 0.001 < is_in.mean() < 0.999 and (is_in == (draws["ward[T.C]"] != 0)).all() and (draws["x2"] != 0).all()
    assert is_in.mean() == pytest.approx(found.inclusion().loc["ward", "probability"], abs=5 * math.sqrt(0.25 / 4000))


def test_the_same_formula_in_other_words_and_the_same_seed_give_the_same() -> None:
    one, two = nw.compare(released(), seed=3, run=QUIET), nw.compare("y ~ x1 + x2+flag +ward", released(), seed=3, run=QUIET)
    assert np.array_equal(one.samples, two.samples) and np.array_equal(one.without_noise, two.without_noise)


def test_two_holders_know_more_than_one_and_as_much_as_one_with_both_tables() -> None:
    table, _ = made_rows("logistic", 12_000, 7, 1.2)
    halves = [{name: values[start::2] for name, values in table.items()} for start in (0, 1)]
    parts = [simulated("logistic", half, 1e5, seed) for seed, half in enumerate(halves)]
    settings: dict[str, Any] = {"seed": 4, "run": QUIET}
    together, whole = nw.compare(parts, **settings), nw.compare(simulated("logistic", table, 1e5, 9), **settings)
    order = np.lexsort(together.members.T), np.lexsort(whole.members.T)
    assert np.allclose(together.log_bayes_factors[order[0]], whole.log_bayes_factors[order[1]], atol=0.6)
    alone = nw.compare(parts[0], **settings)
    assert together.info.holders == 2 and alone.log_bayes_factors.max() < together.log_bayes_factors.max() - 1.0


@pytest.mark.parametrize(("epsilon", "tolerance"), [(1e5, 0.15), (0.3, 0.5)])
@pytest.mark.parametrize("family", ["gaussian", "logistic", "poisson"])
def test_the_prior_is_made_of_the_rows_whatever_the_noise(family: str, epsilon: float, tolerance: float) -> None:
    """The information of the table's rows at the average response, although noise leaves a small part of it at the second ε."""
    table, columns = made_rows(family, 6000, 8)
    expected = len(columns) * Exact(family, table, columns).unit
    solver_of = solver(Task.of(FORMULA, simulated(family, table, epsilon), "zellner", "uniform", ()))
    found = solver_of.rounds.quadratic.prior_moments * np.outer(solver_of.rounds.units[1:], solver_of.rounds.units[1:])
    ratio = np.linalg.eigvals(np.linalg.solve(expected, found)).real
    assert (np.abs(np.log(ratio)) < tolerance).all(), ratio
    assert (solver_of.rounds.rows_known().min() < 0.25 * len(columns)) == (epsilon < 1)


def test_where_a_release_says_next_to_nothing_it_is_told() -> None:
    release = simulated("logistic", made_rows("logistic", 300, 9)[0], 0.1)
    with pytest.warns(NoisewiseWarning, match="says less about . of 5 directions") as told:
        found = nw.compare(release, model_prior="uniform", seed=6, run=QUIET)
    assert told[0].filename == __file__ and "left out" in found.diagnose()[-1]


def test_a_release_of_the_library_itself() -> None:
    table = made_rows("poisson", 5000, 10, 8.0)[0]
    kind = nw.Model(FORMULA, family="poisson")
    release = nw.release(table, schema_of(WORLDS["poisson"]), kind, epsilon=20, delta=1e-6, run=QUIET)
    found = nw.compare(release, seed=7, run=QUIET)
    assert found.inclusion_probabilities[0] > 0.99  # its effect is 50 standard errors
    assert found.describe().startswith("poisson regression · noise-aware") and found.info.estimand.startswith("the log rate")


@pytest.mark.parametrize(("arguments", "settings", "argument", "words"), [
    (("y ~ x1",), {}, "formula", "its own formula.*leave the formula out"),
    (("y ~ x1 + x2 + flag + ward + x1:x2",), {}, None, "."),
    ((), {"method": "ridge"}, "method", "ridge needs a release of kind gram.*leave method out"),
    ((), {"method": ["noise-aware", "histogram"]}, "method", "histogram needs a release of kind gram"),
    ((), {"method": "magic"}, "method", "unknown method"),
    ((), {"prior": "zellner-siow-laplace"}, None, "treat the moments as exact"),
    ((), {"keep": ("x1", "x2", "flag", "ward")}, None, "can be left out"),
])
def test_what_is_refused(arguments: tuple[str, ...], settings: dict[str, Any], argument: str | None, words: str) -> None:
    with pytest.raises(nw.NoisewiseError, match=words) as refused:
        nw.compare(*arguments, released(), **settings)
    assert argument is None or refused.value.argument == argument


def test_what_is_given_must_be_a_release() -> None:
    with pytest.raises(nw.NoisewiseError, match="compare needs a release"):
        nw.compare("y ~ x1")
    with pytest.raises(nw.NoisewiseError, match="the formula comes first"):
        nw.compare(released(), released())  # type: ignore[arg-type]


def test_too_few_rows_are_refused() -> None:
    table = {name: values[:7] for name, values in made_rows("logistic", 300, 9)[0].items()}
    with pytest.raises(FitError, match="more rows than columns.*7 rows and 6 columns"):
        nw.compare(simulated("logistic", table, 1.0), run=QUIET)


def test_kinds_with_models_say_so() -> None:
    assert {kind.name for kind in kinds() if has_room(kind, "selection")} == {"gram", "model"}


def test_more_terms_than_are_listed() -> None:
    rng = np.random.default_rng(11)
    count, rows = 14, 8000
    names = [f"x{place}" for place in range(count)]
    x = rng.uniform(-1, 1, (rows, count))
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        **{name: {"bounds": [-1, 1]} for name in names}, "y": {"levels": ["no", "yes"]}}})
    table = {**dict(zip(names, x.T, strict=True)), "y": np.where(rng.logistic(size=rows) < x[:, 0] - 0.8 * x[:, 3], "yes", "no")}
    release = simulated_model_release(table, schema, nw.Model("y ~ " + " + ".join(names), family="logistic"), rng, epsilon=5,
                                      delta=1e-6)
    found = nw.compare(release, seed=8, run=QUIET)
    inside = found.inclusion_probabilities
    assert not found.complete and min(inside[[0, 3]]) > 0.99 and np.delete(inside, [0, 3]).max() < 0.5
    assert found.without_noise is not None and np.allclose(found.without_noise.mean(axis=0), inside, atol=0.05)


def test_a_level_that_nobody_has_keeps_its_prior() -> None:
    """Its coefficient could be anything, but is within what one row would leave open."""
    table, _ = made_rows("gaussian", 3000, 12, 4.0)
    table["ward"] = np.where(table["ward"] == "C", "A", table["ward"])
    with pytest.warns(NoisewiseWarning, match="says less about"):
        found = nw.compare(simulated("gaussian", table, 1e4), prior="zellner", seed=9, run=QUIET)
    unknown = found.posterior().draws("ward[T.C]")
    assert found.inclusion_probabilities[0] > 0.9 and (unknown != 0).any()
    assert np.abs(unknown).max() < 6 * math.sqrt(3000) * 2.0  # one row says that much: half of the reach, σ is 1
