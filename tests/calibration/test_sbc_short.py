"""Simulation-based calibration of the default likelihood, short; the full study is ``python -m studies.sbc``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from studies.batch import sample_batch
from studies.sbc import Case, calibrate, cases, mistold, number_of_parameters, quantities, simulate
from studies.uniformity import KEPT, Ranks, band_p, chi_square_p, score_p

from noisewise.posterior.kernels.jax_setup import double_precision

LEVEL = 1e-4
CORNERS = [Case("conditional", "gaussian", adjacency, 2, 1.0) for adjacency in ("replace-one", "add-remove")]
REPLICATES = 50  # of each corner
WRONG = 0.5

# Five tests on 100 replicates, each at LEVEL / 5, so that a right density fails with a probability of at most LEVEL over seeds:
# 1. The density's score (`score_p`): chi-square with 4 · 100 degrees of freedom, standard deviation 7 % of its mean. A density
#    that knows half of the noise's variance has a posterior with little more than half of the variance, which moves the score by
#    50–70 % (measured with other seeds), or 7–10 standard deviations; 4.3 are needed to reject.
# 2. For three coefficients and sigma the mean rank, normal with variance 1 / (12 · 100) in units of the range: this sees bias.


def p_value(ranks: Mapping[str, Ranks]) -> float:
    from scipy.stats import norm

    own = dict(ranks)
    p = [score_p(own.pop("density"), parameters=4)[1]]
    for of_parameter in own.values():
        values = KEPT + 1
        sd = np.sqrt((values**2 - 1) / 12 / len(of_parameter))  # of the mean of ranks that are uniform on 0 … KEPT
        p.append(2 * float(norm.sf(abs(of_parameter.mean() - KEPT / 2) / sd)))
    return min(1.0, len(p) * min(p))


def test_the_truth_ranks_uniformly_among_the_draws_and_a_density_that_halves_the_noise_is_caught() -> None:
    with double_precision():
        both = [simulate(case, REPLICATES, seed=1) for case in CORNERS]
        right = [model for simulated in both for model in simulated.models]
        wrong = [mistold(model, WRONG) for model in right]
        truth = np.concatenate([simulated.truth for simulated in both])
        p = [p_value(quantities(some, truth, sample_batch(some, seed=1, draws=300, warmup=200), 3)) for some in (right, wrong)]
    assert p[0] > LEVEL > p[1]


def name(case: Case) -> str:
    return f"{case.likelihood}-{case.mechanism}-{case.adjacency}-{case.d}-{case.epsilon:g}"


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=name)
def test_every_case_is_calibrated(case: Case) -> None:
    """300 replicates. Level 1e-4 for a case: p-values of all tests together, by Bonferroni's rule.

    Ranks among correlated draws pile up at both ends. With five predictors at ε = 1, 1000 draws of sigma by `conditional` are
    worth 45 independent ones at the median, fewer than are ranked, and 7 in one replicate of 20.
    """
    correlated = case.likelihood == "conditional" and case.d == 5
    ranks = calibrate(case, 300, seed=1, draws=8000 if correlated else 1000, wrong=False)
    p = [score_p(ranks["density"], number_of_parameters(case))[1], *map(chi_square_p, ranks.values())]
    assert len(p) * min(p) > LEVEL
    # The band's p-values are simulated and not below 1 / 4001: four of them at once that small do not happen by chance.
    assert np.median([band_p(own) for own in ranks.values()]) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in cases() if case.d == 2 and case.epsilon == 1.0], ids=name)
def test_a_density_that_ignores_part_of_the_noise_is_rejected(case: Case) -> None:
    ranks = calibrate(case, 300, seed=1, draws=1000, wrong=True)
    assert score_p(ranks["density"], number_of_parameters(case))[1] < LEVEL
