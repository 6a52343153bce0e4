"""``noisewise release moments``: sums for logistic, probit and Poisson regressions of one response."""

from __future__ import annotations

from pathlib import Path

from noisewise.cli.named_numbers import read_blocks
from noisewise.cli.options import Blocks, Formula, NeededDelta, Terms
from noisewise.cli.output import Output
from noisewise.cli.release.common import tell_fit
from noisewise.kinds import Moments
from noisewise.releases.release import Release
from noisewise.schema import Categorical

DELTA = NeededDelta


def asked(formula: Formula, terms: Terms = None, block: Blocks = None) -> Moments:
    """Release sums for logistic, probit and Poisson regressions of one response: often a little more precise than gram.

    Regressions can use the response of the formula and any of its predictors.

    Example: noisewise release moments patients.parquet -s schema.toml -e 1 -d 1e-6 --formula "visits ~ age + ward" -o visits.nwr

    `noisewise plan moments` compares its noise with that of gram.
    """
    return Moments(formula, terms=terms, blocks=read_blocks(block))


def tell(out: Output, made: Release, target: Path) -> None:
    """Print what can be done with the file."""
    response = made.schema.column(made.columns[-1].factors[0].column)
    family = "logistic" if isinstance(response, Categorical) else "poisson"  # counts are numbers
    tell_fit(out, target, "this response, with all or some of the predictors", str(made.formula), f" --family {family}")
