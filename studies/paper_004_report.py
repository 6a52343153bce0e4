"""The results of the studies of paper 004 as a page of the documentation.

    python -m studies.reproduce 004 --page

The text is in ``studies/paper_004_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

from studies import paper_004_findings as findings
from studies import paper_004_hypotheses_findings as hypotheses
from studies.inclusion_calibration import BINS, METHODS, expected_calibration_error, mean_score, reliability
from studies.model_averaging import RESULTS as RESULTS
from studies.page import table
from studies.verdicts import MISSING, Condition, Target, Verdict, in_words, judge_figure, judge_sentence
from studies.workers import read

Line = dict[str, str]

TARGETS = {("zellner-siow", "gender_male"): "0.305", ("zellner-siow", "num_lab_procedures"): "0.991",
           ("zellner-siow", "num_procedures"): "0.998", ("zellner-siow-laplace", "gender_male"): "0.310",
           ("bic", "gender_male"): "0.138"}
"""BAS 1.7.5 on the same rows; all other Zellner–Siow ones are 1.000."""
SHOWN = ("gender_male", "num_lab_procedures", "num_procedures", "diag_1", "age", "time_in_hospital")
LOW, HIGH = 0.93, 0.97


def lines_of(results: Path, name: str) -> list[Line]:
    path = results / name
    return read(path) if path.exists() else []


def oracle(results: Path) -> list[str]:
    lines = lines_of(results, "diabetes_oracle.csv")
    body = []
    for line in lines:
        target = TARGETS.get((line["prior"], line["term"]), "1.000" if line["prior"] == "zellner-siow" else "")
        ours = f"{float(line['probability']):.3f}"
        if target:
            body.append([line["prior"], line["term"], target, ours, "yes" if ours == target else "**no**"])
    return table(["prior", "term", "BAS", "ours", "equal"], body)


def diabetes(results: Path) -> list[str]:
    """Means of the inclusion probabilities over repeats, Zellner–Siow."""
    lines = [line for line in lines_of(results, "diabetes.csv") if line["prior"] == "zellner-siow"]
    exact = {line["term"]: float(line["probability"]) for line in lines_of(results, "diabetes_oracle.csv")
             if line["prior"] == "zellner-siow"}
    body = [["–", "no privacy", "", *(f"{exact.get(term, float('nan')):.3f}" for term in SHOWN), ""]]
    for epsilon, release, method in dict.fromkeys((line["epsilon"], line["release"], line["method"]) for line in lines):
        mine = {line["term"]: line for line in lines if (line["epsilon"], line["release"], line["method"])
                == (epsilon, release, method)}
        distance = diabetes_distances(results)[epsilon, f"{method}, {release}"]
        repeats = next(iter(mine.values()))["repeats"]
        body.append([epsilon, f"{method}, {release}", repeats,
                     *(f"{float(mine[term]['mean']):.2f} ± {float(mine[term]['sd']):.2f}" for term in SHOWN), f"{distance:.2f}"])
    return table(["ε", "method", "repeats", *SHOWN, "distance to O"], body)


def diabetes_distances(results: Path) -> dict[tuple[str, str], float]:
    """Root mean square over repeats and terms, by ε and method."""
    squares: dict[tuple[str, str], list[float]] = {}
    for line in lines_of(results, "diabetes.csv"):
        if line["prior"] == "zellner-siow":
            squares.setdefault((line["epsilon"], f"{line['method']}, {line['release']}"), []).append(float(line["distance"]) ** 2)
    return {key: (sum(values) / len(values)) ** 0.5 for key, values in squares.items()}


def distance_of_always(results: Path) -> float:
    """The distance of saying 1 to every term, whatever the release."""
    misses = [1.0 - float(line["probability"]) for line in lines_of(results, "diabetes_oracle.csv")
              if line["prior"] == "zellner-siow"]
    return float((sum(miss**2 for miss in misses) / len(misses)) ** 0.5)


def diabetes_bands(results: Path) -> list[str]:
    """Mean bands of the default, and how often they hold the result of the analysis without privacy."""
    lines = [line for line in lines_of(results, "diabetes.csv")
             if line["prior"] == "zellner-siow" and line["method"] == "noise-aware" and line.get("bands")]
    body = []
    for epsilon, release in dict.fromkeys((line["epsilon"], line["release"]) for line in lines):
        mine = {line["term"]: line for line in lines if (line["epsilon"], line["release"]) == (epsilon, release)}
        body.append([epsilon, release, *(
            f"{float(mine[term]['low']):.2f}–{float(mine[term]['high']):.2f} ({float(mine[term]['covered']):.0%})"
            for term in SHOWN)])
    return table(["ε", "release", *SHOWN], body)


def calibration(results: Path) -> list[str]:
    """By setting: log score, Brier score and expected calibration error of every method."""
    lines = lines_of(results, "calibration.csv")
    body = []
    for key in settings(lines):
        row = [key[0], key[1], key[2], key[3], key[4]]
        for method in METHODS:
            mine = of(lines, key, method)
            error, spread, _ = expected_calibration_error(reliability(mine))
            logarithm, brier = mean_score(mine, "log score")[0], mean_score(mine, "brier")[0]
            row.append(f"{logarithm:.2f} / {brier:.3f} / {error:.3f} ± {spread:.3f}")
        body.append(row)
    return table(["p", "predictors", "truth", "noise", "ε", *METHODS], body)


def settings(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    names = ("predictors", "features", "truth", "mechanism", "epsilon")
    return list(dict.fromkeys(tuple(line[name] for name in names) for line in lines))


def of(lines: Sequence[Line], key: tuple[str, ...], method: str) -> list[Line]:
    return [line for line in lines if line["method"] == method
            and (line["predictors"], line["features"], line["truth"], line["mechanism"], line["epsilon"]) == key]


def calibration_count(results: Path) -> list[str]:
    lines = lines_of(results, "calibration.csv")
    counts = [sum(int(float(line["count"])) for line in of(lines, key, "oracle") if line["measure"] == "brier")
              for key in settings(lines)]
    span = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return [f"{span} tables for each setting, {len(counts)} settings."]


def calibration_misses(results: Path) -> list[str]:
    """Settings in which the default's calibration error exceeds what chance gives by more than two standard errors."""
    lines = lines_of(results, "calibration.csv")
    result = []
    for key in settings(lines):
        mine = of(lines, key, "noise-aware")
        if beyond_chance(mine):
            error, spread, chance = expected_calibration_error(reliability(mine))
            result.append(f"- p = {key[0]}, {key[1]} predictors, truth from the {key[2]}, {key[3]} noise, ε = {key[4]}: "
                          f"{error:.3f} ± {spread:.3f}, where chance gives {chance:.3f}.")
    return result or ["- none."]


def reliability_tables(results: Path) -> list[str]:
    """Said → observed, by ε, all mechanisms and numbers of predictors together."""
    lines = lines_of(results, "calibration.csv")
    result: list[str] = []
    for features, truth in dict.fromkeys((line["features"], line["truth"]) for line in lines):
        body = []
        for epsilon in dict.fromkeys(line["epsilon"] for line in lines):
            for method in METHODS:
                mine = [line for line in lines if (line["features"], line["truth"], line["epsilon"], line["method"])
                        == (features, truth, epsilon, method)]
                body.append([epsilon, method, *(
                    "–" if row is None else f"{row.said:.2f} → {row.observed:.2f} ± {row.error:.2f} ({row.count})"
                    for row in reliability(mine))])
        head = [f"{low:g}–{high:g}" for low, high in itertools.pairwise(BINS)]
        result += [f"{features} predictors, truth from the {truth}:", "", *table(["ε", "method", *head], body), ""]
    return result


def calibration_coverage(results: Path) -> list[str]:
    """Coverage of 95 % intervals of averaged coefficients, and of the bands for the oracle's probabilities."""
    lines = lines_of(results, "calibration.csv")
    body = []
    for key in settings(lines):
        mine = of(lines, key, "noise-aware")
        body.append([*key, *(covered(mine, name) for name in ("coefficients", "active", "oracle"))])
    return table(["p", "predictors", "truth", "noise", "ε", "coefficients", "those not 0", "bands for O"], body)


def covered(lines: Sequence[Line], name: str) -> str:
    mine = [line for line in lines if line["measure"] == f"coverage {name}"]
    count, total, squares = (sum(float(line[field]) for line in mine) for field in ("count", "sum", "squares"))
    if not count:
        return "–"
    share, error = total / count, squares**0.5 / count
    text = f"{share:.1%} ± {error:.1%}"
    return f"**{text}**" if share + 2 * error < LOW else text


def consistency(results: Path) -> list[str]:
    """Mean probability of the true model, Zellner–Siow; then BIC."""
    lines = lines_of(results, "consistency.csv")
    rows = sorted({int(line["rows"]) for line in lines})
    result: list[str] = []
    for prior in dict.fromkeys(line["prior"] for line in lines):
        body = []
        for key in dict.fromkeys((line["epsilon"], line["release"], line["strength"], line["method"]) for line in lines):
            mine = {int(line["rows"]): line for line in lines if line["prior"] == prior
                    and (line["epsilon"], line["release"], line["strength"], line["method"]) == key}
            if key[3] != "oracle" or key[:2] == (lines[0]["epsilon"], lines[0]["release"]):
                first = ["–", "no noise"] if key[3] == "oracle" else [key[0], key[1]]
                body.append([*first, key[2], key[3], *(f"{float(mine[n]['probability']):.3f}" for n in rows)])
        result += [f"{prior}:", "", *table(["ε", "noise", "coefficients ×", "method", *(f"n = {n:,}" for n in rows)], body), ""]
    return result


def consistency_verdict(results: Path) -> list[str]:
    lines = [line for line in lines_of(results, "consistency.csv") if line["method"] == "noise-aware"]
    most = max(int(line["rows"]) for line in lines)
    last = [line for line in lines if int(line["rows"]) == most]
    worst = min(last, key=lambda line: float(line["probability"]))
    return [f"At n = {most:,} the default gives the true model a mean probability of at least {float(worst['probability']):.3f} "
            f"in each of {len(last)} settings (the least: {worst['release']} noise, ε = {worst['epsilon']}, {worst['prior']}, "
            f"coefficients × {worst['strength']})."]


def summary(results: Path) -> list[str]:
    """The verdicts, computed from the files."""
    known = oracle(results)[2:]
    equal = sum(row.endswith("| yes |") for row in known)
    lines = [*findings.simulation_summary(results), f"- Diabetes study without privacy: {equal} of {len(known)} inclusion "
             "probabilities equal those of BAS to three digits."]
    distances = diabetes_distances(results)
    for epsilon in dict.fromkeys(epsilon for epsilon, _ in distances):
        here = {name: value for (other, name), value in distances.items() if other == epsilon}
        ours = min((name for name in here if name.startswith("noise-aware")), key=here.__getitem__)
        theirs = min((name for name in here if not name.startswith("noise-aware")), key=here.__getitem__)
        lines.append(f"- Diabetes study, ε = {epsilon}, smallest distance to the analysis without privacy: ours {here[ours]:.2f} "
                     f"({ours}), the others {here[theirs]:.2f} ({theirs}), saying 1 to everything "
                     f"{distance_of_always(results):.2f}.")
    lines_of_calibration = lines_of(results, "calibration.csv")
    for truth in dict.fromkeys(line["truth"] for line in lines_of_calibration):
        mine = [key for key in settings(lines_of_calibration) if key[2] == truth]
        counts = {method: sum(not beyond_chance(of(lines_of_calibration, key, method)) for key in mine) for method in METHODS}
        lines.append(f"- Calibration, truth from the {truth}: probabilities are right within chance for "
                     + ", ".join(f"{method} in {count}" for method, count in counts.items()) + f" of {len(mine)} settings.")
    return [*lines, *("- " + line for line in consistency_verdict(results))]


def beyond_chance(lines: Sequence[Line]) -> bool:
    error, spread, chance = expected_calibration_error(reliability(lines))
    return error - chance > 2 * spread


PIECES: dict[str, Callable[[Path], list[str]]] = {
    piece.__name__: piece
    for piece in (findings.replicates, findings.mechanisms, findings.mse_averages, findings.distance_averages,
                  findings.brier_averages, findings.bic_averages, findings.relative_averages, findings.paper_findings,
                  findings.default_against, findings.where_worse, findings.best_of_papers, findings.histogram_averages,
                  oracle, diabetes, diabetes_bands, calibration, calibration_count, calibration_misses, reliability_tables,
                  calibration_coverage, consistency, consistency_verdict, summary, hypotheses.hypotheses_summary,
                  hypotheses.hypotheses_exact, hypotheses.hypotheses_figure_1, hypotheses.hypotheses_releases,
                  hypotheses.hypotheses_figure_2, hypotheses.hypotheses_errors, hypotheses.hypotheses_other_errors,
                  hypotheses.hypotheses_sentences)
}


def targets(results: Path) -> list[Target]:
    return [*hypotheses.targets(results), *findings.targets(results), *_histograms(results), *_diabetes(results), *_speed()]


def _diabetes(results: Path) -> list[Target]:
    """Inclusion probabilities without privacy compared with those of BAS, and the paper's sentences about its private ones."""
    made = []
    for line in lines_of(results, "diabetes_oracle.csv"):
        printed = TARGETS.get((line["prior"], line["term"]), "1.000" if line["prior"] == "zellner-siow" else "")
        if printed:
            found = float(line["probability"])
            verdict = judge_figure(float(printed), found, 0.0, 0.0005)
            made.append(Target("Section 4.1.2", f"without privacy, {line['prior']}: P({line['term']}), by BAS 1.7.5", printed,
                               f"{found:.3f}", verdict, "no chance involved", "diabetes"))
    lines = [line for line in lines_of(results, "diabetes.csv") if line["prior"] == "zellner-siow"]
    for text, pairs in (("inclusion probabilities of LMT and WMT are closer to the oracle's than those of LM and WM",
                         [(("thresholded", release), ("ridge", release)) for release in ("laplace", "wishart-paper")]),
                        ("hLM and hWM are closer than LM and WM",
                         [(("histogram", release), ("ridge", release)) for release in ("laplace", "wishart")])):
        held, words = [], []
        for epsilon in ("0.5", "1.0"):
            for one, other in pairs:
                mine, theirs = (_square_distance(lines, epsilon, *which) for which in (one, other))
                if mine is None or theirs is None:
                    held.append(MISSING)
                    continue
                held.append(Condition(theirs[0] - mine[0], (mine[1] ** 2 + theirs[1] ** 2) ** 0.5))
                words.append(f"ε = {epsilon}, {one[1]}: {max(mine[0], 0.0) ** 0.5:.2f} and {max(theirs[0], 0.0) ** 0.5:.2f}")
        made.append(Target("Section 4.1.2", text, text, "; ".join(words) or "–", judge_sentence(held), in_words(held),
                           "diabetes"))
    return made


def _square_distance(lines: Sequence[Line], epsilon: str, method: str, release: str) -> tuple[float, float] | None:
    """The mean over terms and repeats with a bound on its standard error; None if it was not run.

    Squares between 0 and 1 with mean m scatter by √(m(1 − m)) at most, and terms of one release are taken for one.
    """
    mine = [line for line in lines if (line["epsilon"], line["method"], line["release"]) == (epsilon, method, release)]
    if not mine:
        return None
    squares = [float(line["distance"]) ** 2 for line in mine]
    errors = [(square * (1 - square) / int(line["repeats"])) ** 0.5 for square, line in zip(squares, mine, strict=True)]
    return sum(squares) / len(squares), sum(errors) / len(errors)


def _histograms(results: Path) -> list[Target]:
    """Tested on simulated tables; the paper says it about its diabetes study."""
    found = findings.found_in(results, name="simulation_histogram.csv")
    if not found.sums:
        return []
    everywhere = findings.everywhere
    held = [found.larger("distance", ((release, "ridge"), everywhere), ((release, "histogram"), everywhere))
            for release in ("laplace", "wishart")]
    words = ", ".join(f"{findings.LABELS[which]} {found.mean('distance', which):.2f}" for release in ("laplace", "wishart")
                      for which in ((release, "histogram"), (release, "ridge")))
    return [Target("Section 4.1.1", "hLM and hWM are closer than LM and WM, on simulated tables", "said of the diabetes study",
                   words, judge_sentence(held), in_words(held), "histogram")]


def _speed() -> list[Target]:
    return [Target("Section 4.1", "processor seconds of BAS for all models, n = 50,000",
                   "p = 9: BIC 0.10, Zellner–Siow 0.09 (Laplace) and 0.11 (quadrature); p = 15: 0.35, 0.31, 7.2; p = 20: 14.5, "
                   "12.5", "–", Verdict.INCOMPARABLE,
                   "measured by us with another program on another machine; the paper prints no times",
                   "simulation")]
