"""What an analysis without privacy noise may have said: its inclusion probabilities for draws of the table's own moments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from noisewise.progress import Tick
from noisewise.selection.averaged import AveragedDraws
from noisewise.selection.coefficient_priors import CRITERIA
from noisewise.selection.evidence import Evidence
from noisewise.selection.exact import exact_log_bayes_factors, information_criterion
from noisewise.selection.model_probabilities import MOST_EXACT, Weighed, probabilities
from noisewise.selection.moments import without_leading
from noisewise.selection.plug_in import exact_moments
from noisewise.selection.possible_tables import possible_tables
from noisewise.selection.subsets import all_subsets, sizes

Array = npt.NDArray[np.float64]

MOST_DRAWS: Final = 400
FEWEST_DRAWS: Final = 50
WORK: Final = 2**22
"""About so many models are weighed for a band in all: it takes a few seconds."""
LOT: Final = 2**20
"""So many are weighed together: what they share, the integrals over g, is then done once."""
MOST_FOUND: Final = 2**13
"""Of the models that a walk has found, so many of the most probable are weighed again."""
ONE_BY_ONE: Final = 16
"""A model takes so many times longer than in a list of all."""


def affordable_draws(models: int, most: int) -> int:
    """How many matrices to analyse if so many models are weighed for each."""
    return min(most, int(np.clip(WORK // models, FEWEST_DRAWS, MOST_DRAWS)))


def inclusion_without_noise(evidence: Evidence, weighed: Weighed, drawn: AveragedDraws, log_prior: Array, seed: int,
                            tick: Tick) -> Array:
    """Draws of the inclusion probabilities that the table itself would give: (draws, terms).

    Where the models are too many to be listed, the most probable of those that were found are weighed again.
    """
    terms = len(evidence.groups)
    listed = terms <= MOST_EXACT
    models = 2**terms if listed else ONE_BY_ONE * min(len(weighed.members), MOST_FOUND)
    count = affordable_draws(models, len(drawn.working))
    matrices = possible_tables(evidence, drawn, count, seed)
    found = _of_all_models(evidence, matrices, log_prior) if listed else _of_found_models(evidence, matrices, weighed, log_prior)
    rows = np.empty((0, terms))
    for lot in found:
        rows = np.concatenate([rows, lot])
        tick(len(rows), count)
    return rows


def _of_all_models(evidence: Evidence, matrices: Iterator[Array], log_prior: Array) -> Iterator[Array]:
    """Inclusion probabilities, a lot of matrices at a time."""
    columns, priors = sizes([len(group) for group in evidence.groups]), log_prior[sizes([1] * len(evidence.groups))]
    together = max(1, LOT // len(columns))
    while lot := list(itertools.islice(matrices, together)):
        rests = np.array([all_subsets(without_leading(matrix, evidence.kept), evidence.groups)[1] for matrix in lot])
        unexplained = np.minimum(rests / rests[:, :1], 1.0)
        logs = _exact_factors(evidence, unexplained.ravel(), np.tile(columns, len(lot))).reshape(rests.shape) + priors
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        bits = [shares.reshape(len(lot), -1, 2, 2**place)[:, :, 1].sum(axis=(1, 2)) for place in range(len(evidence.groups))]
        yield np.minimum(np.column_stack(bits), 1.0)


def _exact_factors(evidence: Evidence, unexplained: Array, columns: npt.NDArray[np.int64]) -> Array:
    rows = evidence.moments.rows
    if evidence.prior in CRITERIA:
        return information_criterion(evidence.prior, unexplained, columns, rows)
    return exact_log_bayes_factors(unexplained, columns, rows - evidence.kept, rows, evidence.prior)


def _of_found_models(evidence: Evidence, matrices: Iterator[Array], weighed: Weighed, log_prior: Array) -> Iterator[Array]:
    members = weighed.members[np.argsort(-weighed.probabilities)[:MOST_FOUND]]
    for matrix in matrices:
        own = Evidence(exact_moments(evidence.moments, matrix), evidence.groups, evidence.prior)
        yield (probabilities(own.log_bayes_factors(members), members, log_prior) @ members)[None]
