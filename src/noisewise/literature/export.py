"""Made-up rows with the moments that a plug-in method treats as exact; other software finds the same Bayes factors in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import numpy as np

from noisewise.errors import FitError
from noisewise.literature.exact_moments import exact_moment_rows
from noisewise.posterior.request import whole
from noisewise.releases.combine import Releases
from noisewise.run import nobody
from noisewise.schema import Design
from noisewise.schema.bayes_factors import ZELLNER_SIOW
from noisewise.selection.kinds.gram import solver
from noisewise.selection.methods import EXPORTED, METHODS
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.question import Units, gram_release
from noisewise.selection.task import Task

if TYPE_CHECKING:
    import pyarrow


def synthetic_rows(formula: str, release: Releases, *, method: str = EXPORTED, keep: str | Sequence[str] = (), seed: int = 0
                   ) -> Iterator[pyarrow.RecordBatch]:
    """Make up rows with the moments that ``method`` (``ridge`` or ``thresholded``) treats as exact, for use in other software."""
    able = {name: one for name, one in METHODS.items() if one.moments}
    if method not in able:
        raise FitError("synthetic_rows needs a method that treats noisy moments as exact", argument="method", found=repr(method),
                       known=tuple(able))
    solved = solver(Task.of(formula, gram_release(release), ZELLNER_SIOW, "uniform", keep))
    exact = resolve_name(able[method].moments)(solved.asked(0, (), nobody))
    return rows_with_moments(solved.task.design, solved.units, exact, whole("seed", seed, 0))


def rows_with_moments(design: Design, units: Units, exact: Moments, seed: int) -> Iterator[pyarrow.RecordBatch]:
    """Yield blocks of the formula's columns without the intercept, then the response, in the user's units.

    ``exact`` holds regularised moments in the columns that ``units`` describes. If the formula has no intercept, the columns
    sum to 0 and the moments are those about 0.
    """
    intercept = units.order[:1].tolist() == [0] and design.terms[:1] == ("Intercept",)
    first = 1 if intercept else 0
    scales, constants = units.scales[first:], units.constants[first:]
    moments = without_leading(exact.matrix, first) * np.outer(scales, scales)
    means = scales * (exact.matrix[0, 1:] / exact.matrix[0, 0] + constants) if intercept else np.zeros(len(scales))
    places = np.argsort([*units.order[first:], len(design.terms)])
    names = [*design.terms[first:], design.response]
    rows = max(round(exact.rows), len(names) + 2)
    return exact_moment_rows(moments[np.ix_(places, places)], rows, names, seed, means=means[places])
