"""What ``noisewise fit`` says about a point estimate: its numbers, and that there is nothing more to say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.cli.numbers import aligned, fixed
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import Talk, visible
from noisewise.errors import ResultError

if TYPE_CHECKING:
    from noisewise.release import Release
    from noisewise.results.point_estimate import PointEstimate


def check_point_options(release: Release, plot: Path | None, save: Path | None) -> None:
    """Refuse, before the work is done, what a point estimate does not have."""
    if release.kind != "adassp":
        return
    for option, path in (("--plot", plot), ("--save", save)):
        if path is not None:
            raise ResultError("a release of kind adassp allows a point estimate only: no posterior, no intervals, no draws",
                              found=option,
                              remedy="leave it out; --csv writes the table. A posterior needs a release of kind gram")


def tell_point_estimate(talk: Talk, estimate: PointEstimate) -> None:
    """The table, and in words what it is."""
    info = estimate.info
    holders = "one holder" if info.holders == 1 else f"{info.holders} holders together"
    if not talk.quiet:
        talk.line(info.formula, style="bold")
        talk.line(f"release of {holders}, method {info.method}, ridge {estimate.ridge:.4g}", style="dim")
    table = plain_table("term")
    table.add_column("estimate", justify="right", no_wrap=True)
    numbers = aligned([fixed(float(value), _decimals(float(value))) for value in estimate.values])
    for term, number in zip(estimate.terms, numbers, strict=True):
        table.add_row(visible(term), number)
    talk.result(table)
    if info.doubts:
        talk.warn("do not trust this estimate", *(("found", doubt) for doubt in info.doubts),
                  ("remedy", "a release with a larger epsilon, of more rows or for a shorter formula"))
    talk.note("Note: this is a point estimate: no posterior, no intervals. How far the privacy noise has moved it is not known "
              "from this release; a release of kind gram allows intervals.")
    if info.holders > 1:
        talk.note("Note: the parts are taken to be of different rows. Two releases of the same rows may not be fitted together.")


def _decimals(value: float) -> int:
    """Four significant digits: without an uncertainty nothing says how many are meant."""
    from math import floor, isfinite, log10

    return 3 if value == 0 or not isfinite(value) else min(10, max(0, 3 - floor(log10(abs(value)))))


def point_document(estimate: PointEstimate) -> dict[str, Any]:
    """A point estimate for machines."""
    info = estimate.info
    return {
        "formula": info.formula,
        "family": info.family,
        "method": info.method,
        "point_estimate": True,
        "holders": info.holders,
        "ridge": estimate.ridge,
        "seconds": info.seconds,
        "terms": [{"term": term, "estimate": float(value)} for term, value in zip(estimate.terms, estimate.values, strict=True)],
        "problems": estimate.diagnose(),
    }


def write_point_estimate(estimate: PointEstimate, csv: Path | None) -> None:
    from noisewise.cli.csv_text import csv_text
    from noisewise.cli.files import write_text

    if csv is not None:
        write_text(csv, csv_text(estimate.summary()))
