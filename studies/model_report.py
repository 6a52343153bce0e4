"""The calibration of model releases as a page of the documentation.

    python -m studies.model_report [--results studies/results/model] [-o docs/model-calibration.md]

The text is in ``studies/model_calibration_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that
name. What a study has not measured yet is left out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.glm_coverage import RESULTS as GLM_RESULTS
from studies.glm_report import Cell as GlmCell
from studies.glm_report import cells as glm_cells
from studies.model_features import OUTPUT
from studies.page import filled, table
from studies.report import HIGH, LOW, NOMINAL, number, percent
from studies.workers import read

Line = dict[str, str]
Piece = Callable[[Path], list[str]]

WORDS = Path(__file__).parent / "model_calibration_page.md"
FAMILIES = ("logistic", "poisson")
FEATURE_KEYS = ("family", "world", "norm", "rows", "epsilon")
SIMULATION_KEYS = ("world", "rows", "epsilon", "holders", "fit", "what")
NOTHING = "*Not measured yet.*"


@dataclass(frozen=True)
class Measured:
    """Coverage of one setting with its standard error, and the lowest coverage of one of its coefficients."""

    coverage: float
    error: float
    lowest: float
    replicates: int
    doubted: float

    @property
    def low(self) -> bool:
        """Below 93 %, and not by chance."""
        return self.coverage < LOW and self.coverage + 2 * self.error < NOMINAL

    @property
    def high(self) -> bool:
        """Above 97 %, and not by chance."""
        return self.coverage > HIGH and self.coverage - 2 * self.error > NOMINAL

    @property
    def within(self) -> bool:
        return LOW <= self.coverage <= HIGH

    def text(self) -> str:
        shown = f"{percent(self.coverage)} ± {percent(self.error)}"
        return f"**{shown}** ↓" if self.low else f"{shown} ↑" if self.high else shown


def pooled(found: Sequence[Measured]) -> str:
    """The coverage of all settings, each with the weight of its fits, with its standard error."""
    total = sum(one.replicates for one in found)
    mean = sum(one.replicates * one.coverage for one in found) / total
    error = math.sqrt(sum((one.replicates * one.error) ** 2 for one in found)) / total
    return f"{percent(mean)} ± {percent(error)} %"


def measured(coverage: float, squares: float, lowest: float, count: int, replicates: int, doubted: float) -> Measured:
    """``squares``: the mean over fits of the squared share of their intervals that hold the truth."""
    error = max(squares - coverage**2, NOMINAL * (1 - NOMINAL) / count)  # at least that of independent coefficients
    return Measured(coverage, math.sqrt(error / replicates), lowest, replicates, doubted)


def lines_of(results: Path, name: str) -> list[Line]:
    return read(results / name) if (results / name).exists() else []


def groups(lines: Iterable[Line], keys: Sequence[str]) -> dict[tuple[str, ...], list[Line]]:
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(line[key] for key in keys), []).append(line)
    return found


def features(results: Path) -> dict[tuple[str, ...], Measured]:
    """The settings of features that are not normal. A setting's coefficients are as if one fit's always held together."""
    found = {}
    for key, lines in groups(lines_of(results, "features.csv"), FEATURE_KEYS).items():
        values, replicates = [float(line["coverage"]) for line in lines], int(lines[0]["replicates"])
        mean = sum(values) / len(values)
        found[key] = Measured(mean, math.sqrt(NOMINAL * (1 - NOMINAL) / replicates), min(values), replicates,
                              float(lines[0]["doubted"]))
    return found


@dataclass(frozen=True)
class Pooled:
    """All batches of one setting."""

    lines: tuple[Line, ...]

    def mean(self, name: str) -> float:
        weights = [int(line["replicates"]) for line in self.lines]
        return sum(weight * float(line[name]) for weight, line in zip(weights, self.lines, strict=True)) / sum(weights)

    @property
    def measured(self) -> Measured:
        replicates = sum(int(line["replicates"]) for line in self.lines)
        held = [sum(counts) for counts in zip(*(map(int, line["held"].split()) for line in self.lines), strict=True)]
        return measured(sum(held) / (replicates * len(held)), sum(float(line["squares"]) for line in self.lines) / replicates,
                        min(held) / replicates, len(held), replicates, self.mean("doubted"))


def simulations(results: Path) -> dict[tuple[str, ...], Pooled]:
    return {key: Pooled(tuple(lines)) for key, lines in groups(lines_of(results, "simulations.csv"), SIMULATION_KEYS).items()}


def measured_simulations(results: Path) -> dict[tuple[str, ...], Measured]:
    return {key: one.measured for key, one in simulations(results).items()}


def headline(results: Path) -> list[str]:
    features_words = "with the predictors of [the next section](#predictors-that-are-not-normal)"
    others_words = ("in the [other simulations](#settings-of-the-literature), not counting robust intervals and those where the "
                    "fitted law is wrong")
    others = [one for key, one in measured_simulations(results).items() if key[4] == "usual" and not wrong_law(key)]
    return [counted(words, found) for words, found in (
        (features_words, list(features(results).values())), (others_words, others)) if found]


def counted(words: str, found: Sequence[Measured]) -> str:
    above, below = sum(one.coverage > HIGH for one in found), sum(one.coverage < LOW for one in found)
    return (f"- {len(found)} settings {words}: {pooled(found)} of all intervals hold. {sum(one.within for one in found)} "
            f"settings are within 93–97 %, {above} above ({sum(one.high for one in found)} beyond chance) and {below} below "
            f"({sum(one.low for one in found)} beyond chance).")


def wrong_law(key: Sequence[str]) -> bool:
    """Whether the fitted family does not have the response's law: a Poisson fit of other counts, normal residuals with tails."""
    world, what = key[0], key[-1]
    return world == "counts, Poisson" or (world == "heavy tails" and what == "scale")


def features_tables(results: Path) -> list[str]:
    """One row for each kind of predictor and size of effects; last, the range of gram releases in the same settings."""
    found, result = features(results), list[str]()
    gram: dict[tuple[str, ...], GlmCell] = {
        tuple(one[name] for name in FEATURE_KEYS): one
        for one in glm_cells(GLM_RESULTS, "features.csv") if one["model"] == "cells"}
    for family in FAMILIES:
        own = {key[1:]: one for key, one in found.items() if key[0] == family}
        if not own:
            continue
        settings = sorted({key[2:] for key in own}, key=lambda key: (int(key[0]), float(key[1])))
        body = []
        for world, norm in dict.fromkeys(key[:2] for key in own):
            same = [gram[family, world, norm, *setting] for setting in settings
                    if (world, norm, *setting) in own and (family, world, norm, *setting) in gram]
            doubted = max(one.doubted for key, one in own.items() if key[:2] == (world, norm))
            body.append([world, number(norm), *(feature_text(own.get((world, norm, *setting))) for setting in settings),
                         gram_text(same), percent(doubted) if doubted else ""])
        head = ["predictors", "‖θ‖", *(f"n = {int(rows):,}, ε = {number(epsilon)}" for rows, epsilon in settings),
                "`gram` releases", "fits that doubt, at most %"]
        result += [f"### {family.capitalize()}", "", *table(head, body), ""]
    return result or [NOTHING]


def feature_text(one: Measured | None) -> str:
    if one is None:
        return "–"
    shown = f"{percent(one.coverage)} ({percent(one.lowest)})"
    return f"**{shown}** ↓" if one.low else f"{shown} ↑" if one.high else shown


def gram_text(same: Sequence[GlmCell]) -> str:
    if not same:
        return "–"
    low, high = (percent(end(one.coverage for one in same)) for end in (min, max))
    return low if low == high else f"{low}–{high}"


def low_settings(results: Path) -> list[str]:
    """Every setting below 93 % beyond chance."""
    body = [[f"{family}, {world}, ‖θ‖ = {number(norm)}", f"{int(rows):,}", number(epsilon), one.text(), percent(one.lowest),
             percent(one.doubted)]
            for (family, world, norm, rows, epsilon), one in features(results).items() if one.low]
    body += [[f"{HEADS.get(world, '')}{WORLDS[world]}{words_of_fit(fit, holders)}, {what}", f"{int(rows):,}",
              f"{float(epsilon):.3g}", one.text(), percent(one.lowest), percent(one.doubted)]
             for (world, rows, epsilon, holders, fit, what), one in measured_simulations(results).items() if one.low]
    return table(["setting", "n", "ε", "coverage", "lowest", "fits that doubt, %"], body) if body else ["None."]


def words_of_fit(fit: str, holders: str) -> str:
    return (", robust" if fit == "robust" else "") + (f", {holders} holders" if holders != "1" else "")


WORLDS = {
    "newton linear": "linear, three normal predictors", "newton logistic": "logistic, three normal predictors",
    "ten, sd 1": "predictors from 0 to 10, residual sd 1", "ten, sd 5": "predictors from 0 to 10, residual sd 5",
    "50 normal": "50 normal", "50 skewed": "50 skewed", "100 normal": "100 normal", "100 skewed": "100 skewed",
    "counts, negative binomial": "counts, negative binomial", "counts, Poisson": "counts, Poisson",
    "normal errors": "normal", "heavy tails": "t with 3 degrees of freedom",
    "holders logistic": "logistic", "holders linear": "linear",
}


def simulation_table(*worlds: str, fits: bool = False, holders: bool = False, scale: str = "sigma") -> Piece:
    """A table of these worlds: slopes, intercept and, if there is one, the scale."""
    def piece(results: Path) -> list[str]:
        found = simulations(results)
        settings = [key for world in worlds for key in dict.fromkeys(key[:5] for key in found if key[0] == world)]
        scaled = any((*key, "scale") in found for key in settings)
        body = []
        for key in sorted(settings, key=lambda key: (worlds.index(key[0]), int(key[1]), float(key[2]), int(key[3]))):
            slopes = found[*key, "slopes"]
            others = [found.get((*key, what)) for what in ("intercept", *(("scale",) if scaled else ()))]
            body.append([WORLDS[key[0]], *((key[3],) if holders else ()), f"{int(key[1]):,}", f"{float(key[2]):.3g}",
                         *((key[4],) if fits else ()), slopes.measured.text(),
                         *(one.measured.text() if one else "–" for one in others),
                         f"{slopes.mean('width'):.2g}", f"{slopes.mean('ratio'):.2f}", f"{slopes.mean('rounds'):.1f}",
                         str(slopes.measured.replicates)])
        head = ["setting", *(("holders",) if holders else ()), "n", "ε", *(("intervals",) if fits else ()), "slopes, %",
                "intercept, %", *((f"{scale}, %",) if scaled else ()), "width", "to that without privacy", "rounds", "replicates"]
        return table(head, body) if body else [NOTHING]
    return piece


def real_tables(results: Path) -> list[str]:
    """The share of intervals that hold the estimate without privacy, and how wide they are."""
    body = [[REAL[line["case"]], number(line["epsilon"]), line["fit"], Pooled((line,)).measured.text(), ratio(line["ratio"]),
             percent(float(line["wrong"])), percent(float(line["doubted"])), line["replicates"]]
            for line in lines_of(results, "real.csv")]
    head = ["table", "ε", "intervals", "hold the estimate without privacy, %", "width to that without privacy", "wrong sign, %",
            "fits that doubt, %", "releases"]
    return table(head, body) if body else [NOTHING]


def ratio(value: str) -> str:
    return "(exact without privacy)" if float(value) > 1e4 else f"{float(value):.2f}"


def prediction(results: Path) -> list[str]:
    """Test errors of paper 002's tables."""
    body = [[REAL[line["case"]], number(line["epsilon"]), *(f"{float(line[name]):.2g}" for name in (
             "error", "error_median", "error_worst", "error_exact", "error_zero")), line["replicates"]]
            for line in lines_of(results, "real.csv") if line.get("error")]
    head = ["table", "ε", "mean", "median", "worst", "least squares without privacy", "predicting 0", "releases"]
    return table(head, body) if body else [NOTHING]


REAL = {"Adult": "Adult", "visits, Poisson": "visits, Poisson", "visits, negative binomial": "visits, negative binomial",
        "power": "power plant", "bike": "bike sharing", "air": "air quality"}

HEADS = {"normal errors": "linear, errors: ", "heavy tails": "linear, errors: ", "holders logistic": "holders, ",
         "holders linear": "holders, "}

newton = simulation_table("newton linear", "newton logistic")
ten = simulation_table("ten, sd 1", "ten, sd 5")
many = simulation_table("50 normal", "50 skewed", "100 normal", "100 skewed")
counts = simulation_table("counts, negative binomial", "counts, Poisson", fits=True, scale="dispersion")
tails = simulation_table("normal errors", "heavy tails", fits=True)
several = simulation_table("holders logistic", "holders linear", holders=True)

PIECES: dict[str, Piece] = {
    **{piece.__name__: piece for piece in (headline, features_tables, low_settings, real_tables, prediction)},
    "newton": newton, "ten": ten, "many": many, "counts": counts, "tails": tails, "several": several,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=OUTPUT.parent)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/model-calibration.md"))
    arguments = parser.parse_args()
    arguments.output.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, arguments.results), encoding="utf-8")


if __name__ == "__main__":
    main()
