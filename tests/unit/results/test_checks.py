"""The predictive check: its noise covariances, its calibration where the model holds, its power where it does not."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from tests.unit.results import made_consortium as made

import noisewise as nw
from noisewise.errors import ResultError
from noisewise.releases.contents.gram import EntryNoise
from noisewise.results.check_findings import ALL, OVERALL
from noisewise.results.check_moments import noise_covariances
from noisewise.results.check_tails import Tails
from noisewise.results.checks import PredictiveCheck
from noisewise.run import QUIET

FORMULA = "stay ~ age + ward"
LITTLE_NOISE = 8.0
"""A noise of this standard deviation leaves the residuals of 2000 rows visible."""


# The normal approximation is fast and here good enough; where the noise hides sigma it says that it is not.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")


def checked(release: nw.Release, formula: str = FORMULA, seed: int = 1) -> PredictiveCheck:
    return nw.fit(formula, release, method="laplace", seed=seed, draws=300, chains=2, run=QUIET).check(release)


@pytest.mark.parametrize("noise", [EntryNoise("gaussian", 2.0, math.sqrt(2), 0.0), EntryNoise("gaussian", 2.0, math.sqrt(2), 2.0),
                                   EntryNoise("laplace", 1.5, 1.5, 0.0), EntryNoise("laplace", 1.5, 1.5, 1.5)])
def test_noise_covariances_are_those_of_simulated_noise(noise: EntryNoise) -> None:
    generator = np.random.default_rng(3)
    size, variance, draws = 4, 0.3, 200_000
    c, directions = np.array([1.5, -0.4, 0.3, 0.8]), generator.normal(size=(size, 2))
    raw = generator.normal(size=(draws, size, size)) if noise.distribution == "gaussian" else generator.laplace(
        size=(draws, size, size)) / math.sqrt(2)
    upper = np.triu(raw * np.sqrt(noise.variances(size)))
    entries = upper + np.triu(upper, 1).transpose(0, 2, 1)
    h = np.column_stack([entries @ c @ directions, np.einsum("a,nab,b->n", c, entries, c) - variance * entries[:, 0, 0]])
    classes = np.array([noise.off_diagonal, noise.diagonal, noise.corner]) ** 2
    expected = np.einsum("i,ikl->kl", classes, np.stack(noise_covariances(c, variance, directions)))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    # A covariance of draws has a relative error of about √(kurtosis/draws): 0.02 is six times that.
    assert np.abs((np.cov(h.T) - expected) / scale).max() < 0.02
    corner_mistaken = np.array([classes[0], classes[1], classes[1] - classes[2]])
    wrong = np.einsum("i,ikl->kl", corner_mistaken, np.stack(noise_covariances(c, variance, directions)))
    assert np.abs((np.cov(h.T) - wrong) / scale).max() > 0.05  # the corner taken for exact, or for noisy


SETTINGS = [
    {"sd": LITTLE_NOISE},
    {"sd": 20.0},
    {"sd": LITTLE_NOISE, "adjacency": "add-remove"},
    {"sd": 15.0, "mechanism": "laplace"},
]


@pytest.mark.outer(but=["{'sd': 8.0}"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_p_values_are_uniform_where_the_model_holds(settings: dict) -> None:
    """4 holders, 16 studies: 320 single and 64 overall p-values; the bounds are four binomial standard errors wide."""
    single, overall, agreement, named = [], [], [], 0
    for seed in range(16):
        check = checked(made.consortium(100 + seed, 4, **settings), seed=seed)
        flat = check.table.reset_index()
        own = flat[flat["holder"] != ALL]
        single += list(own.loc[own["statistic"] != OVERALL, "p"])
        overall += list(own.loc[own["statistic"] == OVERALL, "p"])
        agreement += list(flat.loc[(flat["holder"] == ALL) & (flat["statistic"] == OVERALL), "p"])
        named += bool(check.problems())
    for values, level in ((single, 0.05), (single, 0.5), (overall, 0.1), (overall, 0.5), (agreement, 0.5)):
        error = math.sqrt(level * (1 - level) / len(values))
        # Statistics of one study are dependent (the fit makes them add up to nothing), which widens the error by about √2.
        assert abs(np.mean(np.array(values) < level) - level) < 4 * math.sqrt(2) * error
    assert np.mean(np.array(overall) < 0.01) < 0.06
    assert named <= 1


def test_uncorrected_covariances_would_be_too_wide() -> None:
    """The wrong answer that the test above must be able to reject: not to know that the fit has used the statistics."""
    ratios = []
    for seed in range(12):
        table = checked(made.consortium(200 + seed, 2, sd=LITTLE_NOISE), seed=seed).table
        rows = table.drop(index=OVERALL, level="statistic")
        sd = (rows["upper"] - rows["lower"]) / 2 / 1.96
        ratios += list(((rows["observed"] - rows["expected"]) / sd) ** 2)
    mean = float(np.mean(ratios))
    assert 0.7 < mean < 1.4  # 120 values of two holders, of which 60 are independent: standard error 0.18
    assert mean / 2 < 0.7  # what C_j instead of C_j(1 − 1/2) would have given


@pytest.mark.parametrize("settings", [{}, {"adjacency": "add-remove"}, {"mechanism": "laplace"}], ids=str)
@pytest.mark.parametrize(
    ("odd", "words"),
    [({"slope": 0.5}, "coefficient of age looks larger"), ({"sigma": 9.0}, "residuals spread more"),
     ({"shift": -4.0}, "responses are lower")],
)
def test_an_odd_holder_is_named_and_agreeing_ones_are_not(odd: dict, words: str, settings: dict) -> None:
    assert checked(made.consortium(7, 6, sd=LITTLE_NOISE, **settings)).problems() == []
    problems = checked(made.consortium(7, 6, odd=odd, sd=LITTLE_NOISE, **settings)).problems()
    assert problems[0].startswith("holder 6 ") and words in problems[0]


def test_two_holders_that_differ_are_told_once() -> None:
    problems = checked(made.consortium(7, 2, odd={"shift": 4.0}, sd=LITTLE_NOISE)).problems()
    assert len(problems) == 1 and problems[0].startswith("the two holders differ")


def test_many_holders_that_differ_a_little_are_told_together() -> None:
    generator = np.random.default_rng(5)
    parts = [made.part(generator, sd=LITTLE_NOISE, shift=0.35 * (-1) ** number) for number in range(60)]
    problems = checked(nw.Release(nw.Gram(), made.schema(), tuple(parts))).problems()
    assert any("holders differ by more than chance" in problem for problem in problems)
    one_odd = checked(made.consortium(5, 60, odd={"shift": 3.0}, sd=LITTLE_NOISE)).problems()
    assert len(one_odd) == 1 and one_odd[0].startswith("holder 60 ")


def test_one_holder_is_checked_for_what_the_formula_leaves_out() -> None:
    release = made.consortium(7, 1, sd=LITTLE_NOISE)
    narrow = checked(release, "stay ~ age")
    assert [problem for problem in narrow.problems() if "ward[B]" in problem] and narrow.single
    assert OVERALL not in narrow.table.index.get_level_values("statistic")
    full = checked(release)
    assert full.problems() == [] and ALL not in full.table.index.get_level_values("holder")


def test_holders_may_differ_in_rows_and_noise() -> None:
    generator = np.random.default_rng(8)
    parts = [made.part(generator, rows=rows, sd=sd) for rows, sd in ((200, 5.0), (1000, 10.0), (5000, 20.0), (2000, 60.0))]
    release = nw.Release(nw.Gram(), made.schema(), tuple(parts))
    table = checked(release).table
    width = (table["upper"] - table["lower"]).xs("mean residual", level="statistic")
    assert width["3"] == width.min() and checked(release).problems() == []


def test_averaged_rows_have_the_same_residual_variance() -> None:
    """Rows as they are, and the same rows averaged in fours: taking n for the groups would give 25/4."""
    generator = np.random.default_rng(4)
    age, ward = np.clip(generator.normal(58, 15, 8000), *made.AGE), generator.choice(["A", "B", "C"], 8000)
    table = {"age": age, "ward": ward, "stay": 20 + 0.2 * (age - 58) + 4 * (ward == "B") + generator.normal(0, 5, 8000)}
    plain = nw.release(table, made.schema(), epsilon=100, delta=1e-6, run=QUIET)
    averaged = nw.release(table, made.schema(), nw.Gram(average=4), epsilon=100, delta=1e-6, run=QUIET)
    for release, tolerance in ((plain, 0.1), (averaged, 0.25)):
        post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
        squares = post.check(release).table.xs("mean squared residual", level="statistic")["observed"]
        assert squares["1"] == pytest.approx(25, rel=tolerance)


def test_two_hundred_holders_are_fast() -> None:
    release = made.consortium(7, 200, rows=300, sd=LITTLE_NOISE)
    post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
    started = time.process_time()
    table = post.check(release).table
    assert time.process_time() - started < 60 and len(table) == 200 * 6 + 1
    assert np.isfinite(table.to_numpy()).all() and table["p"].between(0, 1).all()


def test_holders_have_names_and_the_wrong_release_is_refused() -> None:
    release = made.consortium(7, 2, sd=LITTLE_NOISE)
    post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
    check = post.check(release, holders=["north", "south"], interval=0.8)
    assert list(dict.fromkeys(check.table.index.get_level_values("holder"))) == ["north", "south", ALL]
    assert "2 holders" in repr(check) and "<table" in check._repr_html_()
    for names in (["north"], ["north", "north"], ["north", ALL]):
        with pytest.raises(ResultError) as refused:
            post.check(release, holders=names)
        assert refused.value.argument == "holders"
    with pytest.raises(ResultError, match="schema"):
        post.check(made.consortium(7, 2, adjacency="add-remove"))


def test_releases_that_the_fit_has_not_used_are_refused() -> None:
    """The check reckons with a fit that was made from the statistics it is compared with."""
    release = made.consortium(7, 3, sd=LITTLE_NOISE)
    post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
    part = nw.Release(nw.Gram(), release.schema, release.contributions[:2])
    with pytest.raises(ResultError, match="3 holders and the releases of 2"):
        post.check(part)
    with pytest.raises(ResultError, match="a fit of other releases"):
        post.check(made.consortium(8, 3, sd=LITTLE_NOISE))


def test_a_release_of_another_kind_is_refused_with_a_remedy() -> None:
    release = made.consortium(7, 1, sd=LITTLE_NOISE)
    post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
    with pytest.raises(ResultError, match="gram.*found: a release of kind adassp"):
        post.check(made.adassp(FORMULA))


@pytest.mark.parametrize("settings", [{"method": "fast"}, {"method": "laplace", "draws": 1, "chains": 1}], ids=str)
def test_draws_that_never_move_can_be_checked(settings: dict) -> None:
    """A fixed sigma, or a single draw: the posterior's covariance is 0 there."""
    release = made.consortium(7, 3, sd=LITTLE_NOISE)
    table = nw.fit(FORMULA, release, seed=1, run=QUIET, **settings).check(release).table
    assert np.isfinite(table.to_numpy()).all() and table["p"].between(0, 1).all()


@pytest.mark.parametrize("level", [0, 1, -0.1, True, "0.01"])
def test_a_level_is_a_probability(level) -> None:
    with pytest.raises(ResultError) as refused:
        checked(made.consortium(7, 1, sd=LITTLE_NOISE)).problems(level)
    assert refused.value.argument == "level"


def test_a_check_survives_saving_the_fit(tmp_path) -> None:
    release = made.consortium(7, 2, sd=LITTLE_NOISE)
    post = nw.fit(FORMULA, release, method="laplace", seed=1, run=QUIET)
    post.save(tmp_path / "fit.npz")
    assert nw.Posterior.load(tmp_path / "fit.npz").check(release).table.equals(post.check(release).table)


def test_heavy_tails_give_larger_probabilities_far_out() -> None:
    normal = Tails(np.zeros((1, 1)), np.zeros(1))
    heavy = Tails(np.full((1, 1), 1.0), np.full(1, 5.0))
    z = np.array([[4.0]])
    assert normal.two_sided(z)[0, 0] == pytest.approx(6.334e-5, rel=1e-2)
    assert heavy.two_sided(z)[0, 0] > 3 * normal.two_sided(z)[0, 0]
    assert normal.beyond(np.array([15.0]), 3)[0] == pytest.approx(0.00182, rel=1e-2)
    assert heavy.beyond(np.array([15.0]), 3)[0] > 2 * normal.beyond(np.array([15.0]), 3)[0]
    assert normal.sum_beyond(10.0, 10.0) == pytest.approx(0.4405, abs=1e-3)
    assert heavy.sum_beyond(30.0, 10.0) > normal.sum_beyond(30.0, 10.0)


@pytest.mark.parametrize(("holders", "formula"), [(1, "stay ~ age"), (5, FORMULA), (120, FORMULA)])
def test_pictures_are_drawn(tmp_path, holders: int, formula: str) -> None:
    odd = {"shift": 6.0} if holders > 1 else None
    release = made.consortium(7, holders, odd=odd, sd=LITTLE_NOISE)
    figure = checked(release, formula).plot(tmp_path / "check.png")
    assert (tmp_path / "check.png").read_bytes().startswith(b"\x89PNG")
    striking = [line for axes in figure.axes[0].child_axes for line in axes.lines if line.get_gid() == "striking"]
    assert any(len(line.get_xdata()) for line in striking) and figure.get_figheight() < 15


@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
def test_noise_larger_than_the_moments_is_no_error() -> None:
    """A released sum of squares may be negative; the check must do without it."""
    generator = np.random.default_rng(5)
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [-1, 1]} for name in ("y", "x", "w")}})
    for _ in range(8):
        table = dict(zip(("y", "x", "w"), 0.1 * generator.normal(size=(3, 60)), strict=True))
        release = nw.release(table, schema, epsilon=0.1, delta=1e-6, run=QUIET)
        fit = nw.fit("y ~ x", release, method="laplace", draws=100, seed=1, run=QUIET)
        assert np.isfinite(fit.check(release).table.select_dtypes("number").to_numpy()).any()
