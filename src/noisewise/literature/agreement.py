"""Check whether several analyses of one release agree. Peña and Barrientos draw conclusions only where they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.errors import FitError

CLEAR: Final = 0.75
"""Odds of 3 to 1; weaker evidence is "not worth more than a bare mention" (Kass and Raftery 1995)."""

IN: Final = "agree: in"
OUT: Final = "agree: out"
UNCLEAR: Final = "unclear: no conclusion"
DISAGREE: Final = "disagree: no conclusion"

Row = dict[str, float | str]


def agreement(probabilities: Mapping[str, npt.ArrayLike], terms: Sequence[str]) -> list[Row]:
    """For each term, list every method's inclusion probability, the largest difference and the joint verdict.

    >>> for row in agreement({"ridge": [0.99, 0.9, 0.02], "thresholded": [0.97, 0.1, 0.3]}, ["age", "ward", "stay"]):
    ...     print(row["term"], "-", row["verdict"])
    age - agree: in
    ward - disagree: no conclusion
    stay - unclear: no conclusion
    """
    if len(probabilities) < 2:
        raise FitError("agreement needs at least two methods", found=", ".join(probabilities) or "none",
                       remedy='for example "ridge" and "thresholded"')
    table = {method: np.asarray(values, dtype=np.float64) for method, values in probabilities.items()}
    for method, values in table.items():
        if values.shape != (len(terms),) or not np.all((values >= -1e-9) & (values <= 1.0 + 1e-9)):
            raise FitError("each method needs one probability per term", found=f"{method}: {values.tolist()}")
    rows: list[Row] = []
    for place, term in enumerate(terms):
        found = {method: float(values[place]) for method, values in table.items()}
        low, high = min(found.values()), max(found.values())
        rows.append({"term": term, **found, "difference": high - low, "verdict": verdict(list(found.values()))})
    return rows


def verdict(probabilities: Sequence[float]) -> str:
    """Sum up the methods' probabilities for one term.

    ``agree``: all are clear (at least 0.75, or at most 0.25) and on the same side. ``disagree``: some lean in, some lean out.
    ``unclear``: all lean to the same side, but not all are clear.
    """
    low, high = min(probabilities), max(probabilities)
    if low >= CLEAR:
        return IN
    if high <= 1.0 - CLEAR:
        return OUT
    return DISAGREE if low < 0.5 <= high else UNCLEAR
