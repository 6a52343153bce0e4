"""Made-up rows with the moments that a plug-in method takes for exact: other software finds the same Bayes factors in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from noisewise.schema import Design
from noisewise.selection.moments import Moments, without_leading
from noisewise.selection.units import Units
from noisewise.synthetic.exact_moments import exact_moment_rows

if TYPE_CHECKING:
    import pyarrow


def rows_with_moments(design: Design, units: Units, exact: Moments, seed: int) -> Iterator[pyarrow.RecordBatch]:
    """The formula's columns without the intercept, and last the response, in the user's units, in blocks.

    ``exact``: regularised moments, in the columns that ``units`` describes. Without an intercept in the formula the columns'
    sums are 0, and their moments are those about 0.
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
