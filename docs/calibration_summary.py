"""The page with the calibration of every method, good and bad: ``python -m docs.calibration_summary`` writes it.

Each line of the page is one study of one method: how often its nominal 95 % intervals held what they should, over all settings
of that study. The numbers come from the committed files in ``studies/results`` or, if a study only prints a table, from the page
with this table. The date of a line is the day on which its numbers were entered or last changed. ``calibration_dates.json`` keeps
it with a digest of the numbers.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from docs.calibration_cells import (
    DOCS,
    Cells,
    Row,
    batches,
    each,
    mean_over_terms,
    measured_last,
    percentages,
    read,
    shares,
)
from docs.calibration_verdict import Verdict

PAGE, DATES = DOCS / "calibration-summary.md", DOCS / "calibration_dates.json"


@dataclass(frozen=True)
class Line:
    """A line of the summary: what was measured, the page with the details, where the numbers are, and which of them."""

    what: str
    link: str
    sources: tuple[str, ...]
    cells: Cells
    remark: str = ""
    chosen: Callable[[Row], bool] = lambda row: True

    together: int = 1

    def text(self, date: str) -> str:
        cells = self.cells([row for source in self.sources for row in read(source) if self.chosen(row)])
        values, counts = [cell.coverage for cell in cells], [cell.replicates for cell in cells]
        span = f"{100 * min(values):.1f} to {100 * max(values):.1f}"
        replicates = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
        verdict = judged(Verdict(tuple(cells), self.together))
        columns = [f"[{self.what}]({self.link})", span, *verdict, f"{len(cells)} × {replicates}", self.remark, date]
        return f"| {' | '.join(columns)} |"


def judged(verdict: Verdict) -> list[str]:
    """The columns between the range and the settings: pooled coverage, where settings lie, how many are low, and the verdict."""
    pooled, error = verdict.pooled()
    return [f"{100 * pooled:.2f} ± {100 * error:.2f}", " / ".join(map(str, verdict.counts())),
            f"{verdict.low} ({verdict.by_chance:.1f})", verdict.words]


FLAT = tuple(f"coverage-{noise}-d{d}.csv" for noise in ("gaussian", "laplace") for d in ("02", "05", "20"))
METHODS, ALL_METHODS = ("paper_002/coverage.csv",), "paper-002.md#coverage-of-every-method"
GLM, GLM_SETTING = ("glm/coverage.csv",), ("family", "truth", "slope_sd", "cells", "world", "rows", "epsilon", "longer")
FEATURES, NOT_NORMAL_PAGE = ("glm/features.csv",), "glm-calibration.md#features-that-are-not-normal"
FEATURE_CELLS = mean_over_terms("family", "world", "model", "norm", "rows", "epsilon")
NOT_NORMAL = ("count", "skewed", "very skewed", "square", "product", "uniform")
CATEGORIES = ("binary", "rare")
PROBABILITIES, PROBABILITY_PAGE = ("partition/probabilities.csv",), "partition-calibration.md#posterior-probabilities"
AVERAGING, SIMEX = ("paper_004/calibration.csv",), ("paper_001/comparators.csv",)
SUMS, SUMS_PAGE = ("sums.md#exact: covers",), "sums.md#what-is-exact-about-it"
TABLES, TABLES_PAGE = ("synthetic.md#(1+1/m)B − ū",), "synthetic.md#the-combining-rule"
BINARY, BINARY_PAGE = ("synthetic.md#noise-aware",), "synthetic.md#yes-or-no-synthetic-rows-without-a-release"
SITES = ("random_sites.csv",)
ROWS, ROW_CELLS = ("microdata/coverage.csv",), mean_over_terms("table", "rows", "scale", "copies")
MODEL_PAGE = "model-calibration.md"
MODEL_FEATURES, MODEL_FEATURE_CELLS = ("model/features.csv",), mean_over_terms("family", "world", "norm", "rows", "epsilon")
MODEL_SIMULATIONS, MODEL_CELLS = ("model/simulations.csv",), batches("world", "rows", "epsilon", "holders", "fit", "what")
SAME_TABLES = 135
"""Settings of the study of posterior probabilities that share tables: three ε, scores, questions, mechanisms."""


def of_rows(ten: bool) -> Callable[[Row], bool]:
    """Slopes of tables with ten predictors, or with fewer."""
    return lambda row: row["term"] not in ("constant", "sigma") and ("p=10" in row["table"]) == ten


def method(name: str) -> Callable[[Row], bool]:
    return lambda row: row["method"] == name


def informative(setting: list[Row]) -> bool:
    """The slopes' posterior standard deviations are at most half of the prior's, on average."""
    slopes = [float(row["information"]) for row in setting if row["term"] != "Intercept"]
    return sum(slopes) / len(slopes) <= 0.5


INFORMATIVE = mean_over_terms(*GLM_SETTING, chosen=informative)
LITTLE = mean_over_terms(*GLM_SETTING, chosen=lambda setting: not informative(setting))


def glm(family: str, from_prior: bool) -> Callable[[Row], bool]:
    """Coefficients only, without the length of θ, which is in the file too."""
    return lambda row: row["family"] == family and (row["truth"] == "prior") == from_prior and row["term"] != "norm"


def features(family: str, model: str, worlds: tuple[str, ...]) -> Callable[[Row], bool]:
    return lambda row: row["family"] == family and row["model"] == model and row["world"] in worlds


def of_model(*worlds: str, fit: str = "usual", what: tuple[str, ...] = ("intercept", "slopes")) -> Callable[[Row], bool]:
    """Settings of simulated model releases: coefficients, or the scale."""
    return lambda row: row["world"] in worlds and row["fit"] == fit and row["what"] in what


def both_slopes(prefix: str) -> Cells:
    return lambda rows: each(f"{prefix}slope_binary", None)(rows) + each(f"{prefix}slope_skewed", None)(rows)


def random_effects(sites: int) -> tuple[Line, ...]:
    """The lines of a model with random effects, for ``sites`` sites."""
    return tuple(
        Line(f"random effects, {sites} sites, {what}", "sites.md#measured", SITES, cells, "",
             lambda row: float(row["sites"]) == sites, together)
        for what, cells, together in (("slopes", both_slopes(""), 2), ("intercept", each("intercept", None), 1)))


def of_family(name: str) -> tuple[Line, ...]:
    """The lines of a generalised linear model."""
    family, page = name.lower(), f"glm-calibration.md#{name.lower()}"
    return (
        Line(f"{name}, normal predictors, informative", page, GLM, INFORMATIVE, "fixed truths, ‖θ‖ from 0.5 to 5",
             glm(family, False)),
        Line(f"{name}, normal predictors, little", "glm-calibration.md#where-a-release-says-little", GLM, LITTLE,
             "fixed truths, ‖θ‖ from 0.5 to 5", glm(family, False)),
        Line(f"{name}, truths from the prior", page, GLM, mean_over_terms(*GLM_SETTING), "normal predictors", glm(family, True)),
        Line(f"{name}, categories", NOT_NORMAL_PAGE, FEATURES, FEATURE_CELLS, "declared as levels; shares of ½ and of 0.1",
             features(family, "cells", CATEGORIES)),
        Line(f"{name}, numbers far from normal", NOT_NORMAL_PAGE, FEATURES, FEATURE_CELLS,
             "counts, skewed and uniform ones, squares, products", features(family, "cells", NOT_NORMAL)),
        Line(f"{name}, categories taken for normal numbers", NOT_NORMAL_PAGE, FEATURES, FEATURE_CELLS,
             "as in the literature", features(family, "normal", CATEGORIES)),
    )


SECTIONS: dict[str, tuple[str, tuple[Line, ...]]] = {
    "Linear regression": ("Coefficients, from `gram` releases, unless the line says otherwise.", (
        Line("`conditional-flat`, coefficients", "calibration-results.md", (*FLAT,
             "coverage-second-measurement.csv"), measured_last,
             "the same as the default wherever the noise is clearly smaller than the predictors' moments; nine settings that "
             "were low count by a second measurement"),
        Line("`conditional-flat`, sigma", "calibration-results.md#sigma", FLAT, each("sigma", None),
             "many predictors and much noise are the worst"),
        Line("`conditional` (default)", "calibration.md#what-it-does-not-show", ("default/coverage.csv",),
             each(), "two and five predictors; 500 draws a fit, with which exact intervals cover 94.6 %"),
        Line("`conditional`, hard cases", "calibration.md#hard-cases", ("hard_cases.csv",), each("projected_coverage"),
             "heavy tails, rare levels, small holders; the line of the clipped population"),
        Line("`conditional`, hard cases, sigma", "calibration.md#hard-cases", ("hard_cases.csv",), each("projected_sigma", None),
             "heavy tails are the worst"),
        Line("`collapsed`", ALL_METHODS, METHODS, each(), "normal and mixed predictors", method("collapsed")),
        Line("`collapsed`, predictors far from normal", "averaging-and-batches.md", ("averaging.csv",), each(),
             "binary, rare and skewed; also with rows averaged in groups", method("collapsed")),
        Line("`normal-x-nuts`", ALL_METHODS, METHODS, each(), "for comparison", method("normal-x-nuts")),
        Line("`normal-x`", ALL_METHODS, METHODS, each(), "for comparison", method("normal-x")),
        Line("`fixed-s`", ALL_METHODS, METHODS, each(), "for comparison", method("fixed-s")),
        Line("`fast`", ALL_METHODS, METHODS, each(), "for comparison", method("fast")),
        Line("`clt-gibbs`", ALL_METHODS, METHODS, each(), "for comparison", method("clt-gibbs")),
    )),
    "Sites that differ": ('`site="random"`: coefficients of the population of sites. Below it, one set for all sites.', (
        *(line for sites in (5, 20) for line in random_effects(sites)),
        Line("one set, where slopes differ", "sites.md#measured", SITES, both_slopes("pooled_"), "the wrong model for such sites",
             lambda row: float(row["omega"]) > 0, together=2),
    )),
    "Logistic and Poisson regression": (
        "A setting counts by the mean over its coefficients; single ones can be worse. *Informative*: the posterior standard "
        "deviations of the slopes are at most half of the prior's. *Little*: they are not, and the interval is mostly "
        "the prior's.",
        of_family("Logistic") + of_family("Poisson")),
    "Model releases": (
        "One regression each. A setting counts by the mean over its coefficients, or twice: by its intercept and by its slopes. "
        "The linked page says what is not measured yet.", (
            Line("categories, logistic and Poisson", f"{MODEL_PAGE}#predictors-that-are-not-normal", MODEL_FEATURES,
                 MODEL_FEATURE_CELLS, "the same settings as for `gram` above", lambda row: row["world"] in CATEGORIES),
            Line("numbers far from normal, logistic and Poisson", f"{MODEL_PAGE}#predictors-that-are-not-normal", MODEL_FEATURES,
                 MODEL_FEATURE_CELLS, "the same settings as for `gram` above, and mixed columns",
                 lambda row: row["world"] not in CATEGORIES),
            Line("logistic, small tables", f"{MODEL_PAGE}#settings-of-the-literature", MODEL_SIMULATIONS, MODEL_CELLS, "μ = 1",
                 of_model("newton logistic"), together=2),
            Line("linear, small tables", f"{MODEL_PAGE}#settings-of-the-literature", MODEL_SIMULATIONS, MODEL_CELLS, "μ = 1",
                 of_model("newton linear", "ten, sd 1", "ten, sd 5"), together=2),
            Line("linear, sigma", f"{MODEL_PAGE}#heavy-tails-and-sigma", MODEL_SIMULATIONS, MODEL_CELLS, "normal residuals",
                 of_model("newton linear", "ten, sd 1", "ten, sd 5", "normal errors", "holders linear", what=("scale",))),
            Line("linear, heavy tails, usual intervals", f"{MODEL_PAGE}#heavy-tails-and-sigma", MODEL_SIMULATIONS, MODEL_CELLS,
                 "", of_model("heavy tails"), together=2),
            Line("linear, heavy tails, robust intervals", f"{MODEL_PAGE}#heavy-tails-and-sigma", MODEL_SIMULATIONS, MODEL_CELLS,
                 "", of_model("heavy tails", fit="robust"), together=2),
            Line("logistic, 50 and 100 predictors", f"{MODEL_PAGE}#many-predictors", MODEL_SIMULATIONS, MODEL_CELLS,
                 "normal and skewed; few fits, many coefficients",
                 of_model("50 normal", "50 skewed", "100 normal", "100 skewed", what=("slopes",))),
            Line("overdispersed counts, negative binomial", f"{MODEL_PAGE}#overdispersed-counts", MODEL_SIMULATIONS, MODEL_CELLS,
                 "", of_model("counts, negative binomial"), together=2),
            Line("overdispersed counts, Poisson, robust intervals", f"{MODEL_PAGE}#overdispersed-counts", MODEL_SIMULATIONS,
                 MODEL_CELLS, "the wrong family for such counts", of_model("counts, Poisson", fit="robust"), together=2),
            Line("several holders", f"{MODEL_PAGE}#several-holders", MODEL_SIMULATIONS, MODEL_CELLS, "1, 3 and 10 of 3000 rows",
                 of_model("holders logistic", "holders linear"), together=2),
        )),
    "Model averaging": (
        "`nw.compare`, method `noise-aware`: averaged coefficients, and bands for what the table itself would say.", (
            Line("all coefficients", "paper-004.md", AVERAGING, shares("coverage coefficients"),
                 "truths from the prior, and fixed ones", method("noise-aware")),
            Line("coefficients that are not 0", "paper-004.md", AVERAGING, shares("coverage active"), "", method("noise-aware")),
            Line("bands", "paper-004.md", AVERAGING, shares("coverage oracle"), "", method("noise-aware")),
        )),
    "Questions without bounds": ("`partition` releases.", (
        Line("posterior probabilities, normal tables", PROBABILITY_PAGE, PROBABILITIES, each(), "",
             lambda row: row["shape"] == "normal", SAME_TABLES),
        Line("posterior probabilities, heavy or skewed tables", PROBABILITY_PAGE, PROBABILITIES, each(),
             "small parts and a large ε are the worst", lambda row: row["shape"] != "normal", SAME_TABLES),
        Line("coefficients", "partition-calibration.md#coefficients", ("partition/quantiles.csv",), each(),
             "limits declared or found"),
        Line("Bayes factors", "partition-calibration.md#bayes-factors", ("partition/hypotheses.csv",), each(),
             "of the parts' clipped mean, not of the whole table"),
    )),
    "Published rows": ("`rows` releases. ε is large in these studies: otherwise rows say nothing.", (
        Line("`rows` (default), one to three predictors", "rows-calibration.md", ROWS, ROW_CELLS, "slopes", of_rows(False)),
        Line("`rows` (default), ten predictors", "rows-calibration.md#where-it-is-not-right", ROWS, ROW_CELLS,
             "slopes; much noise is the worst", of_rows(True)),
        Line("`simex`", "paper-001.md", SIMEX, each(replicates="repeats"), "for comparison", method("simex")),
        Line("`naive`", "paper-001.md", SIMEX, each(replicates="repeats"), "least squares on noisy rows", method("naive")),
    )),
    "One column, and synthetic tables": ("Percentages are whole numbers here, from few replicates.", (
        Line("`fit_sum`, `exact` (default)", SUMS_PAGE, SUMS, percentages("exact: covers", 100), "truths from the prior"),
        Line("`fit_sum`, `gibbs`", SUMS_PAGE, SUMS, percentages("gibbs: covers", 100), "ignores clipping"),
        Line("`fit_sum`, `naive`", SUMS_PAGE, SUMS, percentages("naive: covers", 100), "for comparison"),
        Line("synthetic tables, the rule of `estimate`", TABLES_PAGE, TABLES, percentages("(1+1/m)B − ū", 100), "20 tables"),
        Line("synthetic tables, rule B/m + ū", TABLES_PAGE, TABLES, percentages("B/m + ū", 100), "for comparison"),
        Line("`fit_binary`", BINARY_PAGE, BINARY, percentages("noise-aware", 1000)),
        Line("binary rows taken for real", BINARY_PAGE, BINARY, percentages("naive", 1000), "for comparison"),
    )),
}

HEAD = """---
hide: [toc]
---

# Calibration: all methods on one page

A 95 % interval should hold the truth in about 95 of 100 repetitions. The tables show what was measured for every method, good and
bad. Each line is one study with many settings, and its verdict says whether the intervals hold: **holds**, **mostly holds**,
*fails in places* or **fails**. The name of a method links to the details.

- *coverage*: the lowest and the highest of the settings, in per cent. *pooled*: over all of them, weighted by replicates, with
  the standard error. In this mean, settings that cover too much offset those that cover too little.
- *in / over / under*: how many settings are within 93–97 %, above (wider than necessary, mostly because the release says little
  and the interval is the prior's), and below. *settings × replicates*: how many settings there are, and how many repetitions of
  each.
- *low*: how many settings are below 93 % and so low that a method with a coverage of exactly 95 % would be that low with a
  probability of at most 2.5 % (binomial). *By chance*: how many would be low on average if all were at exactly 95 %.
- *updated*: the day on which the numbers were entered or last changed.

The verdicts:

- **holds**: if all settings were at exactly 95 %, this many low ones or more would have a probability above 5 %. The same rule
  would catch a study in which every setting is at 92 % with a probability of 80 % or more.
- **not enough replicates to tell**: it would not.
- **mostly holds**: more settings are low than chance explains, but at most one in twenty.
- **fails in places**: at most one in three. **fails**: more.

The 5 % apply to each line: of forty lines of exact methods, up to two would be misjudged on average. One bad setting among many
good ones can go unnoticed, so look at the range and at the details.

Coefficients of one fit are not independent. Where a study gives a standard error with fits as clusters, a setting counts as the
number of independent intervals that would have this error. Where it gives none, a setting counts as its number of fits, as if
their coefficients always held or missed together. That calls fewer settings low. Settings are taken as independent. Two slopes of
the same sites, and posterior probabilities of the same parts, are not. Their pooled errors assume that such settings agree
entirely, which makes the errors too large, and their verdicts are less certain than others.

No line shows bounds that cut off much of a column, effects that are not linear, or a choice of the model after seeing
results. `laplace`, the quick approximation, and `adassp`, which has no intervals, were not measured. Tests of partition
releases have levels instead of intervals: see [their page](partition-calibration.md#tests).
"""
TABLE = ("| method | coverage | pooled | in / over / under | low (by chance) | verdict | settings × replicates | remark |"
         " updated |\n" + "|---" * 9 + "|")


def page(today: str) -> tuple[str, dict[str, dict[str, str]]]:
    """The page and the dates of its sources."""
    known: dict[str, dict[str, str]] = json.loads(DATES.read_text(encoding="utf-8")) if DATES.exists() else {}
    dates: dict[str, dict[str, str]] = {}
    text = [HEAD]
    for title, (words, lines) in SECTIONS.items():
        text += [f"## {title}\n", f"{words}\n", TABLE]
        for line in lines:
            for source in line.sources:
                digest = hashlib.sha256(json.dumps(read(source)).encode()).hexdigest()[:16]
                same = known.get(source, {}).get("digest") == digest
                dates[source] = {"digest": digest, "date": known[source]["date"] if same else today}
            text.append(line.text(max(dates[source]["date"] for source in line.sources)))
        text.append("")
    text.append("---\n\nGenerated by `python -m docs.calibration_summary`. Do not edit.\n")
    return "\n".join(text), dict(sorted(dates.items()))


def main() -> None:
    text, dates = page(datetime.datetime.now(datetime.UTC).date().isoformat())
    PAGE.write_text(text, encoding="utf-8")
    DATES.write_text(json.dumps(dates, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
