"""Pictures and tables of answers, tests and plans of partition releases."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from noisewise.errors import ResultError
from noisewise.planning.partition import PartitionPlan
from noisewise.planning.partition_answers import Expected, PlanLine
from noisewise.planning.pictures import _apart
from noisewise.results.answers import Answer, Answers, HypothesisTest, HypothesisTests
from noisewise.schema.questions import Criterion, PosteriorProbability, PosteriorQuantile

LONG = "log Bayes factor of " + ", ".join(f"ward[T.level number {place}]" for place in range(9))


def one(name: str, kind: str, values: tuple[float, float, float], limits: tuple[float, float] | None = None) -> Answer:
    lower, point, upper = values
    return Answer(name, kind, point, lower, upper, f"{name} is {point}.", np.linspace(lower, upper, 201), limits=limits)


ANSWERS = Answers("y ~ $x$ + ward", 50, 0.9, (
    one("P($x$ <= 0)", "probability", (0.0, 0.001, 0.4)),
    one("P(x not zero)", "hypothesis probability", (0.2, 0.6, 1.0)),
    one("x", "coefficient", (1.02e-5, 1.04e-5, 1.06e-5)),
    one("near zero", "coefficient", (1.0, 2.0, 3.0)),
    one(LONG, "log Bayes factor", (-4.0, -3.0, 1.0), (-4.6, 4.6)),
    one("2 log likelihood ratio of x", "likelihood-ratio", (0.0, 0.2, 0.9), (0.0, 7.0)),
))


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes[0].child_axes if isinstance(axes, Axes)]


def marked(axes: Axes, gid: str) -> list[Any]:
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def assert_tidy(figure: Figure) -> None:
    """No words are cut off, and none cover one another."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in figure.axes[0].texts]
    whole = figure.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)
    assert not any(first.shrunk(0.95, 0.8).overlaps(second.shrunk(0.95, 0.8)) for first, second in combinations(boxes, 2))


def test_probabilities_share_an_axis_and_the_rest_have_their_own() -> None:
    figure = ANSWERS.plot()
    assert_tidy(figure)
    chances, *others = panels(figure)
    assert len(others) == 4 and chances.get_xlim() == (-0.02, 1.02)
    points = [float(np.asarray(line.get_xdata())[0]) for line in chances.lines if line.get_marker() == "o"]
    assert points == [0.001, 0.6]
    assert [bool(marked(axes, "limits")) for axes in others] == [False, False, True, True]
    assert [bool(marked(axes, "zero")) for axes in others] == [False, True, True, True]
    low, high = others[2].get_xlim()
    assert low < -4.6 and high > 4.6
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "0.001 [0.000, 0.400]" in words and "P($x$ <= 0)" in words


def test_the_legend_names_what_is_there() -> None:
    def legend(answers: Answers) -> list[str]:
        found = answers.plot().axes[0].get_legend()
        assert found is not None
        return [text.get_text() for text in found.get_texts()]

    assert legend(ANSWERS) == ["answer", "50 %", "90 % interval", "clipping limits"]
    assert "clipping limits" not in legend(Answers("y ~ x", 5, 0.95, ANSWERS.answers[:3]))


@pytest.mark.parametrize("chosen", [slice(0, 1), slice(2, 3)])
def test_one_answer_is_a_picture_too(chosen: slice, tmp_path: Path) -> None:
    figure = Answers("y ~ x", 5, 0.95, ANSWERS.answers[chosen]).plot(tmp_path / "one.svg")
    assert_tidy(figure)
    assert len(panels(figure)) == 1 and (tmp_path / "one.svg").stat().st_size > 1000


def test_a_point_without_width_can_be_drawn() -> None:
    assert_tidy(Answers("y ~ x", 5, 0.95, (one("x", "coefficient", (2.0, 2.0, 2.0)),)).plot())


def test_pictures_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResultError):
        ANSWERS.plot(tmp_path / "no folder" / "x.png")


def test_answers_as_documents_and_tables() -> None:
    document = ANSWERS.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["answers"][4]["limits"] == [-4.6, 4.6] and "draws" not in document["answers"][0]
    assert repr(ANSWERS) == "<Answers 'y ~ $x$ + ward': 6 from 50 parts>"
    assert "<table" in ANSWERS._repr_html_() and str(ANSWERS).count("\n") == 5
    assert ANSWERS["x"].kind == "coefficient"
    with pytest.raises(KeyError):
        ANSWERS["none"]


def test_tests_as_documents_and_sentences() -> None:
    found = HypothesisTest("2 log likelihood ratio of x", 3.1, 0.02, {0.05: (None, 2.5), 0.01: (None, 3.4)}, "greater",
                       {0.05: 3.84, 0.01: 6.63}, "x = 0", "mean 2 log likelihood ratio")
    assert found.sentence == ("x = 0: rejected at 0.05, not rejected at 0.01; p = 0.02. The mean 2 log likelihood ratio over the "
                              "parts is 3.1.")
    results = HypothesisTests("y ~ x", 10, (found,))
    document = results.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["tests"][0]["levels"][1] == {"level": 0.01, "reject_at_or_below": None, "reject_at_or_above": 3.4,
                                                 "uncalibrated": 6.63, "rejected": False}
    assert repr(results) == "<HypothesisTests 'y ~ x': 1 from 10 parts>" and "<table" in results._repr_html_()


def line(parts: int, factor: float) -> PlanLine:
    score = PosteriorProbability("x", [0])  # type: ignore[arg-type]
    return PlanLine(parts, 1000 / parts, (
        Expected("P(x <= b)", "error", score, {"-1.5 sd": factor, "0": 2 * factor, "+1.5 sd": factor}, factor),
        Expected("ratio", "power", Criterion("likelihood-ratio", "x"), {"3 se": 0.1, "5 se": 0.11, "8 se": 0.12}, 0.5),  # type: ignore[arg-type]
        Expected("x", "width", PosteriorQuantile("x"), {"width": 1e6 * factor**8}, factor),  # type: ignore[arg-type]
    ), loss=factor)


def test_plans_are_drawn_with_the_suggestion_marked(tmp_path: Path) -> None:
    plan = PartitionPlan(1000, 2, 1.0, 1e-6, "gaussian", tuple(line(parts, 1 / parts**0.5) for parts in (2, 5, 10, 20)))
    assert plan.parts == 20
    figure = plan.plot(tmp_path / "plan.pdf")
    assert_tidy(figure)
    assert len(panels(figure)) == 3
    for axes in panels(figure):
        [suggested] = marked(axes, "suggested")
        assert suggested.get_xdata()[0] == 20
    assert panels(figure)[1].get_ylim() == (0.0, 1.05)
    assert panels(figure)[2].get_ylim()[1] < 1e6


def test_labels_are_moved_apart_and_stay_inside() -> None:
    moved = _apart([0.5, 0.5, 0.98])
    assert sorted(moved)[1] - sorted(moved)[0] >= 0.1 - 1e-12 and max(_apart([0.99, 1.0, 1.0])) <= 1.0
