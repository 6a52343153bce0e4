"""The holder's side of an adassp release: what it says. What holds for every kind is in `test_contract`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.holder.asked import ROWS, made_table
from tests.unit.holder.one_regression import ADASSP

import noisewise as nw
from noisewise.errors import DeclarationError
from noisewise.releases.contents.adassp import AdasspContribution

make = ADASSP.release


def test_too_many_predictors_are_refused_with_a_remedy() -> None:
    levels = {"ward": {"levels": list(range(150))}, "stay": {"bounds": [0, 1]}}
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": levels})
    with pytest.raises(DeclarationError, match="at most 100 .*gram"):
        make({}, schema, formula="stay ~ ward")


def exact_sums() -> NDArray[np.float64]:
    rows = made_table()
    a = np.column_stack([np.ones(ROWS), (rows["age"] - 58) / 40, rows["ward"] == "B", rows["ward"] == "C",
                         (rows["stay"] - 30) / 30]).astype(float)
    return np.asarray(a.T @ a)


def test_with_hardly_any_noise_it_holds_the_sums_and_the_eigenvalue() -> None:
    [part] = make(epsilon=1e6, delta=0.01).contributions
    assert isinstance(part, AdasspContribution)
    exact = exact_sums()
    # Values are rounded to 2**-20, sums to 2**-16; the noise has an sd of about 0.004, so that 0.05 is twelve of them.
    assert part.noise.diagonal < 0.01
    np.testing.assert_allclose(part.matrix, exact[:-1, :-1], atol=0.05)
    np.testing.assert_allclose(part.moments, exact[:-1, -1], atol=0.05)
    assert part.smallest_eigenvalue.value == pytest.approx(np.linalg.eigvalsh(exact[:-1, :-1])[0], abs=0.05)


def test_a_norm_bound_is_kept_and_lowers_the_noise() -> None:
    tight, loose = make(schema=ADASSP.schema(norm_bound=1.2)), make()
    assert tight.contents.noise.diagonal < loose.contents.noise.diagonal
    assert any("shortened to the norm 1.2" in rule for rule in _rules(tight))


def _rules(made: nw.Release) -> list[str]:
    import json

    from noisewise.releases.format import encode

    return list(json.loads(encode(made))["rules"])
