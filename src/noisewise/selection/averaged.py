"""Coefficients averaged over models: draws of the model, of g, and of the coefficients given both.

Given the model and g, the coefficients are normal with precision (A + S/g) / σ² (see ``evidence``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array, Flags
from noisewise.schema.bayes_factors import CRITERIA
from noisewise.selection.weigher import LOT, Effective, Weigher


@dataclass(frozen=True)
class AveragedDraws:
    """The models drawn, and (coefficients, scale) of each draw in working units; coefficients not in the model are zero."""

    members: Flags
    working: Array


def averaged_draws(evidence: Weigher, members: Flags, probabilities: Array, draws: int, seed: int) -> AveragedDraws:
    """Draw from the mixture over these models."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(members), size=draws, p=probabilities / probabilities.sum()))
    models, place = np.unique(chosen, return_inverse=True)
    working = np.zeros((draws, evidence.width))
    for start in range(0, len(models), LOT):
        lot = np.arange(start, min(start + LOT, len(models)))
        mine = np.flatnonzero((place >= lot[0]) & (place <= lot[-1]))
        working[mine] = _within(evidence, evidence.effective(members[models[lot]]), place[mine] - start, rng)
    order = rng.permutation(draws)  # readers of draws expect successive draws to be independent
    return AveragedDraws(members[chosen][order], working[order])


def _within(evidence: Weigher, effective: Effective, model: npt.NDArray[np.int64], rng: np.random.Generator) -> Array:
    """(Kept coefficients, slopes, scale) for each entry of ``model``, an index into ``effective``."""
    inverse_g = _inverse_g(evidence, effective, model, rng)
    precision = effective.values[model] + inverse_g[:, None]
    known = precision > 1e-12 * np.maximum(precision.max(axis=1, keepdims=True, initial=0.0), 1e-300)
    cross = effective.cross[model]
    mean = np.where(known, cross / np.where(known, precision, 1.0), 0.0)
    scale2 = evidence.variances(effective.total[model] - np.sum(mean * cross, axis=1), rng)
    spread = np.sqrt(np.where(known, scale2[:, None] / np.where(known, precision, 1.0), 0.0))
    standard = mean + spread * rng.normal(size=mean.shape)
    slopes = np.einsum("dij,dj->di", effective.back[model], standard)
    scales = evidence.scales(scale2, rng)
    if not evidence.kept:
        return np.column_stack([slopes, scales])
    head, kept = effective.head[model], evidence.kept
    corner = head[:, :, :kept]
    aim = head[:, :, -1] - np.einsum("dki,di->dk", head[:, :, kept:-1], slopes)
    centre = np.linalg.solve(corner, aim[..., None])[..., 0]
    root = np.linalg.cholesky(np.linalg.inv(corner))
    first = centre + np.sqrt(scale2)[:, None] * np.einsum("dij,dj->di", root, rng.normal(size=centre.shape))
    return np.column_stack([first, slopes, scales])


def _inverse_g(evidence: Weigher, effective: Effective, model: npt.NDArray[np.int64], rng: np.random.Generator) -> Array:
    """1/g for each draw, from its distribution within the model; 0 for the criteria, which have no prior."""
    if evidence.prior in CRITERIA:
        return np.zeros(len(model))
    weights = evidence.by_node(effective)
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    cumulated = np.cumsum(weights, axis=1)
    sought = rng.uniform(size=len(model)) * cumulated[model, -1]
    node = np.sum(cumulated[model] < sought[:, None], axis=1)
    return np.asarray(1.0 / evidence.nodes.g[np.minimum(node, len(evidence.nodes.g) - 1)])
