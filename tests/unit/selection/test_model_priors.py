"""Prior probabilities of models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.errors import FitError
from noisewise.selection.probabilities import log_prior_by_size
from noisewise.selection.subsets import memberships, sizes


@given(st.sampled_from(["beta-binomial", "uniform", "bernoulli(0.2)", "bernoulli(0.9)"]), st.integers(0, 12))
def test_probabilities_of_all_models_sum_to_one(name: str, count: int) -> None:
    assert np.exp(log_prior_by_size(name, count))[sizes([1] * count)].sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("name", "inclusion"), [("beta-binomial", 0.5), ("uniform", 0.5), ("bernoulli(0.2)", 0.2)])
def test_prior_inclusion_of_a_term(name: str, inclusion: float) -> None:
    prior = np.exp(log_prior_by_size(name, 7))[sizes([1] * 7)]
    assert prior @ memberships(7) == pytest.approx(inclusion)


def test_every_number_of_terms_is_equally_likely_under_the_beta_binomial_prior() -> None:
    prior = np.exp(log_prior_by_size("beta-binomial", 6))[sizes([1] * 6)]
    assert np.bincount(sizes([1] * 6), prior) == pytest.approx(1 / 7)


@pytest.mark.parametrize("name", ["bernoulli(0)", "bernoulli(1)", "bernoulli(half)", "bernoulli", "flat"])
def test_unknown_priors_are_refused(name: str) -> None:
    with pytest.raises(FitError):
        log_prior_by_size(name, 3)
