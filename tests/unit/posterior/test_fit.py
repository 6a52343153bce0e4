"""`fit` from end to end: real noise, and so little of it that the answer is the one without privacy."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refusals import about
from tests.unit.posterior.noisy_matrices import MadePart
from tests.unit.results import made_consortium

import noisewise as nw
import noisewise.posterior.linear.methods as methods_module
from noisewise.errors import ConvergenceWarning, FitError, FormulaError, IncompatibleReleasesError
from noisewise.posterior.kernels.mode import find_mode
from noisewise.posterior.linear.conditional import ConditionalModel
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.linear.methods import _normality_doubts
from noisewise.posterior.prior import ResolvedPrior
from noisewise.releases.contents.gram import EntryNoise
from noisewise.results.diagnostics import ess_bulk
from noisewise.run import QUIET, Run

# The noise is real and differs from run to run, so that a fit may now and then have something to warn about.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")

Array = NDArray[np.float64]
ROWS = 4000
ALMOST_NO_NOISE = 1e6
"""An epsilon at which the noise moves a posterior mean by less than 0.5 % of a standard deviation."""
ADDED = "age:dose + I(age**2)"
FORMULA = "stay ~ age + dose"


def made_table() -> dict[str, NDArray[Any]]:
    generator = np.random.default_rng(99)
    age = np.clip(generator.normal(58, 10, ROWS), 18, 98)
    dose = np.clip(generator.normal(2, 0.5, ROWS), 0, 4)
    stay = np.clip(5 + 0.3 * age + 2 * dose + generator.normal(0, 3, ROWS), 0, 60)
    sex = np.where(generator.random(ROWS) < 0.3 + 0.004 * age, "m", "f")
    return {"stay": stay, "age": age, "dose": dose, "sex": sex}


DATA = made_table()
STAY, AGE, DOSE = (np.asarray(DATA[name], dtype=float) for name in ("stay", "age", "dose"))
MALE = np.asarray(DATA["sex"] == "m", dtype=float)
ONE = np.ones(ROWS)


def schema_with(adjacency: str = "replace-one", **changes: Any) -> nw.Schema:
    columns: dict[str, Any] = {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}, "dose": {"bounds": [0, 4]},
                               "sex": {"levels": ["f", "m"]}}
    return nw.Schema.from_dict({"adjacency": adjacency, "columns": columns | changes})


SCHEMA = schema_with()


def released(epsilon: float = ALMOST_NO_NOISE, delta: float | None = 1e-6, rows: slice = slice(None),
             schema: nw.Schema = SCHEMA, terms: str | None = None) -> nw.Release:
    data = {name: values[rows] for name, values in DATA.items()}
    return nw.release(data, schema, nw.Gram(terms=terms), epsilon=epsilon, delta=delta, run=QUIET)


def fitted(formula: str, release: nw.Release | list[nw.Release], **options: Any) -> nw.Posterior:
    """A fit with so many draws that R-hat does not pass 1.01 by chance: the noise has no seed, and warnings are errors here."""
    return nw.fit(formula, release, **({"draws": 2000} | options))


FEW_DRAWS = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
"""For fits of which other things are asked than where they are."""


@pytest.fixture(scope="module")
def release() -> nw.Release:
    return released()


@pytest.fixture(scope="module")
def noisy() -> nw.Release:
    return released(epsilon=1.0)


def least_squares(response: Array, *predictors: Array) -> tuple[Array, Array]:
    """Estimates and standard errors of the coefficients and of sigma: what the posterior is without noise, nearly."""
    x = np.column_stack(predictors)
    beta, residual_sum, *_ = np.linalg.lstsq(x, response)
    sigma = np.sqrt(residual_sum[0] / (len(x) - x.shape[1]))
    errors = sigma * np.sqrt(np.diag(np.linalg.inv(x.T @ x)))
    return np.append(beta, sigma), np.append(errors, sigma / np.sqrt(2 * len(x)))


def distance(posterior: nw.Posterior, known: tuple[Array, Array]) -> tuple[float, float, float]:
    """How far from the known one: means of coefficients (z by Monte Carlo error), sigma's mean (in sd), sds (ratio).

    The likelihoods take the sum of squared residuals for normal, and `laplace` takes the mode for the mean: errors of order 1/√n
    of sigma's standard deviation, so sigma's mean is not compared by Monte Carlo error alone.
    """
    estimates, errors = known
    draws = posterior.samples.reshape(-1, posterior.samples.shape[2])
    away = (draws.mean(axis=0) - estimates) / errors
    z = np.abs(away[:-1]) * np.sqrt(ess_bulk(posterior.samples)[:-1])
    ratio = np.abs(np.log(draws.std(axis=0) / errors))
    return float(z.max()), float(np.abs(away[-1])), float(np.exp(ratio.max()))


def assert_as_without_noise(posterior: nw.Posterior, known: tuple[Array, Array]) -> None:
    z, sigma, ratio = distance(posterior, known)
    assert z < 5.0  # a few coefficients per fit: by chance alone once in 300 000
    assert sigma < 10 / np.sqrt(ROWS)
    assert ratio < 1.1  # the Monte Carlo error of an sd is about 1.5 % here


@pytest.mark.outer
@pytest.mark.parametrize("method", ["conditional", pytest.param("collapsed", marks=pytest.mark.slow), "laplace"])
def test_with_almost_no_noise_the_posterior_is_the_one_without_privacy(method: str, release: nw.Release) -> None:
    posterior = fitted(FORMULA, release, method=method, seed=7)
    assert posterior.terms == ("Intercept", "age", "dose", "sigma")
    assert posterior.info.divergences == 0
    assert posterior.info.doubts == ()
    assert_as_without_noise(posterior, least_squares(STAY, ONE, AGE, DOSE))


@pytest.mark.parametrize("method", [pytest.param(name, marks=pytest.mark.slow) for name in ("conditional", "collapsed")]
                         + ["laplace"])
def test_the_same_for_laplace_noise(method: str) -> None:
    posterior = fitted(FORMULA, released(delta=None), method=method, seed=7)
    assert_as_without_noise(posterior, least_squares(STAY, ONE, AGE, DOSE))


@pytest.mark.outer(but=["laplace"])
@pytest.mark.parametrize("method", ["conditional", "laplace"])
def test_the_same_where_the_number_of_rows_is_private(method: str) -> None:
    posterior = fitted(FORMULA, released(schema=schema_with("add-remove")), method=method, seed=7)
    assert_as_without_noise(posterior, least_squares(STAY, ONE, AGE, DOSE))


def test_noise_widens_the_posterior(noisy: nw.Release) -> None:
    """The comparison above can fail."""
    assert distance(fitted(FORMULA, noisy, method="laplace", seed=7), least_squares(STAY, ONE, AGE, DOSE))[2] > 1.3


RESPONSES: dict[str, tuple[Array, ...]] = {
    "dose ~ stay + age": (DOSE, ONE, STAY, AGE),
    "age ~ sex + stay": (AGE, ONE, MALE, STAY),
    "sex ~ age + dose": (MALE, ONE, AGE, DOSE),
}


@pytest.mark.parametrize("method", ["conditional", "laplace"])
@pytest.mark.parametrize("formula", RESPONSES)
def test_any_released_column_can_be_the_response(formula: str, method: str, release: nw.Release) -> None:
    assert_as_without_noise(fitted(formula, release, method=method, seed=3), least_squares(*RESPONSES[formula]))


@pytest.mark.outer
def test_interactions_and_powers_that_were_released_can_be_used() -> None:
    release = released(terms=ADDED)
    posterior = fitted("stay ~ age:dose + I(age**2)", release, seed=3)
    assert_as_without_noise(posterior, least_squares(STAY, ONE, AGE**2, AGE * DOSE)
                            if posterior.terms[1] == "I(age**2)" else least_squares(STAY, ONE, AGE * DOSE, AGE**2))
    with pytest.raises(FormulaError, check=about("terms")):
        fitted("stay ~ I(dose**2)", release, method="laplace")


def test_no_intercept() -> None:
    posterior = fitted("stay ~ 0 + age + dose", released(), method="laplace", seed=3)
    assert_as_without_noise(posterior, least_squares(STAY, AGE, DOSE))


@pytest.mark.outer
def test_several_holders_with_other_numbers_of_rows_and_other_noise() -> None:
    parts = [released(rows=slice(0, 700)), released(epsilon=ALMOST_NO_NOISE / 4, rows=slice(700, None))]
    posterior = fitted(FORMULA, parts, seed=3)
    assert posterior.info.holders == 2
    assert_as_without_noise(posterior, least_squares(STAY, ONE, AGE, DOSE))
    assert distance(fitted(FORMULA, parts[0], method="laplace", seed=3), least_squares(STAY, ONE, AGE, DOSE))[2] > 1.5


def test_a_holder_with_much_noise_does_no_harm() -> None:
    good, bad = released(rows=slice(0, 2000)), released(epsilon=0.1, rows=slice(2000, None))
    alone, together = (fitted(FORMULA, parts, method="laplace", seed=3, draws=4000) for parts in (good, [good, bad]))
    ratio = together.samples.std(axis=(0, 1)) / alone.samples.std(axis=(0, 1))
    assert np.all(ratio < 1.05)


@pytest.mark.outer
@FEW_DRAWS
def test_a_matrix_that_is_not_positive_definite_still_fits() -> None:
    release = released(epsilon=0.5, rows=slice(0, 10))
    assert np.linalg.eigvalsh(release.contributions[0].matrix)[0] < 0  # ten rows under noise of sd 20 and more on every entry
    posterior = fitted(FORMULA, release, seed=3, draws=300)
    assert np.isfinite(posterior.samples).all()
    # Ten rows under this noise say next to nothing: the posterior is wide, of the size of the prior.
    assert posterior.prior is not None
    assert posterior.draws("age").std() > 0.1 * posterior.prior.sd["age"]


@FEW_DRAWS
@pytest.mark.outer(but=["conditional", "laplace"])
@pytest.mark.parametrize("method", ["conditional", "collapsed", "laplace"])
def test_draws_are_reproducible_by_seed(method: str, noisy: nw.Release) -> None:
    once, again, other = (fitted(FORMULA, noisy, method=method, seed=seed, draws=200).samples for seed in (5, 5, 6))
    assert np.array_equal(once, again)
    assert not np.isclose(once, other, rtol=1e-12).any()


def test_without_a_seed_one_is_drawn_and_told(noisy: nw.Release) -> None:
    one, two = (fitted(FORMULA, noisy, method="laplace") for _ in range(2))
    assert one.info.seed != two.info.seed
    assert np.array_equal(fitted(FORMULA, noisy, method="laplace", seed=one.info.seed).samples, one.samples)


@FEW_DRAWS
def test_the_largest_seed_works(noisy: nw.Release) -> None:
    one, other = (fitted(FORMULA, noisy, seed=seed, draws=200).samples for seed in (2**63 - 1, 2**63 - 2))
    assert not np.array_equal(one, other)


def test_the_fit_tells_what_it_did(noisy: nw.Release) -> None:
    posterior = fitted(FORMULA, noisy, method="laplace", seed=4, draws=500, chains=3)
    assert posterior.samples.shape == (3, 500, 4)
    info = posterior.info
    assert (info.method, info.family, info.formula, info.seed, info.chains, info.draws, info.holders) == (
        "laplace", "gaussian", FORMULA, 4, 3, 500, 1)
    assert info.seconds > 0
    assert posterior.prior is not None
    assert posterior.prior.sd["age"] == pytest.approx(2.5 * 30 / 40)
    assert posterior.prior.sigma_scale == 15.0


def test_progress_is_told(noisy: nw.Release) -> None:
    told: list[tuple[int, int | None]] = []
    fitted(FORMULA, noisy, seed=4, run=Run(progress=lambda done, total: told.append((done, total))))
    assert told == [(100 * done, 2300) for done in range(1, 24)]


def test_a_prior_is_used_and_in_users_units(release: nw.Release) -> None:
    """A prior as sharp as the likelihood: the posterior mean lies half way, in the one-coefficient problem nearly so."""
    known, errors = least_squares(STAY, AGE)
    prior = nw.Prior(mean={"age": float(known[0] + 4 * errors[0])}, sd={"age": float(errors[0])})
    posterior = fitted("stay ~ 0 + age", release, method="laplace", seed=1, prior=prior)
    age = posterior.draws("age")
    assert (age.mean() - known[0]) / errors[0] == pytest.approx(2.0, abs=0.15)
    assert age.std() / errors[0] == pytest.approx(np.sqrt(0.5), rel=0.05)


def test_too_few_draws_warn_in_words_at_the_callers_line(noisy: nw.Release) -> None:
    with pytest.warns(ConvergenceWarning, match="do not trust these draws yet.*draws=80") as caught:
        posterior = nw.fit(FORMULA, noisy, seed=4, draws=20)
    assert caught[0].filename == __file__
    assert posterior.samples.shape == (4, 20, 4)


def test_double_precision_stays_at_home(noisy: nw.Release) -> None:
    import jax

    before = dict(jax.config.values)
    fitted(FORMULA, noisy, seed=4)
    assert jax.numpy.ones(2).dtype == np.float32
    assert dict(jax.config.values)["jax_enable_x64"] is before["jax_enable_x64"] is False


WITHOUT_JAX = """
import sys
import numpy as np
import noisewise as nw
schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"y": {"bounds": [-1, 1]}, "x": {"bounds": [-1, 1]}}})
x = np.linspace(-1, 1, 500)
release = nw.release({"y": x / 2, "x": x}, schema, epsilon=1, delta=1e-6)
post = nw.fit("y ~ x", release, method="laplace", seed=1)
print(post.samples.shape, *sorted({"jax", "blackjax"} & set(sys.modules)))
"""


@pytest.mark.parametrize(("sd", "hidden"), [(8.0, False), (100.0, True)])
def test_a_normal_approximation_with_sigma_near_0_raises_a_doubt(sd: float, hidden: bool) -> None:
    """Ten holders; with much noise the mode of ±sigma is at 0, where its curvature says nothing about its size."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = nw.fit("stay ~ age + ward", made_consortium.consortium(4, 10, sd=sd), method="laplace", seed=1)
    assert any("sigma cannot be distinguished from 0" in doubt for doubt in posterior.info.doubts) == hidden
    assert any('use method="conditional"' in str(warning.message) for warning in caught) == hidden


@pytest.mark.outer
def test_laplace_needs_no_jax() -> None:
    finished = subprocess.run([sys.executable, "-c", WITHOUT_JAX], capture_output=True, text=True, check=True, timeout=600)
    assert finished.stdout.strip() == "(4, 1000, 3)"


WRONG: dict[str, tuple[Mapping[str, Any], str]] = {
    "family": ({"family": "gamma"}, "unknown family.*gamma.*known: gaussian, logistic, probit, poisson"),
    "number for two levels": ({"family": "logistic"}, "a logistic regression must be a column with two levels.*stay"),
    "family with method": ({"family": "logistic", "method": "laplace"}, "one method.*laplace"),
    "family with sites": ({"family": "logistic", "site": "random"}, "random effects by site.*logistic"),
    "norm bound for a linear regression": ({"prior": nw.Prior(largest_norm=1.0)}, "largest_norm is a prior for generalised"),
    "method": ({"method": "gibbs"}, "unknown method.*gibbs.*did you mean clt-gibbs. Known:"),
    "no draws": ({"draws": 0}, "draws must be a whole number.*0"),
    "half a draw": ({"draws": 0.5}, "draws must be a whole number.*0.5"),
    "draws of truth": ({"draws": True}, "draws must be a whole number.*True"),
    "no chains": ({"chains": -1}, "chains must be a whole number.*-1"),
    "negative seed": ({"seed": -1}, "seed must be a whole number.*-1"),
    "huge seed": ({"seed": 2**63}, "seed must be a whole number"),
    "text as seed": ({"seed": "1"}, "seed must be a whole number.*'1'"),
    "prior of another term": ({"prior": nw.Prior(sd={"ages": 1.0})}, "not in the formula.*ages"),
    "prior that is none": ({"prior": {"age": 1.0}}, "must be a Prior.*dict"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str, noisy: nw.Release) -> None:
    arguments, message = WRONG[case]
    with pytest.raises(FitError, match=message):
        nw.fit(FORMULA, noisy, **arguments)


@pytest.mark.parametrize("formula", [
    "stay ~ height", "height ~ age", "stay ~ log(age)", "stay ~ __import__('os')", "stay ~ stay", "~ age", "stay ~ 0",
    "stay ~ I(age**2)", "stay ~ age + I(2 * age)", 5,
])
def test_wrong_formulas_are_refused(formula: Any, noisy: nw.Release) -> None:
    with pytest.raises(FormulaError):
        nw.fit(formula, noisy, method="laplace")


@pytest.mark.parametrize("other", [
    schema_with("add-remove"), schema_with(age={"bounds": [0, 98]}), schema_with(sex={"levels": ["f", "m", "x"]}),
])
def test_releases_of_different_schemas_are_not_combined(other: nw.Schema, noisy: nw.Release) -> None:
    with pytest.raises(IncompatibleReleasesError):
        nw.fit(FORMULA, [noisy, released(schema=other)], method="laplace")


@pytest.mark.parametrize("release", [[], 5, None, "patients.nwr", ["patients.nwr"]])
def test_what_is_not_a_release_is_refused(release: Any) -> None:
    with pytest.raises(IncompatibleReleasesError):
        nw.fit(FORMULA, release)


def test_the_same_release_does_not_count_twice(noisy: nw.Release) -> None:
    with pytest.raises(IncompatibleReleasesError, match="fake precision"):
        nw.fit(FORMULA, [noisy, noisy])


def test_a_normal_approximation_says_where_it_should_not_be_used() -> None:
    """With 12 predictors and noise of the order of their moments the posterior is far from normal; with little noise not."""
    generator = np.random.default_rng(5)
    doubts = []
    for rows, sd in ((1000, 30.0), (20_000, 5.0)):
        table = np.column_stack([np.ones(rows), generator.normal(0, 0.3, (rows, 13))])
        square = generator.normal(0, sd, (14, 14))
        square[0, 0] = 0.0
        part = MadePart(table.T @ table + (square + square.T) / 2, rows, EntryNoise("gaussian", sd, sd / 2**0.5, 0.0))
        prior = ResolvedPrior(np.eye(13), np.zeros(13), np.full(13, 2.5), 0.5)
        model = ConditionalModel.of([part], Coordinates.from_arrays(np.eye(14)[:, :13], np.eye(14)[-1], 1.0), prior)
        mode = find_mode(model.density_with_gradient, *model.start())
        doubts.append(_normality_doubts(model, mode, seed=1))
    assert "not close to a normal one" in doubts[0][0] and not doubts[1]


def test_doubts_about_a_fit_are_told(noisy: nw.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods_module, "find_mode", lambda *args: replace(find_mode(*args), converged=False))
    with pytest.warns(ConvergenceWarning, match="mode did not converge"):
        nw.fit(FORMULA, noisy, method="laplace", seed=1)


def test_numbers_of_numpy_are_numbers(noisy: nw.Release) -> None:
    posterior = nw.fit(FORMULA, noisy, method="laplace", draws=np.int64(500), seed=np.int64(3))
    assert posterior.info.draws == 500 and posterior.info.seed == 3
