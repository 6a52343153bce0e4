"""Audit private bounds: the selection behind them, of one of two candidates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from noisewise.arrays import Array
from noisewise.audits import laws
from noisewise.audits.request import Request
from noisewise.audits.trial import LESS_NOISE, Subject
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.sensitivity.bounds import BoundSensitivity


def subject(request: Request, end_to_end: bool) -> Subject:
    """The selection behind a `Bounds` release: one of two candidates, whose scores a unit changes in opposite directions.

    The wrong one is drawn with probability ½exp(−gap/scale), as with Laplace noise and a threshold in the middle. Rows move the
    scores of real candidates by less, so no table would show this much, and none is drawn from end to end.
    """
    unit = request.schema.unit
    sensitivity = BoundSensitivity(adjacency=request.schema.adjacency, unit_is_row=unit.is_row, max_rows=unit.max_rows)
    mechanism = Selection.calibrate(sensitivity, request.epsilon)
    group = max(1, round(laws.Laplace().clearest / mechanism.epsilon))
    gap = group * sensitivity.score
    scores = np.array([gap, 0], dtype=np.int64), np.array([0, gap], dtype=np.int64)
    less = replace(mechanism, scale=LESS_NOISE * mechanism.scale)

    def draw_from(selection: Selection, which: int) -> Array:
        return np.array([float(selection.choose(scores[which]))])

    return Subject(request.claim(mechanism.name, 0.0), (np.zeros(1), np.ones(1)), partial(draw_from, mechanism),
                   np.zeros(1, dtype=bool), np.array([2 * gap / mechanism.scale]), laws.Laplace(), group,
                   2 * sensitivity.score / mechanism.scale, mechanism.epsilon, draw_less=partial(draw_from, less))
