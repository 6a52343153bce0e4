"""The pictures of ``studies.paper_002_simulation``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from studies.workers import read

Line = dict[str, str]

STYLES = {
    "normal-x": ("#999999", "s"), "fixed-s": ("#56b4e9", "^"), "fast": ("#0072b2", "v"), "clt-gibbs": ("#e69f00", "D"),
    "adassp": ("#cc79a7", "x"), "collapsed": ("#009e73", "o"), "conditional": ("#d55e00", "o"),
    "conditional, own prior": ("#000000", "*"),
}
TITLES = {"estimation": "estimation error", "prediction": "prediction error", "mmd2": "MMD²"}
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
NOISE = {"correct": "correct noise", "theirs": "the authors' noise (not ε-private)"}


def draw_all(results: Path, images: Path) -> None:
    """Draw every picture whose results exist."""
    images.mkdir(parents=True, exist_ok=True)
    if (results / "errors.csv").exists():
        lines = read(results / "errors.csv")
        for noise in NOISE:
            error_figure(lines, noise, ("estimation", "prediction"), (2, 5), images / f"paper-002-error-{noise}.png")
            error_figure(lines, noise, ("mmd2",), (2,), images / f"paper-002-mmd-{noise}.png")
    if (results / "times.csv").exists():
        time_figure(read(results / "times.csv"), images / "paper-002-time.png")


def error_figure(lines: Sequence[Line], noise: str, quantities: Sequence[str], sizes: Sequence[int], path: Path) -> None:
    """A row for each size and quantity, a column for each number of holders."""
    holders = sorted({int(line["holders"]) for line in lines})
    rows = [(d, quantity) for d in sizes for quantity in quantities]
    figure = Figure(figsize=(3.6 * len(holders), 2.9 * len(rows) + 0.6), layout="constrained")
    axes = figure.subplots(len(rows), len(holders), squeeze=False, sharey="row", sharex=True)
    for (d, quantity), across in zip(rows, axes, strict=True):
        for number, axis in zip(holders, across, strict=True):
            for method, (colour, marker) in STYLES.items():
                chosen = sorted((float(line["epsilon"]), float(line[quantity])) for line in lines if line["method"] == method
                                and (int(line["d"]), int(line["holders"]), line["noise"]) == (d, number, noise))
                points = [(epsilon, value) for epsilon, value in chosen if value > 0]
                if points:
                    default = method == "conditional"  # wide and below, so that what it hides is seen
                    axis.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=7 if default else 4,
                              label=method, linewidth=4 if default else 1.2, alpha=0.6 if default else 1,
                              zorder=1 if default else 2)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
            axis.minorticks_off()
            axis.set_title(f"d = {d}, J = {number}", fontsize=9)
            axis.grid(alpha=0.3)
        across[0].set_ylabel(TITLES[quantity])
    for axis in axes[-1]:
        axis.set_xlabel("ε")
    handles = {}  # a panel may lack a method
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    labels = [method for method in STYLES if method in handles]
    figure.legend([handles[label] for label in labels], labels, loc="outside upper center", ncols=len(labels), fontsize=9,
                  title=NOISE[noise])
    figure.savefig(path, dpi=110)


def time_figure(lines: Sequence[Line], path: Path) -> None:
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    for method in dict.fromkeys(line["method"] for line in lines):
        points = sorted((int(line["d"]), float(line["microseconds"])) for line in lines if line["method"] == method)
        colour, marker = STYLES[method]
        axis.plot(*zip(*points, strict=True), color=colour, marker=marker, label=method)
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = sorted({int(line["d"]) for line in lines})
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("d")
    axis.set_ylabel("µs per iteration, J = 1")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=110)
