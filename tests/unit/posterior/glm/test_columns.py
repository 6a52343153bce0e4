"""The layout of the released columns and their distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import kstest
from tests.unit.posterior.glm.made_laws import size_of

import noisewise as nw
from noisewise.posterior.glm import columns
from noisewise.posterior.glm.columns import Layout, distribution, start
from noisewise.posterior.kernels.jax_setup import double_precision
from noisewise.schema import Basis

LEVELS = {"two": {"levels": ["a", "b"]}, "three": {"levels": ["p", "q", "r"]}, "x": {"bounds": [0, 2]}, "z": {"bounds": [-1, 1]}}


def basis(declared: dict[str, Any] = LEVELS, terms: str | None = None) -> Basis:
    return Basis.of(nw.Schema.from_dict({"adjacency": "replace-one", "columns": declared}), terms)


def test_categories_make_cells_and_the_rest_are_numbers() -> None:
    made = basis()
    layout = Layout.of(made, range(made.size))
    names = [made.names[index] for index in layout.order]
    assert len(layout.cells) == 6 and layout.kinds == 3 and layout.numbers == 2
    assert names[0] == made.names[0] and names[-2:] == ["x", "z"]
    assert len({tuple(cell) for cell in layout.cells}) == 6
    assert layout.basis.shape == (6, 5)  # two categories: every function of their cells is quadratic
    np.testing.assert_allclose(layout.basis.T @ layout.basis / 6, np.eye(5), atol=1e-12)
    assert size_of(layout) == 5 + 2 * (3 + 2) + 1


def test_products_of_categories_are_no_numbers_and_products_with_numbers_are() -> None:
    made = basis(terms="two:three + two:x")
    layout = Layout.of(made, range(made.size))
    discrete = {made.names[index] for index in layout.order[1:1 + layout.kinds]}
    assert any("two" in name and "three" in name for name in discrete)
    assert not any("x" in name for name in discrete) and len(layout.cells) == 6


def test_three_binary_columns_have_quadratic_log_probabilities() -> None:
    made = basis({name: {"levels": ["a", "b"]} for name in "abc"})
    layout = Layout.of(made, range(made.size))
    assert layout.basis.shape == (8, 6)  # three of their products are not enough for 8 cells: no product of all three
    triple = layout.cells.prod(axis=1)
    np.testing.assert_allclose(layout.basis.T @ (triple - triple.mean()), 0.0, atol=1e-9)


def test_too_many_cells_fall_back_to_numbers() -> None:
    made = basis({**{f"c{index}": {"levels": list("abcdefgh")} for index in range(3)}, "b": {"levels": ["a", "b"]}})
    layout = Layout.of(made, range(made.size))
    assert len(layout.cells) == 128 <= columns.MOST_CELLS  # 8 · 8 · 2; a third one would make 1024
    assert layout.kinds + layout.numbers == made.size - 1 and layout.numbers > 0
    assert Layout.of(made, range(made.size), cells=False).kinds == 0


def parameters(layout: Layout, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size_of(layout)) * 0.5


def found(layout: Layout, x: np.ndarray, lkj: float = 1.0) -> Any:
    import jax.numpy as jnp

    size = len(layout.order)
    data = {**{key: jnp.asarray(value) for key, value in layout.data().items()}, "gram": jnp.zeros((size, size)), "lkj": lkj}
    return distribution(jnp.asarray(x), data, jnp)


@pytest.mark.outer
def test_the_distribution_is_one() -> None:
    made = basis()
    layout = Layout.of(made, range(made.size))
    with double_precision():
        law, rest = found(layout, np.append(parameters(layout, 1), 7.0))
        moments = np.asarray(law.second_moments())
    assert rest.shape == (1,) and np.asarray(rest)[0] == 7.0
    assert np.asarray(law.probabilities).sum() == pytest.approx(1.0)
    assert np.linalg.eigvalsh(np.asarray(law.covariance)[4:, 4:])[0] > 0 and not np.asarray(law.covariance)[:4].any()
    assert moments[0, 0] == pytest.approx(1.0) and np.linalg.eigvalsh(moments)[0] > -1e-12


def test_the_search_starts_near_possible_moments() -> None:
    made = basis()
    layout = Layout.of(made, range(made.size))
    with double_precision():
        wanted = found(layout, parameters(layout, 2) * 0.5)[0]
        moments = np.asarray(wanted.second_moments())
        again = np.asarray(found(layout, start(layout, moments))[0].second_moments())
        broken = start(layout, moments + np.diag([0.0, *[-3.0] * (len(moments) - 1)]))
    discrete = slice(1 + layout.kinds)
    assert np.abs(again[0] - moments[0]).max() < 0.25
    # Categories also in their products: independent ones would be far off.
    assert np.abs(again - moments)[discrete, discrete].max() < 1e-3
    assert np.abs(np.outer(moments[0], moments[0]) - moments)[1, 2:1 + layout.kinds].max() > 0.02
    assert np.isfinite(broken).all()


@pytest.mark.parametrize("shape", [1.0, 3.0])
def test_correlations_have_the_marginals_of_lkj(shape: float) -> None:
    """(ρ + 1)/2 is Beta(κ + d/2 − 1, same) in d dimensions. Independence sampling: weights from the log prior."""
    made = basis({name: {"bounds": [-1, 1]} for name in "abc"})
    layout = Layout.of(made, range(made.size))
    import jax

    generator = np.random.default_rng(4)
    angles = generator.standard_t(3, size=(40_000, 3)) * 0.7
    log_proposal = np.sum(np.log(1 + (angles / 0.7) ** 2 / 3) * -2.0, axis=1)
    points = np.concatenate([np.zeros((len(angles), 6)), angles], axis=1)
    with double_precision():
        def one(x: Any) -> Any:
            law = found(layout, x, shape)[0]
            return law.log_prior, law.covariance

        log_prior, covariance = map(np.asarray, jax.jit(jax.vmap(one))(points))
    weights = np.exp(log_prior - log_proposal - (log_prior - log_proposal).max())
    chosen = generator.choice(len(weights), 4000, p=weights / weights.sum())
    expected = beta_law(shape + 0.5, shape + 0.5)
    for i, j in ((1, 2), (1, 3), (2, 3)):
        rho = covariance[chosen, i, j] / np.sqrt(covariance[chosen, i, i] * covariance[chosen, j, j])
        assert kstest((rho + 1) / 2, expected.cdf).pvalue > 1e-5
        wrong = 0.65 * (shape + 0.5)
        assert kstest((rho + 1) / 2, beta_law(wrong, wrong).cdf).pvalue < 1e-5
