"""The pictures of ``studies.paper_003`` and ``studies.doctor_visits``, from the files of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from studies.doctor_visits import file_of
from studies.workers import read

Line = dict[str, str]

EXACT, OURS, SGLD = "#000000", "#0072b2", "#d55e00"
BLUES = ("#cfe1f2", "#93c4df", "#4b98ca", "#1764ab", "#08306b")
SHOWN_EPSILONS = 5


def draw_all(results: Path, images: Path) -> None:
    """Draw every picture whose results exist."""
    images.mkdir(parents=True, exist_ok=True)
    for name, title in (("pima", "Pima, 758 rows"), ("adult", "Adult, 8000 rows")):
        if (results / f"{name}_curves.csv").exists():
            posterior_figure(read(results / f"{name}_curves.csv"), title, images / f"paper-003-{name}.png")
    if (results / "synthetic.csv").exists():
        synthetic_figure(read(results / "synthetic.csv"), read(results / "synthetic_curves.csv"),
                         images / "paper-003-synthetic.png")
    if (results / "growth.csv").exists():
        growth_figure(read(results / "growth.csv"), images / "paper-003-taylor.png")
    files = [results / file_of(name) for name in ("four", "all")]
    if visits := [line for path in files if path.exists() for line in read(path)]:
        visits_figure(visits, images / "paper-003-visits.png")


def posterior_figure(curves: Sequence[Line], title: str, path: Path) -> None:
    """Figures 3 and 4 as distribution functions: a row for each ε and way of releasing, a column for each coefficient."""
    epsilons = list(dict.fromkeys(line["epsilon"] for line in curves))
    ran = {line["method"].removeprefix("noisewise, ") for line in curves}
    # The paper's statistic in the scaling that agrees best with the paper; ours, if it was run.
    rows = [(epsilon, kind) for epsilon in epsilons for kind in ("paper", "gram") if kind in ran]
    terms = list(dict.fromkeys(line["term"] for line in curves))
    figure = Figure(figsize=(2.3 * len(terms), 2.1 * len(rows) + 0.7), layout="constrained")
    axes = figure.subplots(len(rows), len(terms), squeeze=False, sharey=True)
    names = {"paper": "shortened,\npaper's statistic", "gram": "public bounds,\ngram"}
    for (epsilon, kind), across in zip(rows, axes, strict=True):
        scaling = "shortened" if kind == "paper" else "public"
        styles = [(f"not private, {kind}", EXACT, "the rows themselves", 2.2), (f"noisewise, {kind}", OURS, "noisewise", 1.8)]
        if kind == "paper":
            styles.append(("DP-SGLD", SGLD, "DP-SGLD", 1.2))
        for term, axis in zip(terms, across, strict=True):
            limits: list[float] = []
            for method, colour, label, width in styles:
                points = [(float(line["value"]), float(line["level"])) for line in curves
                          if (line["epsilon"], line["scaling"], line["method"], line["term"]) == (epsilon, scaling, method, term)]
                axis.plot(*zip(*points, strict=True), color=colour, linewidth=width, label=label)
                if colour == EXACT:
                    limits += [value for value, _ in points]
            span = max(limits) - min(limits)
            axis.set_xlim(min(limits) - span, max(limits) + span)
            axis.axvline(0.0, color="#bbbbbb", linewidth=0.8, zorder=0)
            axis.tick_params(labelsize=7)
            axis.set_title(term, fontsize=9)
        across[0].set_ylabel(f"ε = {epsilon}\n{names[kind]}", fontsize=8)
    figure.suptitle(f"{title}: posterior distribution functions, first release of each kind", fontsize=10)
    handles = {label: handle for handle, label in zip(*axes[0, 0].get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    figure.savefig(path, dpi=110)


def synthetic_figure(lines: Sequence[Line], curves: Sequence[Line], path: Path) -> None:
    """Figure 5: distribution functions of all releases together, and distances against ε."""
    releases = len({line["repeat"] for line in lines} - {"all", "prior"})
    terms = list(dict.fromkeys(line["term"] for line in lines))
    epsilons = sorted({float(line["epsilon"]) for line in curves if line["epsilon"] != "inf"})
    chosen = [epsilons[round(k * (len(epsilons) - 1) / (SHOWN_EPSILONS - 1))] for k in range(SHOWN_EPSILONS)]
    figure = Figure(figsize=(3.1 * (len(terms) + 1), 3.3), layout="constrained")
    *left, right = figure.subplots(1, len(terms) + 1)
    for term, axis in zip(terms, left, strict=True):
        for epsilon, colour in [*zip(chosen, BLUES, strict=True), (float("inf"), EXACT)]:
            points = [(float(line["value"]), float(line["level"])) for line in curves
                      if line["term"] == term and float(line["epsilon"]) == epsilon]
            axis.plot(*zip(*points, strict=True), color=colour, label="not private" if colour == EXACT else f"ε = {epsilon:g}",
                      linestyle="--" if colour == EXACT else "-", linewidth=1.6)
        axis.set_title(f"{term}: {releases} releases together", fontsize=9)
        axis.tick_params(labelsize=8)
    left[0].legend(fontsize=7, frameon=False)
    for kind, style, label in (("one", "-", "mean over releases"), ("all", ":", "releases together")):
        for term, colour in zip(terms, (OURS, SGLD, "#009e73"), strict=True):
            means = []
            for epsilon in epsilons:
                found = [float(line["ks"]) for line in lines if float(line["epsilon"]) == epsilon and line["term"] == term
                         and (line["repeat"] == "all") == (kind == "all") and line["repeat"] != "prior"]
                means.append(sum(found) / len(found))
            right.plot(epsilons, means, style, color=colour, marker="o", markersize=3, label=f"{term}, {label}")
    right.set_ylim(0, None)
    right.set_xlabel("ε")
    right.set_title("KS distance", fontsize=9)
    right.legend(fontsize=6.5, frameon=False)
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def growth_figure(lines: Sequence[Line], path: Path) -> None:
    """Estimated against true norm, and coverage, with the Taylor series and without."""
    figure = Figure(figsize=(8.5, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    all_norms = sorted({float(line["norm"]) for line in lines})
    for method, colour in (("Taylor", SGLD), ("quadrature", OURS), ("quadrature, mean not told", "#999999")):
        norms = sorted({float(line["norm"]) for line in lines if line["method"] == method})
        if not norms:
            continue
        chosen = [[line for line in lines if line["method"] == method and float(line["norm"]) == norm] for norm in norms]
        left.plot(norms, [float(group[0]["length"]) for group in chosen], color=colour, marker="o", label=method)
        right.plot(norms, [sum(float(line["coverage"]) for line in group) / len(group) for group in chosen], color=colour,
                   marker="o", label=method)
    left.plot(all_norms, all_norms, "--", color=EXACT, linewidth=1, label="true")
    left.set_ylabel("posterior mean of ‖θ‖")
    right.axhline(0.95, linestyle="--", color=EXACT, linewidth=1)
    right.set_ylabel("coverage of 95 % intervals")
    right.set_ylim(-0.02, 1.02)
    for axis in (left, right):
        axis.set_xlabel("true ‖θ‖")
        axis.grid(alpha=0.3)
    left.legend(frameon=False)
    figure.savefig(path, dpi=110)


def visits_figure(lines: Sequence[Line], path: Path) -> None:
    """Intervals of the first release of each kind beside those of the rows."""
    formulas = list(dict.fromkeys(line["formula"] for line in lines))
    figure = Figure(figsize=(5.6 * len(formulas), 4.6), layout="constrained")
    for formula, axis in zip(formulas, figure.subplots(1, len(formulas), squeeze=False)[0], strict=True):
        first = [line for line in lines if line["formula"] == formula and line["repeat"] == "0" and line["term"] != "Intercept"]
        terms = list(dict.fromkeys(line["term"] for line in first))
        for shift, (kind, colour) in enumerate((("exact", EXACT), ("gram", OURS), ("moments", "#009e73"))):
            prefix = "exact_" if kind == "exact" else ""
            chosen = {line["term"]: line for line in first if line["statistic"] == ("gram" if kind == "exact" else kind)}
            places = [k + 0.22 * (shift - 1) for k in range(len(terms))]
            units = [float(chosen[term]["unit"]) for term in terms]
            middle = [unit * float(chosen[term][prefix + "mean"]) for term, unit in zip(terms, units, strict=True)]
            low = [unit * float(chosen[term][prefix + "low"]) for term, unit in zip(terms, units, strict=True)]
            high = [unit * float(chosen[term][prefix + "high"]) for term, unit in zip(terms, units, strict=True)]
            axis.hlines(places, low, high, color=colour, linewidth=2)
            axis.plot(middle, places, "o", color=colour, markersize=4, label="the rows themselves" if kind == "exact" else kind)
        axis.set_yticks(range(len(terms)), terms)
        axis.invert_yaxis()
        axis.axvline(0.0, color="#bbbbbb", linewidth=0.8)
        axis.set_xlabel("effect of one standard deviation, log rate")
        axis.set_title(f"{len(terms)} predictors, first release of each kind", fontsize=10)
        axis.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
