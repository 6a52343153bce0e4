"""What is special to a moments release: blocks of sums, and the matrix that follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import (
    MOMENTS,
    PERSONS,
    PREDICTORS,
    PUBLIC,
    blocks_of,
    decoded,
    document,
    gram_of,
    moments,
    moments_of,
    schema_with,
)

import noisewise as nw
from noisewise.errors import IncompatibleReleasesError, ReleaseError, ReleaseFormatError
from noisewise.kinds.moments import BYTES_OF_A_SUM
from noisewise.kinds.regression import regression_columns
from noisewise.releases import append
from noisewise.releases.batches import check_append
from noisewise.releases.contents.moments import BlockSums
from noisewise.releases.format import decode, encode
from noisewise.releases.release import Release
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS, MomentBlock


def with_blocks(weights: dict[str, float] | None, seed: int = 1) -> Release:
    """A release of these blocks, as a holder makes it: the kind states them."""
    names = tuple(DEFAULT_BLOCKS if weights is None else weights)
    blocks = {name: BlockSums((weights or DEFAULT_BLOCKS)[name], block.noise, block.sums)
              for name, block in blocks_of(names, seed).items()}
    return Release(nw.Moments(MOMENTS, blocks=weights), PUBLIC, (moments_of(blocks=blocks),))


def test_it_has_the_columns_of_its_formula_and_blocks_in_the_place_of_a_matrix() -> None:
    made = moments()
    assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", "smoker") and made.formula == MOMENTS
    found = document(made)
    assert found["kind"] == {"name": "moments", "formula": MOMENTS}
    assert set(found["contributions"][0]["contents"]) == {"blocks"}


def test_the_matrix_and_its_variances_follow_from_the_blocks() -> None:
    found = moments_of(names=("x", "xx", "xxx", "y", "yx"))
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
    assert list(found.higher) == ["xxx"] and found.count() == 3 + 6 + 10 + 1 + 3
    assert (found.noise.distribution, found.noise.off_diagonal, found.noise.diagonal, found.noise.corner) == ("gaussian", 3, 6, 0)
    with pytest.raises(ValueError, match="read-only"):
        found.variances[0, 0] = 1.0


def test_what_is_not_released_is_0_with_infinite_variance() -> None:
    found = moments_of(names=("n", "yx"))
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
    ({"blocks": {"xx": BlockSums(1.0, 1.0, np.zeros(5))}}, "3 columns have 6 monomials"),
    ({"predictors": 4}, "4 columns have"),
    ({"predictors": 3000}, "are too large"),
    ({"predictors": True}, "whole number"),
    ({"predictors": -1}, "whole number"),
    ({"rows": None}, "not both"),
    ({"delta": 0.0}, "noise requires delta > 0"),
    ({"average": 3}, "not be averaged"),
])
def test_contributions_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        moments_of(**changes)


@pytest.mark.parametrize(("given", "words"), [
    ((0.0, 1.0, [1.0]), "weight must be positive"), ((1.0, -1.0, [1.0]), "noise must be positive"),
    ((1.0, float("nan"), [1.0]), "finite"), ((True, 1.0, [1.0]), "must be a number"), ((1.0, 1.0, [[1.0]]), "a list of numbers"),
    ((1.0, 1.0, [np.inf]), "2\\*\\*100"), ((1.0, 1.0, ["a"]), "contain numbers"), ((1.0, 1.0, [1e200]), "2\\*\\*100"),
])
def test_blocks_are_checked(given: tuple[Any, Any, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        BlockSums(*given)


def test_blocks_and_kind_and_schema_belong_together() -> None:
    fewer = moments_of(predictors=2, blocks=blocks_of(predictors=2))
    with pytest.raises(ReleaseError, match="one row and column for each released column"):
        moments().with_contributions((fewer,))
    with pytest.raises(ReleaseError, match="stated exactly"):
        moments().with_contributions((moments_of(names=("n", "yx")),))
    for weights in ({"x": 1, "xx": 1, "yx": 1.5}, {**DEFAULT_BLOCKS, "yx": 2}):
        with pytest.raises(ReleaseError, match="blocks and their weights must be those that the kind asks for"):
            Release(nw.Moments(MOMENTS, blocks=weights), PUBLIC, (moments_of(),))
    assert with_blocks(dict(DEFAULT_BLOCKS)).contributions == (moments_of(),)


def test_all_holders_have_the_same_blocks() -> None:
    words = "contribution 2: all contributions to a release must have the same blocks.*x, xx, y, yx and x, xx, yx"
    with pytest.raises(ReleaseError, match=words):
        moments().with_contributions((moments_of(), moments_of(2, names=("x", "xx", "yx"))))


def test_columns_that_are_no_regression_are_refused() -> None:
    one, age, ward_b, ward_c, smoker = regression_columns(PUBLIC, None, MOMENTS)
    for columns, words in [((age, one, ward_b, ward_c, smoker), "release of kind moments must be the constant"),
                           ((one, smoker, age, ward_b, ward_c), "last column of a release of kind moments"),
                           ((one, smoker, ward_b, ward_c, smoker), "among its own predictors")]:
        with pytest.raises(ReleaseError, match=words):
            Release(nw.Moments(MOMENTS), PUBLIC, (moments_of(),), columns=columns)


def test_equality_looks_at_all_numbers() -> None:
    changed = blocks_of()
    for name, block in changed.items():
        for other in (BlockSums(block.weight, block.noise, block.sums + 1.0), BlockSums(0.5, block.noise, block.sums),
                      BlockSums(block.weight, 1.5, block.sums)):
            assert moments(blocks={**changed, name: other}) != moments(), name
    assert moments_of() != gram_of(terms=None)
    assert moments(blocks=dict(reversed(changed.items()))) == moments()  # blocks have an order of their own


def test_releases_of_the_same_response_and_predictors_are_combined() -> None:
    together = nw.combine([moments(1), moments(2, "smoker ~ ward + age"), moments(3)])
    assert together.holders == 3 and together.formula == MOMENTS and decode(encode(together)) == together


def test_weights_may_differ_in_any_order_of_combining() -> None:
    """Each contribution states its own; the kind of all states them where they are the same."""
    few = ("x", "xx", "yx")
    one, two, three = (with_blocks({name: 1.0 + seed * (name == "yx") for name in few}, seed) for seed in (1, 2, 3))
    assert nw.combine([with_blocks(dict(DEFAULT_BLOCKS)), with_blocks(dict(DEFAULT_BLOCKS), 2)]).kind.blocks == DEFAULT_BLOCKS
    for order in ([nw.combine([one, two]), three], [one, nw.combine([two, three])], [one, two, three]):
        together = nw.combine(order)
        assert together.holders == 3 and together.kind.blocks is None and decode(encode(together)) == together
    with pytest.raises(IncompatibleReleasesError, match="blocks: x, xx, yx and x, xx, y, yx"):
        nw.combine([nw.combine([one, two]), moments(3)])


def test_other_formulas_and_blocks_are_not_combined() -> None:
    with pytest.raises(IncompatibleReleasesError, match="formula: 'smoker ~ age . ward' and 'age ~ smoker . ward'"):
        nw.combine([moments(), moments(2, "age ~ smoker + ward")])
    with pytest.raises(IncompatibleReleasesError, match="blocks: x, xx, y, yx and x, xx, yx"):
        nw.combine([moments(), moments(2, names=("x", "xx", "yx"))])


def test_batches_are_appended_if_they_have_the_same_blocks(tmp_path: Path) -> None:
    path = moments().save(tmp_path / "batches.nwr")
    assert append(path, moments(2)).holders == 2
    for weights in (None, {"yx": 3, "y": 1, "xx": 1, "x": 9}):
        assert check_append(path, nw.Moments(MOMENTS, blocks=weights), PUBLIC).holders == 2
    for kind, words in ((nw.Moments(MOMENTS, blocks={"xx": 1, "yx": 1}), "blocks: x, xx, y, yx and xx, yx"),
                        (nw.Moments("age ~ ward"), "formula")):
        with pytest.raises(IncompatibleReleasesError, match=words):
            check_append(path, kind, PUBLIC)


def test_batches_of_persons_have_a_block_for_the_number_of_rows(tmp_path: Path) -> None:
    names = ("n", *DEFAULT_BLOCKS)
    path = moments(schema=PERSONS, names=names).save(tmp_path / "batches.nwr")
    assert check_append(path, nw.Moments(MOMENTS), PERSONS).holders == 1
    assert append(path, moments(2, schema=PERSONS, names=names)).holders == 2


def test_the_room_for_a_batch_is_enough_for_its_sums() -> None:
    """Each sum has a line of its own; one with all digits, a sign and a point fits what is expected, and not half of that."""
    sums = np.random.default_rng(3).normal(0, 1e14, MomentBlock.named("xxx").size(PREDICTORS))
    made = moments(blocks={**blocks_of(), "xxx": BlockSums(1.0, 7.0, sums)})
    lines = [len(line) + 1 for line in encode(made).decode().splitlines() if line.strip(" ,") in map(repr, sums.tolist())]
    assert len(lines) == len(sums) and BYTES_OF_A_SUM / 2 < max(lines) <= BYTES_OF_A_SUM


def test_a_small_file_cannot_ask_for_large_matrices() -> None:
    """A block may have one number whatever the number of columns, and the matrix of each contribution has them all."""
    wide = schema_with(columns={"y": {"bounds": [0, 1]}, **{f"x{number}": {"bounds": [0, 1]} for number in range(600)}})
    kind = nw.Moments("y ~ " + " + ".join(f"x{number}" for number in range(600)))
    one = moments_of(predictors=600, blocks=blocks_of(("y",), predictors=600))
    changed = document(Release(kind, wide, (one,)))
    changed["contributions"] = changed["contributions"] * 200
    with pytest.raises(ReleaseFormatError, match="may have at most .* entries together.*200 of 602 columns"):
        decoded(changed)


def test_the_description_says_what_cannot_be_done() -> None:
    assert "not used" not in moments().describe() and "no fit" not in moments().describe()
    assert "without these blocks: x, y" in " ".join(moments(names=("xx", "yx")).describe().split())


def test_the_norm_is_that_of_the_predictors() -> None:
    """A number and a category: a norm of 1.2 shortens, one of 1.5 does not, though with the response it would."""
    made = moments(schema=schema_with(norm_bound=1.2))
    assert made.clipped_norm == 1.2
    assert made.rules()[-1] == "every row: the scaled predictors are shortened to the norm 1.2"
    assert moments(schema=schema_with(norm_bound=1.5)).clipped_norm is None
