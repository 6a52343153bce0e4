"""``noisewise release adassp``: sums for a point estimate of one regression, from the literature."""

from __future__ import annotations

from pathlib import Path

from noisewise.cli.options import Formula, NeededDelta, Terms
from noisewise.cli.output import Output
from noisewise.cli.release.common import tell_fit
from noisewise.kinds import AdaSSP
from noisewise.releases.release import Release

DELTA = NeededDelta


def asked(formula: Formula, terms: Terms = None) -> AdaSSP:
    """Release sums for a point estimate of one regression, without intervals: from the literature, for comparison.

    Example: noisewise release adassp patients.parquet -s schema.toml -e 1 -d 1e-6 --formula "stay ~ age + ward" -o stay.nwr
    """
    return AdaSSP(formula, terms=terms)


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the file."""
    tell_fit(out, target, "this regression", str(made.formula))
