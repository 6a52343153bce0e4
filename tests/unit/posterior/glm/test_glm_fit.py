"""From releases to posteriors: the limit without noise, holders, mechanisms, formulas, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.refusals import about
from tests.unit.posterior.glm.made_tables import TRUTH, Array, maximum_likelihood, model, released, schema, table
from tests.unit.posterior.seeded_release import seeded_release

import noisewise as nw
from noisewise.errors import FitError
from noisewise.posterior.glm.fit import MOST_LATENT, GlmModel
from noisewise.posterior.kernels.mode import find_mode, jax_density
from noisewise.results.diagnostics import ess_bulk
from noisewise.run import QUIET

pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
FULL = "x + w + g"


def summary(made: GlmModel) -> tuple[Array, Array]:
    """Mode and standard deviations of the normal approximation, in the user's units: fast, and good enough to compare."""
    mode = find_mode(jax_density(made.log_density, made.data), *made.start())
    assert mode.converged
    standard = np.random.default_rng(1).normal(size=(2000, len(mode.point)))
    draws = made.coefficients(mode.point + standard @ mode.scale.T)
    return np.median(draws, axis=0), draws.std(axis=0)


@pytest.mark.outer(but=["logistic-y"])
@pytest.mark.parametrize(("family", "response"), [("logistic", "y"), ("poisson", "c")])
def test_without_noise_the_posterior_is_that_of_the_rows(family: str, response: str) -> None:
    """Only the moments are used: so a little wider than the rows' own, and the centre within that."""
    rows = table(5, 20_000)
    release = seeded_release(rows, schema(), 1, epsilon=1000.0, delta=1e-6)
    design = np.column_stack([np.ones(20_000), rows["x"], rows["w"], rows["g"] == "b"])
    truth, errors = maximum_likelihood(design, rows["c"] if response == "c" else (rows["y"] == "yes").astype(float), family)
    centre, deviations = summary(model(f"{response} ~ {FULL}", release, family))
    assert np.abs(centre - truth).max() < 0.05
    assert np.abs((centre - truth) / errors).max() < 2.5
    assert np.all((0.9 < deviations / errors) & (deviations / errors < 1.35))


@pytest.mark.outer
def test_probit_is_about_logistic_by_a_constant() -> None:
    release = released(rows=20_000, epsilon=50.0)
    logit, probit = (summary(model("y ~ x + w", release, family))[0] for family in ("logistic", "probit"))
    assert np.all((1.5 < logit / probit) & (logit / probit < 1.9))


@pytest.mark.parametrize("epsilons", [(1.0, 1.0), (0.2, 5.0)])
def test_holders_together_know_more_than_each_alone(epsilons: tuple[float, float]) -> None:
    releases = [released(seed, 4000, epsilon) for seed, epsilon in zip((11, 12), epsilons, strict=True)]
    alone = [summary(model(f"y ~ {FULL}", release))[1] for release in releases]
    centre, together = summary(model(f"y ~ {FULL}", nw.combine(releases)))
    assert np.all(together < 1.05 * np.minimum(*alone))
    assert np.abs((centre - list(TRUTH.values())) / together).max() < 4.0
    found = model(f"y ~ {FULL}", nw.combine(releases)).data
    assert (found["rows_ratio"] == 1.0) == (epsilons[0] == epsilons[1]) and found["rows_ratio"] <= 1.0


@pytest.mark.outer
@pytest.mark.parametrize("options", [
    {"adjacency": "add-remove"}, {"mechanism": "laplace"}, {"mechanism": "wishart"},
    {"adjacency": "add-remove", "mechanism": "laplace"},
], ids=str)
def test_other_mechanisms(options: dict[str, Any]) -> None:
    made = model(f"y ~ {FULL}", released(21, 20_000, 8.0, **options))
    centre, deviations = summary(made)
    assert np.abs((centre - list(TRUTH.values())) / deviations).max() < 4.0
    assert deviations.max() < 1.0  # the prior is wider
    assert len(made.data["count"]) == (options.get("adjacency") == "add-remove")


def test_the_number_of_rows_is_known_better_from_a_response_of_two_levels() -> None:
    """y² = 1, so that Σ y² counts the rows once more."""
    release = released(adjacency="add-remove")
    binary, count = model("y ~ x", release), model("c ~ x", release, "poisson")
    assert binary.data["count_variance"] == pytest.approx(count.data["count_variance"] / 2)
    assert binary.data["gram_variance"][0, 0] == binary.data["count_variance"]
    assert abs(binary.data["rows"] - 5000) < 5 * np.sqrt(binary.data["count_variance"])


@pytest.mark.outer(but=["c ~ 1-poisson"])
@pytest.mark.parametrize(("formula", "family"), [
    ("y ~ 1", "logistic"), ("c ~ 1", "poisson"), ("y ~ x", "logistic"), ("y ~ g + h", "logistic"), ("y ~ 0 + x", "logistic"),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [  # each is compiled anew
        ("y ~ g", "logistic"), ("y ~ h", "probit"), ("y ~ 0 + h", "logistic"), ("c ~ x + h", "poisson")]),
])
def test_formulas_of_every_kind(formula: str, family: str) -> None:
    made = model(formula, released(31, 20_000, 20.0), family)
    centre, deviations = summary(made)
    rows = table(31, 20_000)
    means = {"y": np.mean(rows["y"] == "yes"), "c": rows["c"].mean()}
    if formula.endswith("~ 1"):
        value = np.log(means["y"] / (1 - means["y"])) if family == "logistic" else np.log(means["c"])
        assert centre[0] == pytest.approx(value, abs=0.02 + 3 * deviations[0])
    if formula == "y ~ g":
        share = np.mean(rows["y"][rows["g"] == "b"] == "yes")
        assert centre.sum() == pytest.approx(np.log(share / (1 - share)), abs=0.15)
    assert np.all(deviations > 0) and np.isfinite(centre).all() and np.abs(centre).max() < 1.5


@pytest.mark.parametrize(("formula", "doubtful"), [("y ~ x + g*h", ()), ("y ~ x + I(x**2)", ("I(x ** 2)",)),
                                                   ("y ~ x*g + w", ("x:g[T.b]",)), ("y ~ x*w", ("x:w",))])
def test_powers_and_products_with_numbers_are_doubted_by_their_names(formula: str, doubtful: tuple[str, ...]) -> None:
    doubts = model(formula, released(1, 2000, terms="I(x**2) + x:g + x:w + g:h")).doubts
    assert len(doubts) == bool(doubtful) and all(f"({', '.join(doubtful)})" in doubt for doubt in doubts)


@pytest.mark.outer
def test_a_column_that_does_not_vary_has_its_prior() -> None:
    columns = {"y": {"levels": ["no", "yes"]}, "x": {"bounds": [-4, 4]}, "k": {"bounds": [0, 1]}}
    rows = {**{name: table(41, 5000)[name] for name in ("y", "x")}, "k": np.full(5000, 0.5)}
    release = seeded_release(rows, schema(columns=columns), 1, epsilon=2.0, delta=1e-6)
    centre, deviations = summary(model("y ~ x + k", release))
    plain = summary(model("y ~ x", release))
    assert abs(centre[1] - plain[0][1]) < plain[1][1]
    assert deviations[2] > 2.5  # in units of a standard deviation that is nearly 0


@pytest.mark.outer
def test_more_columns_are_fitted_with_moments_plugged_in() -> None:
    names = [f"x{index}" for index in range(MOST_LATENT + 2)]
    generator = np.random.default_rng(1)
    x = generator.normal(size=(30_000, len(names)))
    y = np.where(generator.random(30_000) < 1 / (1 + np.exp(-x @ np.linspace(-0.4, 0.4, len(names)))), "yes", "no")
    columns = {"y": {"levels": ["no", "yes"]}, **{name: {"bounds": [-4, 4]} for name in names}}
    rows = {"y": y, **dict(zip(names, x.T, strict=True))}
    for epsilon, doubtful in ((0.3, True), (20.0, False)):
        release = seeded_release(rows, schema(columns=columns), 1, epsilon=epsilon, delta=1e-6)
        made = model("y ~ " + " + ".join(names), release)
        assert not made.latent and any("not fully accounted for" in doubt for doubt in made.doubts) == doubtful
    centre, deviations = summary(made)
    assert np.abs((centre[1:] - np.linspace(-0.4, 0.4, len(names))) / deviations[1:]).max() < 4.0 and deviations.max() < 0.2


@pytest.mark.parametrize(("formula", "family", "words"), [
    ("x ~ w", "logistic", "column with two levels.*'x'"),
    ("h ~ x", "logistic", "."),
    ("y ~ x", "poisson", "must be a count.*'y'"),
    ("x ~ w", "poisson", "must be a count.*'x'"),
])
def test_wrong_responses_are_refused(formula: str, family: str, words: str) -> None:
    with pytest.raises(nw.errors.NoisewiseError, match=words):
        model(formula, released(), family)


def test_releases_that_cannot_be_used_are_refused() -> None:
    columns = {"y": {"levels": ["no", "yes"]}, "x": {"bounds": [-4, 4]}}
    rows = {name: table(1, 500)[name] for name in ("y", "x")}
    averaged = nw.release(rows, schema(columns=columns), nw.Gram(average=5), epsilon=1.0, delta=1e-6, run=QUIET)
    with pytest.raises(FitError, match="averaged in groups"):
        model("y ~ x", averaged)


@pytest.mark.slow  # two samplers are compiled for it
def test_fit_and_fit_many_give_the_same_posterior() -> None:
    # Where the noise hides the predictors, trajectories of one length do not reach the tails that NUTS finds.
    releases = [released(seed, 20_000, 3.0) for seed in (51, 52)]
    many = nw.fit_many(f"y ~ {FULL}", releases, family="logistic", draws=600, seed=1, run=QUIET)
    assert [posterior.info.family for posterior in many] == ["logistic", "logistic"]
    assert many[0].terms == tuple(TRUTH) and not many[0].has_sigma and many[0].prior is not None
    one = nw.fit(f"y ~ {FULL}", releases[0], family="logistic", draws=600, seed=2, run=QUIET)
    for index in range(4):
        a, b = many[0].samples[..., index], one.samples[..., index]
        error = np.sqrt(a.var() / ess_bulk(a[..., None])[0] + b.var() / ess_bulk(b[..., None])[0])
        assert abs(a.mean() - b.mean()) < 5 * error < 0.4 * b.std()
        assert abs(np.log(a.std() / b.std())) < 0.25
    assert abs(many[1].samples[..., 1].mean() - many[0].samples[..., 1].mean()) > 0.001  # each its own release


def test_many_fits_refuse_what_the_families_do_not_have() -> None:
    with pytest.raises(FitError, check=about("method")):
        nw.fit_many("y ~ x", released(), family="logistic", method="conditional-flat")
    with pytest.raises(FitError, check=about("family")):
        nw.fit_many("y ~ x", released(), family="gamma")
