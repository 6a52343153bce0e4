"""How it is audited: a table without rows, and one with so many that they can just be told apart."""

from __future__ import annotations

import numpy as np

from noisewise.arrays import Array
from noisewise.audits import laws
from noisewise.audits.request import Request
from noisewise.audits.trial import Subject
from noisewise.schema.basis import STATISTIC_GRID


def subject(request: Request, end_to_end: bool) -> Subject:
    mechanism = request.plan().mechanism
    group = max(1, round(laws.Laplace().clearest / mechanism.epsilon))
    counts = [np.zeros((1, 1), dtype=np.int64), np.full((1, 1), round(group / STATISTIC_GRID), dtype=np.int64)]

    def draw(which: int) -> Array:
        if end_to_end:
            rows = {name: np.zeros(which * group) for name in request.schema.names}
            return np.array([request.release(rows).contents.number])
        return np.asarray(mechanism.perturb(counts[which])[0])

    return Subject(request.claim(mechanism.name, mechanism.delta), (np.zeros(1), np.array([float(group)])), draw,
                   np.zeros(1, dtype=bool), np.array([1 / mechanism.scale]), laws.Laplace(), group,
                   1 / mechanism.scale, mechanism.epsilon * (1 + 1e-9))
