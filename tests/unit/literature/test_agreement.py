"""What several methods say together about a term."""

from __future__ import annotations

import pytest

from noisewise.errors import FitError
from noisewise.literature.agreement import DISAGREE, IN, OUT, UNCLEAR, agreement, verdict


@pytest.mark.parametrize(("probabilities", "expected"), [
    ((1.0, 0.75), IN), ((0.0, 0.25), OUT), ((0.99, 0.01), DISAGREE), ((0.5, 0.49), DISAGREE), ((0.74, 0.99), UNCLEAR),
    ((0.26, 0.0), UNCLEAR), ((0.9, 0.9, 0.4), DISAGREE), ((0.6, 0.6), UNCLEAR), ((0.8,), IN),
])
def test_a_conclusion_needs_clear_probabilities_on_one_side(probabilities: tuple[float, ...], expected: str) -> None:
    assert verdict(probabilities) == expected


def test_every_term_has_a_row_with_all_methods() -> None:
    rows = agreement({"ridge": [0.9, 0.2], "thresholded": [0.8, 0.9]}, ["age", "ward"])
    assert rows[0] == {"term": "age", "ridge": 0.9, "thresholded": 0.8, "difference": pytest.approx(0.1), "verdict": IN}
    assert rows[1]["verdict"] == DISAGREE and rows[1]["difference"] == pytest.approx(0.7)


@pytest.mark.parametrize("probabilities", [{}, {"ridge": [0.5]}, {"ridge": [0.5], "thresholded": [0.5, 0.5]},
                                           {"ridge": [0.5], "thresholded": [1.5]},
                                           {"ridge": [0.5], "thresholded": [float("nan")]}])
def test_what_cannot_be_compared_is_refused(probabilities: dict[str, list[float]]) -> None:
    with pytest.raises(FitError):
        agreement(probabilities, ["age"])
