"""The pictures of the studies of paper 004."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import chi2

from studies.paper_004_findings import LABELS, ORACLE, SHOWN, Found, with_snr
from studies.paper_004_simulation import EPSILONS, SNRS
from studies.workers import read

Line = dict[str, str]
COLOURS = {"": "0.2", "laplace": "C3", "wishart-paper": "C1", "wishart": "C2", "gaussian": "C0"}
MARKS = {"oracle": ("", "-"), "ridge": ("o", "--"), "thresholded": ("^", ":"), "noise-aware": ("s", "-")}
LEAST_MSE = 1e-7
"""Smaller values are drawn here; without active predictors they may be 0."""
NAMES = {"mse": "MSE", "distance": "distance to O", "relative": "relative gain in MSE"}


def draw_all(results: Path, images: Path) -> None:
    """Draw every picture whose results exist."""
    images.mkdir(parents=True, exist_ok=True)
    if (results / "simulation.csv").exists():
        lines = read(results / "simulation.csv")
        simulation_figure(lines, "mse", images / "paper-004-mse.png")
        simulation_figure(lines, "distance", images / "paper-004-distance.png")
        gain_figure(lines, images / "paper-004-relative.png")
    if (results / "diabetes.csv").exists():
        diabetes_figure(read(results / "diabetes.csv"), read(results / "diabetes_oracle.csv"), images / "paper-004-diabetes.png")
    if (results / "hypotheses_figure_2.csv").exists():
        tests_figure(read(results / "hypotheses_figure_2.csv"), images / "paper-004-tests.png")


def simulation_figure(lines: Sequence[Line], measure: str, path: Path, prior: str = "zellner-siow") -> None:
    """The paper's Figure 3, and the one of the supplement: against |T|, for each signal-to-noise ratio and ε."""
    found = Found.of(lines, prior)
    drawing = Figure(figsize=(11, 9), layout="constrained")
    axes = drawing.subplots(len(SNRS), len(EPSILONS), sharex=True, sharey="row")
    for row, snr in enumerate(SNRS):
        for column, epsilon in enumerate(EPSILONS):
            axis = axes[row, column]
            for which in SHOWN:
                points = [(cell[2], found.of_cell(measure, which, cell)) for cell in found.cells(which, with_snr(snr, epsilon))]
                if points and not (measure == "distance" and which == ORACLE):
                    _curve(axis, [(x, max(y, LEAST_MSE)) for x, y in points] if measure == "mse" else points, which)
            axis.set_title(f"SNR {snr:g}, ε = {epsilon:g}", fontsize=10)
            axis.grid(alpha=0.3)
            if measure == "mse":
                axis.set_yscale("log")
                axis.set_ylim(LEAST_MSE / 1.5, 1e-2)
    _outer_labels(axes, "|T|", NAMES[measure])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    drawing.savefig(path, dpi=100)


def gain_figure(lines: Sequence[Line], path: Path, prior: str = "zellner-siow") -> None:
    """(MSE of the full model − MSE averaged) / MSE of the full model, mean over tables and |T|."""
    found = Found.of(lines, prior)
    drawing = Figure(figsize=(11, 3.8), layout="constrained")
    axes = drawing.subplots(1, len(SNRS), sharey=True)
    for axis, snr in zip(axes, SNRS, strict=True):
        for which in SHOWN:
            _curve(axis, [(epsilon, found.mean("relative", which, with_snr(snr, epsilon))) for epsilon in EPSILONS], which)
        axis.set_title(f"SNR {snr:g}", fontsize=10)
        axis.set_xlabel("ε")
        axis.set_ylim(-0.3, 0.8)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(NAMES["relative"])
    handles, labels = axes[0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    drawing.savefig(path, dpi=100)


def _curve(axis: Axes, points: Sequence[tuple[float, float]], which: tuple[str, str]) -> None:
    marker, line = MARKS[which[1]]
    axis.plot([x for x, _ in points], [y for _, y in points], color=COLOURS[which[0]], marker=marker, linestyle=line,
              markersize=4, linewidth=1.2, label=LABELS[which])


def _outer_labels(axes: Any, below: str, left: str) -> None:
    for axis in axes[-1]:
        axis.set_xlabel(below)
    for axis in axes[:, 0]:
        axis.set_ylabel(left)


def diabetes_figure(lines: Sequence[Line], oracle: Sequence[Line], path: Path, prior: str = "zellner-siow") -> None:
    """One release of each kind: inclusion probabilities by method, our bands, and those without privacy."""
    releases = ("laplace", "wishart", "gaussian")
    terms = list(dict.fromkeys(line["term"] for line in oracle))
    exact = {line["term"]: float(line["probability"]) for line in oracle if line["prior"] == prior}
    marks = {"noise-aware": ("C0", "s", 0.0), "ridge": ("C3", "o", 0.2), "thresholded": ("C1", "^", -0.2),
             "histogram": ("C2", "D", 0.35)}
    drawing = Figure(figsize=(12, 9.5), layout="constrained")
    axes = drawing.subplots(len(EPSILONS), len(releases), sharex=True, sharey=True)
    for row, epsilon in enumerate(EPSILONS):
        for column, release in enumerate(releases):
            axis = axes[row, column]
            axis.scatter([exact[term] for term in terms], range(len(terms)), marker="|", s=260, color="0.1", linewidth=2,
                         label="without privacy", zorder=1)
            for line in lines:
                if line["prior"] == prior and float(line["epsilon"]) == epsilon and line["release"] == release:
                    colour, marker, shift = marks[line["method"]]
                    place = terms.index(line["term"]) + shift
                    label = line["method"] if line["term"] == terms[0] else None
                    if line["method"] == "noise-aware":
                        axis.plot([float(line["first_low"]), float(line["first_high"])], [place, place], color=colour,
                                  linewidth=5, alpha=0.35, solid_capstyle="butt")
                    axis.scatter([float(line["first"])], [place], marker=marker, color=colour, s=26, label=label, zorder=2)
            axis.set_title(f"{release}, ε = {epsilon:g}", fontsize=10)
            axis.set_yticks(range(len(terms)), terms, fontsize=9)
            axis.set_xlim(-0.03, 1.03)
            axis.grid(alpha=0.3)
    axes[0, 0].invert_yaxis()
    for axis in axes[-1]:
        axis.set_xlabel("inclusion probability")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=100)


def tests_figure(lines: Sequence[Line], path: Path) -> None:
    """The paper's Figure 2: quartiles of the censored 2 log Λ*, and critical values, for the printed and the right variance."""
    names = {"gender": "H11: gender", "read": "H12: read"}
    deltas = list(dict.fromkeys(line["delta"] for line in lines))
    colours = {"2": "C1", "5": "C2", "10": "C0"}
    drawing = Figure(figsize=(11, 7), layout="constrained")
    axes = drawing.subplots(2, 2, sharex=True, sharey=True)
    for across, hypothesis in zip(axes, names, strict=True):
        for axis, variance in zip(across, ("printed", "right"), strict=True):
            mine = [line for line in lines if (line["hypothesis"], line["variance"]) == (hypothesis, variance)]
            for line in mine:
                place = deltas.index(line["delta"]) + 0.25 * (list(colours).index(line["parts"]) - 1)
                colour, first = colours[line["parts"]], line["delta"] == deltas[0]
                axis.plot([place, place], [float(line["quartile_1"]), float(line["quartile_3"])], color=colour, linewidth=6,
                          alpha=0.4, solid_capstyle="butt", label=f"M = {line['parts']}: quartiles" if first else None)
                axis.plot(place, float(line["median"]), "o", color=colour, markersize=5)
                for level, marker in (("0.05", "^"), ("0.01", "P")):
                    label = f"calibrated critical value, {level}" if line is mine[0] else None
                    axis.plot(place, float(line[f"critical_censored_{level}"]), marker, color="black", markersize=5, label=label)
            for share, style in ((0.05, "--"), (0.01, ":")):
                axis.axhline(chi2.ppf(1 - share, 1), color="0.4", linestyle=style, linewidth=1, label=f"chi-squared, {share:g}")
            axis.set_title(f"{names[hypothesis]}, {variance} variance", fontsize=10)
            axis.set_xticks(range(len(deltas)), [f"δ = {float(delta):g}" for delta in deltas])
            axis.grid(alpha=0.3, axis="y")
    for axis in axes[:, 0]:
        axis.set_ylabel("censored 2 log Λ*")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    drawing.savefig(path, dpi=100)
