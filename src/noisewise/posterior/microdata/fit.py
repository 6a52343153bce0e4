"""``fit`` for releases of kind ``microdata``: from a formula and published rows to draws in the user's units."""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise.errors import FitError, FormulaError
from noisewise.posterior.coordinates import Coordinates
from noisewise.posterior.microdata.comparators import naive, simex
from noisewise.posterior.microdata.problem import Answers, RegressionPrior, RowProblem
from noisewise.posterior.microdata.sampler import sample_rows
from noisewise.posterior.prior import Prior, ResolvedPrior
from noisewise.posterior.request import Sampled
from noisewise.progress import Tick
from noisewise.release.microdata import MicrodataRelease, ScaledRows
from noisewise.schema import Basis, Design
from noisewise.schema.columns import Categorical, Numeric

ROWS: Final = "rows"
COMPARATORS: Final = ("simex", "naive")
METHODS: Final = (ROWS, *COMPARATORS)
DEFAULT: Final = "conditional"
"""What ``fit`` is given if no method is asked for."""
FEWEST_ROWS: Final = 10


def design_of(formula: str, release: MicrodataRelease) -> Design:
    """The formula over the published columns: their main effects, and a number as the response."""
    basis = Basis.of(release.schema)
    try:
        design = Design.of(formula, basis)
    except FormulaError as error:
        if "not in the release" not in error.rule:
            raise
        raise FormulaError("a regression on perturbed rows has main effects only: a product or a power of perturbed columns "
                           "would carry the product of their noise", found=error.found,
                           remedy="leave it out, or ask the data holder for a release of kind gram with that term") from None
    if isinstance(release.schema.column(design.response), Categorical):
        raise FormulaError("the response of a regression on perturbed rows is a number", found=design.response,
                           remedy="take a numeric column as the response")
    return design


def problem_of(design: Design, rows: ScaledRows, prior: ResolvedPrior) -> RowProblem:
    """The arrays of the columns that the formula uses."""
    coordinates, schema = Coordinates.of(design), design.basis.schema
    used = [schema.column(name) for name in design.columns_needed]
    numbers = [column.name for column in used if isinstance(column, Numeric)]
    categories = [column for column in used if isinstance(column, Categorical)]
    position = {name: index for index, name in enumerate(design.basis.names)}
    places, answers = [0], []
    for category in categories:
        names = [category.name] if category.two_level else [f"{category.name}[{level}]" for level in category.levels[1:]]
        places += [position[name] for name in names]
        coding = np.array([[-1.0], [1.0]]) if category.two_level else np.eye(len(category.levels))[:, 1:]
        answers.append(Answers(rows.codes[category.name], rows.keep[category.name], coding))
    places += [position[name] for name in numbers]
    arrays = prior.in_coordinates(coordinates)
    chosen = [rows.names.index(name) for name in (*numbers, design.response)]
    return RowProblem(
        observed=rows.numbers[:, :, chosen],
        noise=rows.noise[chosen],
        known=np.ones((1, rows.rows)),
        categories=tuple(answers),
        laplace=rows.laplace,
        prior=RegressionPrior(coordinates.directions[places], coordinates.residual[places], arrays["prior_slope"],
                              arrays["prior_offset"], float(np.sqrt(arrays["prior_sigma2"]))),
    )


def sample_release(design: Design, release: MicrodataRelease, method: str, prior: Prior | None, *, draws: int, chains: int,
                   seed: int, tick: Tick) -> tuple[Sampled, ResolvedPrior]:
    """Draws in the user's units by one of ``METHODS``."""
    resolved = ResolvedPrior.of(design, prior)
    if method in COMPARATORS and prior is not None:
        raise FitError(f"{method} has no prior", found="a prior", remedy="leave prior out")
    rows = release.scaled()
    if rows.rows < max(FEWEST_ROWS, len(design.terms) + 2):
        raise FitError("a regression on perturbed rows needs more rows", found=f"{rows.rows} rows, {len(design.terms)} terms")
    problem = problem_of(design, rows, resolved)
    if method == ROWS:
        found = sample_rows(problem, seed=seed, chains=chains, draws=draws, tick=tick).working
    else:
        estimate = naive(problem) if method == "naive" else simex(problem, seed=seed)
        found = estimate.draws(chains, draws, seed + 1)
    return Sampled(Coordinates.of(design).to_user(found)), resolved


def check_request(family: str, method: str, site: str | None) -> None:
    """What there is for published rows."""
    if family != "gaussian":
        raise FitError("perturbed rows are for linear regression", found=f"family {family!r}",
                       remedy="leave family out, or ask the data holder for a release of kind moments")
    if method not in (DEFAULT, *METHODS):
        raise FitError("a release of kind microdata has methods of its own", found=f"method {method!r}",
                       remedy="leave method out, or choose among " + ", ".join(METHODS))
    if site is not None:
        raise FitError("random effects by site need releases of kind gram", found=f"site {site!r}", remedy="leave site out")
