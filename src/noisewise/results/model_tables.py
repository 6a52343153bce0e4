"""The tables of a comparison of models, from plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisewise.results.records import check_interval

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]


def inclusion_table(terms: Sequence[str], probability: Floats, draws: Floats | None, interval: float) -> pandas.DataFrame:
    """One row for each term: its probability, and the band that the draws have around it."""
    import pandas

    tails = check_interval(interval)
    lower, upper = np.full((2, len(terms)), np.nan) if draws is None else np.quantile(draws, tails, axis=0)
    return pandas.DataFrame({"probability": probability, "lower": lower, "upper": upper}, index=_index(terms))


def model_table(terms: Sequence[str], members: NDArray[np.bool_], probability: Floats, log_bayes_factors: Floats,
                top: int) -> pandas.DataFrame:
    """One row for each model, from the most probable one on."""
    import pandas

    chosen = members[:top]
    words = [" + ".join(term for term, is_in in zip(terms, model, strict=True) if is_in) for model in chosen]
    columns = {"probability": probability[:top], "log_bayes_factor": log_bayes_factors[:top], "size": chosen.sum(axis=1),
               "terms": words}
    return pandas.DataFrame(columns, index=pandas.RangeIndex(1, len(chosen) + 1, name="model"))


def coefficient_table(columns: Sequence[str], draws: Floats, probability: Floats, interval: float) -> pandas.DataFrame:
    """One row for each column of the formula."""
    import pandas

    lower, upper = np.quantile(draws, check_interval(interval), axis=0)
    found = {"mean": draws.mean(axis=0), "sd": draws.std(axis=0), "lower": lower, "upper": upper, "probability": probability}
    return pandas.DataFrame(found, index=_index(columns))


def _index(names: Sequence[str]) -> pandas.Index[str]:
    import pandas

    return pandas.Index(list(names), name="term")
