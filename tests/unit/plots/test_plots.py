"""Pictures: what they contain, that nothing overlaps or is cut off, and that pyplot is left alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from tests.refusals import about
from tests.unit.results import draws_with_known_answers as known

from noisewise.errors import ResultError
from noisewise.plots.densities import kernel_density
from noisewise.plots.picture import Estimate, Picture, named_references
from noisewise.results import Posterior

KINDS = ("forest", "posterior")
REFERENCE = {
    "true value": dict(zip(known.TERMS, known.CENTRE, strict=True)),
    "non-private fit": {"age": 0.047, "sigma": 1.48},
}


def wide(count: int) -> Posterior:
    generator = np.random.default_rng(3)
    design = known.wide_design(count)
    scale = np.concatenate([10.0 ** generator.uniform(-4, 4, count + 1), [1.0]])
    samples = scale * (5 + generator.standard_normal((2, 300, count + 2)))
    samples[..., -1] = np.abs(samples[..., -1])
    return Posterior(samples, (*design.terms, "sigma"), design, known.info(formula=design.formula), known.prior(design.terms))


def host(figure: Figure) -> Axes:
    return figure.axes[0]


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in host(figure).child_axes if isinstance(axes, Axes)]


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in host(figure).texts]


def legend(figure: Figure) -> list[str]:
    found = host(figure).get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def marked(axes: Axes, gid: str) -> list[Any]:
    return [artist for artist in axes.get_children() if artist.get_gid() == gid]


def marker_values(axes: Axes, marker: str) -> list[float]:
    return [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_marker() == marker]


@pytest.mark.parametrize("kind", KINDS)
def test_each_term_has_its_panel_name_and_numbers(kind: Any) -> None:
    post = known.posterior()
    figure = post.plot(kind)
    assert isinstance(figure, Figure)
    assert len(panels(figure)) == 5
    shown = words(figure)
    assert shown[0] == known.FORMULA
    assert "conditional" in shown[1]
    assert "epsilon" not in " ".join(shown)
    for term in known.TERMS:
        assert term in shown
    row = post.summary().loc["age"]
    numbers = f"{row['mean']:.4f} [{row['2.5%']:.4f}, {row['97.5%']:.4f}]"
    assert numbers in shown


@pytest.mark.parametrize("kind", KINDS)
def test_chosen_terms_only_in_their_order(kind: Any) -> None:
    figure = known.posterior().plot(kind, terms=["sigma", "age"])
    assert len(panels(figure)) == 2
    low, high = panels(figure)[0].get_xlim()
    assert low < 1.5 < high < 3
    assert "Intercept" not in words(figure)


def test_forest_draws_the_intervals_where_the_summary_has_them() -> None:
    post = known.posterior()
    figure = post.plot()
    for interval, position in ((0.95, 0), (0.5, 1)):
        table = post.summary(interval)
        for axes, term in zip(panels(figure), known.TERMS, strict=True):
            bars = [collection.get_segments()[0][:, 0] for collection in axes.collections]  # type: ignore[attr-defined]
            np.testing.assert_allclose(bars[position], table.loc[term].iloc[2:4].to_numpy(dtype=float))
            assert marker_values(axes, "o") == pytest.approx([table.loc[term, "mean"]])


def test_the_zero_line_is_where_zero_is_near() -> None:
    figure = known.posterior().plot()
    shown = {term: bool(marked(axes, "zero")) for axes, term in zip(panels(figure), known.TERMS, strict=True)}
    assert shown == {"Intercept": True, "age": True, "ward[T.B]": True, "ward[T.C]": True, "sigma": False}
    samples = known.normal_samples()
    samples[..., 0] += 1000
    assert not marked(panels(known.posterior(samples).plot())[0], "zero")


def test_forest_shows_the_prior_and_where_it_goes_on() -> None:
    post = known.posterior()
    first = panels(post.plot())[0]
    assert len(marked(first, "prior")) == 1
    assert len(marked(first, "prior goes on")) == 2  # ± 19.6 is outside an axis around 3
    assert "prior 95 %" in legend(post.plot())
    bare = Posterior(post.samples, post.terms, post.design, post.info)
    assert not marked(panels(bare.plot())[0], "prior")
    assert "prior 95 %" not in legend(bare.plot())


def test_posterior_shows_the_prior_density_at_its_true_height() -> None:
    figure = known.posterior().plot("posterior")
    age = panels(figure)[1]
    (line,) = marked(age, "prior")
    np.testing.assert_allclose(line.get_ydata(), 0.0398942, rtol=1e-3)  # N(0, 10) near 0
    (curve,) = marked(age, "posterior")
    area = np.trapezoid(curve.get_ydata(), curve.get_xdata())
    assert area == pytest.approx(1.0, abs=0.02)


def test_references_are_marked_and_named() -> None:
    figure = known.posterior().plot(reference=REFERENCE)
    assert legend(figure)[-2:] == ["true value", "non-private fit"]
    intercept, age = panels(figure)[:2]
    assert marker_values(intercept, "D") == [3.0]
    assert marker_values(intercept, "^") == []
    assert marker_values(age, "D") == [0.05]
    assert marker_values(age, "^") == [0.047]
    densities = known.posterior().plot("posterior", reference=REFERENCE)
    assert [line.get_xdata()[0] for line in marked(panels(densities)[1], "reference")] == [0.05, 0.047]
    assert legend(densities)[-2:] == ["true value", "non-private fit"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_far_reference_is_still_inside_the_axis(kind: Any) -> None:
    figure = known.posterior().plot(kind, reference={"age": 0.9})
    low, high = panels(figure)[1].get_xlim()
    assert low < 0.9 < high
    assert legend(figure)[-1] == "reference"


def test_references_are_checked() -> None:
    post = known.posterior()
    for reference, found in (
        ({"weight": 1.0}, "weight"),
        ({"true": {"weight": 1.0}}, "weight in true"),
        ({"age": float("nan")}, "finite"),
        ({"age": "high"}, "numbers"),
        ({"age": 1.0, "true": {"age": 1.0}}, "both"),
        ([1.0], "list"),
    ):
        with pytest.raises(ResultError, match=found):
            post.plot(reference=reference)  # type: ignore[arg-type]
    assert named_references({}, known.TERMS) == {}
    series = post.summary()["mean"]
    assert named_references({"another fit": series}, known.TERMS)["another fit"]["age"] == series["age"]
    assert list(named_references(series, known.TERMS)) == ["reference"]


def test_what_is_asked_is_checked(tmp_path: Path) -> None:
    post = known.posterior()
    with pytest.raises(ResultError, match="'forest' or 'posterior'"):
        post.plot("pie")  # type: ignore[arg-type]
    with pytest.raises(ResultError, check=about("term", found="weight")):
        post.plot(terms=["weight"])
    with pytest.raises(ResultError, match="at least one term"):
        post.plot(terms=[])
    with pytest.raises(ResultError, match="could not be written"):
        post.plot(path=tmp_path / "picture.unknown")
    with pytest.raises(ResultError, match="could not be written"):
        post.plot(path=tmp_path / "nowhere" / "picture.png")


def test_a_picture_has_room_for_a_hundred_terms() -> None:
    names = tuple(f"x{number}" for number in range(101))
    with pytest.raises(ResultError, match=r"at most 100 terms.*terms=\['x0', 'x1'\]"):
        Picture(names, np.zeros((4, 101)), None, {}, "y ~ .", "")
    assert Picture(names[1:], np.zeros((4, 100)), None, {}, "y ~ .", "").estimate(99).mean == 0.0


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_picture_is_written(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{ending}"
    known.posterior().plot(path=path)
    assert path.stat().st_size > 5000


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Everything written or drawn that must not overlap: words, legend, and panels with their tick labels."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    figure.draw(renderer)
    found = [(text.get_text(), text.get_window_extent(renderer)) for text in host(figure).texts]
    frame = host(figure).get_legend()
    assert frame is not None
    found.append(("legend", frame.get_window_extent(renderer)))
    for place, axes in enumerate(panels(figure)):
        found.append((f"panel {place}", axes.get_window_extent(renderer)))
        low, high = axes.get_xlim()
        labels = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
        found += [(f"tick {place}", label.get_window_extent(renderer)) for label in labels if label.get_text()]
    return found


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    found = [(name, box.padded(-0.5)) for name, box in boxes(figure)]
    return [
        (name, other)
        for place, (name, box) in enumerate(found)
        for other, second in found[place + 1 :]
        if box.overlaps(second) and not (name.startswith("panel") and other == name.replace("panel", "tick"))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_nothing_overlaps_and_nothing_is_cut_off(kind: Any, count: int) -> None:
    post = wide(count)
    reference = {name: dict.fromkeys(post.terms[:-1], 0.0) for name in ("true value", "non-private fit", "another site")}
    figure = post.plot(kind, reference=reference)
    assert overlaps(figure) == []
    sheet = figure.bbox
    for name, box in boxes(figure):
        assert box.x0 >= sheet.x0 and box.x1 <= sheet.x1 and box.y0 >= sheet.y0 and box.y1 <= sheet.y1, name


def test_the_overlap_test_finds_an_overlap() -> None:
    figure = known.posterior().plot()
    host(figure).text(0.5, 0.3, "in the way of a panel", transform=host(figure).transAxes, fontsize=40)
    assert overlaps(figure)


def test_a_given_axes_is_used() -> None:
    figure = Figure(figsize=(12, 6))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    post = known.posterior()
    assert post.plot("forest", ax=left) is figure
    assert post.plot("posterior", ax=right) is figure
    assert len(left.child_axes) == len(right.child_axes) == 5
    assert len(figure.axes) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_odd_draws_and_names_can_be_drawn(kind: Any) -> None:
    samples = known.normal_samples(draws=20)
    samples[..., 0] = 5.0  # never moves
    samples[..., 1] *= 1e-9
    samples[..., 2] *= 1e9
    post = known.posterior(samples, formula="cost_$ ~ $a_ + b^{$ + " + "long_name + " * 60 + "x")
    figure = post.plot(kind, reference={"in $ and %": {"age": 0.0}})
    figure.draw(figure.canvas.get_renderer())  # type: ignore[attr-defined]
    assert all(not text.get_parse_math() for text in host(figure).texts)
    assert words(figure)[0].count("\n") == 2
    assert words(figure)[0].endswith("…")


def test_pyplot_is_not_imported() -> None:
    import subprocess

    code = (
        "from tests.unit.results import draws_with_known_answers as known, sys; known.posterior().plot();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    ).replace("as known, sys;", "as known\nimport sys;")
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ((0.36123, -0.1799, 0.2, 0.5, 0.9134), "0.36 [−0.18, 0.91]"),
        ((-222.4, -326.2, -250, -200, -119.0), "−222 [−326, −119]"),
        ((61234.5, 60100.0, 61000, 61500, 62345.0), "61,234 [60,100, 62,345]"),
        ((2e9, 1e9, 1.5e9, 2.5e9, 3e9), "2e+09 [1e+09, 3e+09]"),
        ((2e-9, 1e-9, 1.5e-9, 2.5e-9, 3e-9), "2e−09 [1e−09, 3e−09]"),
        ((5.0, 5.0, 5.0, 5.0, 5.0), "5.000 [5.000, 5.000]"),
    ],
)
def test_numbers_are_written_with_the_digits_they_support(values: tuple[float, ...], label: str) -> None:
    assert Estimate(*values).label() == label


def test_kernel_density_of_known_draws() -> None:
    """Against the normal density that a normal kernel turns N(0, 1) into: variance 1 + bandwidth²."""
    draws = np.random.default_rng(5).standard_normal(100_000)
    grid = np.linspace(-4, 4, 401)
    width = np.sqrt(1 + (1.06 * 100_000**-0.2) ** 2)
    expected = np.exp(-0.5 * (grid / width) ** 2) / (width * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(kernel_density(draws, grid), expected, atol=0.012)
    folded = kernel_density(np.abs(draws), np.linspace(0, 4, 401), floor=0.0)
    assert folded[0] == pytest.approx(0.798, abs=0.03)  # without reflection it would be half of that
    assert np.isfinite(kernel_density(np.full(50, 2.0), grid)).all()


def test_text_is_never_read_as_mathematics() -> None:
    figure = known.posterior().plot(reference={"$x$": {"age": 0.0}})
    found = host(figure).get_legend()
    assert found is not None
    assert isinstance(found.get_texts()[-1], Text)
    assert not found.get_texts()[-1].get_parse_math()
