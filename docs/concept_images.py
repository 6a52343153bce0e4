"""The pictures of the page about concepts, and the table behind its sliders; made by ``python docs/make_images.py``.

Everything is simulated: tables that do not exist, with the law of real privacy noise from a seed.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import noisewise as nw
from noisewise.planning.budget import Intended, together
from noisewise.planning.intervals import FastFit
from noisewise.planning.population import Population
from noisewise.planning.simulation import Simulation
from noisewise.schema import Basis, Design

HERE = Path(__file__).parent
IMAGES = HERE / "images"
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#aa4499"
INK, FAINT = "#222222", "#666666"
DELTA = 1e-6
SCHEMA = nw.Schema.from_dict({
    "adjacency": "replace-one", "unit": "row",
    "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}},
})
FORMULA, EFFECTS, SIGMA = "stay ~ age + ward", {"age": 0.1, "ward[T.B]": 1.0}, 4.0
WARDS = {"ward": {"shares": [0.5, 0.3, 0.2]}}
EPSILONS = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
ROWS = (5_000, 10_000, 30_000, 100_000, 1_000_000)


def _finish(figure: Figure, name: str) -> None:
    figure.savefig(IMAGES / name, dpi=150, facecolor="white")


def _plain(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def flow() -> None:
    """From rows to a posterior: who sees what."""
    figure = Figure(figsize=(9.2, 3.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 92), ylim=(1.5, 33.5))
    axes.set_axis_off()
    axes.add_patch(FancyBboxPatch((1.5, 2.5), 51, 26, boxstyle="round,pad=0.4", facecolor="#f3f3f3", edgecolor="#bbbbbb"))
    axes.text(3, 30.2, "stays with the data holder", color=FAINT, fontsize=10)
    axes.text(56, 30.2, "anyone may have it", color=FAINT, fontsize=10)
    boxes = [(3, "rows", "one line a person,\nclipped to public\nbounds", "#ffffff", INK),
             (20.5, "statistic", "sums of products:\none small matrix,\nwhatever the rows", "#ffffff", INK),
             (38, "+ noise", "calibrated to what\none person can\nchange, and ε", "#fbe7db", ORANGE),
             (57, "release file", "noisy matrix, and\nthe law of its noise,\nin plain words", "#dcecf6", BLUE),
             (75.5, "posterior", "coefficients with\nintervals that know\nof the noise", "#dcf1ea", GREEN)]
    for left, title, words, colour, edge in boxes:
        axes.add_patch(FancyBboxPatch((left, 6), 13, 19, boxstyle="round,pad=0.3", facecolor=colour, edgecolor=edge,
                                      linewidth=1.6))
        axes.text(left + 6.5, 22.2, title, ha="center", va="center", fontsize=12, fontweight="bold", color=edge)
        axes.text(left + 6.5, 13.6, words, ha="center", va="center", fontsize=9.2, color=INK, linespacing=1.5)
    for (left, *_), (following, *_) in pairwise(boxes):
        axes.add_patch(FancyArrowPatch((left + 13.6, 15.5), (following - 0.6, 15.5), arrowstyle="-|>", mutation_scale=16,
                                       color=INK, linewidth=1.4))
    axes.text(42.5, 3.9, "budget is spent here, once", ha="center", color=ORANGE, fontsize=9)
    axes.text(82, 3.4, "as many analyses as one likes:\nnothing more is spent", ha="center", va="center", color=GREEN, fontsize=9)
    _finish(figure, "concept-flow.png")


def odds() -> None:
    """What an attacker may come to believe, at most, for several epsilons."""
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    before = np.linspace(0, 1, 401)
    for epsilon, colour, style in ((3.0, PINK, ":"), (1.0, ORANGE, "--"), (0.5, BLUE, "-."), (0.1, GREEN, "-")):
        after = before * np.exp(epsilon) / (before * np.exp(epsilon) + 1 - before)
        axes.plot(before, after, color=colour, linestyle=style, linewidth=2.4, label=f"ε = {epsilon:g}")
    axes.plot(before, before, color="#999999", linewidth=1.2, label="nothing learnt")
    axes.plot([0.5], [np.e / (1 + np.e)], "o", color=ORANGE, markersize=8)
    axes.annotate("an even guess becomes\nat most 73 % at ε = 1", (0.5, np.e / (1 + np.e)), xytext=(0.56, 0.86), fontsize=10,
                  color=INK, ha="right", va="center", arrowprops={"arrowstyle": "-", "color": "#999999"})
    axes.legend(frameon=False, loc="lower right", fontsize=11, handlelength=3)
    axes.set(xlabel="what an attacker believed before: probability that your row is as he thinks", xlim=(0, 1), ylim=(0, 1),
             ylabel="the most that can be believed after")
    axes.set_title("ε bounds how far any belief about one row can move (δ = 0)", loc="left", fontweight="bold", fontsize=11)
    _plain(axes)
    _finish(figure, "concept-odds.png")


def _plan(epsilons: tuple[float, ...], rows: tuple[int, ...], repeats: int) -> Any:
    return nw.plan_power(SCHEMA, FORMULA, rows=list(rows), epsilon=list(epsilons), delta=DELTA, effects=EFFECTS, sigma=SIGMA,
                         columns=WARDS, repeats=repeats, compare=False)


def interval_widths() -> None:
    """Width of an interval against epsilon and rows, and the table behind the sliders: ``plan_power`` on one grid."""
    plan = _plan(EPSILONS, ROWS, 80)
    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.subplots()
    shown = (5_000, 30_000, 100_000, 1_000_000)
    for rows, colour, mark in zip(shown, (ORANGE, BLUE, GREEN, PINK), ("o", "D", "^", "s"), strict=True):
        lines = [plan.cell(rows, epsilon).line("age") for epsilon in EPSILONS]
        axes.plot(EPSILONS, [line.width for line in lines], color=colour, marker=mark, markersize=5)
        axes.plot(EPSILONS, [line.width_without_privacy for line in lines], color=colour, linestyle=":", linewidth=1.5)
        axes.annotate(f"{rows:,} rows", (EPSILONS[-1], lines[-1].width), color=colour, fontsize=10, va="bottom",
                      xytext=(8, -3), textcoords="offset points", annotation_clip=False)
    axes.text(0.98, 0.96, "dotted: without privacy", color=FAINT, fontsize=10, ha="right", va="top", transform=axes.transAxes)
    axes.set(xscale="log", yscale="log", xlabel="ε  (more privacy ←   → less privacy)",
             ylabel="width of the 95 % interval\n(days of stay per year of age)")
    axes.set_xticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
    axes.set_title("What ε means for your interval", loc="left", fontweight="bold")
    _plain(axes)
    _finish(figure, "concept-width.png")
    _write_table(plan)


def _write_table(plan: Any) -> None:
    """The numbers behind the sliders, as a script: a page that is opened as a file may not fetch one."""
    terms = {term: {"effect": effect, "prior": _digits(plan.cells[0].line(term).width_prior)} for term, effect in EFFECTS.items()}
    for term, entry in terms.items():
        lines = [[plan.cell(rows, epsilon).line(term) for epsilon in EPSILONS] for rows in ROWS]
        entry["width"] = [[_digits(line.width) for line in row] for row in lines]
        entry["power"] = [[_digits(line.power) for line in row] for row in lines]
        entry["without"] = [_digits(row[0].width_without_privacy) for row in lines]
    table = {"epsilon": EPSILONS, "rows": ROWS, "delta": DELTA, "repeats": plan.repeats, "formula": FORMULA, "terms": terms}
    text = json.dumps(table, separators=(",", ":"))
    (HERE / "concepts-width-table.js").write_text(
        f"// Made by `python docs/make_images.py interval_widths`: medians of simulated releases, from plan_power.\n"
        f"window.noisewiseWidths = {text};\n", encoding="utf-8")


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def clipping() -> None:
    """Bounds that are too tight cut off the truth, bounds that are too loose pay for room that nobody is in."""
    random, rows, uppers = np.random.default_rng(1), 10_000, (6, 9, 13, 20, 40, 80)
    many, bias, width = _stays(random, 1_000_000), [], []
    for upper in uppers:
        schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
            "stay": {"bounds": [0, upper]}, "age": {"bounds": [18, 98]}}})
        widths = []
        fit = FastFit(Design.of("stay ~ age", Basis.of(schema)), "gaussian", None, 0.95)
        for number in range(16):
            table = _stays(random, rows)
            ends, _ = fit(nw.release(table, schema, epsilon=1, delta=DELTA), number)
            widths.append(ends.upper[1] - ends.lower[1])
        lost = many["stay"] - np.clip(many["stay"], 0, upper)
        bias.append(max(float(np.polyfit(many["age"], lost, 1)[0]), 1e-6))
        width.append(np.median(widths))
    figure = Figure(figsize=(9.2, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    left.hist(_stays(random, 20_000)["stay"], bins=np.linspace(0, 42, 43), color="#bbbbbb")
    for upper, colour, words in ((6, ORANGE, "too tight:\ncuts off"), (20, GREEN, "sensible"), (40, PINK, "loose:\nmore noise")):
        left.axvline(upper, color=colour, linewidth=2.2, linestyle="--")
        left.annotate(words, (upper, 3_500), color=colour, xytext=(5, 0), textcoords="offset points", va="top", fontsize=9.5)
    left.set(xlabel="days of stay; dashed: upper bound", ylabel="rows", xlim=(0, 58), ylim=(0, 3_700))
    right.plot(uppers, width, "o-", color=BLUE)
    right.plot(uppers, bias, "D--", color=ORANGE)
    right.annotate("width of the 95 % interval", (uppers[-1], width[-1]), color=BLUE, xytext=(2, -66), textcoords="offset points",
                   ha="right", fontsize=10)
    right.annotate("error by clipping", (uppers[1], bias[1]), color=ORANGE, xytext=(12, 4), textcoords="offset points",
                   fontsize=10)
    right.axhline(0.05, color="#999999", linewidth=1)
    right.annotate("the effect itself", (uppers[-1], 0.05), color=FAINT, ha="right", va="bottom", fontsize=9)
    right.set(xscale="log", yscale="log", xlabel="declared upper bound of the stay (days)", ylabel="days of stay per year of age",
              ylim=(5e-4, 0.1))
    right.set_xticks(uppers, [str(upper) for upper in uppers])
    right.set_xticks([], minor=True)
    for axes, title in ((left, "Bounds are public and clip"), (right, "10,000 rows, ε = 1: what bounds cost")):
        axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
        _plain(axes)
    _finish(figure, "concept-clipping.png")


def _stays(random: np.random.Generator, rows: int) -> dict[str, Any]:
    age = random.uniform(18, 98, rows)
    return {"age": age, "stay": 1 + 0.05 * age + random.gamma(1.5, 2.5, rows)}


def noise_aware() -> None:
    """The same releases, treated as exact and treated as what they are: by ``fit``, with its default method."""
    population = Population.of(FORMULA, Basis.of(SCHEMA), None, "gaussian", EFFECTS, SIGMA, WARDS, {})
    simulation = Simulation(population=population, family="gaussian", delta=DELTA, mechanism=None,
                            holders=1, prior=None, interval=0.95, repeats=600, seed=3, method="fast")
    rows, epsilons, place = 10_000, (0.2, 0.5, 1.0, 2.0, 5.0, 10.0), population.design.terms.index("age")
    both: dict[float, tuple[Any, Any]] = {}
    for epsilon in epsilons:
        releases = [simulation.release(rows, epsilon, number) for number in range(simulation.repeats)]
        naive = np.array([_naive(population, release)[:, place] for release in releases])
        fits = nw.fit_many(FORMULA, releases, draws=250, seed=3)
        both[epsilon] = naive, np.array([fit.summary().loc["age", ["2.5%", "97.5%"]] for fit in fits], float)
        print(f"epsilon {epsilon}: fit holds the truth in {_held(both[epsilon][1]).mean():.1%}, sums treated as exact in "
              f"{_held(naive).mean():.1%}")
    figure = Figure(figsize=(9.4, 4.4), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1, 1, 1.25))
    titles = ("noisy sums treated as exact", "noise-aware, by fit")
    for axes, ends, title in zip(panels[:2], both[1.0], titles, strict=True):
        held = _held(ends)
        for number in range(50):
            axes.plot(ends[number], [number, number], color=BLUE if held[number] else ORANGE,
                      linewidth=1.5 if held[number] else 2.2, linestyle="-" if held[number] else (0, (2, 0.8)))
        axes.axvline(EFFECTS["age"], color=INK, linewidth=1)
        axes.set(xlim=(0.06, 0.14), yticks=[], xlabel="effect of age; line: the truth")
        axes.set_title(f"{title}:\n{held.mean():.1%} hold the truth", loc="left", fontsize=10.5, fontweight="bold")
        axes.spines[["top", "right", "left"]].set_visible(False)
    shares = [[_held(ends).mean() for ends in pair] for pair in both.values()]
    styles = ((ORANGE, "D--", 2), (BLUE, "o-", 0))
    for values, (colour, mark, at), label in zip(zip(*shares, strict=True), styles, titles, strict=True):
        panels[2].plot(epsilons, values, mark, color=colour)
        panels[2].annotate(label, (epsilons[at], values[at]), color=colour, xytext=(5, -18), textcoords="offset points",
                           fontsize=9)
    panels[2].axhline(0.95, color="#999999", linewidth=1)
    panels[2].set(xscale="log", ylim=(0, 1.02), xlabel="ε", ylabel="share of 95 % intervals that hold the truth")
    panels[2].set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    panels[2].set_xticks([], minor=True)
    panels[2].set_title(f"{simulation.repeats} releases each, 10,000 rows", loc="left", fontsize=10.5, fontweight="bold")
    _plain(panels[2])
    _finish(figure, "concept-noise-aware.png")


def _held(ends: Any) -> Any:
    """Of intervals, one in a row: which hold the true effect of age."""
    return (ends[:, 0] <= EFFECTS["age"]) & (EFFECTS["age"] <= ends[:, 1])


def _naive(population: Population, release: nw.Release) -> Any:
    """Least squares and its textbook interval, as if the matrix were that of the rows."""
    matrix, features, target = release.contents.matrix, population.design.features, population.design.target
    gram = features.T @ matrix @ features
    beta = np.linalg.solve(gram, features.T @ matrix @ target)
    residual = target - features @ beta
    variance = max(float(residual @ matrix @ residual), 0.0) / matrix[0, 0]
    reach = 1.96 * np.sqrt(np.maximum(variance * np.diag(np.linalg.inv(gram)), 0.0))
    return np.array([beta - reach, beta + reach])


def budget() -> None:
    """What several releases about the same people cost together."""
    counts, delta = list(range(1, 21)), 1e-5
    figure = Figure(figsize=(7.6, 3.9), layout="constrained")
    axes = figure.subplots()
    for rule, colour, mark, words in (("basic", ORANGE, "D", "added up"), ("planned", BLUE, "o", "composed, as the ledger does")):
        totals = [together([Intended.parse(f"{count}*gaussian:0.5:1e-7")], delta, rule, []).epsilon  # type: ignore[arg-type]
                  for count in counts]
        axes.plot(counts, totals, color=colour, marker=mark, markersize=5)
        axes.annotate(words, (counts[-1], totals[-1]), color=colour, xytext=(-8, 8), textcoords="offset points", ha="right")
    axes.set(xlabel="releases about the same people, each ε = 0.5", ylabel="ε of all together", xlim=(0, 20.6), ylim=(0, None))
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_title("Budgets add up, but less than one by one (δ = 10⁻⁵ in all)", loc="left", fontweight="bold", fontsize=11)
    _plain(axes)
    _finish(figure, "concept-budget.png")


PICTURES = (flow, odds, interval_widths, clipping, noise_aware, budget)
