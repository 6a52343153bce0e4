"""``compare``: against least squares for every model, with noise, and everything that can be wrong with a question."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from tests.unit.results import made_consortium
from tests.unit.selection.made_releases import Model, Table, every_model

import noisewise as nw
from noisewise.errors import ConvergenceWarning, FitError, NoisewiseWarning
from noisewise.literature.export import synthetic_rows
from noisewise.run import QUIET, Run
from noisewise.selection import bands, walk
from noisewise.selection import probabilities as model_probabilities
from noisewise.selection.walk import Visited

TERMS = ("x1", "x2", "ward", "x3")
FORMULA = "y ~ x1 + x2 + ward + x3"
SMALL = Table.made(1, 300, (1.0, 0.25, 0.0), (0.3, 0.1))
LARGE = Table.made(2, 20_000, (0.5, 0.04, 0.0), (0.0, 0.1))
BORDERLINE = Table.made(2, 20_000, (0.5, 0.15, 0.0))


def weights(models: list[Model], model_prior: str) -> np.ndarray:
    count = len(models[-1].terms)
    logs = []
    for model in models:
        size = len(model.terms)
        prior = {"uniform": 0.0, "beta-binomial": -math.log(math.comb(count, size)),
                 "bernoulli(0.2)": size * math.log(0.2) + (count - size) * math.log(0.8)}[model_prior]
        logs.append(model.log_bayes_factor + prior)
    shares = np.exp(np.array(logs) - max(logs))
    return shares / shares.sum()


def inclusion(models: list[Model], shares: np.ndarray, terms: tuple[str, ...]) -> list[float]:
    return [float(sum(share for model, share in zip(models, shares, strict=True) if term in model.terms)) for term in terms]


@pytest.mark.parametrize("prior", ["zellner-siow", "zellner", "hyper-g", "bic", "aic"])
@pytest.mark.parametrize("model_prior", ["beta-binomial", "uniform", "bernoulli(0.2)"])
def test_without_noise_it_is_least_squares_for_every_model(prior: str, model_prior: str) -> None:
    models = every_model(SMALL, TERMS, prior)
    shares = weights(models, model_prior)
    found = nw.compare(FORMULA, SMALL.release(), prior=prior, model_prior=model_prior, seed=1, run=QUIET)
    expected = inclusion(models, shares, TERMS)
    assert list(found.inclusion().index) == list(TERMS)
    assert np.allclose(found.inclusion()["probability"], expected, atol=2e-4), (found.inclusion(), expected)
    assert max(expected[1:]) < 0.99 and min(expected) > 0.001  # else nothing would be tested
    assert np.allclose(found.inclusion()["lower"], expected, atol=2e-3)  # no noise, so no band
    best = max(zip(shares, models, strict=True), key=lambda pair: pair[0])
    row = found.models(1).iloc[0]
    assert row["terms"] == " + ".join(best[1].terms) and row["size"] == len(best[1].terms)
    assert row["log_bayes_factor"] == pytest.approx(best[1].log_bayes_factor, abs=2e-3)
    assert row["probability"] == pytest.approx(best[0], abs=2e-4)


def test_averaged_coefficients_are_those_of_the_models() -> None:
    models = every_model(SMALL, TERMS, "zellner")
    shares = weights(models, "beta-binomial")
    names = ("Intercept", "x1", "x2", "ward[T.B]", "ward[T.C]", "x3")
    expected = dict.fromkeys(names, 0.0)
    shrink = len(SMALL.y) / (1 + len(SMALL.y))
    for share, model in zip(shares, models, strict=True):
        columns = [name for term in model.terms for name in (("ward[T.B]", "ward[T.C]") if term == "ward" else (term,))]
        slopes = shrink * model.fitted[1:]
        means = SMALL.columns(model.terms).mean(axis=0)
        for name, slope in zip(columns, slopes, strict=True):
            expected[name] += share * slope
        expected["Intercept"] += share * (SMALL.y.mean() - means @ slopes)
    found = nw.compare(FORMULA, SMALL.release(), prior="zellner", draws=40_000, seed=2, run=QUIET).coefficients()
    assert list(found.index) == list(names)
    error = found["sd"] / math.sqrt(40_000)
    assert (abs(found["mean"] - [expected[name] for name in names]) < 5 * error + 1e-6).all()
    assert found.loc["ward[T.B]", "probability"] == found.loc["ward[T.C]", "probability"] < 1
    assert found.loc["Intercept", "probability"] == 1


def test_a_category_enters_as_a_group() -> None:
    found = nw.compare(FORMULA, LARGE.release(3, sd=30.0), seed=3, run=QUIET)
    assert found.question.terms == TERMS and found.members.shape == (16, 4)
    draws = found.posterior().draws()
    is_in = draws["ward[T.B]"] != 0
    assert 0.02 < is_in.mean() < 0.98
    assert (is_in == (draws["ward[T.C]"] != 0)).all()
    assert is_in.mean() == pytest.approx(found.inclusion().loc["ward", "probability"], abs=5 * math.sqrt(0.25 / 4000))


def test_kept_terms_are_in_every_model() -> None:
    found = nw.compare(FORMULA, SMALL.release(), keep=["ward", "x3"], seed=4, run=QUIET)
    models = every_model(SMALL, ("x1", "x2"), "zellner-siow", keep=("ward", "x3"))
    expected = inclusion(models, weights(models, "beta-binomial"), ("x1", "x2"))
    assert np.allclose(found.inclusion()["probability"], expected, atol=2e-4)
    draws = found.posterior().draws()
    assert found.question.kept == ("Intercept", "ward", "x3") and (draws[["ward[T.B]", "ward[T.C]", "x3"]] != 0).all().all()
    assert found.models(4)["terms"].tolist().count("") == 1 and "ward + x3" in found.median_model()
    assert found.coefficients().loc["x3", "probability"] == 1
    alone = nw.compare("y ~ x1 + x2", SMALL.release(), keep="x2", seed=4, run=QUIET)
    assert alone.question.terms == ("x1",)


def test_names_of_several_words_are_quoted_in_formulas() -> None:
    rng = np.random.default_rng(22)
    x = rng.uniform(size=2000)
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
        "the stay": {"bounds": [0, 2]}, "blood pressure": {"bounds": [0, 1]}, "sex": {"levels": ["f", "m"]}}})
    table = {"the stay": 0.2 + x + 0.1 * rng.normal(size=2000), "blood pressure": x, "sex": rng.choice(["f", "m"], 2000)}
    release = nw.release(table, schema, nw.Gram(terms="`blood pressure`:sex"), epsilon=100, delta=1e-6)
    settings: dict[str, Any] = {"keep": ["`blood pressure`: sex"], "seed": 1, "run": QUIET}
    found = nw.compare("`the stay` ~ `blood pressure` * sex", release, **settings)
    assert found.median_model() == "`the stay` ~ `blood pressure` + `blood pressure`:sex"
    assert nw.compare(found.median_model(), release, **settings).median_model() == found.median_model()


def test_a_formula_without_an_intercept() -> None:
    found = nw.compare("y ~ 0 + x1 + x2", SMALL.release(), prior="bic", seed=5, run=QUIET)
    rows = len(SMALL.y)
    rests = [float(SMALL.y @ SMALL.y)]
    for columns in ([0], [1], [0, 1]):
        fitted, rest, *_ = np.linalg.lstsq(SMALL.numbers[:, columns], SMALL.y, rcond=None)
        rests.append(float(rest[0]))
    best = found.models(1).iloc[0]
    assert best["log_bayes_factor"] == pytest.approx(-0.5 * rows * math.log(rests[3] / rests[0]) - math.log(rows), abs=1e-2)
    assert best["terms"] == "x1 + x2" and found.median_model() == "y ~ 0 + x1 + x2" and found.question.kept == ()
    assert np.allclose(found.coefficients()["mean"], fitted, atol=0.05)


def test_the_posterior_predicts_and_is_kept(tmp_path) -> None:
    found = nw.compare(FORMULA, LARGE.release(3, sd=5.0), seed=6, run=QUIET)
    rows = {"x1": [0.0, 1.0], "x2": 0.5, "ward": "B", "x3": 0.5}
    predicted = found.predict(rows, 0.9)
    slope = predicted["mean"].diff().iloc[1]
    assert slope == pytest.approx(found.coefficients().loc["x1", "mean"]) and 0.3 < slope < 0.7
    sigma = float(found.posterior().draws("sigma").mean())
    assert np.allclose(predicted["upper"] - predicted["lower"], 2 * 1.645 * sigma, rtol=0.02) and 0.7 < sigma < 1.3
    assert found.predict(rows, kind="mean")["lower"].iloc[0] > predicted["lower"].iloc[0]
    posterior = found.posterior()
    posterior.save(tmp_path / "averaged.npz")
    again = nw.Posterior.load(tmp_path / "averaged.npz")
    assert np.array_equal(again.samples, posterior.samples) and again.diagnose() == []
    assert list(posterior.summary().index) == [*found.design.terms, "sigma"] and posterior.info.method == "model-averaging"


def test_the_band_is_what_the_table_itself_may_say() -> None:
    """Over draws of the table's moments the analysis without noise gives, on average, the probability given the release."""
    release = BORDERLINE.release(7, sd=10.0)
    found = nw.compare("y ~ x1 + x2 + x3", release, seed=7, run=QUIET)
    table = found.inclusion()
    draws = found.without_noise
    assert draws is not None and len(draws) == 400
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - table["probability"]) < 4 * error + 0.01).all()
    assert (table["lower"] <= table["upper"]).all() and (table["upper"] - table["lower"]).max() > 0.5
    narrow = found.inclusion(0.5)
    assert (narrow["upper"] - narrow["lower"] <= table["upper"] - table["lower"]).all()
    # Plug-in probabilities are another thing: the check above would notice.
    ridge = nw.compare("y ~ x1 + x2 + x3", release, method="ridge", seed=7, run=QUIET)
    assert abs(draws.mean(axis=0) - ridge.inclusion_probabilities)[1] > 4 * error[1] + 0.01


@pytest.mark.filterwarnings("ignore::noisewise.errors.NoisewiseWarning")
@pytest.mark.parametrize("sd", [300.0, 3000.0])
def test_the_band_belongs_to_the_probability_where_the_noise_hides_the_moments(sd: float) -> None:
    """Raising negative eigenvalues alone would give 0.9 and more for every term."""
    found = nw.compare("y ~ x1 + x2 + x3", LARGE.release(7, sd=sd), seed=7, run=QUIET)
    draws = found.without_noise
    assert draws is not None
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - found.inclusion_probabilities) < 4 * error + 0.02).all()


def test_more_noise_draws_probabilities_towards_the_middle() -> None:
    sharp, vague = (nw.compare("y ~ x1 + x2 + x3", LARGE.release(8, sd=sd), seed=8, run=QUIET).inclusion_probabilities
                    for sd in (1.0, 400.0))
    assert sharp[0] > 0.999 and 0.05 < vague[0] < 0.95


def test_several_holders_are_one_table() -> None:
    halves = [Table(LARGE.numbers[rows], LARGE.ward[rows], LARGE.y[rows]) for rows in (slice(0, 8000), slice(8000, None))]
    releases = [half.release() for half in halves]
    together = nw.compare(FORMULA, releases, seed=9, run=QUIET)
    whole = nw.compare(FORMULA, LARGE.release(), seed=9, run=QUIET)
    assert np.allclose(together.inclusion_probabilities, whole.inclusion_probabilities, atol=1e-3)
    assert together.info.holders == 2 and "2 holders" in together.describe()


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("method", ["noise-aware", "ridge", "thresholded", "histogram"])
def test_every_method_finds_what_is_plain(method: str, distribution: str) -> None:
    release = LARGE.release(10, sd=4.0, distribution=distribution)
    found = nw.compare("y ~ x1 + x2 + x3", release, method=method, seed=10, run=QUIET)
    table = found.inclusion()
    assert table.loc["x1", "probability"] > 0.99 and table.loc["x3", "probability"] < 0.5
    assert found.probabilities.sum() == pytest.approx(1.0) and (np.diff(found.probabilities) <= 0).all()
    assert found.coefficients().loc["x1", "mean"] == pytest.approx(0.5, abs=0.1)
    assert table["lower"].isna().all() == (method in ("ridge", "thresholded"))


def test_several_methods_side_by_side() -> None:
    methods = ("noise-aware", "ridge", "thresholded")
    found = nw.compare("y ~ x1 + x2 + x3", LARGE.release(7, sd=25.0), method=methods, seed=11, run=QUIET)
    table = found.agreement()
    assert list(table.columns) == [*methods, "difference", "verdict"] and list(found.others) == ["ridge", "thresholded"]
    assert np.allclose(table["ridge"], found.others["ridge"].inclusion_probabilities)
    assert np.allclose(table["difference"], table[list(methods)].max(axis=1) - table[list(methods)].min(axis=1))
    assert table.loc["x1", "verdict"] == "agree: in"


def test_a_seed_makes_it_reproducible() -> None:
    release = LARGE.release(12, sd=30.0)
    one, two, other = (nw.compare(FORMULA, release, seed=seed, draws=500, run=QUIET) for seed in (1, 1, 2))
    assert np.array_equal(one.samples, two.samples) and np.array_equal(one.without_noise, two.without_noise)
    assert not np.array_equal(one.samples, other.samples) and np.allclose(one.probabilities, other.probabilities)


@pytest.mark.parametrize(("settings", "words"), [
    ({"prior": "flat"}, "unknown prior of the coefficients.*'flat'.*zellner-siow"),
    ({"prior": "zellner-siow-laplace"}, "treat the moments as exact.*noise-aware"),
    ({"model_prior": "flat"}, "unknown prior of models.*'flat'.*beta-binomial"),
    ({"model_prior": "bernoulli(2)"}, "between 0 and 1"),
    ({"method": "magic"}, "unknown method.*'magic'.*noise-aware"),
    ({"method": ()}, "no method"),
    ({"keep": ["age"]}, "keep must name terms.*'age'.*x1"),
    ({"keep": ["ward[T.B]"]}, "enter together: keep 'ward'"),
    ({"keep": TERMS}, "terms that can be left out.*fewer terms in keep"),
    ({"keep": 3}, "keep must be a name or a list of names.*3"),
    ({"method": 3}, "method must be a name or a list of names.*3"),
    ({"method": [["ridge"]]}, "method must be a name or a list of names.*ridge.*in quotes"),
    ({"draws": 0}, "draws must be"),
    ({"seed": -1}, "seed must be"),
])
def test_wrong_questions(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(FitError, match=words):
        nw.compare(FORMULA, SMALL.release(), **settings)


def test_a_formula_without_terms_in_question() -> None:
    with pytest.raises(FitError, match="terms that can be left out.*add predictors"):
        nw.compare("y ~ 1", SMALL.release())


def test_releases_that_cannot_serve() -> None:
    with pytest.raises(FitError, match="kind gram and model only.*adassp"):
        nw.compare("stay ~ age", made_consortium.adassp("stay ~ age"))
    with pytest.raises(FitError, match="more rows than columns.*7 rows"):
        nw.compare(FORMULA, Table.made(1, 7, (1.0, 0.0, 0.0)).release())


def test_the_plug_in_approximation_of_the_integral() -> None:
    settings: dict[str, Any] = {"method": "ridge", "seed": 1, "run": QUIET}
    full = nw.compare(FORMULA, SMALL.release(), **settings)
    short = nw.compare(FORMULA, SMALL.release(), prior="zellner-siow-laplace", **settings)
    assert np.allclose(full.inclusion_probabilities, short.inclusion_probabilities, atol=0.02)


def test_hidden_moments_are_told() -> None:
    with pytest.warns(NoisewiseWarning, match="noise hides how the predictors vary") as told:
        found = nw.compare(FORMULA, SMALL.release(13, sd=400.0), seed=13, run=QUIET)
    assert told[0].filename == __file__ and len(found.diagnose()) == 1 and found.info.doubts == ()
    assert (found.inclusion_probabilities > 0.01).all() and (found.inclusion_probabilities < 0.99).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nw.compare(FORMULA, SMALL.release(13, sd=0.1), seed=13, run=QUIET)


def test_where_moments_are_hidden_plug_in_methods_are_not_called_too_low() -> None:
    with pytest.warns(NoisewiseWarning, match="the method ridge mistakes noise for effects.*that a term matters") as told:
        nw.compare(FORMULA, SMALL.release(13, sd=400.0), seed=13, method="ridge", run=QUIET)
    assert "too low" not in str(told[0].message)


def test_rows_that_were_averaged_in_groups_keep_their_mean() -> None:
    """The constant's sum of squares is that of all rows, not of the groups: it must not be cut down to these."""
    table = Table.made(21, 20_000, (1.0, 0.0, 0.0))
    found = nw.compare(FORMULA, table.release(21, sd=1.0, average=20), seed=21, run=QUIET)
    rows = found.coefficients()
    assert rows["mean"]["Intercept"] == pytest.approx(1.0, abs=4 * rows["sd"]["Intercept"]) and rows["sd"]["Intercept"] < 0.2
    assert found.inclusion_probabilities[0] > 0.99
    assert np.allclose(found.without_noise.mean(axis=0), found.inclusion_probabilities, atol=0.05)


def test_a_walk_finds_what_the_list_of_all_models_says(monkeypatch: pytest.MonkeyPatch) -> None:
    release = LARGE.release(16, sd=30.0)
    listed = nw.compare(FORMULA, release, seed=16, run=QUIET)
    monkeypatch.setattr(model_probabilities, "MOST_NOISY", 2)
    walked = nw.compare(FORMULA, release, seed=16, run=QUIET)
    monkeypatch.setattr(bands, "MOST_EXACT", 2)
    found_only = nw.compare(FORMULA, release, seed=16, run=QUIET)
    assert listed.complete and not walked.complete and "visited by a random walk" in walked.describe()
    assert np.allclose(walked.inclusion_probabilities, listed.inclusion_probabilities, atol=0.01)
    best = listed.models(1).iloc[0]
    assert walked.models(1).iloc[0]["terms"] == best["terms"]
    assert walked.models(1).iloc[0]["log_bayes_factor"] == pytest.approx(best["log_bayes_factor"])
    for other in (walked, found_only):
        assert np.allclose(other.inclusion()["upper"], listed.inclusion()["upper"], atol=0.15)
    assert np.allclose(found_only.without_noise.mean(axis=0), walked.without_noise.mean(axis=0), atol=0.02)


def test_a_walk_that_has_not_arrived_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(evidence: Any, log_prior: Any, seed: int, tick: Any) -> Visited:
        members = np.array([[True, False, False, False], [False, True, False, False]])
        return Visited(members, np.array([0.6, 0.4]), ("chains do not agree yet",))

    monkeypatch.setattr(model_probabilities, "MOST_NOISY", 2)
    monkeypatch.setattr(walk, "walk", lost)
    with pytest.warns(ConvergenceWarning, match="chains do not agree yet"):
        found = nw.compare(FORMULA, LARGE.release(16, sd=5.0), seed=16, run=QUIET)
    assert found.inclusion_probabilities.tolist() == [0.6, 0.4, 0.0, 0.0]
    assert found.posterior().diagnose() == ["chains do not agree yet"]


@pytest.mark.slow
def test_more_terms_than_can_be_listed() -> None:
    slopes = [0.5, 0.0, 0.0, 0.3] + [0.0] * 18
    release = Table.made(17, 20_000, slopes).release(17, sd=5.0)
    formula = "y ~ " + " + ".join(f"x{place + 1}" for place in range(22))
    found = nw.compare(formula, release, seed=17, run=QUIET)
    inside = found.inclusion_probabilities
    assert not found.complete and min(inside[[0, 3]]) > 0.99 and np.delete(inside, [0, 3]).max() < 0.5
    assert np.allclose(found.without_noise.mean(axis=0), inside, atol=0.1)
    with pytest.raises(FitError) as refused:
        nw.compare(formula, release, method="histogram", run=QUIET)
    assert refused.value.argument == "method" and "22 terms" in str(refused.value)


def test_one_draw_is_enough_for_every_method() -> None:
    for method in ("noise-aware", "ridge", "histogram"):
        found = nw.compare(FORMULA, LARGE.release(18, sd=5.0), method=method, draws=1, seed=18, run=QUIET)
        assert found.samples.shape == (1, 7)


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None]] = []
    nw.compare(FORMULA, SMALL.release(), seed=14, run=Run(progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (100, 100) and told[0] == (60, 100) and told == sorted(told)


@pytest.mark.parametrize("keep", [(), ("x2",)])
def test_made_up_rows_have_the_models_of_the_method(keep: tuple[str, ...]) -> None:
    """What another program would find in the exported rows."""
    import pyarrow as pa

    release = LARGE.release(15, sd=5.0)
    frame = pa.Table.from_batches(synthetic_rows(FORMULA, release, keep=keep, seed=15)).to_pandas()
    assert list(frame.columns) == ["x1", "x2", "ward[T.B]", "ward[T.C]", "x3", "y"] and len(frame) == len(LARGE.y)
    found = nw.compare(FORMULA, release, method="ridge", prior="zellner", keep=keep, seed=15, run=QUIET)
    optional = [term for term in TERMS if term not in keep]
    base = np.column_stack([np.ones(len(frame)), frame[list(keep)]])
    rests = {}
    for terms in ([], optional, ["x1"]):
        columns = [name for term in terms for name in (("ward[T.B]", "ward[T.C]") if term == "ward" else (term,))]
        design = np.column_stack([base, frame[columns]])
        fitted = np.linalg.lstsq(design, frame["y"], rcond=None)[0]
        rests[" + ".join(terms)] = (float(((frame["y"] - design @ fitted) ** 2).sum()), len(columns))
    for terms, (rest, columns) in rests.items():
        row = found.models(100).set_index("terms").loc[terms]
        unexplained, g = rest / rests[""][0], float(len(frame))
        degrees = len(frame) - base.shape[1]
        expected = 0.5 * (degrees - columns) * math.log1p(g) - 0.5 * degrees * math.log1p(g * unexplained)
        assert row["log_bayes_factor"] == pytest.approx(expected, abs=1e-6 * max(1.0, abs(expected)))
    assert abs(frame["x1"].mean() - 0.5) < 0.02 and abs(frame["y"].mean() - LARGE.y.mean()) < 0.1
