"""Working units: the residual of a row is the same number, whichever way it is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.unit.posterior.noisy_matrices import made_regression

from noisewise.posterior.linear.coordinates import Coordinates
from noisewise.schema import Basis, Design, Schema

Array = NDArray[np.float64]
ROWS = 40
TERMS = "age:dose + I(age**2) + age:ward"

SCHEMA = Schema.from_dict({
    "adjacency": "replace-one",
    "columns": {
        "stay": {"bounds": [1000.0, 1000.5]},  # far from 0 and narrow
        "age": {"bounds": [18, 98]},
        "dose": {"bounds": [-1e-6, 3e-6]},
        "ward": {"levels": ["A", "B", "C"]},
        "sex": {"levels": ["f", "m"]},
    },
})


def made_rows() -> dict[str, NDArray[np.generic]]:
    generator = np.random.default_rng(11)
    return {
        "stay": generator.uniform(1000.0, 1000.5, ROWS),
        "age": generator.uniform(18, 98, ROWS),
        "dose": generator.uniform(-1e-6, 3e-6, ROWS),
        "ward": generator.choice(["A", "B", "C"], ROWS),
        "sex": generator.choice(["f", "m"], ROWS),
    }


DATA = made_rows()
ONE = np.ones(ROWS)
AGE, DOSE, STAY = (np.asarray(DATA[name], dtype=float) for name in ("age", "dose", "stay"))
WARD_B, WARD_C, SEX_M = (np.asarray(DATA[name] == level, dtype=float)
                         for name, level in (("ward", "B"), ("ward", "C"), ("sex", "m")))

CASES: dict[str, tuple[Array, list[Array]]] = {
    "stay ~ 1": (STAY, [ONE]),
    "stay ~ age + dose": (STAY, [ONE, AGE, DOSE]),
    "stay ~ 0 + age + dose": (STAY, [AGE, DOSE]),
    "stay ~ 0 + dose": (STAY, [DOSE]),
    "stay ~ age + I(age**2)": (STAY, [ONE, AGE, AGE**2]),
    "stay ~ age + dose + age:dose": (STAY, [ONE, AGE, DOSE, AGE * DOSE]),
    "stay ~ ward + sex": (STAY, [ONE, WARD_B, WARD_C, SEX_M]),
    "stay ~ age + ward + age:ward": (STAY, [ONE, AGE, WARD_B, WARD_C, AGE * WARD_B, AGE * WARD_C]),
    "dose ~ stay + ward": (DOSE, [ONE, STAY, WARD_B, WARD_C]),
    "sex ~ age": (SEX_M, [ONE, AGE]),
}


def design_of(formula: str) -> Design:
    return Design.of(formula, Basis.of(SCHEMA, TERMS), TERMS)


@pytest.mark.parametrize("formula", CASES)
def test_the_residual_in_working_units_is_the_residual_in_users_units(formula: str) -> None:
    response, predictors = CASES[formula]
    coordinates = Coordinates.of(design_of(formula))
    released = Basis.of(SCHEMA, TERMS).evaluate(DATA)
    generator = np.random.default_rng(5)
    for _ in range(3):
        g = generator.normal(size=len(predictors))
        beta = coordinates.slope @ g + coordinates.offset
        c = coordinates.residual - coordinates.directions @ g
        expected = response - np.column_stack(predictors) @ beta
        # Rounding only: relative to the numbers that are added up.
        size = np.abs(response) + np.abs(np.column_stack(predictors)) @ np.abs(beta)
        assert np.all(np.abs(coordinates.half_width * (released @ c) - expected) <= 1e-12 * size)


@pytest.mark.parametrize("formula", CASES)
def test_directions_are_orthonormal_and_the_residual_is_orthogonal_to_them(formula: str) -> None:
    coordinates = Coordinates.of(design_of(formula))
    count = coordinates.directions.shape[1]
    assert np.allclose(coordinates.directions.T @ coordinates.directions, np.eye(count), atol=1e-12)
    assert np.allclose(coordinates.directions.T @ coordinates.residual, 0.0, atol=1e-10)


@pytest.mark.parametrize("formula", CASES)
def test_the_half_width_is_that_of_the_response(formula: str) -> None:
    widths = {"stay": 0.25, "dose": 2e-6, "sex": 0.5}
    assert Coordinates.of(design_of(formula)).half_width == pytest.approx(widths[formula.split()[0]], rel=1e-12)


@given(st.integers(0, 2**32), st.integers(3, 8), st.integers(1, 3), st.booleans())
def test_random_designs_round_trip(seed: int, size: int, predictors: int, intercept: bool) -> None:
    generator = np.random.default_rng(seed)
    regression = made_regression(generator, size, predictors, intercept)
    coordinates = regression.coordinates
    beta = generator.normal(size=predictors) / np.linalg.norm(regression.features, axis=0)
    g = np.linalg.solve(coordinates.slope, beta - coordinates.offset)
    c = coordinates.residual - coordinates.directions @ g
    condition = np.linalg.cond(regression.features / np.linalg.norm(regression.features, axis=0))
    exact = (regression.target - regression.features @ beta) / regression.half_width
    assert np.allclose(c, exact, atol=1e-12 * condition * (1.0 + np.abs(exact).max()))
    back = coordinates.to_user(np.append(g, -0.2))
    assert np.allclose(back[:-1] * np.linalg.norm(regression.features, axis=0),
                       beta * np.linalg.norm(regression.features, axis=0), atol=1e-10 * condition * (1 + np.abs(g).max()))


def test_draws_go_back_to_users_units_whatever_their_leading_axes() -> None:
    coordinates = Coordinates.of(design_of("stay ~ age + dose"))
    draws = np.random.default_rng(3).normal(size=(4, 7, 4))
    users = coordinates.to_user(draws)
    assert users.shape == (4, 7, 4)
    for chain in range(4):
        for draw in range(7):
            assert np.allclose(users[chain, draw], coordinates.to_user(draws[chain, draw]), rtol=1e-12)
    assert np.array_equal(users[..., -1], 0.25 * np.abs(draws[..., -1]))  # sigma of either sign means its size


def test_rotated_coordinates_mean_the_same_coefficients() -> None:
    coordinates = Coordinates.of(design_of("stay ~ age + dose"))
    rotation = np.linalg.qr(np.random.default_rng(8).normal(size=(3, 3)))[0]
    turned = coordinates.rotated(rotation)
    draw = np.array([0.3, -1.2, 0.4, 0.7])
    in_new = np.append(rotation.T @ draw[:3], draw[3])
    assert np.allclose(turned.to_user(in_new), coordinates.to_user(draw), rtol=1e-12)
    assert np.allclose(turned.residual - turned.directions @ in_new[:3],
                       coordinates.residual - coordinates.directions @ draw[:3], atol=1e-12)


def test_the_identity_notices_a_forgotten_offset() -> None:
    response, predictors = CASES["stay ~ age + dose"]
    coordinates = Coordinates.of(design_of("stay ~ age + dose"))
    g = np.array([0.1, 0.2, 0.3])
    c = coordinates.residual - coordinates.directions @ g
    left = coordinates.half_width * (Basis.of(SCHEMA, TERMS).evaluate(DATA) @ c)
    assert np.abs(left - (response - np.column_stack(predictors) @ (coordinates.slope @ g))).max() > 1.0
