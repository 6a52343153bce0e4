"""``fit`` with releases of kind adassp: the result, the default method, and what does not go together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.errors import FitError, IncompatibleReleasesError, NoisewiseWarning
from noisewise.literature.adassp import point_estimate
from noisewise.results.point_estimate import PointEstimate
from noisewise.run import QUIET

SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98]}}})
FORMULA = "stay ~ age"


def released(seed: int = 1, kind: nw.Gram | nw.AdaSSP | None = None) -> nw.Release:
    random = np.random.default_rng(seed)
    age = random.uniform(18, 98, 2000)
    rows = {"age": age, "stay": 5 + 0.2 * age + random.normal(0, 2, 2000)}
    return nw.release(rows, SCHEMA, kind or nw.Gram(), epsilon=3.0, delta=1e-6, run=QUIET)


def adassp(seed: int = 1) -> nw.Release:
    return released(seed, nw.AdaSSP(FORMULA))


def test_the_result_is_a_point_estimate() -> None:
    release = adassp()
    found = nw.fit(FORMULA, release, method="adassp")
    assert isinstance(found, PointEstimate)
    assert np.array_equal(found.values, point_estimate(FORMULA, release).values)
    assert (found.info.method, found.info.formula, found.info.holders) == ("adassp", FORMULA, 1)


def test_holders_are_fitted_together() -> None:
    parts = [adassp(1), adassp(2)]
    found = nw.fit(FORMULA, parts, method="adassp")
    assert isinstance(found, PointEstimate) and found.info.holders == 2
    assert np.array_equal(found.values, point_estimate(FORMULA, nw.combine(parts)).values)
    with pytest.raises(IncompatibleReleasesError, match="kind: adassp and gram"):
        nw.fit(FORMULA, [adassp(), released(2)])


@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")  # real noise
def test_gram_releases_still_have_their_default() -> None:
    found = nw.fit(FORMULA, released(), method="laplace", draws=500, seed=1, run=QUIET)
    assert isinstance(found, nw.Posterior)


@pytest.mark.parametrize(("kind", "options", "words"), [
    ("adassp", {}, "supports only the method adassp"),
    ("adassp", {"method": "conditional"}, "supports only the method adassp"),
    ("adassp", {"method": "laplace"}, "supports only the method adassp"),
    ("gram", {"method": "adassp"}, "needs a release of kind adassp"),
    ("adassp", {"method": "ridge"}, "unknown method.*adassp"),
    ("adassp", {"method": "adassp", "prior": nw.Prior()}, "no prior"),
])
def test_what_does_not_go_together_is_refused_with_a_remedy(kind: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(FitError, match=words) as refused:
        nw.fit(FORMULA, adassp() if kind == "adassp" else released(), **options)
    assert refused.value.advice


def test_another_formula_is_refused() -> None:
    for formula in ("age ~ stay", "stay ~ 1"):
        with pytest.raises(FitError, match="its own formula"):
            nw.fit(formula, adassp(), method="adassp")


def test_a_ruined_matrix_warns() -> None:
    release = adassp()
    part = release.contributions[0]
    matrix = part.matrix.copy()
    matrix[1, 1] = -1e6
    with pytest.warns(NoisewiseWarning, match="not positive definite"):
        nw.fit(FORMULA, release.with_contributions((dataclasses.replace(part, matrix=matrix),)), method="adassp")


def test_batches_of_equally_many_rows_are_not_taken_for_the_same_part() -> None:
    """The matrix of ``y ~ 1`` is the public number of rows alone; the noisy sums tell two batches apart."""
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"y": {"bounds": [0, 1]}, "x": {"bounds": [0, 1]}}})
    table = {"y": np.full(50, 0.5), "x": np.full(50, 0.5)}
    parts = [nw.release(table, schema, nw.AdaSSP("y ~ 1"), epsilon=1.0, delta=1e-6, run=QUIET) for _ in range(2)]
    assert nw.combine(parts).holders == 2
    with pytest.raises(IncompatibleReleasesError, match="twice"):
        nw.combine([parts[0], parts[0]])
