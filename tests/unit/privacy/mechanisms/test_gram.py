"""Choosing, describing and refusing mechanisms. Their noise is tested in tests/noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from tests.refusals import about
from tests.unit.privacy.events import event

from noisewise.errors import PrivacyError
from noisewise.privacy.cost import Cost
from noisewise.privacy.mechanisms.binary import BetaBinomial, smallest_alpha
from noisewise.privacy.mechanisms.bounds import Selection
from noisewise.privacy.mechanisms.gram import SymmetricGaussian, SymmetricLaplace, choose_mechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.sensitivity.bounds import BoundSensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity


def sensitivity(adjacency: str = "replace-one", **unit: Any) -> GramSensitivity:
    return gram_sensitivity(
        scalars=2, blocks=1, size=5, radius=3**0.5, norm_clipped=False, adjacency=adjacency, **unit
    )


def test_delta_decides_unless_the_mechanism_is_named() -> None:
    assert isinstance(choose_mechanism(sensitivity(), 1.0, 1e-6, None), SymmetricGaussian)
    assert isinstance(choose_mechanism(sensitivity(), 1.0, 1e-6, "gaussian"), SymmetricGaussian)
    assert isinstance(choose_mechanism(sensitivity(), 1.0, None, None), SymmetricLaplace)
    assert isinstance(choose_mechanism(sensitivity(), 1.0, None, "laplace"), SymmetricLaplace)


def test_laplace_spends_no_delta_even_if_one_is_offered() -> None:
    mechanism = choose_mechanism(sensitivity(), 1.0, 1e-6, "laplace")
    assert isinstance(mechanism, SymmetricLaplace)
    assert mechanism.delta == 0.0
    assert "delta = 0 " in mechanism.statement()


@pytest.mark.parametrize(
    ("epsilon", "delta", "name", "rule"),
    [
        (1.0, None, "gaussian", "needs a delta"),
        (1.0, 1e-6, "cauchy", "known: gaussian, laplace, wishart, wishart-paper"),
        (1.0, None, "wishart", "needs a delta"),
        (0.0, 1e-6, None, "epsilon must be positive"),
        (-1.0, None, None, "epsilon must be positive"),
        (1.0, 1.0, None, "delta must lie"),
        (1.0, 0.0, None, "delta must lie"),
        (1.0, 2.0, "laplace", "delta must lie"),
    ],
)
def test_refusals_name_rule_value_and_remedy(epsilon: float, delta: float | None, name: str | None, rule: str) -> None:
    with pytest.raises(PrivacyError, match=rule) as refused:
        choose_mechanism(sensitivity(), epsilon, delta, name)
    assert refused.value.found and refused.value.advice


def test_scales_follow_the_sensitivity() -> None:
    gaussian = choose_mechanism(sensitivity(), 1.0, 1e-5, None)
    diagonal, off_diagonal, corner = gaussian.entry_sd()
    assert diagonal == pytest.approx(3.730631634816464 * sensitivity().frobenius, rel=1e-8)
    assert off_diagonal == pytest.approx(diagonal / math.sqrt(2), rel=1e-15)
    assert corner == 0.0
    laplace = choose_mechanism(sensitivity("add-remove"), 0.5, None, None)
    sd = math.sqrt(2) * sensitivity("add-remove").l1 / 0.5
    assert laplace.entry_sd() == pytest.approx((sd, sd, sd), rel=1e-15)


@pytest.mark.parametrize("delta", [1e-6, None])
def test_public_corner_passes_unchanged_and_the_rest_does_not(delta: float | None) -> None:
    statistic = np.full((5, 5), 12345 * 2**16, dtype=np.int64)
    kept = choose_mechanism(sensitivity(), 1.0, delta, None).perturb(statistic)
    assert kept.dtype == np.float64
    assert kept[0, 0] == 12345.0
    rest = kept[np.triu_indices(5)][1:]
    # The sd is above 10^6 grid steps: an entry keeps its value, or two agree, with probability below 1e-4.
    assert np.count_nonzero(rest == 12345.0) <= 2
    assert np.unique(rest).size >= rest.size - 2


def test_a_constant_alone_has_nothing_to_perturb() -> None:
    public = gram_sensitivity(
        scalars=1, blocks=0, size=2, radius=1.0, norm_clipped=False, adjacency="replace-one"
    )
    for delta in (1e-6, None):
        noisy = choose_mechanism(public, 1.0, delta, None).perturb(np.array([[65536 * 9]]))
        assert noisy.tolist() == [[9.0]]


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.zeros((2, 3), dtype=np.int64), np.array([[1, 2], [3, 4]])])
@pytest.mark.parametrize("delta", [1e-6, None])
def test_statistic_must_be_symmetric_and_on_the_grid(matrix: Any, delta: float | None) -> None:
    with pytest.raises(PrivacyError, match="symmetric matrix of 64-bit integers"):
        choose_mechanism(sensitivity(), 1.0, delta, None).perturb(matrix)


def test_noise_that_does_not_fit_the_grid_is_refused() -> None:
    with pytest.raises(PrivacyError, match="64-bit grid"):
        choose_mechanism(sensitivity(), 1e-15, None, None).perturb(np.zeros((5, 5), dtype=np.int64))


def test_statements_are_plain_sentences() -> None:
    row = choose_mechanism(sensitivity(), 1.0, 1e-6, None).statement()
    assert row == (
        "Replacing any one row changes the probability of any result of this release by at most a factor "
        "exp(epsilon) and a further delta, with epsilon = 1 and delta = 1e-06 (replace-one, Gaussian noise)."
    )
    unit = sensitivity("add-remove", unit_is_row=False, max_rows=3)
    assert choose_mechanism(unit, 0.5, None, None).statement("person").startswith(
        "Adding or removing all rows of any one value of person (at most 3 rows) changes"
    )


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_events_give_back_the_guarantee(adjacency: str) -> None:
    """dp-accounting, with its default relation, finds the (epsilon, delta) that was asked for."""
    gaussian = choose_mechanism(sensitivity(adjacency), 1.0, 1e-6, None)
    accountant = PLDAccountant().compose(event(gaussian.cost()))
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)
    laplace = choose_mechanism(sensitivity(adjacency), 1.0, None, None)
    accountant = PLDAccountant().compose(event(laplace.cost()))
    assert accountant.get_epsilon(1e-12) == pytest.approx(1.0, rel=1e-3)


def test_wishart_noise_has_the_structure_of_gaussian_noise() -> None:
    wishart = choose_mechanism(sensitivity(), 1.0, 1e-6, "wishart")
    assert isinstance(wishart, SymmetricWishart)
    assert wishart.scale == sensitivity().spectral == 4.0
    root = math.sqrt(wishart.degrees)
    assert wishart.entry_sd() == pytest.approx((4 * math.sqrt(2) * root, 4 * root, 0.0), rel=1e-15)
    paper = choose_mechanism(sensitivity(), 1.0, 1e-6, "wishart-paper")
    assert isinstance(paper, SymmetricWishart)
    assert paper.degrees == 5 + math.floor(28 * math.log(4e6)) > 5 * wishart.degrees
    assert [piece.kind for piece in wishart.cost().pieces] == ["approximate"]


def test_the_degrees_of_the_paper_are_refused_where_they_are_too_few() -> None:
    """28 log(4/delta)/epsilon² falls to nothing for a large epsilon; what is needed does not."""
    with pytest.raises(PrivacyError, match="paper 004") as refused:
        choose_mechanism(sensitivity(), 10.0, 1e-6, "wishart-paper")
    assert "; 2" in str(refused.value.found)


def test_wishart_noise_is_refused_where_nothing_is_proved() -> None:
    unit = sensitivity("add-remove", unit_is_row=False, max_rows=3)
    with pytest.raises(PrivacyError, match="proved private only where a unit is one row"):
        choose_mechanism(unit, 1.0, 1e-6, "wishart")
    single = sensitivity("replace-one", unit_is_row=False, max_rows=1)
    one = choose_mechanism(single, 1.0, 1e-6, "wishart")
    assert one.entry_sd()[2] > 0  # a unit may be replaced by none: the number of rows is private


def test_wishart_noise_needs_a_delta_that_its_precision_can_keep() -> None:
    with pytest.raises(PrivacyError, check=about("delta")) as refused:
        choose_mechanism(sensitivity(), 1.0, 1e-17, "wishart")
    assert "at least" in str(refused.value.remedy)
    assert choose_mechanism(sensitivity(), 1.0, 1e-13, "wishart").delta == 1e-13


@pytest.mark.outer
def test_wishart_noise_that_takes_too_long_to_draw_is_refused() -> None:
    with pytest.raises(PrivacyError, match="at most 4194304 normal variables"):
        choose_mechanism(sensitivity(), 0.02, 1e-6, "wishart-paper")


@pytest.mark.parametrize(
    ("radius", "public", "expected"), [(2.0, True, 5.0), (2.0, False, 5.0), (0.5, True, 1.0), (0.5, False, 1.25)]
)
def test_the_scale_is_the_largest_eigenvalue_of_a_change(radius: float, public: bool, expected: float) -> None:
    found = gram_sensitivity(scalars=4, blocks=0, size=5, radius=radius, norm_clipped=True,
                             adjacency="replace-one" if public else "add-remove")
    assert found.spectral == expected


def test_wishart_noise_is_for_a_matrix_of_one_size() -> None:
    wishart = choose_mechanism(sensitivity(), 1.0, 1e-6, "wishart")
    assert isinstance(wishart, SymmetricWishart)
    for size in (4, 6):
        with pytest.raises(PrivacyError, match="5 by 5"):
            wishart.perturb(np.zeros((size, size), dtype=int).astype(object), 2.0**-40)


def test_a_selection_and_a_synthesis_say_what_they_guarantee() -> None:
    person = BoundSensitivity(adjacency="add-remove", unit_is_row=False, max_rows=2)
    selection = Selection.calibrate(person, 0.5)
    assert selection.statement("patient") == (
        "Adding or removing all rows of any one value of patient (at most 2 rows) changes the probability of any result by at "
        "most a factor exp(epsilon), with epsilon = 0.5 and delta = 0 (add-remove, permute-and-flip selection).")
    assert selection.scale == 2 * 2 / 0.5  # two scores may change by 2 each, in opposite directions
    assert selection.cost() == Cost.approximate(0.5, 0.0)
    synthesis = BetaBinomial.calibrate("replace-one", 2.0, rows=50, copies=3)
    assert synthesis.statement() == (
        "Replacing any one row changes the probability of any result by at most a factor exp(epsilon), with epsilon = 2 and "
        "delta = 0 (replace-one, beta-binomial synthesis).")
    assert (synthesis.rows, synthesis.copies, synthesis.alpha) == (50, 3, smallest_alpha(50, 2.0, 3))
    assert synthesis.cost() == Cost.approximate(2.0, 0.0)
    drawn = synthesis.perturb(0, 10**9)
    assert len(drawn) == 3 and max(drawn) <= 1  # nearly all balls are black
    assert min(synthesis.perturb(10**9, 0)) >= 49  # or white


def test_a_shortfall_is_that_of_the_exponential_noise() -> None:
    """B3: scale · log(candidates/miss), rounded up."""
    selection = Selection.calibrate(BoundSensitivity(adjacency="replace-one", unit_is_row=True), 0.25)
    assert selection.scale == 8.0
    assert selection.shortfall(1000, 0.01) == math.ceil(8 * math.log(1000 / 0.01)) == 93
    assert selection.shortfall(1, 1.0) == 0
