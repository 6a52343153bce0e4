"""What the simulation of paper 004 says: averages, the paper's findings beside ours, and our default against every method."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.page import table
from studies.paper_004_simulation import EPSILONS, SNRS
from studies.workers import read

Line = dict[str, str]
Where = Callable[[float, float, int], bool]
"""Of SNR, ε and |T|."""

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
    """The results under one prior, added up over parts."""

    sums: dict[tuple[float, float, int, str, str], dict[str, float]]

    @classmethod
    def of(cls, lines: Iterable[Line], prior: str) -> Found:
        sums: dict[tuple[float, float, int, str, str], dict[str, float]] = {}
        for line in lines:
            if line["prior"] == prior:
                key = (float(line["snr"]), float(line["epsilon"]), int(line["active"]), line["release"], line["method"])
                entry = sums.setdefault(key, {})
                for name, value in line.items():
                    if name.split("_")[0] in ("replicates", "mse", "full", "distance", "relative", "brier"):
                        entry[name] = entry.get(name, 0.0) + float(value)
        return cls(sums)

    @property
    def replicates(self) -> str:
        counts = sorted({int(entry["replicates"]) for entry in self.sums.values()})
        return "no" if not counts else str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"

    def cells(self, which: tuple[str, str], where: Where = everywhere) -> list[tuple[float, float, int]]:
        return sorted(key[:3] for key in self.sums if key[3:] == which and where(*key[:3]))

    def mean(self, measure: str, which: tuple[str, str], where: Where = everywhere) -> float:
        """Over cells that count alike."""
        values = [self.of_cell(measure, which, cell) for cell in self.cells(which, where)]
        return sum(values) / len(values) if values else math.nan

    def of_cell(self, measure: str, which: tuple[str, str], cell: tuple[float, float, int]) -> float:
        entry = self.sums[*cell, *which]
        return entry[measure] / entry["replicates"]

    def behind(self, measure: str, which: tuple[str, str], cell: tuple[float, float, int]) -> tuple[float, float]:
        """By how much the method is worse than our default on the same tables, and the standard error."""
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


def sentences(found: Found) -> list[tuple[str, bool, str]]:
    """Each sentence of the paper, whether it holds here, and the numbers that decide it."""
    lm, lmt, wm, wmt = PAPERS
    small, large = at(EPSILONS[0]), at(EPSILONS[-1])

    def few(snr: float, epsilon: float, active: int) -> bool:
        return active <= FEW

    def many(snr: float, epsilon: float, active: int) -> bool:
        return active >= MANY

    def both(first: Where, second: Where) -> Where:
        return lambda *cell: first(*cell) and second(*cell)

    def mse(which: tuple[str, str], where: Where) -> float:
        return found.mean("mse", which, where)

    def distance(which: tuple[str, str], where: Where) -> float:
        return found.mean("distance", which, where)

    def relative(which: tuple[str, str], snr: float, epsilon: float) -> float:
        return found.mean("relative", which, with_snr(snr, epsilon))

    def pairs(value: Callable[[tuple[str, str], Where], float], form: str, *parts: tuple[tuple[str, str], Where]) -> str:
        return ", ".join(f"{LABELS[which]} {value(which, where):{form}}" for which, where in parts)

    falls = all(mse(which, at(a)) > mse(which, at(b)) for which in PAPERS for a, b in itertools.pairwise(EPSILONS))
    above = all(mse(which, at(epsilon)) > mse(ORACLE, at(epsilon)) for which in PAPERS for epsilon in EPSILONS)
    nearer = all(distance(which, small) > distance(which, large) for which in PAPERS)
    gain = {which: found.mean("relative", which) for which in (*PAPERS, ORACLE)}
    return [
        ("MSEs fall as ε grows and stay above the oracle's", falls and above,
         pairs(mse, ".1e", *((which, where) for which in PAPERS for where in (small, large)), (ORACLE, large))),
        ("LMT, WMT have the lower MSE where ε is small and |T| is small",
         mse(lmt, both(small, few)) < mse(lm, both(small, few)) and mse(wmt, both(small, few)) < mse(wm, both(small, few)),
         pairs(mse, ".1e", *((which, both(small, few)) for which in (lmt, lm, wmt, wm)))),
        ("LMT, WMT have the larger MSE where ε is large and |T| is large",
         mse(lmt, both(large, many)) > mse(lm, both(large, many)) and mse(wmt, both(large, many)) > mse(wm, both(large, many)),
         pairs(mse, ".1e", *((which, both(large, many)) for which in (lmt, lm, wmt, wm)))),
        ("at small ε WM and WMT predict better than LM and LMT",
         mse(wm, small) < mse(lm, small) and mse(wmt, small) < mse(lmt, small),
         pairs(mse, ".1e", *((which, small) for which in (wm, lm, wmt, lmt)))),
        ("at large ε LM and LMT predict better than WM and WMT",
         mse(lm, large) < mse(wm, large) and mse(lmt, large) < mse(wmt, large),
         pairs(mse, ".1e", *((which, large) for which in (lm, wm, lmt, wmt)))),
        ("averaging gains little with thresholding, more without, most for the oracle",
         gain[ORACLE] > max(gain[lm], gain[wm]) and gain[lm] > gain[lmt] and gain[wm] > gain[wmt],
         ", ".join(f"{LABELS[which]} {value:.3f}" for which, value in gain.items())),
        ("the gain of LM and WM is largest where ε is large and SNR small",
         all(relative(which, SNRS[0], EPSILONS[-1]) >= relative(which, snr, epsilon)
             for which in (lm, wm) for snr in SNRS for epsilon in EPSILONS),
         ", ".join(f"{LABELS[which]} {relative(which, snr, epsilon):.3f} (ε = {epsilon:g}, SNR {snr:g})" for which in (lm, wm)
                   for snr, epsilon in ((SNRS[0], EPSILONS[-1]), (SNRS[-1], EPSILONS[-1]), (SNRS[0], EPSILONS[0])))),
        ("for small |T| LMT and WMT are closer to the oracle's inclusion probabilities",
         distance(lmt, few) < distance(lm, few) and distance(wmt, few) < distance(wm, few),
         pairs(distance, ".2f", *((which, few) for which in (lmt, lm, wmt, wm)))),
        ("for large |T| LM and WM are closer",
         distance(lm, many) < distance(lmt, many) and distance(wm, many) < distance(wmt, many),
         pairs(distance, ".2f", *((which, many) for which in (lm, lmt, wm, wmt)))),
        ("distances fall as ε grows", nearer,
         pairs(distance, ".2f", *((which, where) for which in PAPERS for where in (small, large)))),
        (f"at small ε Laplace and Wishart noise differ little in distance (here: by less than {LITTLE:g})",
         abs(distance(lm, small) - distance(wm, small)) < LITTLE and abs(distance(lmt, small) - distance(wmt, small)) < LITTLE,
         pairs(distance, ".2f", *((which, small) for which in (lm, wm, lmt, wmt)))),
        ("at large ε LM and LMT are closer to the oracle than WM and WMT",
         distance(lm, large) < distance(wm, large) and distance(lmt, large) < distance(wmt, large),
         pairs(distance, ".2f", *((which, large) for which in (lm, wm, lmt, wmt)))),
    ]


def paper_findings(results: Path) -> list[str]:
    return table(["the paper says", "here", "means"], [
        [text.replace("|T|", r"\|T\|"), "holds" if true else "**does not hold**", numbers]
        for text, true, numbers in sentences(found_in(results))])


def default_against(results: Path) -> list[str]:
    """In how many of the 90 cells our default is better than a method, worse, or neither by two standard errors."""
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
    """What the simulation comes to, in sentences."""
    found = found_in(results)
    said = [true for _, true, _ in sentences(found)]
    lines = [f"- Of {len(said)} findings of the paper about its methods {sum(said)} hold here."]
    for measure, name in (("mse", "MSE"), ("distance", "distance to the oracle"), ("brier", "Brier score")):
        beaten = {which: [epsilon for epsilon in EPSILONS if found.mean(measure, which, at(epsilon))
                          <= found.mean(measure, ours_for(which), at(epsilon))] for which in PAPERS}
        lost = [f"{LABELS[which]} at ε = {', '.join(f'{epsilon:g}' for epsilon in where)}"
                for which, where in beaten.items() if where]
        lines.append(f"- Mean {name}: the default (for LM and LMT on the same Laplace release, for WM and WMT on a Gaussian one "
                     "of the same ε and δ) beats all four methods of the paper at every ε"
                     + (", but for " + "; ".join(lost) + "." if lost else "."))
    ratios = ", ".join(f"{found.mean('mse', ('wishart', 'noise-aware'), at(epsilon)) / found.mean('mse', OURS, at(epsilon)):.1f}"
                       for epsilon in EPSILONS)
    lines.append(f"- Exact-k Wishart noise against Gaussian noise, both noise-aware: the MSE is {ratios} times as large at "
                 f"ε = {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}.")
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
    """hLM and hWM (exact k) beside the others on the same tables."""
    found = found_in(results, name="simulation_histogram.csv")
    shown = [(release, method) for release in ("laplace", "wishart")
             for method in ("histogram", "ridge", "thresholded", "noise-aware")]
    body = [[LABELS[which],
             *(f"{found.mean(measure, which, at(epsilon)):{form}}" for measure, form in (("mse", ".1e"), ("distance", ".2f"))
               for epsilon in EPSILONS)] for which in shown]
    return [f"{found.replicates} replicates, SNR 0.5, |T| = 0, 3, 6, 9, 100 draws of the region.", "",
            *table(["method", *(f"MSE, ε = {epsilon:g}" for epsilon in EPSILONS),
                    *(f"distance, ε = {epsilon:g}" for epsilon in EPSILONS)], body)]
