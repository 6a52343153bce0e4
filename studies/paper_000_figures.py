"""The pictures of ``studies.paper_000``, from the files of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from studies.paper_000_boxes import FISHER, HALF, RN, STOUFFER, TRUTH, Boxes, Key, boxes_of

GREY, RED, BLUE = "#999999", "#d55e00", "#0072b2"
CURVES: Final[dict[Key, tuple[str, str, str]]] = {
    (RN, "valid noise"): ("rescaled-normal as in the paper", RED, "-"),
    (RN, "corrected"): ("rescaled-normal corrected", BLUE, "-"),
    (FISHER, "as printed"): ("Fisher as printed: NOT PRIVATE", RED, ":"),
    (FISHER, "valid noise"): ("Fisher, valid noise", RED, "--"),
    (FISHER, "corrected"): ("Fisher corrected", BLUE, "--"),
    (STOUFFER, "noisewise"): ("Stouffer, noisewise", "#009e73", "-"),
    HALF: ("always 1/2", GREY, "-"),
}


def draw_all(results: Path, images: Path) -> None:
    images.mkdir(parents=True, exist_ok=True)
    boxes = boxes_of(results)
    prior_figure(boxes, images / "paper-000-prior.png")
    error_figure(boxes, images / "paper-000-errors.png")


def prior_figure(boxes: Boxes, path: Path) -> None:
    """Figure 1 of the paper, the smallest tables: box plots against b without noise, as printed and corrected."""
    rows = boxes.rows[0]
    drawing = Figure(figsize=(11, 4.2), layout="constrained")
    shown: list[tuple[Key, str, str]] = [(TRUTH, "p(b), whole table", GREY), ((RN, "as printed"), "as printed", RED),
                                         ((RN, "corrected"), "corrected", BLUE)]
    for axis, parts in zip(drawing.subplots(1, len(boxes.parts), sharey=True, squeeze=False)[0], boxes.parts, strict=True):
        for place, (key, label, colour) in enumerate(shown):
            found = boxes.of(rows, parts, math.inf, key)
            every = sorted(found)[1::3]
            drawn = axis.bxp([_box(found[b]) for b in every], positions=[3 * i + 0.8 * (place - 1) for i in range(len(every))],
                             widths=0.7, showfliers=False, patch_artist=True)
            for patch in drawn["boxes"]:
                patch.set(facecolor=colour, alpha=0.7, linewidth=0.6)
            for line in drawn["medians"]:
                line.set(color="black")
            drawn["boxes"][0].set_label(label)
        axis.set_xticks([3 * i for i in range(len(every))], [f"{b:.3f}" for b in every], fontsize=8, rotation=45)
        axis.set_title(f"n = {rows:,}, M = {parts}, no noise", fontsize=10)
        axis.set_xlabel("b")
        axis.grid(alpha=0.3, axis="y")
        if parts == boxes.parts[0]:
            axis.set_ylabel("reported probability")
            handles, labels = axis.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    drawing.savefig(path, dpi=100)


def _box(line: dict[str, str]) -> dict[str, Any]:
    return {"whislo": float(line["low_whisker"]), "q1": float(line["quartile_1"]), "med": float(line["median"]),
            "q3": float(line["quartile_3"]), "whishi": float(line["high_whisker"]), "fliers": []}


def error_figure(boxes: Boxes, path: Path) -> None:
    """Mean absolute error against the number of parts, for each sample size and ε."""
    epsilons: Sequence[float] = boxes.epsilons
    drawing = Figure(figsize=(11, 9), layout="constrained")
    axes = drawing.subplots(len(epsilons), len(boxes.rows), sharex=True, squeeze=False, sharey="row")
    for across, epsilon in zip(axes, epsilons, strict=True):
        for axis, rows in zip(across, boxes.rows, strict=True):
            for key, (label, colour, style) in CURVES.items():
                axis.plot(boxes.parts, [boxes.error(rows, parts, epsilon, key) for parts in boxes.parts], color=colour,
                          linestyle=style, marker="o", markersize=4, label=label)
            axis.set_title(f"n = {rows:,}, " + ("no noise" if math.isinf(epsilon) else f"ε = {epsilon:g}"), fontsize=10)
            axis.set_yscale("log")
            axis.grid(alpha=0.3, which="both")
        across[0].set_ylabel("mean absolute error")
    for axis in axes[-1]:
        axis.set_xlabel("M, parts")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    drawing.savefig(path, dpi=100)
