"""Methods side by side: all of them, what they refuse, and what is said about them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.only_methods import only_methods
from tests.refusals import about
from tests.unit.results import made_consortium as made

import noisewise as nw
import noisewise.posterior.methods as methods_module
from noisewise.errors import FitError
from noisewise.posterior.fit import compare_methods
from noisewise.posterior.methods import CAUTIONS, DEFAULT_METHOD
from noisewise.posterior.request import Request, Sampled
from noisewise.results.method_comparison import MethodComparison
from noisewise.run import QUIET

FORMULA = "stay ~ age"
RELEASE = made.consortium(3, 2, sd=8.0)


def refuse(request: Request) -> Sampled:
    raise FitError("this method needs normal noise", found="laplace")


@pytest.fixture
def few_methods() -> Iterator[None]:
    """The quick ones and one that refuses: what the others do is tested with them."""
    laplace = methods_module.METHODS["laplace"]
    with only_methods({"conditional": laplace, "laplace": laplace, "picky": refuse}):
        yield


def test_a_test_that_changes_the_methods_leaves_their_order_alone() -> None:
    before = list(methods_module.METHODS)
    with only_methods({"laplace": methods_module.METHODS["laplace"]}):
        assert list(methods_module.METHODS) == ["laplace"]
    assert list(methods_module.METHODS) == before and before[0] == DEFAULT_METHOD


@pytest.fixture
def found(few_methods: None) -> MethodComparison:
    return compare_methods(FORMULA, RELEASE, draws=300, chains=2, seed=4, run=QUIET)


def test_each_method_is_the_fit_that_it_would_be_alone(found: MethodComparison) -> None:
    alone = nw.fit(FORMULA, RELEASE, method="laplace", draws=300, chains=2, seed=4, run=QUIET).summary(0.9)
    table = found.table(0.9)
    assert np.array_equal(table.xs("laplace", level="method")["mean"], alone["mean"])
    assert np.allclose(table["width"], table["95%"] - table["5%"])
    assert list(table.index.get_level_values("method"))[:2] == ["conditional", "laplace"]
    assert list(dict.fromkeys(table.index.get_level_values("term"))) == ["Intercept", "age", "sigma"]


def test_refused_methods_say_why_and_the_default_is_marked(found: MethodComparison) -> None:
    assert found.refused == {"picky": "this method needs normal noise (found: laplace)"}
    methods = found.methods()
    assert list(methods.index) == ["conditional", "laplace", "picky"] and np.isnan(methods.loc["picky", "seconds"])
    assert methods.loc["conditional", "ess_per_second"] == pytest.approx(
        methods.loc["conditional", "ess"] / methods.loc["conditional", "seconds"])
    assert "the default" in found.notes("conditional") and any("normal noise" in note for note in found.notes("picky"))
    assert CAUTIONS["laplace"] in found.notes("laplace") and found.default == DEFAULT_METHOD


def test_few_draws_are_noted_and_not_warned_about(few_methods: None) -> None:
    found = compare_methods(FORMULA, RELEASE, ["laplace"], draws=20, chains=2, seed=4, run=QUIET)
    assert any("do not trust" in note for note in found.notes("laplace"))


def test_wrong_methods_and_releases_that_all_refuse(few_methods: None) -> None:
    with pytest.raises(FitError, check=about("methods")):
        compare_methods(FORMULA, RELEASE, ["laplace", "magic"])
    with pytest.raises(FitError, check=about("methods")):
        compare_methods(FORMULA, RELEASE, [])
    with pytest.raises(FitError, match="none of the methods.*picky"):
        compare_methods(FORMULA, RELEASE, ["picky"])


@pytest.mark.parametrize(("settings", "words"), [
    ({"draws": 0}, "draws must be"), ({"chains": 0}, "chains must be"), ({"seed": -1}, "seed must be"),
    ({"prior": nw.Prior(sd={"dose": 1.0})}, "names a term"),
])
def test_what_is_wrong_for_every_method_is_told_once(settings: dict, words: str) -> None:
    with pytest.raises(FitError, match=words) as refused:
        compare_methods(FORMULA, RELEASE, **settings)
    assert "none of the methods" not in str(refused.value)


def test_a_release_of_another_kind_is_told_once() -> None:
    with pytest.raises(FitError, check=about("method")) as refused:
        compare_methods(FORMULA, made.adassp(FORMULA))
    assert str(refused.value).count("supports only the method adassp") == 1


def test_one_method_may_be_named_without_a_list(few_methods: None) -> None:
    assert list(compare_methods(FORMULA, RELEASE, "laplace", draws=300, seed=4, run=QUIET).posteriors) == ["laplace"]


def test_too_few_draws_for_an_effective_number(few_methods: None) -> None:
    found = compare_methods(FORMULA, RELEASE, ["laplace"], draws=2, chains=1, seed=4, run=QUIET)
    assert np.isnan(found.methods().loc["laplace", "ess"])


def test_every_caution_is_of_a_method() -> None:
    assert set(CAUTIONS) == set(methods_module.METHODS) - {*methods_module.DEFAULTS.values(), "adassp"}


def test_the_default_of_fit_is_the_one_that_is_marked() -> None:
    import inspect

    assert inspect.signature(nw.fit).parameters["method"].default == DEFAULT_METHOD
    assert DEFAULT_METHOD in methods_module.METHODS and DEFAULT_METHOD not in CAUTIONS


def test_the_picture_has_a_panel_for_each_term(found: MethodComparison, tmp_path) -> None:
    figure = found.plot(tmp_path / "methods.svg")
    panels = figure.axes[0].child_axes
    assert len(panels) == 3 and "picky" not in (tmp_path / "methods.svg").read_text()
    assert all([patch.get_gid() for patch in panel.patches] == ["default"] for panel in panels)
    assert "conditional" in repr(found) and "<table" in found._repr_html_()


@pytest.mark.parametrize("methods", [["fast"], ["fast", "laplace"]])
def test_an_interval_without_width_can_be_drawn_and_hides_no_other(methods: list[str]) -> None:
    figure = compare_methods(FORMULA, RELEASE, methods, draws=300, seed=4, run=QUIET).plot()
    sigma = figure.axes[0].child_axes[-1]
    low, high = sigma.get_xlim()
    assert high - low > 0.01
    means = [line.get_xdata()[0] for line in sigma.lines if line.get_marker() == "o"]
    assert means[-1] == pytest.approx(10.0 if methods == ["fast"] else 5.0, rel=0.1) and low < means[-1] < high


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_every_method_fits_or_says_why_not(mechanism: str) -> None:
    release = made.consortium(3, 2, sd=8.0, mechanism=mechanism)
    found = compare_methods(FORMULA, release, draws=300, chains=2, seed=4, run=QUIET)
    assert {*found.posteriors, *found.refused} == set(methods_module.methods_for("gram")) and "conditional" in found.posteriors
    truth = 0.2
    for name, posterior in found.posteriors.items():
        draws = posterior.draws("age")
        assert abs(draws.mean() - truth) < 6 * draws.std() + 0.02, name
