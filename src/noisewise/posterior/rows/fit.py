"""``fit`` for releases of kind ``rows``: from a formula and published rows to draws in the user's units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import FitError, FormulaError
from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.posterior.prior import ResolvedPrior
from noisewise.posterior.rows.problem import Answers, RegressionPrior, RowProblem
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.schema import Basis, Design
from noisewise.schema.columns import Categorical, Numeric

if TYPE_CHECKING:
    from noisewise.releases.contents.rows import ScaledRows

FEWEST_ROWS: Final = 10


def rows(problem: RowProblem, draws: int, chains: int, seed: int, tick: Tick) -> Array:
    """Draws (chains, draws, coefficients and sigma) in working units, with the noise of every cell as an unknown."""
    from noisewise.posterior.rows.sampler import sample_rows  # with JAX

    return sample_rows(problem, seed=seed, chains=chains, draws=draws, tick=tick).working


def design_of(formula: str, release: Release) -> Design:
    """Return the design of a formula over published columns: main effects only, with a number as the response."""
    basis = Basis.of(release.schema)
    try:
        design = Design.of(formula, basis)
    except FormulaError as error:
        if error.argument != "terms":
            raise
        raise FormulaError("a regression on perturbed rows has main effects only: a product or a power of perturbed columns "
                           "would carry the product of their noise", found=error.found,
                           remedy="leave it out, or ask the data holder for a release of kind gram with that term") from None
    if isinstance(release.schema.column(design.response), Categorical):
        raise FormulaError("the response of a regression on perturbed rows must be a number", found=design.response,
                           remedy="take a numeric column as the response")
    return design


def problem_of(design: Design, release: Release, prior: ResolvedPrior) -> RowProblem:
    """Return the arrays of the columns that the formula uses; refuse too few rows."""
    rows: ScaledRows = release.contents.scaled()
    if rows.rows < max(FEWEST_ROWS, len(design.terms) + 2):
        raise FitError("a regression on perturbed rows needs more rows", found=f"{rows.rows} rows, {len(design.terms)} terms")
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
