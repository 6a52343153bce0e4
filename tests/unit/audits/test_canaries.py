"""The search reaches the sensitivities where they are attained, and never exceeds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.audits import canaries as search
from noisewise.holder.gram import plan_gram
from noisewise.holder.moments import plan_moments
from noisewise.privacy.sensitivity.gram import GramSensitivity
from noisewise.privacy.sensitivity.moments import coefficients
from noisewise.schema import Basis, Schema

NUMBER = {"bounds": [10, 30]}
FEW = {"levels": ["A", "B", "C"]}


def basis(adjacency: str, columns: dict[str, Any], **more: Any) -> Basis:
    return Basis.of(Schema.from_dict({"adjacency": adjacency, "columns": columns, **more}))


def sensitivity(of: Basis, average: int | None = None) -> GramSensitivity:
    return plan_gram(of, 1.0, 1e-6, average=average).sensitivity


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("more", [{}, {"norm_bound": 0.5}], ids=["box", "ball"])
@pytest.mark.parametrize("columns", [1, 3])
def test_norms_are_attained_and_not_exceeded(adjacency: str, columns: int, more: dict[str, Any]) -> None:
    of = basis(adjacency, {f"c{place}": NUMBER for place in range(columns)}, **more)
    bound = sensitivity(of)
    removed = adjacency == "add-remove"
    for change, most in ((search.frobenius, bound.frobenius), (search.upper_l1, bound.l1), (search.spectral, bound.spectral)):
        found = search.worst_pair(of, change, removed=removed)
        assert found.size <= most * (1 + 1e-12)  # of the search's own arithmetic
        tight = change is not search.upper_l1 or not more or removed  # L1 of a replaced row in a ball is only bounded
        assert found.size > (0.98 if tight else 0.6) * most


def test_averaged_rows() -> None:
    of = basis("replace-one", {"a": NUMBER, "b": NUMBER})
    found = search.worst_pair(of, search.averaged(4), removed=False)
    bound = sensitivity(of, average=4).frobenius
    assert 0.99 * bound < found.size <= bound
    assert found.size > 1.1 * sensitivity(of).frobenius  # which the paper would have for it


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_moments(adjacency: str) -> None:
    of = basis(adjacency, {"a": NUMBER, "count": {"bounds": [0, 4]}})
    bound = plan_moments(of, 1.0, 1e-6).sensitivity
    alone, with_response = ([float(weight) for weight in weights] for weights in coefficients(bound.weights))
    found = search.worst_pair(of, search.weighted_monomials(alone, with_response), removed=adjacency == "add-remove")
    assert 0.99 * bound.norm < found.size <= bound.norm


def test_rows_keep_to_the_declarations() -> None:
    of = basis("replace-one", {"a": NUMBER, "ward": FEW, "flag": {"levels": [False, True]}, "mixed": {"levels": [1, "x"]}})
    found = search.worst_pair(of, search.frobenius, removed=False)
    assert found.comes is not None and 0.8 * sensitivity(of).frobenius < found.size <= sensitivity(of).frobenius
    for rows in (found.leaves, found.comes):
        assert 10 <= rows["a"][0] <= 30 and rows["ward"][0] in FEW["levels"] and str(rows["mixed"][0]) in ("1", "x")


def test_rows_at_right_angles() -> None:
    of = basis("add-remove", {"a": NUMBER, "b": NUMBER, "y": NUMBER})
    row = search.worst_pair(of, search.frobenius, removed=True).leaves
    others = search.scaled(of, search.at_right_angles(of, row, 3))[:, :-1]
    first = search.scaled(of, row)[0, :-1]
    assert np.all(np.abs(others @ first) < 0.05 * np.linalg.norm(first))
