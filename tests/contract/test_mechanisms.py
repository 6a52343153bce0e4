"""What every mechanism of a Gram release keeps, whatever its noise; and what those of one regression refuse."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from noisewise.errors import PrivacyError
from noisewise.privacy.mechanisms.adassp import AdasspMechanism
from noisewise.privacy.mechanisms.gram import MECHANISMS, SymmetricMechanism, choose_mechanism
from noisewise.privacy.mechanisms.model import ModelMechanism
from noisewise.privacy.mechanisms.moments import MomentsMechanism
from noisewise.privacy.mechanisms.wishart import SymmetricWishart
from noisewise.privacy.sensitivity.adassp import adassp_sensitivity
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.privacy.sensitivity.model import model_sensitivity
from noisewise.privacy.sensitivity.moments import moments_sensitivity
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS

SIZE = 5
ADJACENCIES = ("replace-one", "add-remove")
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)
every_adjacency = pytest.mark.parametrize("adjacency", ADJACENCIES)


def sensitivity(adjacency: str, **unit: Any) -> GramSensitivity:
    return gram_sensitivity(scalars=2, blocks=1, size=SIZE, radius=3**0.5, norm_clipped=False, adjacency=adjacency, **unit)


def mechanism_for(name: str, adjacency: str = "replace-one", epsilon: float = 1.0) -> SymmetricMechanism:
    return choose_mechanism(sensitivity(adjacency), epsilon, 1e-6, name)


def perturb(mechanism: SymmetricMechanism, matrix: Any) -> NDArray[np.float64]:
    """A matrix of numbers, given to each mechanism in the units that it takes."""
    if isinstance(mechanism, SymmetricWishart):
        return mechanism.perturb(np.asarray(matrix).astype(object) * 2**40, 2.0**-40)
    return mechanism.perturb(np.asarray(matrix, dtype=np.int64) * 2**16)


STATISTIC = 1000 * np.eye(SIZE, dtype=int) - 7


@every_mechanism
@every_adjacency
def test_the_result_is_symmetric_on_the_grid_and_noisy(name: str, adjacency: str) -> None:
    mechanism = mechanism_for(name, adjacency)
    noisy = perturb(mechanism, STATISTIC)
    assert noisy.dtype == np.float64 and np.array_equal(noisy, noisy.T)
    assert np.array_equal(noisy * 2**16, np.round(noisy * 2**16))
    again = perturb(mechanism, STATISTIC)  # no seed: two releases differ, in each noisy entry but for a chance of 1e-5
    same = np.count_nonzero((noisy == again)[np.triu_indices(SIZE)])
    assert same <= 2
    sds = mechanism.entry_sd()
    assert np.all(np.abs(noisy - STATISTIC) < 40 * max(sds))


@every_mechanism
def test_a_public_corner_is_exact_and_a_private_one_noisy(name: str) -> None:
    assert perturb(mechanism_for(name, "replace-one"), STATISTIC)[0, 0] == STATISTIC[0, 0]
    assert mechanism_for(name, "replace-one").entry_sd()[2] == 0.0
    private = mechanism_for(name, "add-remove")
    assert private.entry_sd()[2] == private.entry_sd()[0]
    assert any(perturb(private, STATISTIC)[0, 0] != STATISTIC[0, 0] for _ in range(3))


@every_mechanism
@every_adjacency
def test_less_privacy_means_less_noise(name: str, adjacency: str) -> None:
    strict, loose = (mechanism_for(name, adjacency, epsilon).entry_sd() for epsilon in (0.5, 2.0))
    assert all(one >= other for one, other in zip(strict, loose, strict=True)) and strict[0] > loose[0]


@every_mechanism
@every_adjacency
def test_it_says_what_it_guarantees(name: str, adjacency: str) -> None:
    mechanism = mechanism_for(name, adjacency)
    assert mechanism.name == name and mechanism.epsilon == 1.0
    assert mechanism.delta == (0.0 if name == "laplace" else 1e-6)
    assert mechanism.distribution in ("gaussian", "laplace", "wishart")
    statement = mechanism.statement()
    assert "epsilon = 1 " in statement and adjacency in statement and mechanism.distribution.capitalize() in statement


@every_mechanism
def test_nothing_takes_a_seed(name: str) -> None:
    mechanism = mechanism_for(name)
    for function in (mechanism.perturb, mechanism.calibrate):
        assert not {"seed", "rng", "random_state"} & set(inspect.signature(function).parameters)


@every_mechanism
@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.zeros((2, 3), dtype=np.int64), np.array([[1, 2], [3, 4]]), [[1]]])
def test_what_is_no_exact_symmetric_matrix_is_refused(name: str, wrong: Any) -> None:
    mechanism: Any = mechanism_for(name)
    more = (2.0**-40,) if isinstance(mechanism, SymmetricWishart) else ()
    with pytest.raises(PrivacyError, match="symmetric matrix of"):
        mechanism.perturb(wrong, *more)


@every_mechanism
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (1.0, 0.0), (1.0, 1.0)])
def test_wrong_budgets_are_refused(name: str, epsilon: float, delta: float) -> None:
    with pytest.raises(PrivacyError) as refused:
        choose_mechanism(sensitivity("replace-one"), epsilon, delta, name)
    assert refused.value.found and refused.value.advice


@every_mechanism
def test_noise_that_cannot_be_drawn_is_refused_when_it_is_planned(name: str) -> None:
    with pytest.raises(PrivacyError):
        choose_mechanism(sensitivity("replace-one"), 1e-20, 1e-16, name)


@pytest.mark.parametrize("kind", ["adassp", "model", "moments"])
@pytest.mark.parametrize(("epsilon", "delta", "rule"), [
    (1.0, None, "needs a delta"), (0.0, 1e-6, "epsilon must be positive"), (1.0, 1.5, "delta must lie"),
    ("1", 1e-6, "epsilon must be positive"), (1e-30, 1e-16, "64-bit grid"), (1.0, 1e-101, "delta must be at least"),
])
def test_budgets_are_refused_with_rule_value_and_remedy(kind: str, epsilon: Any, delta: Any, rule: str) -> None:
    with pytest.raises(PrivacyError, match=rule) as refused:
        if kind == "adassp":
            AdasspMechanism.calibrate(
                adassp_sensitivity(scalars=2, blocks=0, predictors=3, norm_bound=None, adjacency="replace-one"), epsilon, delta)
        elif kind == "model":
            ModelMechanism.calibrate(
                model_sensitivity(look_added=3, look_replaced=8, sums=3, terms=2, scaled=False, adjacency="replace-one"), epsilon,
                delta)
        else:
            MomentsMechanism.calibrate(
                moments_sensitivity(weights=DEFAULT_BLOCKS, scalars=2, groups=0, predictors=2, norm_bound=None,
                                    adjacency="replace-one"), epsilon, delta)
    assert refused.value.found and refused.value.remedy
