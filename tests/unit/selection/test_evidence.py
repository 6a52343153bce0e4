"""Bayes factors of models: the textbook's without noise, continuous in the noise, and finite whatever the noise."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.selection.made_moments import Array, from_matrix, made_moments, made_table, single_columns

from noisewise.errors import FitError
from noisewise.selection.averaged import averaged_draws
from noisewise.selection.bands import moment_draws
from noisewise.selection.evidence import Evidence
from noisewise.selection.subsets import memberships
from noisewise.selection.weighing import _Dense, _LowRank

SLOPES = np.array([0.5, 0.0, 0.1, 0.0])
PRIORS = ["zellner-siow", "zellner", "hyper-g", "bic", "aic"]
TABLE = made_table(1, 2000, SLOPES)


def residual_squares(table: Array, columns: list[int]) -> float:
    return float(np.linalg.lstsq(table[:, columns], table[:, -1])[1][0])


@pytest.mark.parametrize("kept", [1, 3])
def test_without_noise_it_is_the_textbook_formula_with_partial_r2(kept: int) -> None:
    """The constant and other kept columns are in every model: R² is that of what they leave unexplained."""
    found = single_columns(made_moments(TABLE, kept=kept), "zellner").all_models()
    criterion = single_columns(made_moments(TABLE, kept=kept), "bic").all_models()
    rows = len(TABLE)
    least = residual_squares(TABLE, list(range(kept)))
    for number, members in enumerate(memberships(5 - kept)):
        columns = [*range(kept), *(kept + np.flatnonzero(members))]
        unexplained, k = residual_squares(TABLE, columns) / least, len(columns) - kept
        expected = (rows - kept - k) / 2 * math.log(1 + rows) - (rows - kept) / 2 * math.log(1 + rows * unexplained)
        assert found[number] == pytest.approx(expected, rel=1e-8, abs=1e-8)
        assert criterion[number] == pytest.approx(-rows / 2 * math.log(unexplained) - k / 2 * math.log(rows), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("prior", [*PRIORS, "zellner-siow-laplace"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_tree_and_single_models_agree(prior: str, intercept: bool) -> None:
    table = made_table(2, 500, SLOPES, intercept=intercept)
    evidence = Evidence(made_moments(table, kept=int(intercept)), [[0, 1], [2], [3]], prior)
    assert evidence.all_models() == pytest.approx(evidence.log_bayes_factors(memberships(3)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_noise_that_vanishes_leaves_the_exact_result(prior: str, distribution: str) -> None:
    exact = single_columns(made_moments(TABLE), prior).all_models()
    gaps = []
    for sd in (1.0, 1e-2, 1e-4):
        noisy = replace(made_moments(TABLE, sd, distribution=distribution), matrix=TABLE.T @ TABLE)
        gaps.append(np.max(np.abs(single_columns(noisy, prior).all_models() - exact)))
    assert gaps[0] > 1.0  # noise with a standard deviation of 1 does matter here
    assert gaps[2] < 1e-3
    assert gaps[2] < 0.1 * gaps[1] < 0.01 * gaps[0]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("sd", [0.0, 20.0])
def test_the_order_of_columns_does_not_matter(prior: str, sd: float) -> None:
    moments = made_moments(TABLE, sd)
    order = [0, 3, 1, 4, 2, 5]
    block = np.ix_(order, order)
    turned = from_matrix(moments.matrix[block], moments.variances[block], moments.rows)
    members = memberships(4)
    found = single_columns(turned, prior).log_bayes_factors(members[:, [2, 0, 3, 1]])
    assert found == pytest.approx(single_columns(moments, prior).log_bayes_factors(members), rel=1e-8, abs=1e-8)


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4), st.floats(-3, 3), st.lists(st.floats(-5, 5), min_size=5, max_size=5))
def test_units_and_origins_do_not_matter_without_noise(powers: list[float], power: float, shifts: list[float]) -> None:
    expected = single_columns(made_moments(TABLE), "zellner-siow").all_models()
    scaled = TABLE * 10.0 ** np.array([0.0, *powers, power])
    assert single_columns(made_moments(scaled), "zellner-siow").all_models() == pytest.approx(expected, rel=1e-7, abs=1e-7)
    moved = TABLE + np.array([0.0, *shifts])
    assert single_columns(made_moments(moved), "zellner-siow").all_models() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("prior", ["zellner-siow", "bic"])
@pytest.mark.parametrize("sd", [0.1, 30.0, 1e4])
@pytest.mark.parametrize("kept", [0, 1, 2])
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("corner", [False, True])
def test_low_rank_and_dense_covariances_agree(prior: str, sd: float, kept: int, distribution: str, corner: bool) -> None:
    moments = made_moments(made_table(1, 2000, SLOPES, intercept=kept > 0), sd, kept, distribution, corner)
    evidence, plain = single_columns(moments, prior), single_columns(moments, prior)
    assert isinstance(evidence.weighing, _LowRank)
    plain.weighing = _Dense(moments, np.column_stack([plain.gram, plain.cross]), plain.spread, plain.variance)
    assert evidence.all_models() == pytest.approx(plain.all_models(), rel=1e-7, abs=1e-7)


def test_combinations_of_released_columns_with_laplace_noise_are_weighed_densely() -> None:
    """A sum and a difference of columns span what the columns do: the full model is as good, Ω being the same in both bases."""
    moments = made_moments(TABLE, 10.0, distribution="laplace")
    features = moments.features.copy()
    features[:, [1, 2]] = features[:, [1, 2]] @ np.array([[1.0, 1.0], [1.0, -1.0]])
    turned = single_columns(replace(moments, features=features), "bic")
    assert isinstance(turned.weighing, _Dense)
    both = np.array([[True, True, False, False]])
    assert turned.log_bayes_factors(both) == pytest.approx(single_columns(moments, "bic").log_bayes_factors(both), rel=0.02)


HARD = {
    "hardly any noise": (TABLE, 1e-6, 1), "no signal left": (TABLE, 1e3, 1), "hopeless": (TABLE, 1e9, 1),
    "one column": (TABLE[:, [0, 1, 5]], 30.0, 1), "constant only": (TABLE[:, [0, 5]], 30.0, 1), "all kept": (TABLE, 30.0, 5),
    "no constant": (TABLE[:, 1:], 30.0, 0), "fewer rows than columns": (TABLE[:4], 0.1, 1),
    "collinear": (np.column_stack([TABLE[:, :3], TABLE[:, 1] - TABLE[:, 2], TABLE[:, 5]]), 1.0, 1),
    "empty column": (TABLE * [1, 1, 0, 1, 1, 1], 5.0, 1), "empty response": (TABLE * [1, 1, 1, 1, 1, 0], 5.0, 1),
    "perfect fit": (np.column_stack([TABLE[:, :5], TABLE[:, 1]]), 1e-2, 1),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("case", HARD)
def test_hard_cases_are_finite(case: str, distribution: str, prior: str) -> None:
    table, sd, kept = HARD[case]
    for corner in (False, True) if kept else (False,):
        evidence = single_columns(made_moments(table, sd, kept, distribution, corner, seed=5), prior)
        factors = evidence.all_models()
        assert np.all(np.isfinite(factors)) and factors[0] == pytest.approx(0.0, abs=1e-9)
        members = memberships(len(evidence.groups))
        drawn = averaged_draws(evidence, members, np.ones(len(members)), 50, seed=1)
        assert np.all(np.isfinite(drawn.working)) and np.all(drawn.working[:, -1] > 0.0)
        for matrix in moment_draws(evidence, drawn, 5, seed=2):
            assert np.all(np.isfinite(matrix))


@pytest.mark.parametrize("table", [HARD[case][0] for case in ("collinear", "empty column", "empty response", "perfect fit")])
def test_exact_tables_whose_columns_say_the_same_are_refused(table: Array) -> None:
    with pytest.raises(FitError, match="combination of the others"):
        single_columns(made_moments(table), "bic")


def test_what_noise_hides_is_believed_less() -> None:
    """The same table: the larger the noise, the smaller the Bayes factor of the true model; plug-in would not notice."""
    true = np.array([[True, False, False, False]])
    factors = [float(np.mean([single_columns(made_moments(TABLE, sd, seed=seed), "zellner-siow").log_bayes_factors(true)
                              for seed in range(20)])) for sd in (1.0, 10.0, 30.0, 100.0)]
    assert all(left > right for left, right in pairwise(factors))
