"""Releases of kind moments as records: what they refuse, what follows from their blocks, how they are combined and described."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden import make_moments_1_3 as golden
from tests.unit.release.examples_of_releases import part_of, release_of, schema_with

from noisewise.errors import IncompatibleReleasesError, ReleaseError
from noisewise.release import BlockSums, MomentsPart, Release, append, combine
from noisewise.release.adassp import regression_columns
from noisewise.release.batches import check_append
from noisewise.release.format import decode, encode
from noisewise.release.moments import BYTES_OF_A_SUM
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS, MomentBlock

FORMULA = "smoker ~ age + ward"
PREDICTORS = 3
NOISE = {"n": 9.0, "x": 4.0, "xx": 6.0, "y": 5.0, "yx": 3.0, "xxx": 7.0}


def blocks(names: tuple[str, ...] = tuple(DEFAULT_BLOCKS), seed: int = 1, predictors: int = PREDICTORS) -> dict[str, BlockSums]:
    random = np.random.default_rng(seed)
    sizes = {name: MomentBlock.named(name).size(predictors) for name in names}
    return {name: BlockSums(DEFAULT_BLOCKS.get(name, 1.0), NOISE[name], random.normal(0, 100, size))
            for name, size in sizes.items()}


def part(seed: int = 1, names: tuple[str, ...] = tuple(DEFAULT_BLOCKS), **changes: Any) -> MomentsPart:
    fields: dict[str, Any] = {
        "rows": None if "n" in names else 250,
        "predictors": PREDICTORS,
        "blocks": blocks(names, seed),
        "epsilon": 1.0,
        "delta": 1e-6,
        "mechanism": "gaussian",
        "sensitivity": 8.5,
        "statement": "Whoever sees this release learns little about any one row.",
        "created": "2026-11-15",
        "library": "noisewise 0.1.0",
    }
    return MomentsPart(**{**fields, **changes})


def release(seed: int = 1, formula: str = FORMULA, **changes: Any) -> Release:
    return Release("moments", schema_with(), None, (part(seed, **changes),), formula=formula)


def test_it_has_the_columns_of_its_formula_and_the_version_that_brought_the_kind() -> None:
    made = release()
    assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", "smoker")
    assert made.version == "1.3" and release_of().version == "1.0" and release_of().blocks == ()
    assert decode(encode(made)) == made
    document = json.loads(encode(made))
    assert document["formula"] == FORMULA and "noise" not in document["parts"][0] and "statistic" not in document["parts"][0]


def test_the_matrix_and_its_variances_follow_from_the_blocks() -> None:
    found = part(names=("x", "xx", "xxx", "y", "yx"))
    x, xx, y, yx = (found.blocks[name].sums for name in ("x", "xx", "y", "yx"))
    expected = np.array([
        [250.0, *x, y[0]],
        [x[0], xx[0], xx[1], xx[2], yx[0]],
        [x[1], xx[1], xx[3], xx[4], yx[1]],
        [x[2], xx[2], xx[4], xx[5], yx[2]],
        [y[0], *yx, 0.0],
    ])
    assert np.array_equal(found.matrix, expected)
    off = 36.0 / 2
    assert np.allclose(found.variances, [
        [0, 16, 16, 16, 25], [16, 36, off, off, 9], [16, off, 36, off, 9], [16, off, off, 36, 9], [25, 9, 9, 9, np.inf]])
    assert list(found.higher) == ["xxx"] and found.numbers == 3 + 6 + 10 + 1 + 3
    assert (found.noise.distribution, found.noise.off_diagonal, found.noise.diagonal, found.noise.corner) == ("gaussian", 3, 6, 0)
    with pytest.raises(ValueError, match="read-only"):
        found.variances[0, 0] = 1.0


def test_what_is_not_released_is_0_with_infinite_variance() -> None:
    found = part(names=("n", "yx"))
    assert found.rows is None and found.noise.corner == 9.0 and found.variances[0, 0] == 81.0
    assert found.matrix[0, 0] == found.blocks["n"].sums[0]
    assert np.isinf(found.variances[0, 1:]).all() and np.isinf(found.variances[1:-1, 1:-1]).all()
    assert (found.matrix[1:-1, 1:-1] == 0).all() and np.array_equal(found.matrix[1:-1, -1], found.blocks["yx"].sums)


@pytest.mark.parametrize(("changes", "words"), [
    ({"blocks": {}}, "a block beside"),
    ({"blocks": {"n": BlockSums(1.0, 1.0, np.zeros(1))}}, "a block beside"),
    ({"blocks": [1]}, "blocks of sums"),
    ({"blocks": {"x": 3}}, "blocks of sums"),
    ({"blocks": {"z": BlockSums(1.0, 1.0, np.zeros(1))}}, "a block of moments is"),
    ({"blocks": {"xxxxxxx": BlockSums(1.0, 1.0, np.zeros(36))}}, "a block of moments is"),
    ({"blocks": {"xx": BlockSums(1.0, 1.0, np.zeros(5))}}, "6 monomials of 3 columns"),
    ({"predictors": 4}, "monomials of 4 columns"),
    ({"predictors": 3000}, "may not be so large"),
    ({"predictors": True}, "whole number"),
    ({"predictors": -1}, "whole number"),
    ({"rows": None}, "not both"),
    ({"rows": -1}, "rows must be a whole number"),
    ({"rows": "many"}, "rows must be a number"),
    ({"rows": 2.5}, "rows must be a whole number"),
    ({"delta": 0.0}, "no guarantee with delta = 0"),
    ({"epsilon": 0.0}, "epsilon must be positive"),
    ({"average": 3}, "not averaged"),
])
def test_parts_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        part(**changes)


@pytest.mark.parametrize(("given", "words"), [
    ((0.0, 1.0, [1.0]), "weight must be positive"), ((1.0, -1.0, [1.0]), "noise must be positive"),
    ((1.0, float("nan"), [1.0]), "finite"), ((True, 1.0, [1.0]), "must be a number"), ((1.0, 1.0, [[1.0]]), "list of finite"),
    ((1.0, 1.0, [np.inf]), "ordinary size"), ((1.0, 1.0, ["a"]), "must be numbers"), ((1.0, 1.0, [1e200]), "ordinary size"),
])
def test_blocks_are_checked(given: tuple[Any, Any, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        BlockSums(*given)


def test_kinds_and_parts_and_formulas_belong_together() -> None:
    schema = schema_with()
    with pytest.raises(ReleaseError, match="kind moments states the formula"):
        Release("moments", schema, None, (part(),))
    with pytest.raises(ReleaseError, match="parts of its own kind"):
        Release("moments", schema, None, (part_of(schema, None),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="parts of its own kind"):
        Release("adassp", schema, None, (part(),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="one row and column for each released column"):
        Release("moments", schema, None, (part(predictors=2, blocks=blocks(predictors=2)),), formula=FORMULA)
    with pytest.raises(ReleaseError, match="fake precision"):
        Release("moments", schema, None, (part(), part()), formula=FORMULA)
    with pytest.raises(ReleaseError, match="same blocks"):
        Release("moments", schema, None, (part(), part(2, names=("x", "xx", "yx"))), formula=FORMULA)
    with pytest.raises(ReleaseError, match="noisy and not stated|stated exactly"):
        Release("moments", schema, None, (part(names=("n", "yx")),), formula=FORMULA)


def test_columns_that_are_no_regression_are_refused() -> None:
    schema = schema_with()
    one, age, ward_b, ward_c, smoker = regression_columns(schema, None, FORMULA)
    for columns, words in [((age, one, ward_b, ward_c, smoker), "release of kind moments are the constant"),
                           ((one, smoker, age, ward_b, ward_c), "last column of a release of kind moments"),
                           ((one, smoker, ward_b, ward_c, smoker), "among its own predictors")]:
        with pytest.raises(ReleaseError, match=words):
            Release("moments", schema, None, (part(),), columns=columns, formula=FORMULA)


def test_equality_looks_at_all_numbers() -> None:
    assert release() == release()
    changed = blocks()
    for name in changed:
        other = {**changed, name: BlockSums(changed[name].weight, changed[name].noise, changed[name].sums + 1.0)}
        assert release(blocks=other) != release(), name
        assert release(blocks={**changed, name: BlockSums(0.5, changed[name].noise, changed[name].sums)}) != release()
        assert release(blocks={**changed, name: BlockSums(changed[name].weight, 1.5, changed[name].sums)}) != release()
    assert release() != release(epsilon=2.0) and part() != part_of(schema_with(), None)
    assert release(blocks=dict(reversed(changed.items()))) == release()  # blocks have an order of their own


def test_releases_of_the_same_response_and_predictors_are_combined() -> None:
    together = combine([release(1), release(2, "smoker ~ ward + age"), release(3)])
    assert together.holders == 3 and together.formula == FORMULA
    assert decode(encode(together)) == together


def test_other_formulas_blocks_and_kinds_are_not_combined() -> None:
    with pytest.raises(IncompatibleReleasesError, match="formula: 'smoker ~ age . ward' and 'age ~ smoker . ward'"):
        combine([release(), release(2, "age ~ smoker + ward")])
    with pytest.raises(IncompatibleReleasesError, match="blocks: x, xx, y, yx and x, xx, yx"):
        combine([release(), release(2, names=("x", "xx", "yx"))])
    with pytest.raises(IncompatibleReleasesError, match="kind: moments and gram"):
        combine([release(), release_of(terms=None)])
    with pytest.raises(IncompatibleReleasesError, match="counted twice"):
        combine([release(), release()])


def test_batches_are_appended_if_they_have_the_same_blocks(tmp_path: Path) -> None:
    path = release().save(tmp_path / "batches.nwr")
    assert append(path, release(2)).holders == 2
    schema = schema_with()
    assert check_append(path, schema, kind="moments", formula=FORMULA).holders == 2
    assert check_append(path, schema, kind="moments", formula=FORMULA, blocks={"yx": 3, "y": 1, "xx": 1, "x": 9}).holders == 2
    cases = (({"blocks": {"xx": 1, "yx": 1}}, "blocks: x, xx, y, yx and xx, yx"), ({"formula": "age ~ ward"}, "formula"))
    for wrong, words in cases:
        with pytest.raises(IncompatibleReleasesError, match=words):
            check_append(path, schema, **{"kind": "moments", "formula": FORMULA, **wrong})  # type: ignore[arg-type]


def test_the_room_for_a_batch_is_enough_for_its_sums() -> None:
    """Each sum has a line of its own; one with all digits, a sign and a point fits what is expected, and not half of that."""
    sums = np.random.default_rng(3).normal(0, 1e14, MomentBlock.named("xxx").size(PREDICTORS))
    made = release(blocks={**blocks(), "xxx": BlockSums(1.0, 7.0, sums)})
    lines = [len(line) + 1 for line in encode(made).decode().splitlines() if line.strip(" ,") in map(repr, sums.tolist())]
    assert len(lines) == len(sums) and BYTES_OF_A_SUM / 2 < max(lines) <= BYTES_OF_A_SUM


def test_it_describes_itself() -> None:
    words = " ".join(golden.expected().describe().split())
    for expected in ("kind moments: 111 noisy numbers from each of 2 holders", golden.FORMULA, "logistic, probit or Poisson",
                     "21.12 on xx (each product of 2 predictors)", "17.25 on yx (the response times each predictor)",
                     "not used xxx, yxx: no fit"):
        assert expected in words, expected
    assert "not used" not in release().describe() and "no fit" not in release().describe()
    assert "without the blocks that are not there: x, y" in " ".join(release(names=("xx", "yx")).describe().split())
    assert golden.FORMULA in repr(golden.expected())
    assert "MomentsPart(size=8, rows=1200" in repr(golden.expected().parts[0])


def test_the_norm_is_that_of_the_predictors() -> None:
    """Six scalars and groups and a response: a norm of 1.75 shortens; the rule names the predictors."""
    made = golden.expected()
    assert made.clipped_norm == 1.75
    assert any("the scaled predictors are shortened to the norm 1.75" in rule for rule in json.loads(encode(made))["rules"])
