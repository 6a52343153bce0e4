"""The statistics of a predictive check of a generalised linear model: per holder, Σ y a and what the fit implies for it.

At the true β the difference h_j = Σ y a − F_j has mean 0 and covariance C_j, whose four parts docs/glm.md lists. Counts with
released squares have one more statistic, Σ r² for the residuals r from the best linear function of η. The rest is as for linear
regression (``results.check_moments``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise.arrays import Array
from noisewise.posterior.contributions import Contribution
from noisewise.posterior.glm.columns import Layout
from noisewise.posterior.glm.families import FAMILIES
from noisewise.posterior.glm.fit import MOST_LATENT, model_data
from noisewise.posterior.glm.holder_law import HolderLaw, dispersion
from noisewise.posterior.glm.statistics import Response, Statistics, entry_variances, pooling_weights, read_response
from noisewise.releases.release import Release
from noisewise.results.glm_checks import GlmStatistics, HolderStatistics
from noisewise.schema import Design

DRAWS: Final = 64
"""Number of evenly spaced draws to average over."""


def check_statistics(release: Release, design: Design, family_name: str, samples: Array) -> GlmStatistics:
    """Return what to compare for every holder of a release, for draws of the coefficients (draws, terms)."""
    family = FAMILIES[family_name]
    response = read_response(release, design, family)
    used = [0, *(int(index) for index in np.flatnonzero(np.any(design.features != 0.0, axis=1)) if index != 0)]
    latent = len(used) - 1 <= MOST_LATENT
    left_out = _left_out(release, design, used, response)[: MOST_LATENT + 1 - len(used)] if latent else []
    layout = Layout.of(design.basis, [*used, *left_out], cells=latent)
    draws = samples[np.unique(np.linspace(0, len(samples) - 1, DRAWS).astype(int))]
    two_levels = family.response == "two levels"
    squares = not two_levels and all(np.isfinite(_square_noise(one, response)) for one in release.contributions)
    order = np.array(layout.order)
    holders = []
    for one in release.contributions:
        found = Statistics.of((one,), layout.order, response, family)
        found.check_released()
        data = {**model_data(found, design, layout, family, response), "lkj": np.ones(())}
        data = {key: np.asarray(value, dtype=float) for key, value in data.items()}
        law = HolderLaw.of(family, layout, data, latent)
        holders.append(_holder(law, one, found, response, draws, samples.mean(axis=0), squares))
    return GlmStatistics(
        holders=tuple(holders),
        weights=pooling_weights(release.contributions),
        coefficients=samples,
        used=np.flatnonzero(np.isin(order, used)),
        left_out={design.basis.names[index]: int(np.flatnonzero(order == index)[0]) for index in left_out},
        features=design.features[order],
        laplace=np.array([one.noise.distribution == "laplace" for one in release.contributions]),
        response_centre=0.5 if two_levels else response.centre,
        response_half=0.5 if two_levels else response.half,
        squares=squares,
    )


def _holder(law: HolderLaw, contribution: Contribution, found: Statistics, response: Response, draws: Array, beta: Array,
            squares: bool) -> HolderStatistics:
    covariance, rows, expectations = law.scatter(beta)
    by_beta, by_law = law.derivatives(beta)
    each = law.implied(draws)
    implied = each.mean(axis=0)
    # If the draws are so wide that F bends between them (a predictor hidden by the noise), first order is not enough.
    bent = each - law.implied(beta[None]) - (draws - beta) @ by_beta.T
    sums = np.append(law.data["cross"], contribution.matrix[response.position, response.position])
    noise = np.append(law.data["cross_variance"], _square_noise(contribution, response))
    size = len(sums) - 1 + squares
    scatter, to_statistics, explained = np.zeros((size, size)), np.eye(size), 0.0
    scatter[: len(covariance), : len(covariance)] = covariance
    if squares:
        spread = dispersion(expectations, np.asarray(law.data["features"] @ beta), law.data)
        to_statistics[-1, :-1] = -2.0 * spread.linear
        scatter[-1, :-1] = scatter[:-1, -1] = rows * spread.covariance
        scatter[-1, -1] = rows * spread.variance
        explained = spread.explained
    passed_on = by_law[:size] @ by_law[:size].T + bent[:, :size].T @ bent[:, :size] / len(bent)
    return HolderStatistics(
        rows=rows,
        gaps=to_statistics @ (sums - implied)[:size],
        covariance=scatter + to_statistics @ (np.diag(noise[:size]) + passed_on) @ to_statistics.T,
        slopes=-to_statistics @ by_beta[:size],
        noise=to_statistics * np.sqrt(noise[:size]),
        implied_mean=float(implied[0]) / rows,
        explained=explained,
        means=np.asarray(law.data["gram"][0] / max(found.rows, 1.0)),
        means_noise=float(np.sqrt(np.max(found.gram_variance[0]))),
    )


def _square_noise(contribution: Contribution, response: Response) -> float:
    return float(entry_variances(contribution)[response.position, response.position])


def _left_out(release: Release, design: Design, used: list[int], response: Response) -> list[int]:
    """Return released columns that neither side of the formula uses. This leaves out squares and products of numbers, whose
    expectations are uncertain because the columns' own distributions are unknown. It also leaves out the response that a moments
    release was made for, if one of its predictors is the response here: the sum of its squares was not released."""
    squares = np.array([np.diag(entry_variances(one)) for one in release.contributions])
    return [index for index, column in enumerate(design.basis.columns) if index not in used and index != response.position
            and len(column.factors) == 1 and column.factors[0].degree == 1 and np.isfinite(squares[:, index]).all()]
