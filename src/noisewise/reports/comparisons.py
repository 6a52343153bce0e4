"""The section about a comparison of models."""

from __future__ import annotations

import math
from typing import NamedTuple

from noisewise.reports.drawings import place
from noisewise.reports.given import Fitted
from noisewise.reports.numbers import Table, chance, count, number, percent
from noisewise.reports.trust import Verdict, sentence
from noisewise.results.comparison import Comparison

TOP, MOST_TERMS = 10, 100
LEFT, WIDTH = 2.0, 156.0


class Inclusion(NamedTuple):
    """One term: its probability, the band, and their places on a drawing of 160 by 20."""

    term: str
    words: str
    probability: str
    band: str
    bar: str
    band_x1: str | None
    band_x2: str | None


class ComparisonView(NamedTuple):
    """One comparison, ready for the template; ``agreement`` is None unless several methods were run."""

    fitted: Fitted
    result: Comparison
    about: str
    verdict: Verdict
    terms: tuple[Inclusion, ...]
    models: Table
    coefficients: Table
    agreement: Table | None


def comparison_view(fitted: Fitted, interval: float) -> ComparisonView:
    """The section about a comparison; ``interval`` is the probability of its bands and intervals."""
    found = fitted.result
    assert isinstance(found, Comparison)
    problems = tuple(map(sentence, [*found.diagnose(), *found.left_open()]))
    verdict = Verdict(not problems, "Be careful with these probabilities:" if problems else
                      "No problems were found with these probabilities.", problems)
    return ComparisonView(fitted, found, _about(found, interval), verdict, _terms(found, interval), _models(found),
                          _coefficients(found, interval), _agreement(found))


def _about(found: Comparison, interval: float) -> str:
    words = "The probability that a term belongs in the model, given the release."
    kept = [term for term in found.question.kept if term != "Intercept"]
    if kept:
        words += f" Kept in every model: {', '.join(kept)}."
    if found.question.method == "noise-aware":
        return (f"{words} It accounts for the privacy noise. The band says where the same analysis of the table itself, without "
                f"privacy noise, would have put it, with {percent(interval)} certainty.")
    return f"{words} The method {found.question.method} does not fully account for the privacy noise and is not calibrated."


def _terms(found: Comparison, interval: float) -> tuple[Inclusion, ...]:
    rows = []
    for term, row in found.inclusion(interval).head(MOST_TERMS).iterrows():
        probability, low, high = (float(row[name]) for name in ("probability", "lower", "upper"))
        banded = math.isfinite(low)
        band = f"{chance(low)} to {chance(high)}" if banded else "–"
        words = f"{term}: probability {chance(probability)}" + (f", band {band}" if banded else "") + "."
        ends = (place(LEFT + WIDTH * low), place(LEFT + WIDTH * high)) if banded else (None, None)
        rows.append(Inclusion(str(term), words, chance(probability), band, place(WIDTH * probability), *ends))
    return tuple(rows)


def _models(found: Comparison) -> Table:
    rows = [(str(row["terms"]) or "(no term)", chance(float(row["probability"])), number(float(row["log_bayes_factor"]), 1.0))
            for _, row in found.models(TOP).iterrows()]
    return Table.of(f"The most probable of {count(len(found.members))} models"
                    + ("" if found.complete else " found by a random walk over models"),
                    ["Terms in the model", "Probability", "Log Bayes factor against the smallest"], rows)


def _coefficients(found: Comparison, interval: float) -> Table:
    rows = []
    for term, row in found.coefficients(interval).iterrows():
        sd = float(row["sd"])
        values = (number(float(row[name]), sd) for name in ("mean", "lower", "upper"))
        rows.append((str(term), *values, chance(float(row["probability"])) if term != "Intercept" else "–"))
    return Table.of(f"Coefficients averaged over the models, zeros included, with {percent(interval)} intervals",
                    ["Term", "Mean", "From", "To", "Probability of not being 0"], rows)


def _agreement(found: Comparison) -> Table | None:
    if not found.verdicts:
        return None
    table = found.agreement()
    methods = [name for name in table.columns if name not in ("difference", "verdict")]
    rows = [(str(term), *(chance(float(row[name])) for name in methods), str(row["verdict"])) for term, row in table.iterrows()]
    return Table.of("Do the methods agree?", ["Term", *map(str, methods), "Together"], rows, words=(0, len(methods) + 1))
