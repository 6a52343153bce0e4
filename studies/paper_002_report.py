"""The results of the studies of paper 002 as a page of the documentation.

    python -m studies.reproduce 002 --page

The text is in ``studies/paper_002_page.md``, where a line ``{{name}}`` is replaced by the output of the function of that name
below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

from studies.page import table
from studies.paper_002 import RESULTS as RESULTS
from studies.verdicts import (
    LIMIT,
    MISSING,
    Condition,
    Target,
    Verdict,
    figure_in_words,
    in_words,
    judge_figure,
    judge_sentence,
    share_beyond_chance,
    with_the_error,
)
from studies.workers import read

Line = dict[str, str]

DATA, HOLDERS, SIZES = ("power", "bike", "air"), (1, 5, 10), (2, 5)
OURS = ("collapsed", "conditional", "conditional, own prior")
THEIRS = ("normal-x", "fixed-s", "fast", "clt-gibbs", "adassp")
PUBLISHED = {  # Table 1: normalX, fixedS, fast, B&S, adaSSP
    ("power", 1): (0.0129, 0.0129, 0.0129, 0.0128, 0.0139), ("bike", 1): (0.0024, 0.0021, 0.0021, 0.0020, 0.0107),
    ("air", 1): (0.0060, 0.0057, 0.0057, 0.0062, 0.0066), ("power", 5): (0.0133, 0.0134, 0.0134, 0.0136, 0.0235),
    ("bike", 5): (0.0174, 0.0045, 0.0045, 0.0086, 0.0382), ("air", 5): (0.0142, 0.0100, 0.0099, 0.0130, 0.0227),
    ("power", 10): (0.0142, 0.0143, 0.0143, 0.0143, 0.0351), ("bike", 10): (0.0812, 0.0082, 0.0082, 0.0137, 0.0526),
    ("air", 10): (0.0985, 0.0117, 0.0117, 0.0216, 0.0314),
}
HALF_WIDTH = {  # Table 2: half of the 90 % interval
    ("power", 1): (0.00005, 0.00005, 0.00005, 0.00005, 0.00015), ("bike", 1): (0.0003, 0.0003, 0.0003, 0.00025, 0.0001),
    ("air", 1): (0.0009, 0.0009, 0.0009, 0.0009, 0.0001), ("power", 5): (0.00015, 0.0002, 0.0002, 0.00015, 0.0001),
    ("bike", 5): (0.00365, 0.0004, 0.00045, 0.00095, 0.00015), ("air", 5): (0.0033, 0.0010, 0.0010, 0.0021, 0.00015),
    ("power", 10): (0.0003, 0.0003, 0.0003, 0.00025, 0.0002), ("bike", 10): (0.01415, 0.0010, 0.0010, 0.0021, 0.00015),
    ("air", 10): (0.02515, 0.0018, 0.0018, 0.0041, 0.0001),
}
ROUNDING = 0.00005
NORMAL_90 = 1.645
ALMOST_ALL = 0.9
"""Of cases; the limit is ours."""
THEIR_NAMES = dict(zip(THEIRS, ("normalX", "fixedS", "fast", "B&S", "adaSSP"), strict=True))
LOW, HIGH = 0.93, 0.97


def published_and_measured(results: Path) -> list[str]:
    """The paper's methods at the authors' noise: published / measured; **bold** where they differ beyond chance."""
    found = table_lines(results)
    methods = (*THEIRS, "normal-x as run")
    body = []
    for (data, holders), values in PUBLISHED.items():
        entries = []
        for method in methods:
            line = found.get((data, holders, "theirs", method))
            place = THEIRS.index(method.removesuffix(" as run"))
            text = f"{1000 * values[place]:.1f} / {interval(line)}"
            entries.append(f"**{text}**" if line and not agrees(line, values[place], HALF_WIDTH[data, holders][place]) else text)
        body.append([data, str(holders), *entries])
    return table(["data", "J", *methods], body)


def agrees(line: Line, published: float, published_half_width: float) -> bool:
    """Not farther apart than chance and the rounding of the printed one explain."""
    return judge_figure(published, float(line["mse"]), error_of_difference(line, published_half_width), ROUNDING) != Verdict.NOT


def error_of_difference(line: Line, published_half_width: float) -> float:
    """Of two independent means, from their 90 % intervals."""
    return math.hypot(half_width(line), published_half_width) / NORMAL_90


def agreement(results: Path) -> list[str]:
    """How many published entries are reproduced, by method."""
    found = table_lines(results)
    result = []
    for method in (*THEIRS, "normal-x as run"):
        place = THEIRS.index(method.removesuffix(" as run"))
        lines = {key: found[*key, "theirs", method] for key in PUBLISHED if (*key, "theirs", method) in found}
        count = sum(agrees(line, PUBLISHED[key][place], HALF_WIDTH[key][place]) for key, line in lines.items())
        result.append(f"- `{method}`: {count} of {len(lines)}")
    return result


def correct_noise(results: Path) -> list[str]:
    """All methods at the correct noise; the smallest error of each row is bold."""
    return comparison(results, "correct")


def their_noise(results: Path) -> list[str]:
    return comparison(results, "theirs")


def comparison(results: Path, noise: str) -> list[str]:
    found = table_lines(results)
    methods = (*THEIRS, *OURS)
    body = []
    for data, holders in PUBLISHED:
        lines = [found.get((data, holders, noise, method)) for method in methods]
        least = min((float(line["mse"]) for line in lines if line), default=math.nan)
        body.append([data, str(holders), *(f"**{interval(line)}**" if line and float(line["mse"]) == least else interval(line)
                                           for line in lines)])
    return table(["data", "J", *methods], body)


def references(results: Path) -> list[str]:
    lines = {(line["data"], line["method"]): float(line["mse"]) for line in read(results / "table.csv")
             if line["noise"] == "none"}
    names = dict.fromkeys(method for _, method in lines)
    return table(["data", *names], [[data, *(f"{lines[data, name]:.2g}" for name in names)] for data in DATA])


def table_lines(results: Path) -> dict[tuple[str, int, str, str], Line]:
    return {(line["data"], int(line["holders"]), line["noise"], line["method"]): line
            for line in read(results / "table.csv")}


def interval(line: Line | None) -> str:
    """In thousandths."""
    if line is None:
        return "–"
    return f"{1000 * float(line['mse']):.2f} ± {1000 * half_width(line):.2f}"


def half_width(line: Line) -> float:
    return (float(line["high"]) - float(line["low"])) / 2


def gain(results: Path) -> list[str]:
    """At the correct noise, the best method of the paper against ours; **bold** where ours is not clearly better."""
    found = table_lines(results)
    body = []
    for data, holders in PUBLISHED:
        lines = {method: line for method in THEIRS if (line := found.get((data, holders, "correct", method)))}
        best = min(lines, key=lambda method: float(lines[method]["mse"]))
        ours = [found.get((data, holders, "correct", method)) for method in OURS]
        body.append([data, str(holders), f"{best}: {interval(lines[best])}", *(ratio(line, lines[best]) for line in ours)])
    return table(["data", "J", "best of the paper's", *OURS], body)


def ratio(ours: Line | None, best: Line) -> str:
    if ours is None:
        return "–"
    clear = float(best["mse"]) - float(ours["mse"]) > LIMIT / NORMAL_90 * math.hypot(half_width(ours), half_width(best))
    text = f"{float(ours['mse']) / float(best['mse']):.2f}"
    return text if clear else f"**{text}**"


def times(results: Path) -> list[str]:
    lines = read(results / "times.csv")
    found = {(line["method"], int(line["d"])): float(line["microseconds"]) for line in lines}
    sizes = sorted({d for _, d in found})
    methods = dict.fromkeys(line["method"] for line in lines)
    return table(["µs per iteration", *(f"d = {d}" for d in sizes)],
                 [[method, *(f"{found[method, d]:.0f}" for d in sizes)] for method in methods])


def simulation(results: Path) -> list[str]:
    """Prediction error at the correct noise: d × J down, methods across, at ε = 0.1, 1, 10."""
    lines = [line for line in read(results / "errors.csv") if line["noise"] == "correct"]
    found = {(line["d"], int(line["holders"]), float(line["epsilon"]), line["method"]): float(line["prediction"])
             for line in lines}
    methods = (*THEIRS, *OURS)
    body = []
    for d in ("2", "5"):
        for holders in HOLDERS:
            for epsilon in (0.1, 1.0, 10.0):
                values = [found.get((d, holders, epsilon, method)) for method in methods]
                least = min((value for value in values if value is not None), default=math.nan)
                body.append([d, str(holders), f"{epsilon:g}", *(marked(value, value == least) for value in values)])
    return table(["d", "J", "ε", *methods], body)


def simulation_verdict(results: Path) -> list[str]:
    """The default against the best method of the paper at the correct noise: all ε, two standard errors of the difference."""
    cells: dict[tuple[int, int, float], dict[str, Line]] = {}
    for line in read(results / "errors.csv"):
        if line["noise"] == "correct":
            cells.setdefault((int(line["d"]), int(line["holders"]), float(line["epsilon"])), {})[line["method"]] = line
    body, losses = [], []
    for d in (2, 5):
        for method in OURS:
            places = [place for place, own in sorted(cells.items()) if place[0] == d and method in own]
            against = {place: against_best(cells[place], method) for place in places}
            if places:
                body.append([str(d), method, str(len(places)), *(str(sum(each[0] == verdict for each in against.values()))
                                                                 for verdict in ("smaller", "level", "larger"))])
            losses += [f"- d = {d}, J = {holders}, ε = {epsilon:g}: {text}" for (_, holders, epsilon), (verdict, text)
                       in against.items() if verdict == "larger" and method == "conditional"]
    head = ["d", "method", "settings", "smaller than all of the paper's", "not told from the best", "larger than the best"]
    words = "The settings in which `conditional`, with the paper's prior, has the larger error:"
    return [*table(head, body), *(["", words, "", *losses] if losses else [])]


def against_best(own: dict[str, Line], method: str) -> tuple[str, str]:
    """Smaller, level or larger, and the numbers."""
    best = min((line for name, line in own.items() if name in THEIRS), key=lambda line: float(line["prediction"]))
    ours, theirs = float(own[method]["prediction"]), float(best["prediction"])
    limit = 2 * math.hypot(float(own[method]["prediction_error"]), float(best["prediction_error"]))
    verdict = "level" if abs(ours - theirs) <= limit else "smaller" if ours < theirs else "larger"
    return verdict, f"{ours:.2g}, `{best['method']}` {theirs:.2g}"


def fewer_runs(results: Path) -> list[str]:
    """What Figures 2 and 4 are missing, or have fewer runs of."""
    lines = read(results / "errors.csv")
    full = max(int(line["runs"]) for line in lines)
    found = {(line["method"], line["noise"], int(line["d"]), int(line["holders"])): int(line["runs"]) for line in lines}
    result = []
    for method in (*THEIRS, *OURS[:-1]):
        cells = {(noise, d, holders): found.get((method, noise, d, holders), 0)
                 for noise in ("correct", "theirs") for d in (2, 5) for holders in HOLDERS}
        for runs in sorted(set(cells.values()) - {full}, reverse=True):
            named = [f"{name} noise: " + ", ".join(places) for noise, name in (("correct", "correct"), ("theirs", "the authors'"))
                     if (places := [f"d = {d} J = {holders}" for (each, d, holders), number in cells.items()
                                    if each == noise and number == runs])]
            result.append(f"- `{method}`, {f'{runs} runs' if runs else 'not run'}: " + "; ".join(named))
    return result or [f"All methods: {full} runs."]


def marked(value: float | None, best: bool) -> str:
    if value is None:
        return "–"
    return f"**{value:.2g}**" if best else f"{value:.2g}"


def coverage(results: Path) -> list[str]:
    """Coverage of the coefficients, in per cent; **bold** below 93 or above 97 beyond two standard errors."""
    lines = read(results / "coverage.csv")
    methods = list(dict.fromkeys(sorted((line["method"] for line in lines), key=_METHOD_ORDER.index)))
    result = []
    for features in ("normal", "mixed"):
        chosen = [line for line in lines if line["features"] == features]
        keys = sorted({(int(line["d"]), int(line["rows"]), float(line["epsilon"]), int(line["holders"])) for line in chosen})
        found = {(int(line["d"]), int(line["rows"]), float(line["epsilon"]), int(line["holders"]), line["method"]): line
                 for line in chosen}
        body = [[str(d), f"{rows:,}", f"{epsilon:g}", str(holders),
                 *(covered(found.get((d, rows, epsilon, holders, method))) for method in methods)]
                for d, rows, epsilon, holders in keys]
        result += [f"### {features.capitalize()} features", "", *table(["d", "n", "ε", "J", *methods], body), ""]
    return result


_METHOD_ORDER = ["normal-x", "normal-x-nuts", "fixed-s", "fast", "clt-gibbs", "collapsed", "conditional-flat", "conditional"]


def covered(line: Line | None) -> str:
    if line is None:
        return "–"
    value, error = float(line["coverage"]), max(float(line["standard_error"]), 0.005)
    text = f"{100 * value:.1f}"
    return f"**{text}**" if value + 2 * error < LOW or value - 2 * error > HIGH else text


def coverage_summary(results: Path) -> list[str]:
    """For each method the numbers of settings within 93–97 % (or not told from it), below and above, and its median error."""
    lines = read(results / "coverage.csv")
    body = []
    for method in _METHOD_ORDER:
        own = [line for line in lines if line["method"] == method]
        if not own:
            continue
        errors = [max(float(line["standard_error"]), 0.005) for line in own]
        values = [float(line["coverage"]) for line in own]
        below = sum(value + 2 * error < LOW for value, error in zip(values, errors, strict=True))
        above = sum(value - 2 * error > HIGH for value, error in zip(values, errors, strict=True))
        sigma = sum(LOW - 0.03 <= float(line["sigma"]) for line in own)
        body.append([method, str(len(own)), str(below), str(len(own) - below - above), str(above), f"{100 * min(values):.0f}",
                     f"{sigma} of {len(own)}"])
    return table(["method", "settings", "below", "within 93–97 %", "above", "lowest, %", "sigma covered in 90 % or more"], body)


PIECES: dict[str, Callable[[Path], list[str]]] = {
    piece.__name__: piece
    for piece in (published_and_measured, agreement, correct_noise, their_noise, gain, references, times, simulation,
                  simulation_verdict, fewer_runs, coverage, coverage_summary)
}


def targets(results: Path) -> list[Target]:
    return [*_table_1(results), *_three_d_road(), *_sentences(results), *_about_the_code()]


def _table_1(results: Path) -> list[Target]:
    """Printed beside measured at the correct noise, at the authors', and with the authors' start of the chain."""
    found = table_lines(results) if (results / "table.csv").exists() else {}
    made = []
    for (data, holders), values in PUBLISHED.items():
        for method, printed, half in zip(THEIRS, values, HALF_WIDTH[data, holders], strict=True):
            ways = {"correct noise": ("correct", method), "the authors' noise": ("theirs", method)}
            if method == "normal-x":
                ways["and start"] = ("theirs", "normal-x as run")
            lines = {way: found[data, holders, *key] for way, key in ways.items() if (data, holders, *key) in found}
            numbers_of = {way: (printed, float(line["mse"]), error_of_difference(line, half), ROUNDING)
                          for way, line in lines.items()}
            verdicts = {way: judge_figure(*judged) for way, judged in numbers_of.items()}
            wrong = verdicts.get("the authors' noise", Verdict.NOT_RUN)
            if wrong == Verdict.NOT and "and start" in verdicts:
                wrong = verdicts["and start"]
            why = "; ".join(f"{way}: {verdicts[way]}, " + figure_in_words(*judged) for way, judged in numbers_of.items())
            shown = numbers_of.get("the authors' noise")
            numbers = None if shown is None else shown[:3]
            measured = "; ".join(f"{way} {float(line['mse']):.4f} ± {half_width(line) / NORMAL_90:.4f}"
                                 for way, line in lines.items())
            made.append(Target("Table 1", f"{data}, J = {holders}, {THEIR_NAMES[method]}", f"{printed:.4f}", measured or "–",
                               with_the_error(verdicts.get("correct noise", Verdict.NOT_RUN), wrong), why, "table-1", numbers))
    return made


def _three_d_road() -> list[Target]:
    return [Target("Table 1", "3droad, all J and methods", "0.0229", "–", Verdict.INCOMPARABLE,
                   "the road network is not among our tables; every method has the same printed error on it", "table-1")]


def _differences(results: Path, noise: str, better: str, worse: str, sizes: tuple[int, ...]) -> list[tuple[float, float]]:
    """By how much a method has the smaller error in Figure 2, with standard errors: all d, J, ε, estimation and prediction.

    What was not run has an infinite one; there is nothing if nothing was.
    """
    found = {(int(line["d"]), int(line["holders"]), float(line["epsilon"]), line["method"]): line
             for line in read(results / "errors.csv") if line["noise"] == noise}
    places = list(itertools.product(sizes, HOLDERS, sorted({key[2] for key in found})))
    pairs = [(found.get((*place, worse)), found.get((*place, better))) for place in places]
    made = [(0.0, math.inf) if one is None or other is None else
            (float(one[name]) - float(other[name]), math.hypot(float(one[f"{name}_error"]), float(other[f"{name}_error"])))
            for one, other in pairs for name in ("estimation", "prediction")]
    return made if any(math.isfinite(error) for _, error in made) else []


def _improves(results: Path, noise: str, name: str) -> list[Condition]:
    """That the error at the largest ε is below that at the smallest, for every method, d and J."""
    curves: dict[tuple[str, str, str], list[Line]] = {}
    for line in read(results / "errors.csv"):
        if line["noise"] == noise and line["method"] in THEIRS and not math.isnan(float(line[name])):
            curves.setdefault((line["d"], line["holders"], line["method"]), []).append(line)
    ends = [(min(lines, key=_epsilon), max(lines, key=_epsilon)) for lines in curves.values()]
    drawn = len(THEIRS) - (name == "mmd2")  # adaSSP has no posterior
    return [*(Condition(float(first[name]) - float(last[name]),
                        math.hypot(float(first[f"{name}_error"]), float(last[f"{name}_error"]))) for first, last in ends),
            *[MISSING] * (drawn * len(SIZES) * len(HOLDERS) - len(ends))]


def _epsilon(line: Line) -> float:
    return float(line["epsilon"])


def _sentences(results: Path) -> list[Target]:
    made = []
    if (results / "errors.csv").exists():
        for text, pairs, sizes in (
                ("fixedS and fast outperform adaSSP and B&S in almost all cases",
                 [(one, other) for one in ("fixed-s", "fast") for other in ("adassp", "clt-gibbs")], SIZES),
                ("normalX has a clear advantage over B&S at d = 2", [("normal-x", "clt-gibbs")], (2,))):
            held, words = {}, []
            for noise, name in (("correct", "correct noise"), ("theirs", "the authors' noise")):
                cases = {pair: _differences(results, noise, *pair, sizes) for pair in pairs}
                held[noise] = [share_beyond_chance(found, ALMOST_ALL) for found in cases.values() if found]
                every = [difference for found in cases.values() for difference, error in found if math.isfinite(error)]
                words.append(f"{name}: smaller error in {sum(one > 0 for one in every)} of {len(every)} cases")
            made.append(_sentence("Figure 2", text, "; ".join(words), held, "figure-2"))
        for where, text, name in (("Figure 2", "all methods improve as ε grows", "prediction"),
                                  ("Figure 4", "all methods come closer to the posterior without privacy as ε grows", "mmd2")):
            held = {noise: _improves(results, noise, name) for noise in ("correct", "theirs")}
            words = [f"{noise}: smaller at the largest ε in {sum(one.margin > 0 for one in found)} of "
                     f"{sum(not one.missing for one in found)} curves"
                     for noise, found in held.items()]
            made.append(_sentence(where, text, "; ".join(words), held, "figure-2"))
    if (results / "table.csv").exists():
        found = table_lines(results)
        held = {noise: [_smaller(found.get((data, holders, noise, method)), found.get((data, holders, noise, rival)))
                        for data in DATA for holders in HOLDERS[1:]
                        for method in ("fixed-s", "fast") for rival in ("adassp", "clt-gibbs")]
                for noise in ("correct", "theirs")}
        words = [f"{noise}: smaller error in {sum(one.margin > 0 for one in cases)} of {sum(not one.missing for one in cases)} "
                 "cases" for noise, cases in held.items()]
        made.append(_sentence("Table 1", "J > 1: fixedS and fast beat adaSSP and B&S", "; ".join(words), held, "table-1"))
    return made


def _smaller(one: Line | None, other: Line | None) -> Condition:
    """That the first has the smaller error on a table."""
    if one is None or other is None:
        return MISSING
    return Condition(float(other["mse"]) - float(one["mse"]), math.hypot(half_width(one), half_width(other)) / NORMAL_90)


def _sentence(where: str, text: str, measured: str, held: dict[str, list[Condition]], study: str) -> Target:
    right, wrong = (judge_sentence(held[noise]) for noise in ("correct", "theirs"))
    why = f"correct noise: {right}, {in_words(held['correct'])}; the authors': {wrong}, {in_words(held['theirs'])}"
    return Target(where, text, text, measured, with_the_error(right, wrong), why, study)


def _about_the_code() -> list[Target]:
    """What was measured with the authors' own program (Octave, one thread), which is not part of this library."""
    reason = "measured with the authors' program, which is not part of this library; "
    return [
        Target("Figure 3", "milliseconds per iteration at d = 2, 5, 10, 20",
               "drawn; their code takes 4.9, 5.6, 6.0, 5.1 (normalX) and 4.6, 35, 542, 7769 (B&S)", "see the paper's page",
               Verdict.INCOMPARABLE, reason + "ours rotates where theirs inverts a matrix with d²/2 rows", "figure-3"),
        Target("Figure 2", "effective draws of 5000",
               "by their code normalX 26 (d = 2) and 7 to 8 (d = 5), B&S 30 and 10 to 12", "–",
               Verdict.INCOMPARABLE, reason + "it shows that its chains do not mix", "figure-2"),
        Target("Section 3", "coverage of fast's 90 % region, correct noise, J = 1, 5, 10",
               "by their code 0.88, 0.71, 0.66 (d = 2) and 0.22, 0.07, 0.01 (d = 5)", "see the paper's page for 95 % intervals",
               Verdict.INCOMPARABLE, reason + "our study of coverage has public bounds and other priors", "table-1"),
    ]
