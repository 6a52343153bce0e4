"""``noisewise release model``: everything that one regression needs, in several rounds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from noisewise.cli.options import Family, Formula, NeededDelta, Rounds, StartFile, Terms
from noisewise.cli.output import Output
from noisewise.errors import DeclarationError
from noisewise.kinds import Model
from noisewise.releases.release import Release

if TYPE_CHECKING:
    from noisewise.schema import Schema

DELTA = NeededDelta


def asked(formula: Formula, family: Family = "gaussian", terms: Terms = None, rounds: Rounds = None,
          start: StartFile = None) -> Model:
    """Release what one regression needs, in several passes over the table: much sharper than gram, whatever the predictors.

    Each pass looks where the noisy sums so far suggest that the coefficients are; the last one has most of the budget.
    The whole budget is charged once, before the first noise is drawn.

    Example: noisewise release model patients.parquet -s schema.toml -e 1 -d 1e-6 --formula "sick ~ age" -f logistic -o sick.nwr

    The next holder, or next year's table, can begin where this release ended: --start sick.nwr
    """
    import noisewise

    found = None if start is None else noisewise.start(noisewise.load(start))
    return Model(formula, terms=terms, family=family, rounds=rounds, start=found)


def check(kind: Model, declared: Schema, start: Path | None = None, **_: object) -> None:
    """Refuse a start of another formula, family or schema: its coefficients would be those of other terms."""
    import noisewise
    from noisewise.releases.combine import differing_requests

    if start is None:
        return
    names = (str(start), "the schema")
    differences = differing_requests(noisewise.load(start), kind, declared, kind.columns(declared), kind.common(declared), names)
    found = "; ".join(differences)
    if found:
        raise DeclarationError(f"{start} is not a release of the same model, so it is no start; nothing was released",
                               argument="start", found=found, remedy="leave --start out, or give the release of the same model")


def tell(out: Output, made: Release, target: Path) -> None:
    """Print how many rounds were made, and how to fit the model, which the file names."""
    rounds = len(made.contents.rounds)
    out.explain("The table was read for a first look and for one round." if rounds == 1 else
                f"The table was read for a first look and for {rounds} rounds, each of them nearer to the coefficients.")
    out.explain("This file may be given to anyone. Releasing the same rows again costs privacy again: the epsilons add up.")
    out.explain(f"Anyone who has the file can now fit {made.title()}. It needs no formula, because the file has one:")
    out.suggest(f"noisewise fit {quote(str(target))}")
