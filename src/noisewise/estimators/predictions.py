"""Posterior predictions for an analyst's rows, which are not confidential, as arrays or data frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

import numpy as np
from sklearn import get_config

from noisewise.arrays import Array
from noisewise.errors import ResultError
from noisewise.estimators.rows import RowsError
from noisewise.results import Posterior
from noisewise.results.families import family_of
from noisewise.results.new_rows import declared_levels, read_rows
from noisewise.results.prediction import predict_rows

if TYPE_CHECKING:
    import pandas
    import polars

    Output: TypeAlias = Array | pandas.DataFrame | polars.DataFrame

IntervalKind = Literal["response", "mean"]
CONTAINERS: Final = ("default", "pandas", "polars")


class OutputMixin:
    """``set_output`` for result tables. ``predict`` and ``predict_proba`` return arrays, as everywhere in scikit-learn."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Return intervals as arrays ("default") or data frames ("pandas", "polars"); None changes nothing."""
        if transform is not None:
            if transform not in CONTAINERS:
                raise ResultError("unknown output", argument="transform", found=repr(transform), known=CONTAINERS)
            self._sklearn_output_config = {"transform": transform}  # clone() looks for this name
        return self

    def _in_output(self, table: pandas.DataFrame) -> Output:
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if chosen == "pandas":
            return table
        if chosen == "polars":
            import polars

            return polars.DataFrame({str(name): table[name].to_numpy() for name in table})
        return table.to_numpy()


def interval_table(posterior: Posterior, new_rows: object, interval: float, kind: IntervalKind | None) -> pandas.DataFrame:
    """Return the lower and upper end of the interval for each new row."""
    with _as_value_errors():
        return posterior.predict(new_rows, interval, kind)[["lower", "upper"]]


def mean_and_deviation(posterior: Posterior, new_rows: object) -> tuple[Array, Array]:
    """Return the mean of a new response for each row (two levels: the probability of the second) and its standard deviation.

    The deviation includes the uncertainty of the coefficients and the spread of a response around its mean.
    """
    design, family = posterior.design, family_of(posterior.info.family)
    draws = posterior.samples.reshape(-1, len(posterior.terms))
    own_variance = np.mean(draws[:, -1] ** 2) if posterior.has_sigma else None

    def ends(location: Array) -> tuple[Array, Array, Array]:
        means = family.inverse_link(location)
        mean = means.mean(axis=1)
        deviation = np.sqrt(means.var(axis=1) + (mean if own_variance is None else own_variance))  # a count's variance: its mean
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
        raise error.into(RowsError) from error
