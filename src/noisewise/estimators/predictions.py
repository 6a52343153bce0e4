"""Predictions of a posterior for an analyst's rows, as scikit-learn wants them. These rows are not confidential."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import ResultError
from noisewise.estimators.rows import RowsError
from noisewise.results import Posterior
from noisewise.results.families import family_of
from noisewise.results.prediction import predict_rows
from noisewise.results.rows import declared_levels, read_rows

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
Kind = Literal["response", "mean"]


def interval_table(posterior: Posterior, new_rows: Any, interval: float, kind: Kind | None) -> pandas.DataFrame:
    with _as_value_errors():
        return posterior.predict(new_rows, interval, kind)[["lower", "upper"]]


def mean_and_deviation(posterior: Posterior, new_rows: Any) -> tuple[Floats, Floats]:
    """The mean of a new response of each row (of two levels the probability of the second), and its standard deviation.

    The deviation has both parts: that of the coefficients and that of a response around its mean.
    """
    design, family = posterior.design, family_of(posterior.info.family)
    draws = posterior.samples.reshape(-1, len(posterior.terms))
    own_variance = np.mean(draws[:, -1] ** 2) if posterior.has_sigma else None

    def ends(location: Floats) -> tuple[Floats, Floats, Floats]:
        means = family.inverse_link(location)
        mean = means.mean(axis=1)
        deviation = np.sqrt(means.var(axis=1) + (mean if own_variance is None else own_variance))  # of counts: their mean
        return mean, deviation, deviation

    with _as_value_errors():
        columns, index = read_rows(new_rows, design.columns_needed, declared_levels(design))
        mean, deviation, _ = predict_rows(columns, len(index), design, draws[:, : len(design.terms)], ends)
    return mean, deviation


@contextmanager
def _as_value_errors() -> Iterator[None]:
    try:
        yield
    except ResultError as error:
        raise RowsError(error.rule, found=error.found, remedy=error.remedy) from error
