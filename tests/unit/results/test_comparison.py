"""`Comparison` from arrays with known answers: tables, formulas, warnings, and both pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.refusals import about
from tests.unit.plots.test_plots import host, legend, marked, overlaps, panels, words
from tests.unit.results import draws_with_known_answers as known

from noisewise.errors import ConvergenceWarning, NoisewiseWarning, ResultError
from noisewise.plots.sheet import MARGIN, TITLE_SIZE, heading, text_width
from noisewise.results import Comparison
from noisewise.results.comparison import Question
from noisewise.schema import Basis, Design, Schema

MEMBERS = np.array([[True, False], [True, True], [False, False], [False, True]])
PROBABILITIES = np.array([0.5, 0.3, 0.15, 0.05])


def small(**changes: Any) -> Comparison:
    """stay ~ age + ward, four models; the draws have the coefficients of the first model for 80 % of the time."""
    design = known.design()
    samples = np.tile([1.0, 0.1, 0.0, 0.0, 2.0], (100, 1))
    samples[80:, 1] = 0.0
    values: dict[str, Any] = {
        "design": design, "question": Question(("age", "ward"), ("Intercept",), "zellner-siow", "uniform", "noise-aware"),
        "members": MEMBERS, "probabilities": PROBABILITIES, "log_bayes_factors": np.array([3.0, 2.0, 0.0, -1.0]),
        "samples": samples, "info": known.info(method="model-averaging", chains=1, draws=100),
        "without_noise": np.column_stack([np.linspace(0, 1, 101), np.linspace(0.3, 0.4, 101)]),
    }
    return Comparison(**{**values, **changes})


def wide(count: int, others: int = 0, length: int = 0) -> Comparison:
    """So many terms, with names of so many letters, and other methods beside."""
    generator = np.random.default_rng(count)
    names = [f"x{place:02d}" + "_of_the_year" * (length * (place % 2)) for place in range(count)]
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [-1, 1]} for name in ["y", *names]}})
    design = Design.of("y ~ " + " + ".join(names), Basis.of(schema))
    models = min(2**count, 60)
    members = generator.uniform(size=(models, count)) < generator.uniform(size=count)
    probabilities = np.sort(generator.dirichlet(np.full(models, 0.3)))[::-1]
    found = Comparison(design, Question(tuple(names), ("Intercept",), "zellner-siow", "beta-binomial", "noise-aware"), members,
                       probabilities, np.log(probabilities + 1e-9), generator.uniform(size=(50, count + 2)), known.info(),
                       generator.beta(0.2, 0.2, size=(200, count)))
    more = {name: found for name in ("ridge", "thresholded", "histogram")[:others]}
    return Comparison(**{**vars(found), "others": more})


def test_inclusion_probabilities_and_bands() -> None:
    table = small().inclusion(0.9)
    assert table["probability"].tolist() == pytest.approx([0.8, 0.35])
    assert table["lower"].tolist() == pytest.approx([0.05, 0.305]) and table["upper"].tolist() == pytest.approx([0.95, 0.395])
    assert small(without_noise=None).inclusion()[["lower", "upper"]].isna().all().all()
    with pytest.raises(ResultError, check=about("interval")):
        small().inclusion(95)


def test_models_from_the_most_probable_on() -> None:
    table = small().models(3)
    assert table["terms"].tolist() == ["age", "age + ward", ""] and table["size"].tolist() == [1, 2, 0]
    assert table["log_bayes_factor"].tolist() == [3.0, 2.0, 0.0] and table.index.tolist() == [1, 2, 3]
    assert len(small().models(100)) == 4
    with pytest.raises(ResultError) as refused:
        small().models(0)
    assert refused.value.argument == "top"


def test_the_median_model_is_a_formula() -> None:
    assert small().median_model() == "stay ~ age"
    assert small(probabilities=np.array([0.1, 0.1, 0.7, 0.1])).median_model() == "stay ~ 1"
    assert small().formula(["ward"]) == "stay ~ ward"
    kept = Question(("age",), ("Intercept", "ward"), "bic", "uniform", "noise-aware")
    one = small(question=kept, members=MEMBERS[:2, 1:], probabilities=np.array([0.2, 0.8]), log_bayes_factors=np.zeros(2),
                without_noise=None)
    assert one.median_model() == "stay ~ age + ward"  # in the formula's order


def test_averaged_coefficients_include_the_zeros() -> None:
    table = small().coefficients(0.5)
    assert table.loc["age", "mean"] == pytest.approx(0.08) and table.loc["age", "upper"] == pytest.approx(0.1)
    assert table["probability"].tolist() == pytest.approx([1.0, 0.8, 0.35, 0.35])
    posterior = small().posterior()
    assert posterior.samples.shape == (1, 100, 5) and posterior.diagnose() == ["too few draws (100; need at least 400)"]


def test_agreement_needs_several_methods() -> None:
    with pytest.raises(ResultError, check=about("method")):
        small().agreement()
    rows = ({"term": "age", "a": 0.9, "b": 0.8, "difference": 0.1, "verdict": "agree: in"},)
    assert small(verdicts=rows).agreement().loc["age", "verdict"] == "agree: in"


def test_warnings_say_all_that_is_wrong() -> None:
    with pytest.warns(NoisewiseWarning, match="hides") as told:
        small(notes=("the noise hides something",)).warn_if_bad()
    assert not issubclass(told[0].category, ConvergenceWarning)
    doubtful = small(notes=("hides",), info=known.info(doubts=("chains differ",)))
    with pytest.warns(ConvergenceWarning, match="chains differ; hides"):
        doubtful.warn_if_bad()
    assert "chains differ" in doubtful._repr_html_() and doubtful.posterior().diagnose()[0] == "chains differ"
    small().warn_if_bad()


@pytest.mark.parametrize("changes", [
    {"members": MEMBERS[:3]}, {"probabilities": PROBABILITIES[:3]}, {"samples": np.zeros((5, 3))},
    {"log_bayes_factors": np.array([0.0, 1.0, np.nan, 2.0])}, {"without_noise": np.zeros((4, 3))},
])
def test_arrays_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ResultError, match="finite and have shape"):
        small(**changes)


def test_arrays_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        small().probabilities[0] = 1.0


def test_it_says_what_it_is() -> None:
    found = small()
    assert "4 models" in repr(found) and "has age (0.50)" in repr(found) and "random walk" in small(complete=False).describe()
    assert "<table" in found._repr_html_() and "zellner-siow" in found._repr_html_()


def test_the_picture_of_probabilities_shows_the_table() -> None:
    figure = small().plot(interval=0.9)
    (panel,) = panels(figure)
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in dots] == pytest.approx([0.8, 0.35])
    bands = [collection for collection in panel.collections if collection.get_gid() != "guide"]
    assert [tuple(band.get_segments()[0][:, 0]) for band in bands] == [pytest.approx((0.05, 0.95)), pytest.approx((0.305, 0.395))]
    assert "0.800 [0.05, 0.95]" in words(figure) and "age" in words(figure) and marked(panel, "half")
    assert any("90 %" in label for label in legend(figure))
    bare = small(without_noise=None).plot()
    assert "0.800" in words(bare) and legend(bare) == ["given the release"] and not panels(bare)[0].patches


def test_other_methods_are_marked() -> None:
    other = small(probabilities=np.array([0.05, 0.1, 0.8, 0.05]))
    figure = small(others={"ridge": other}).plot()
    (marks,) = [line for line in panels(figure)[0].lines if line.get_marker() == "D"]
    assert np.asarray(marks.get_xdata()).tolist() == pytest.approx([0.15, 0.15]) and "ridge" in legend(figure)


def test_the_image_of_the_model_space_shows_widths_and_members() -> None:
    figure = small().plot_models(top=3)
    (panel,) = panels(figure)
    (mesh,) = panel.collections
    assert np.asarray(mesh.get_array()).reshape(2, 3).tolist() == [[1, 1, 0], [0, 1, 0]]
    assert mesh.get_coordinates()[0, :, 0].tolist() == pytest.approx([0.0, 0.5, 0.8, 0.95])
    assert "the 3 most probable of 4 models: 95.0 % together" in words(figure) and "0.800" in words(figure)
    assert "all 4 models" in words(small().plot_models())
    with pytest.raises(ResultError, check=about("top")):
        small().plot_models(top=0)


@pytest.mark.outer(but=["9-2-5"])
@pytest.mark.parametrize(("count", "others", "length"), [(1, 0, 0), (3, 1, 3), (9, 2, 5), (20, 3, 5)])
def test_nothing_overlaps_and_nothing_is_cut_off(count: int, others: int, length: int) -> None:
    found = wide(count, others, length)
    for figure in (found.plot(), found.plot_models()):
        assert overlaps(figure) == []
        assert _cut_off(figure) == []


def _cut_off(figure: Figure) -> list[str]:
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    width, height = figure.get_size_inches() * figure.dpi
    found = [(text.get_text(), text.get_window_extent(renderer)) for text in host(figure).texts]
    found += [("axis", axes.xaxis.get_tightbbox(renderer)) for axes in panels(figure)]
    return [name for name, box in found if box is None or box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height]


def test_pictures_are_written(tmp_path) -> None:
    small().plot(tmp_path / "a.svg")
    small().plot_models(tmp_path / "b.pdf")
    assert "<svg" in (tmp_path / "a.svg").read_text() and (tmp_path / "b.pdf").read_bytes().startswith(b"%PDF")


def test_headings_fit_however_wide_their_letters_are() -> None:
    title = heading("y ~ " + "+".join(f"x{place}" for place in range(25)), "", [], 8.4).title
    assert title.count("\n") >= 1 and text_width(title.split("\n"), TITLE_SIZE, "bold") <= 8.4 - 2 * MARGIN


def test_dollars_in_a_name_are_no_mathematics() -> None:
    assert text_width([r"c$\nosuch$"], 10.0) > text_width(["cnosuch"], 10.0)
