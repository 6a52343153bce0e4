"""The results of the studies of paper 003 as a page of the documentation.

    python -m studies.paper_003_report [--results studies/results/paper_003] [-o docs/paper-003.md]

The words of the page are in ``studies/paper_003_page.md``; a line ``{{name}}`` there stands for what the function of that name
makes from the files of results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from studies.doctor_visits import FORMULAS, file_of
from studies.dp_sgld import batch_size, noise_multiplier
from studies.page import filled, table, write_page
from studies.workers import read

Line = dict[str, str]

RESULTS: Final = Path("studies/results/paper_003")
WORDS: Final = Path(__file__).parent / "paper_003_page.md"
TARGETS: Final = {("Adult", 8000, 0.1): 68.4, ("Pima", 758, 0.1): 227.2, ("Pima", 758, 0.3): 83.0}
"""Noise multipliers of the paper's settings, computed by other means."""
OWN: Final = ("shortened", "divided")
GROWTH: Final = {"Taylor": "Taylor", "quadrature": "ours", "quadrature, mean not told": "ours, mean not told"}
CLOSE: Final = 0.1
"""A KS distance below this is called nearly overlapping."""


def lines_of(results: Path, name: str) -> list[Line]:
    path = results / name
    return read(path) if path.exists() else []


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else math.nan


def with_error(values: Sequence[float]) -> str:
    centre = mean(values)
    if len(values) < 2:
        return f"{centre:.2f}"
    spread = math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values))
    return f"{centre:.2f} ± {spread:.2f}"


def _ways(lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    """(ε, method, scaling) in the order of the file, ε first; the two priors of the product are one."""
    found = dict.fromkeys((line["epsilon"], line["method"], line["scaling"]) for line in lines
                          if line["method"] != "prior, moments")
    return sorted(found, key=lambda way: float(way[0]))


def _chosen(lines: Sequence[Line], way: tuple[str, str, str], term: str | None = None) -> list[Line]:
    return [line for line in lines if (line["epsilon"], line["method"], line["scaling"]) == way and term in (None, line["term"])]


def distances(results: Path, name: str) -> list[str]:
    """Mean KS distance of each coefficient, and over all of them."""
    lines = lines_of(results, f"{name}.csv")
    if not lines:
        return ["This part has not been run yet."]
    terms = list(dict.fromkeys(line["term"] for line in lines))
    body = [[epsilon, f"{method}, {scaling}",
             *(with_error([float(line["ks"]) for line in _chosen(lines, (epsilon, method, scaling), term)]) for term in terms),
             f"**{mean(float(line['ks']) for line in _chosen(lines, (epsilon, method, scaling))):.2f}**"]
            for epsilon, method, scaling in _ways(lines)]
    return table(["ε", "posterior, scaling", *terms, "all"], body)


def widths(results: Path, name: str) -> list[str]:
    """How wide, how far off, and which signs."""
    lines = lines_of(results, f"{name}.csv")
    if not lines:
        return []
    body = []
    for way in _ways(lines):
        chosen = _chosen(lines, way)
        if way[1].startswith("prior"):
            continue
        off = mean(abs(float(line["mean"]) - float(line["exact_mean"])) / float(line["exact_sd"]) for line in chosen)
        clear = [line for line in chosen if not holds_zero(line, "exact_")]
        same = mean(_same_sign(line) for line in clear)
        wrong = mean(not holds_zero(line) and not _same_sign(line) for line in chosen)
        covered = mean(_held(line) for line in chosen)
        body.append([way[0], f"{way[1]}, {way[2]}", f"{mean(float(line['sd']) / float(line['exact_sd']) for line in chosen):.2f}",
                     f"{off:.2f}", f"{covered:.0%}", f"{same:.0%}", f"{wrong:.1%}"])
    return table(["ε", "posterior, scaling", "sd / sd of the rows", "distance of the means / sd of the rows",
                  "95 % interval holds the rows' mean", "clear signs found", "wrong signs"], body)


def holds_zero(line: Line, prefix: str = "") -> bool:
    return float(line[prefix + "low"]) <= 0 <= float(line[prefix + "high"])


def _same_sign(line: Line) -> bool:
    return not holds_zero(line) and (float(line["low"]) > 0) == (float(line["exact_mean"]) > 0)


def pima_picture(results: Path) -> list[str]:
    return picture(results, "pima")


def adult_picture(results: Path) -> list[str]:
    return picture(results, "adult")


def picture(results: Path, name: str) -> list[str]:
    """A picture whose results are there."""
    return [f"![{name.capitalize()}](images/paper-003-{name}.png)"] if (results / f"{name}.csv").exists() else []


def pima_distances(results: Path) -> list[str]:
    return distances(results, "pima")


def adult_distances(results: Path) -> list[str]:
    return distances(results, "adult")


def pima_widths(results: Path) -> list[str]:
    return widths(results, "pima")


def adult_widths(results: Path) -> list[str]:
    return widths(results, "adult")


def synthetic(results: Path) -> list[str]:
    lines = lines_of(results, "synthetic.csv")
    terms = list(dict.fromkeys(line["term"] for line in lines))
    epsilons = sorted({float(line["epsilon"]) for line in lines})
    body = []
    for epsilon in epsilons:
        here = [line for line in lines if float(line["epsilon"]) == epsilon]
        single = [line for line in here if line["repeat"] not in ("all", "prior")]
        found = [with_error([float(line["ks"]) for line in single or here if line["term"] == term]) for term in terms]
        if not single:
            body.append(["the prior", *found, "", ""])
            continue
        pooled = max(float(line["ks"]) for line in here if line["repeat"] == "all")
        body.append([f"{epsilon:.3f}", *found, f"{pooled:.2f}",
                     f"{mean(float(line['sd']) / float(line['exact_sd']) for line in single):.2f}"])
    return table(["ε", *terms, "20 releases together, largest", "sd / sd of the rows"], body)


def growth(results: Path) -> list[str]:
    lines = lines_of(results, "growth.csv")
    methods = {method: words for method, words in GROWTH.items() if any(line["method"] == method for line in lines)}
    body = []
    for norm in sorted({float(line["norm"]) for line in lines}):
        cells = [f"{norm:g}"]
        for method in methods:
            chosen = [line for line in lines if line["method"] == method and float(line["norm"]) == norm]
            cells += [f"{float(chosen[0]['length']):.2f}", f"{max(abs(float(line['bias'])) for line in chosen):.2f}",
                      f"{mean(float(line['coverage']) for line in chosen):.0%}"] if chosen else [""] * 3
        body.append(cells)
    head = [cell for words in methods.values() for cell in (f"{words}: mean ‖θ‖", "largest bias", "coverage")]
    return table(["true ‖θ‖", *head], body)


def multipliers(results: Path) -> list[str]:
    body = []
    for (name, rows, epsilon), target in TARGETS.items():
        batch = batch_size(rows)
        found = noise_multiplier(batch, rows, epsilon, 1e-5)
        body.append([f"{name}, {batch} of {rows}", f"{epsilon:g}", f"{target}", f"{found:.1f}", f"{found / target - 1:+.1%}"])
    return table(["batch", "ε", "reference", "ours", "difference"], body)


def convergence(results: Path) -> list[str]:
    """The largest R-hat of the fits of each part."""
    parts = {name: lines_of(results, f"{name}.csv") for name in ("pima", "adult", "synthetic")}
    grown = lines_of(results, "growth.csv")
    parts |= {f"growing norms, {words}": [line for line in grown if line["method"] == name] for name, words in GROWTH.items()}
    parts["visits to a doctor"] = _visits(results)
    body = []
    for name, lines in parts.items():
        names = ("scaling", "method", "epsilon", "norm", "formula", "statistic", "repeat")
        found = {tuple(line.get(key) for key in names): line for line in lines if line.get("r_hat")}
        if not found:
            continue
        worst = [float(line["r_hat"]) for line in found.values()]  # a line of growth is the worst of several fits
        fits = sum(int(line.get("repeats", 1)) for line in found.values())
        body.append([name, str(fits), f"{max(worst):.3f}"])
    return table(["part", "fits", "largest R-hat"], body)


def _visits(results: Path, names: Iterable[str] = FORMULAS) -> list[Line]:
    return [line for name in names for line in lines_of(results, file_of(name))]


def visits(results: Path) -> list[str]:
    """One line for each coefficient: the rows, then each kind of release."""
    lines = _visits(results, ("four", "all"))
    body = []
    for formula in dict.fromkeys(line["formula"] for line in lines):
        here = [line for line in lines if line["formula"] == formula]
        for term in dict.fromkeys(line["term"] for line in here):
            cells = []
            for kind in ("gram", "moments"):
                chosen = [line for line in here if line["term"] == term and line["statistic"] == kind]
                first = chosen[0]
                held = mean(_held(line) for line in chosen)
                cells += [_interval(first), _verdicts(chosen), f"{held:.0%}"]
            exact = _interval(first, "exact_")
            body.append([formula, term, f"**{exact}**" if first["clear"] == "True" else exact, *cells])
    return table(["predictors", "term", "the rows themselves", "gram, first release", "signs", "holds the rows' mean",
                  "moments, first release", "signs", "holds the rows' mean"], body)


def visits_codings(results: Path) -> list[str]:
    """The last of four predictors: as days, as a number 0 or 1, and as a category."""
    codings = {"four": "days, a number", "any_number": "any or none, a number", "any_category": "any or none, a category"}
    body = []
    for name, words in codings.items():
        for kind in ("gram", "moments"):
            lines = [line for line in _visits(results, (name,)) if line["statistic"] == kind]
            if not lines:
                continue
            last = lines[-1]["term"]
            chosen = [line for line in lines if line["term"] == last]
            held = [mean(_held(line) for line in lines if line["term"] == term) for term in (last, "Intercept")]
            centre, spread = (mean(float(line[key]) for line in chosen) for key in ("mean", "sd"))
            body.append([words, kind, _interval(chosen[0], "exact_"), f"{centre:.2f}", f"{spread:.2f}",
                         *(f"{share:.0%}" for share in held), str(len(chosen))])
    return table(["reduced activity", "release", "the rows themselves", "mean over releases", "mean sd", "holds the rows' mean",
                  "the intercept's does", "releases"], body)


def _held(line: Line) -> bool:
    return float(line["low"]) <= float(line["exact_mean"]) <= float(line["high"])


def _interval(line: Line, prefix: str = "") -> str:
    middle, low, high = (float(line[prefix + name]) for name in ("mean", "low", "high"))
    return f"{middle:.2f} ({low:.2f}, {high:.2f})"


def _verdicts(lines: Sequence[Line]) -> str:
    """Right signs, intervals that hold zero, wrong signs."""
    return " / ".join(str(sum(line["verdict"] == name for line in lines)) for name in ("right sign", "holds zero", "wrong sign"))


def visits_verdict(results: Path) -> list[str]:
    lines = [line for line in _visits(results, ("four", "all")) if line["term"] != "Intercept"]
    if not lines:
        return []
    first, result = lines[0], []
    for name in dict.fromkeys(line["formula"] for line in lines):
        here = [line for line in lines if line["formula"] == name]
        clear = [line for line in here if line["clear"] == "True"]
        verdicts = [line["verdict"] for line in clear]
        right, zero, wrong = (verdicts.count(kind) for kind in ("right sign", "holds zero", "wrong sign"))
        result.append(f"- {name}: {1 + max(int(line['repeat']) for line in here)} releases of each kind. Of the slopes that are "
                      f"clearly not zero without privacy the sign is right in {right}, the interval holds zero in {zero}, and "
                      f"the sign is wrong in {wrong} of {len(clear)} cases.")
    spread = sorted({f"{float(line['dispersion']):.2f}" for line in lines})
    centre, variance = float(first["marginal_mean"]), float(first["marginal_variance"])
    return [*result, "", f"Visits have mean {centre:.2f} and variance {variance:.2f}; Pearson's statistic over its degrees of "
            f"freedom is {' and '.join(spread)} after the fit."]


def claims(results: Path) -> list[str]:
    """What the paper prints, and what we find."""
    return table(["printed", "measured", "the same?"], _claims(results))


def not_reproduced(results: Path) -> list[str]:
    """The sentences that hold in no scaling, and those that hold in one only."""
    verdicts: dict[str, list[bool]] = {}
    for sentence, _, same in _claims(results):
        verdicts.setdefault(sentence, []).append(same == _verdict(True))
    never = [sentence for sentence, found in verdicts.items() if not any(found)]
    partly = [sentence for sentence, found in verdicts.items() if any(found) and not all(found)]
    result = []
    for words, sentences in (("**Not reproduced**, in any scaling that was tried", never), ("True in one scaling only", partly)):
        if sentences:
            result += [f"{words} ({len(sentences)} of {len(verdicts)} sentences):", "", *(f"- {name}" for name in sentences), ""]
    return result[:-1]


def _claims(results: Path) -> list[list[str]]:
    return [line for part in (_pima_claims, _adult_claims, _synthetic_claims, _growth_claims) for line in part(results)]


def _ks(lines: Sequence[Line], epsilon: str, method: str, scaling: str) -> float:
    return mean(float(line["ks"]) for line in _chosen(lines, (epsilon, method, scaling)))


def _close(lines: Sequence[Line], name: str, epsilon: str) -> list[list[str]]:
    """For every scaling with the rows' own deviations: private posteriors are close, DP-SGLD is further off."""
    body = []
    for scaling in (scaling for scaling in OWN if any(line["scaling"] == scaling for line in lines)):
        ours, prior, sgld = (_ks(lines, epsilon, method, scaling) for method in ("noisewise, paper", "prior, paper", "DP-SGLD"))
        body.append([f"{name}, ε = {epsilon}: private posteriors are close to the non-private ones",
                     f"rows {scaling}: mean KS distance {ours:.2f}; the prior alone {prior:.2f}", _verdict(ours < CLOSE)])
        body.append([f"{name}, ε = {epsilon}: DP-SGLD is further off", f"rows {scaling}: {sgld:.2f} against {ours:.2f}",
                     _verdict(sgld > ours)])
    return body


def _verdict(same: bool) -> str:
    return "yes" if same else "**no**"


def _pima_claims(results: Path) -> list[list[str]]:
    lines = lines_of(results, "pima.csv")
    body = [claim for epsilon in dict.fromkeys(line["epsilon"] for line in lines) for claim in _close(lines, "Pima", epsilon)]
    for scaling in OWN:
        found = [line for line in _chosen(lines, ("0.3", "noisewise, paper", scaling)) if not holds_zero(line, "exact_")]
        if found:
            shares = mean(_same_sign(line) for line in found)
            body.append(["Pima, ε = 0.3: clear effects are just missed",
                         f"rows {scaling}: intervals without zero in {shares:.0%} of the cases", _verdict(shares < 0.5)])
    return body


def _adult_claims(results: Path) -> list[list[str]]:
    lines = lines_of(results, "adult.csv")
    body = _close(lines, "Adult", "0.1")
    for scaling in OWN:
        ours, sgld = (_chosen(lines, ("0.1", method, scaling)) for method in ("noisewise, paper", "DP-SGLD"))
        if not ours:
            continue
        agree = mean(holds_zero(line) == holds_zero(line, "exact_") and (holds_zero(line) or _same_sign(line)) for line in ours)
        wide = mean(float(line["sd"]) / float(line["exact_sd"]) for line in sgld)
        body += [["Adult, ε = 0.1: significance is exactly that without privacy",
                  f"rows {scaling}: the same for {agree:.0%} of the coefficients", _verdict(agree > 0.95)],
                 ["Adult: DP-SGLD overestimates the uncertainty", f"rows {scaling}: its sd is {wide:.1f} times that of the rows",
                  _verdict(wide > 1.5)]]
    return body


def _synthetic_claims(results: Path) -> list[list[str]]:
    lines = lines_of(results, "synthetic.csv")
    if not lines:
        return []
    epsilons = sorted({float(line["epsilon"]) for line in lines} - {0.0})
    single = {epsilon: mean(float(line["ks"]) for line in lines if float(line["epsilon"]) == epsilon and line["repeat"] != "all")
              for epsilon in epsilons}
    pooled = {epsilon: mean(float(line["ks"]) for line in lines if float(line["epsilon"]) == epsilon and line["repeat"] == "all")
              for epsilon in epsilons}
    first, last = epsilons[1], epsilons[-1]
    rises = [single[b] - single[a] for a, b in pairwise(epsilons)]
    ranks = sorted(epsilons, key=lambda epsilon: -single[epsilon])
    gaps = sum((place - ranks.index(epsilon)) ** 2 for place, epsilon in enumerate(epsilons))
    correlation = 1 - 6 * gaps / (len(ranks) * (len(ranks) ** 2 - 1))  # of ranks: 1 if every step falls
    return [['Synthetic: KS distances have "a general non-increasing trend" in ε',
             f"{single[epsilons[0]]:.2f} at ε = {epsilons[0]:g}, {single[first]:.2f} at {first:.2f}, {single[last]:.2f} at "
             f"{last:g}; up in {sum(rise > 0 for rise in rises)} of {len(rises)} steps, by {max(0.0, *rises):.2f} at most",
             _verdict(correlation > 0.8)],
            ["Synthetic: CDFs are almost overlapping for ε > 0.1", f"at ε = {first:.2f}: {single[first]:.2f} for one release, "
             f"{pooled[first]:.2f} for 20 together", _verdict(pooled[first] < CLOSE)]]


def _growth_claims(results: Path) -> list[list[str]]:
    lines = lines_of(results, "growth.csv")
    if not lines:
        return []
    largest = max(float(line["norm"]) for line in lines)
    here = {method: [line for line in lines if float(line["norm"]) == largest and line["method"] == method]
            for method in ("Taylor", "quadrature")}
    covers = {method: mean(float(line["coverage"]) for line in found) for method, found in here.items()}
    return [["Accuracy decreases sharply for ‖θ‖ ≥ 3 (Taylor series)", f"at ‖θ‖ = {largest:g} the paper's model says "
             f"{float(here['Taylor'][0]['length']):.1f} and its intervals cover {covers['Taylor']:.0%}; without the series "
             f"{float(here['quadrature'][0]['length']):.1f} and {covers['quadrature']:.0%}", _verdict(covers["Taylor"] < 0.5)]]


PIECES: Final = {piece.__name__: piece for piece in (
    claims, not_reproduced, convergence, pima_distances, pima_widths, pima_picture, adult_distances, adult_widths, adult_picture,
    synthetic, growth, multipliers, visits, visits_verdict, visits_codings)}


def write_report(results: Path, page: Path) -> None:
    page.write_text(filled(WORDS.read_text(encoding="utf-8"), PIECES, results), encoding="utf-8")


if __name__ == "__main__":
    write_page("003", PIECES, RESULTS)
