"""The simulation of paper 004: averages, the paper's findings and ours, and our default against every method."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.page import table
from studies.paper_004_simulation import EPSILONS, SNRS
from studies.verdicts import Condition, Target, Verdict, in_words, judge_sentence, mean_of
from studies.workers import read

Line = dict[str, str]
Key = tuple[float, float, int, str, str]
"""SNR, ε, |T|, release, method."""
Where = Callable[[float, float, int], bool]
"""A condition on SNR, ε and |T|."""
Which = tuple[str, str]
"""A release and a method."""
Place = tuple[Which, Where]

LABELS = {  # (release, method)
    ("", "oracle"): "O (no privacy)",
    ("laplace", "ridge"): "LM", ("laplace", "thresholded"): "LMT", ("laplace", "noise-aware"): "noise-aware, Laplace",
    ("wishart-paper", "ridge"): "WM, paper's k", ("wishart-paper", "thresholded"): "WMT, paper's k",
    ("wishart", "ridge"): "WM, exact k", ("wishart", "thresholded"): "WMT, exact k",
    ("wishart", "noise-aware"): "noise-aware, Wishart exact k",
    ("gaussian", "ridge"): "ridge, Gaussian", ("gaussian", "thresholded"): "thresholded, Gaussian",
    ("gaussian", "noise-aware"): "noise-aware, Gaussian",
    ("laplace", "histogram"): "hLM", ("wishart", "histogram"): "hWM, exact k",
}
SHOWN = tuple(which for which in LABELS if which[1] != "histogram")
PAPERS = (("laplace", "ridge"), ("laplace", "thresholded"), ("wishart-paper", "ridge"), ("wishart-paper", "thresholded"))
OTHERS = (("wishart", "ridge"), ("wishart", "thresholded"), ("gaussian", "ridge"), ("gaussian", "thresholded"))
ORACLE = ("", "oracle")
OURS = ("gaussian", "noise-aware")
SIGNIFICANT = 2.0
LITTLE = 0.1
FEW, MANY = 3, 6
"""|T| is called small up to the first, large from the second on."""


def everywhere(snr: float, epsilon: float, active: int) -> bool:
    return True


@dataclass(frozen=True)
class Found:
    """The results under one prior, summed over parts."""

    sums: dict[Key, dict[str, float]]
    parts: dict[str, dict[Key, dict[str, float]]]
    """The same for each part of the tables: parts are independent."""

    @classmethod
    def of(cls, lines: Iterable[Line], prior: str) -> Found:
        sums: dict[Key, dict[str, float]] = {}
        parts: dict[str, dict[Key, dict[str, float]]] = {}
        for line in lines:
            if line["prior"] == prior:
                key = (float(line["snr"]), float(line["epsilon"]), int(line["active"]), line["release"], line["method"])
                own = parts.setdefault(line.get("part", ""), {})
                for entry in (sums.setdefault(key, {}), own.setdefault(key, {})):
                    for name, value in line.items():
                        if name.split("_")[0] in ("replicates", "mse", "full", "distance", "relative", "brier"):
                            entry[name] = entry.get(name, 0.0) + float(value)
        return cls(sums, parts)

    @property
    def replicates(self) -> str:
        counts = sorted({int(entry["replicates"]) for entry in self.sums.values()})
        return "no" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    def cells(self, which: tuple[str, str], where: Where = everywhere) -> list[tuple[float, float, int]]:
        return sorted(key[:3] for key in self.sums if key[3:] == which and where(*key[:3]))

    def mean(self, measure: str, which: tuple[str, str], where: Where = everywhere) -> float:
        """The mean over cells, with equal weights."""
        values = [self.of_cell(measure, which, cell) for cell in self.cells(which, where)]
        return sum(values) / len(values) if values else math.nan

    def of_cell(self, measure: str, which: tuple[str, str], cell: tuple[float, float, int]) -> float:
        entry = self.sums[*cell, *which]
        return entry[measure] / entry["replicates"]

    def larger(self, measure: str, one: Place, other: Place) -> Condition:
        """The condition that the mean over the cells of the first place is larger than that over the second's.

        The error is that of parts, which scatter independently for each SNR and |T|; tables are the same for all ε and methods.
        """
        count = len(self.parts)
        shares: dict[tuple[float, int], list[float]] = {}
        for sign, (which, where) in ((1.0, one), (-1.0, other)):
            cells = self.cells(which, where)
            for place, sums in enumerate(self.parts.values()):
                for cell in cells:
                    entry = sums[*cell, *which]
                    own = shares.setdefault((cell[0], cell[2]), [0.0] * count)
                    own[place] += sign * entry[measure] / entry["replicates"] / len(cells)
        found = [mean_of(values) for values in shares.values()]
        variances = [error**2 for _, error, _ in found]
        total = sum(variances)
        degrees = total**2 / sum(variance**2 / (count - 1.0) for variance in variances) if count > 1 and total > 0 else 1.0
        return Condition(sum(mean for mean, _, _ in found), math.sqrt(total), degrees)  # Welch and Satterthwaite's degrees

    def behind(self, measure: str, which: tuple[str, str], cell: tuple[float, float, int]) -> tuple[float, float]:
        """How much worse the method is than our default on the same tables, and the standard error."""
        entry = self.sums[*cell, *which]
        count = entry["replicates"]
        mean = entry[f"{measure}_behind"] / count
        variance = max(entry[f"{measure}_behind_squares"] / count - mean**2, 0.0)
        return mean, math.sqrt(variance / max(count - 1.0, 1.0))


def found_in(results: Path, prior: str = "zellner-siow", name: str = "simulation.csv") -> Found:
    path = results / name
    return Found.of(read(path) if path.exists() else [], prior)


def replicates(results: Path) -> list[str]:
    return [f"Replicates of each of the 30 combinations of |T| and SNR: {found_in(results).replicates} with Zellner–Siow, "
            f"{found_in(results, 'bic').replicates} with BIC. The paper has 1000."]


def averages(results: Path, measure: str, form: str, prior: str = "zellner-siow") -> list[str]:
    """Means over |T| and SNR; the smallest of each privacy (with and without δ) is bold."""
    found = found_in(results, prior)
    body = []
    pure = [which for which in SHOWN if which[0] == "laplace"]
    other = [which for which in SHOWN if which[0] in ("wishart-paper", "wishart", "gaussian")]
    best = {epsilon: {min(group, key=lambda which: _or_infinite(found.mean(measure, which, at(epsilon))))
                      for group in (pure, other)} for epsilon in EPSILONS}
    for which in SHOWN:
        if measure == "distance" and which == ORACLE:
            continue
        values = [(epsilon, found.mean(measure, which, at(epsilon))) for epsilon in EPSILONS]
        body.append([LABELS[which], *(f"**{value:{form}}**" if which in best[epsilon] else f"{value:{form}}"
                                      for epsilon, value in values)])
    return table(["method", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], body)


def _or_infinite(value: float) -> float:
    return math.inf if math.isnan(value) else value


def at(epsilon: float) -> Where:
    return lambda _, here, __: here == epsilon


def mse_averages(results: Path) -> list[str]:
    return averages(results, "mse", ".2e")


def distance_averages(results: Path) -> list[str]:
    return averages(results, "distance", ".3f")


def brier_averages(results: Path) -> list[str]:
    return averages(results, "brier", ".3f")


def bic_averages(results: Path) -> list[str]:
    distances = averages(results, "distance", ".3f", "bic")
    return ["MSE:", "", *averages(results, "mse", ".2e", "bic"), "", "Distance:", "", *distances]


def relative_averages(results: Path) -> list[str]:
    """By SNR at the smallest and the largest ε."""
    found = found_in(results)
    body = []
    for which in SHOWN:
        body.append([LABELS[which], *(f"{found.mean('relative', which, with_snr(snr, epsilon)):.2f}"
                                      for epsilon in (EPSILONS[0], EPSILONS[-1]) for snr in SNRS)])
    return table(["method", *(f"ε = {epsilon:g}, SNR {snr:g}" for epsilon in (EPSILONS[0], EPSILONS[-1]) for snr in SNRS)], body)


def with_snr(snr: float, epsilon: float) -> Where:
    return lambda here, other, _: here == snr and other == epsilon


def sentences(found: Found) -> list[tuple[str, list[Condition], str]]:
    """Each sentence of the paper, what must be so, and the means."""
    lm, lmt, wm, wmt = PAPERS
    small, large = at(EPSILONS[0]), at(EPSILONS[-1])

    def few(snr: float, epsilon: float, active: int) -> bool:
        return active <= FEW

    def many(snr: float, epsilon: float, active: int) -> bool:
        return active >= MANY

    def both(first: Where, second: Where) -> Where:
        return lambda *cell: first(*cell) and second(*cell)

    def less(measure: str, where: Where, *pairs: tuple[Which, Which]) -> list[Condition]:
        """The first of each pair has the smaller mean."""
        return [found.larger(measure, (other, where), (one, where)) for one, other in pairs]

    def means(measure: str, form: str, *parts: Place) -> str:
        return ", ".join(f"{LABELS[which]} {found.mean(measure, which, where):{form}}" for which, where in parts)

    def here(where: Where, *methods: Which) -> list[Place]:
        return [(which, where) for which in methods]

    ends = [place for which in PAPERS for place in here(small, which) + here(large, which)]
    falls = [found.larger("mse", (which, at(a)), (which, at(b))) for which in PAPERS for a, b in itertools.pairwise(EPSILONS)]
    above = [condition for epsilon in EPSILONS for condition in less("mse", at(epsilon), *((ORACLE, which) for which in PAPERS))]
    low = with_snr(SNRS[0], EPSILONS[-1])
    others = [with_snr(snr, epsilon) for snr in SNRS for epsilon in EPSILONS if (snr, epsilon) != (SNRS[0], EPSILONS[-1])]
    gaps = [(abs(one.margin), one.error, one.degrees) for one in (found.larger("distance", (a, small), (b, small))
                                                                  for a, b in ((lm, wm), (lmt, wmt)))]
    shown = [(which, with_snr(snr, epsilon), snr, epsilon) for which in (lm, wm)
             for snr, epsilon in ((SNRS[0], EPSILONS[-1]), (SNRS[-1], EPSILONS[-1]), (SNRS[0], EPSILONS[0]))]
    return [
        ("MSEs fall as ε grows and stay above the oracle's", falls + above, means("mse", ".1e", *ends, (ORACLE, large))),
        ("LMT, WMT have the lower MSE where ε is small and |T| is small", less("mse", both(small, few), (lmt, lm), (wmt, wm)),
         means("mse", ".1e", *here(both(small, few), lmt, lm, wmt, wm))),
        ("LMT, WMT have the larger MSE where ε is large and |T| is large", less("mse", both(large, many), (lm, lmt), (wm, wmt)),
         means("mse", ".1e", *here(both(large, many), lmt, lm, wmt, wm))),
        ("at small ε WM and WMT predict better than LM and LMT", less("mse", small, (wm, lm), (wmt, lmt)),
         means("mse", ".1e", *here(small, wm, lm, wmt, lmt))),
        ("at large ε LM and LMT predict better than WM and WMT", less("mse", large, (lm, wm), (lmt, wmt)),
         means("mse", ".1e", *here(large, lm, wm, lmt, wmt))),
        ("averaging gains little with thresholding, more without, most for the oracle",
         less("relative", everywhere, (lm, ORACLE), (wm, ORACLE), (lmt, lm), (wmt, wm)),
         means("relative", ".3f", *here(everywhere, *PAPERS, ORACLE))),
        ("the gain of LM and WM is largest where ε is large and SNR small",
         [found.larger("relative", (which, low), (which, other)) for which in (lm, wm) for other in others],
         ", ".join(f"{LABELS[which]} {found.mean('relative', which, where):.3f} (ε = {epsilon:g}, SNR {snr:g})"
                   for which, where, snr, epsilon in shown)),
        ("for small |T| LMT and WMT are closer to the oracle's inclusion probabilities",
         less("distance", few, (lmt, lm), (wmt, wm)), means("distance", ".2f", *here(few, lmt, lm, wmt, wm))),
        ("for large |T| LM and WM are closer", less("distance", many, (lm, lmt), (wm, wmt)),
         means("distance", ".2f", *here(many, lm, lmt, wm, wmt))),
        ("distances fall as ε grows", [found.larger("distance", (which, small), (which, large)) for which in PAPERS],
         means("distance", ".2f", *ends)),
        (f"at small ε Laplace and Wishart noise differ little in distance (here: by less than {LITTLE:g})",
         [Condition(LITTLE - gap, error, degrees) for gap, error, degrees in gaps],
         means("distance", ".2f", *here(small, lm, wm, lmt, wmt))),
        ("at large ε LM and LMT are closer to the oracle than WM and WMT", less("distance", large, (lm, wm), (lmt, wmt)),
         means("distance", ".2f", *here(large, lm, wm, lmt, wmt))),
    ]


def targets(results: Path) -> list[Target]:
    found = found_in(results)
    if not found.sums:
        return []
    return [Target("Section 4.1.1", text, text, numbers, judge_sentence(conditions), in_words(conditions), "simulation")
            for text, conditions, numbers in sentences(found)]


def paper_findings(results: Path) -> list[str]:
    return table(["the paper says", "verdict", "means"], [
        [text.replace("|T|", r"\|T\|"), _shown(judge_sentence(conditions)), numbers]
        for text, conditions, numbers in sentences(found_in(results))])


def _shown(verdict: Verdict) -> str:
    return str(verdict) if verdict == Verdict.REPRODUCED else f"**{verdict}**"


def default_against(results: Path) -> list[str]:
    """In how many of the 90 cells our default is better than a method or worse by two standard errors, or neither."""
    found = found_in(results)
    body = []
    for which in (*PAPERS, *OTHERS):
        row = [LABELS[which], "Laplace" if which[0] == "laplace" else "Gaussian"]
        for measure in ("mse", "distance", "brier"):
            counts = Counter(judged(found, measure, which, cell) for cell in found.cells(which))
            row.append(f"{counts['better']} / {counts['even']} / {counts['worse']}")
        body.append(row)
    return table(["method", "our release", "MSE: better / even / worse", "distance to O: better / even / worse",
                  "Brier score: better / even / worse"], body)


def judged(found: Found, measure: str, which: tuple[str, str], cell: tuple[float, float, int]) -> str:
    mean, error = found.behind(measure, which, cell)
    if abs(mean) <= SIGNIFICANT * error or mean == 0.0:
        return "even"
    return "better" if mean > 0 else "worse"


def where_worse(results: Path) -> list[str]:
    """The cells in which one of the paper's methods beats our default by more than two standard errors."""
    found = found_in(results)
    result = []
    for measure, name in (("mse", "MSE"), ("distance", "distance to O")):
        for which in (*PAPERS, *OTHERS):
            lost = [cell for cell in found.cells(which) if judged(found, measure, which, cell) == "worse"]
            if lost:
                result.append(f"- {name}, {LABELS[which]}: " + "; ".join(_grouped(lost)) + ".")
    return result or ["- nowhere."]


def _grouped(cells: Sequence[tuple[float, float, int]]) -> list[str]:
    return [f"ε = {epsilon:g}, SNR {snr:g}, |T| = " + ", ".join(str(active) for s, e, active in cells if (s, e) == (snr, epsilon))
            for epsilon in EPSILONS for snr in SNRS if any((s, e) == (snr, epsilon) for s, e, _ in cells)]


def best_of_papers(results: Path) -> list[str]:
    """Our default against the best of the paper's four methods in each cell, chosen with hindsight."""
    found = found_in(results)
    lines = []
    for measure, name in (("mse", "MSE"), ("distance", "distance to O")):
        for kind, group in (("pure ε", PAPERS[:2]), ("(ε, δ)", PAPERS[2:])):
            cells = found.cells(group[0])
            outcomes: Counter[str] = Counter()
            for cell in cells:
                rival = min(group, key=lambda which: found.sums[*cell, *which][measure])
                outcomes[judged(found, measure, rival, cell)] += 1
            lines.append(f"- {name}, {kind}: better in {outcomes['better']}, even in {outcomes['even']}, worse in "
                         f"{outcomes['worse']} of {len(cells)} cells than the better one of "
                         f"{LABELS[group[0]]} and {LABELS[group[1]]}.")
    return lines


def simulation_summary(results: Path) -> list[str]:
    """The results of the simulation in sentences."""
    found = found_in(results)
    said = Counter(judge_sentence(conditions) for _, conditions, _ in sentences(found))
    lines = ["- Findings of the paper about its methods: " + ", ".join(f"{count} {verdict}" for verdict, count in said.items())
             + "."]
    lines.append("- The default against the paper's four methods, on the same Laplace release for LM and LMT and on a Gaussian "
                 "one of the same ε and δ for WM and WMT:")
    for measure, name in (("mse", "MSE"), ("distance", "distance to the oracle"), ("brier", "Brier score")):
        beaten = {which: [epsilon for epsilon in EPSILONS if found.mean(measure, which, at(epsilon))
                          <= found.mean(measure, ours_for(which), at(epsilon))] for which in PAPERS}
        lost = [f"{LABELS[which]} at ε = {', '.join(f'{epsilon:g}' for epsilon in where)}"
                for which, where in beaten.items() if where]
        lines.append(f"    - Mean {name}: the default is better than all four at every ε"
                     + (", except " + "; ".join(lost) + "." if lost else "."))
    ratios = ", ".join(f"{found.mean('mse', ('wishart', 'noise-aware'), at(epsilon)) / found.mean('mse', OURS, at(epsilon)):.1f}"
                       for epsilon in EPSILONS)
    lines.append(f"- With exact-k Wishart noise the MSE is {ratios} times that with Gaussian noise at "
                 f"ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}, both noise-aware.")
    return lines


def ours_for(which: tuple[str, str]) -> tuple[str, str]:
    return ("laplace", "noise-aware") if which[0] == "laplace" else OURS


def mechanisms(results: Path) -> list[str]:
    """Standard deviation of an entry off the diagonal in the paper's units, and of one on it; degrees of freedom."""
    path = results / "noise.csv"
    lines = read(path) if path.exists() else []
    body = [[line["release"], line["epsilon"], line["degrees"] or "–", f"{float(line['off_diagonal']):.1f}",
             f"{float(line['diagonal']):.1f}"] for line in lines]
    return table(["noise", "ε", "degrees of freedom", "sd off the diagonal", "sd on the diagonal"], body)


def histogram_averages(results: Path) -> list[str]:
    """hLM and hWM (exact k) and the other methods on the same tables."""
    found = found_in(results, name="simulation_histogram.csv")
    shown = [(release, method) for release in ("laplace", "wishart")
             for method in ("histogram", "ridge", "thresholded", "noise-aware")]
    body = [[LABELS[which],
             *(f"{found.mean(measure, which, at(epsilon)):{form}}" for measure, form in (("mse", ".1e"), ("distance", ".2f"))
               for epsilon in EPSILONS)] for which in shown]
    return [f"{found.replicates} replicates, SNR 0.5, |T| = 0, 3, 6, 9, 100 draws of the region.", "",
            *table(["method", *(f"MSE, ε = {epsilon:g}" for epsilon in EPSILONS),
                    *(f"distance, ε = {epsilon:g}" for epsilon in EPSILONS)], body)]
