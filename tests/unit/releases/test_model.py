"""What is special to a model release: a first look, rounds with noise of their own, and where the next release can begin."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.refusals import about
from tests.unit.releases.examples_of_releases import (
    LINEAR_MODEL,
    MODEL,
    MODEL_DISTANCE,
    OPEN,
    PERSONS,
    PUBLIC,
    decoded,
    document,
    model,
    model_of,
    moments,
    open_model,
    persons_model,
    schema_with,
)

import noisewise as nw
from noisewise.errors import DeclarationError, IncompatibleReleasesError, ReleaseError, ReleaseFormatError
from noisewise.kinds.model import BYTES_OF_A_NUMBER, Start
from noisewise.releases.contents.model import ModelContribution, implied_weights
from noisewise.releases.format import decode, encode
from noisewise.releases.promises import least_delta
from noisewise.releases.release import Release
from noisewise.schema import Schema
from noisewise.scores.rounds import Look, Noise, Round

LINEAR = model_of(kind=LINEAR_MODEL)


def changed(one: ModelContribution, place: int = 0, **changes: Any) -> ModelContribution:
    """With another round in this place."""
    rounds = list(one.rounds)
    rounds[place] = replace(rounds[place], **changes)
    return replace(one, rounds=tuple(rounds))


def test_it_has_the_columns_of_its_formula_and_what_a_reader_needs() -> None:
    made = model()
    assert made.basis.names == ("1", "age", "ward[B]", "ward[C]", "smoker") and made.formula == MODEL.formula
    found = document(made)["contributions"][0]["contents"]
    assert set(found) == {"look", "rounds"} and set(found["look"]) == {"noise", "sums"}
    assert [set(one) for one in found["rounds"]] == [{"coefficients", "coordinates", "scale", "noise", "score", "matrix"}] * 3
    hidden = document(persons_model())["contributions"][0]["contents"]
    assert set(hidden["look"]) == {"noise", "rows", "rows_noise", "sums"}
    assert ["spread" in one for one in hidden["rounds"]] == [False, False, True]
    assert all("square" in one for one in hidden["rounds"])


# Its promise, which does not rest on what it states ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [model, persons_model, open_model])
def test_the_distance_is_that_of_all_its_noise_together(make: Any) -> None:
    one = make().contents
    one.check_promise()
    assert math.sqrt(sum(one.squared_distances())) == pytest.approx(MODEL_DISTANCE, rel=1e-6)
    assert one.shares() == pytest.approx([0.04, 0.06, 0.08, 0.82], rel=1e-6)


@pytest.mark.parametrize(("make", "piece"), [
    (persons_model, "look"), (persons_model, "score"), (persons_model, "matrix"), (persons_model, "spread"),
    (open_model, "look"), (open_model, "rows"), (open_model, "score"), (open_model, "matrix"), (open_model, "square"),
    (open_model, "spread")])
def test_less_noise_in_any_one_piece_is_refused(make: Any, piece: str) -> None:
    """By one part in a hundred, if the promise is as good as the noise allows."""
    one = make().contents
    one = replace(one, delta=1.0001 * least_delta(one.epsilon, math.sqrt(sum(one.squared_distances()))))
    one.check_promise()
    if piece in ("look", "rows"):
        less = replace(one, look=replace(one.look, **{"noise" if piece == "look" else "rows_noise": 0.99 * one.look.noise}))
    else:
        noise = one.rounds[2].noise
        less = changed(one, 2, noise=replace(noise, **{piece: 0.99 * getattr(noise, piece)}))
    with pytest.raises(ReleaseError, match="too small"):
        less.check_promise()


def test_what_a_replaced_person_cannot_move_that_far_may_have_less_noise() -> None:
    """Squares count less than the score; and who is replaced by someone with as many rows does not change their number."""
    one = persons_model().contents
    noise, before = one.rounds[2].noise, sum(one.squared_distances())

    def with_squares(factor: float) -> float:
        return sum(changed(one, 2, noise=replace(noise, square=factor * noise.score)).squared_distances())

    def with_rows(factor: float) -> float:
        return sum(replace(one, look=replace(one.look, rows_noise=factor * one.look.noise)).squared_distances())

    assert with_squares(0.74) == before < with_squares(0.73)  # a weight of 1.85, beside 0.15 of Σ s sᵀ
    assert with_rows(0.41) == before < with_rows(0.40)  # 10 for a replaced row, 4 and the number of rows for one more


def test_a_smaller_stated_sensitivity_changes_no_promise_and_is_refused() -> None:
    one = replace(model().contents, sensitivity=0.5)
    assert one.squared_distances() == model().contents.squared_distances()
    for wrong in (0.5, 0.99 * 4.5**0.5, 1.02 * 4.5**0.5):
        with pytest.raises(ReleaseError, match=r"sensitivity of this release must be 2\.1213\d*, or at most 1 % more"):
            model(sensitivity=wrong)
    assert model(sensitivity=2.1214).contents.sensitivity == 2.1214


@pytest.mark.parametrize(("schema", "expected"), [
    (PUBLIC, 4.5), (schema_with(unit={"column": "person", "max_rows": 1}), 4.5), (PERSONS, 9 * 4.5), (OPEN, 1.2),
    (schema_with(adjacency="add-remove", unit={"column": "person", "max_rows": 4}), 16 * 1.2)])
def test_a_unit_counts_with_all_its_rows(schema: Schema, expected: float) -> None:
    one = model_of(schema=schema)
    assert [square * made.noise.score**2 for square, made in zip(one.squared_distances()[1:], one.rounds, strict=True)] == \
        pytest.approx([expected] * 3, rel=1e-6)


def test_noise_implies_weights() -> None:
    found = implied_weights(Noise(score=2.0, matrix=4.0, square=2.0, spread=8.0))
    assert (found.matrix, found.square, found.spread) == pytest.approx((0.25, 1.0, 1 / 16), rel=1e-8)
    assert implied_weights(Noise(score=1.0, matrix=1 / 0.5**0.5)).matrix <= 0.5  # though rounding makes it a little more


# What is refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "words"), [
    ({"mechanism": "laplace"}, "mechanism of a model release must be gaussian"),
    ({"delta": 0.0}, "requires delta > 0"),
    ({"family": "cauchy"}, "family of a model release must be known"),
    ({"family": "poisson"}, "needs a count"),
    ({"family": "probit"}, "family must be the one that the kind asks for"),
    ({"look": 3}, "must have a first look"),
    ({"look": Look(noise=0.0, sums=np.zeros(5), rows=250, rows_noise=0.0)}, "look: the noise must be positive"),
    ({"look": Look(noise=9.0, sums=np.zeros(4), rows=250, rows_noise=0.0)}, "a list of 5 numbers"),
    ({"look": Look(noise=9.0, sums=np.full(5, np.nan), rows=250, rows_noise=0.0)}, "finite"),
    ({"look": Look(noise=9.0, sums=np.zeros(5), rows=251, rows_noise=0.0)}, "must be the public one"),
    ({"look": Look(noise=9.0, sums=np.zeros(5), rows=250, rows_noise=9.0)}, "if and only if it is not public"),
    ({"rounds": ()}, "1 to 9 rounds"),
    ({"rounds": model_of().rounds * 4}, "1 to 9 rounds"),
    ({"rounds": [1]}, "must have rounds"),
    ({"rounds": None}, "must have rounds"),
    ({"basis": LINEAR.basis}, "two levels"),
])
def test_contributions_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        model(**changes)


POINT = LINEAR.rounds[2].point


@pytest.mark.parametrize(("place", "changes", "words"), [
    (0, {"score": np.zeros(3)}, "round 1: the score must be a list of 4 numbers"),
    (0, {"score": np.full(4, np.inf)}, "2\\*\\*100"),
    (1, {"matrix": np.eye(3)}, "round 2: the matrix must have one row and column for each coefficient"),
    (1, {"matrix": np.triu(np.ones((4, 4)))}, "must be symmetric"),
    (1, {"square": None}, "round 2: square and its noise .* family has a scale .*square missing, noise there"),
    (0, {"spread": np.eye(4)}, "round 1: spread and its noise"),
    (2, {"spread": None}, "round 3: spread and its noise"),
    (2, {"noise": Noise(score=9.0, matrix=20.0, square=9.0)}, "round 3: spread and its noise .*spread there, noise missing"),
    (2, {"noise": Noise(score=-9.0, matrix=20.0, square=9.0, spread=30.0)}, "noise of score must be positive"),
    (2, {"noise": Noise(score=9.0, matrix=float("inf"), square=9.0, spread=30.0)}, "noise of matrix must be a finite"),
    (2, {"point": replace(POINT, spread=False)}, "it is asked for"),
    (2, {"point": replace(POINT, spread=1)}, "true or false"),
    (2, {"point": replace(POINT, scale=0.0)}, "the scale must be positive"),
    (2, {"point": replace(POINT, scale=True)}, "the scale must be a number"),
    (2, {"point": replace(POINT, coefficients=np.zeros(3))}, "round 3: the coefficients must be a list of 4"),
    (2, {"point": replace(POINT, coefficients=np.full(4, np.nan))}, "finite"),
    (2, {"point": replace(POINT, coordinates=np.zeros((4, 5)))}, "a column for each column of the predictors"),
    (2, {"point": replace(POINT, coordinates=np.full((4, 4), 1e31))}, "2\\*\\*100"),
])
def test_rounds_are_checked(place: int, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        changed(LINEAR, place, **changes)


def test_families_without_a_scale_have_no_squares() -> None:
    with pytest.raises(ReleaseError, match="square and its noise"):
        changed(model_of(), 0, square=3.0)


def test_no_more_coefficients_than_columns() -> None:
    point = replace(model_of().rounds[0].point, coefficients=np.zeros(5), coordinates=np.zeros((5, 4)))
    with pytest.raises(ReleaseError, match="at most as many coefficients as columns"):
        changed(model_of(), 0, point=point)


def test_contribution_kind_and_schema_belong_together() -> None:
    made = model()
    with pytest.raises(ReleaseError, match="columns of the release"):
        Release(MODEL, PUBLIC, (model_of(schema=schema_with(norm_bound=2.0)),))
    with pytest.raises(ReleaseError, match="more rounds than the kind asks for"):
        model(kind=replace(MODEL, rounds=1))
    assert model(kind=replace(MODEL, rounds=2)).contents == made.contents
    only = (made.contents.rounds[2],)
    start = Start((0.0,) * 4, ((0.0,) * 4,) * 4, 1.0)
    with pytest.raises(ReleaseError, match="more rounds than the kind asks for"):
        model(kind=replace(MODEL, start=start))
    assert "where an earlier release ended" in " ".join(model(kind=replace(MODEL, start=start), rounds=only).describe().split())
    for wrong in (Start((0.0,) * 3, ((0.0,) * 4,) * 3, 1.0), Start((0.0,) * 4, ((0.0,) * 3,) * 4, 1.0)):
        with pytest.raises(ReleaseError, match="coordinates of the rounds"):
            model(kind=replace(MODEL, start=wrong), rounds=only)


def test_columns_that_are_no_regression_are_refused() -> None:
    made = document(model())
    for columns in (made["columns"][:1], made["columns"][1:], [*made["columns"], made["columns"][1]]):
        with pytest.raises(ReleaseFormatError, match=r"constant|response|columns"):
            decoded({**made, "columns": columns})


# Equality, files, words ----------------------------------------------------------------------------------------------------


def test_equality_looks_at_every_number() -> None:
    one = LINEAR
    last = one.rounds[2]
    assert one == model_of(kind=LINEAR_MODEL) == pickle.loads(pickle.dumps(one))
    others = [
        replace(one, look=replace(one.look, sums=one.look.sums + 1.0)), replace(one, look=replace(one.look, noise=99.0)),
        replace(one, rounds=one.rounds[1:]), changed(one, 2, score=last.score + 1.0), changed(one, 2, matrix=last.matrix + 1.0),
        changed(one, 2, square=1.0), changed(one, 2, spread=last.matrix), changed(one, 2, noise=replace(last.noise, matrix=99.0)),
        changed(one, 2, point=replace(last.point, coefficients=last.point.coefficients + 1.0)),
        changed(one, 2, point=replace(last.point, coordinates=last.point.coordinates + 1.0)),
        changed(one, 2, point=replace(last.point, scale=7.0)),
    ]
    assert all(other != one for other in others)
    noisy = others[:1] + others[2:7]
    assert len({other.fingerprint() for other in (one, *noisy)}) == 1 + len(noisy)


def test_records_of_rounds_are_compared_by_their_numbers() -> None:
    one, two = Noise(score=1.0, matrix=2.0), Noise(score=1.0, matrix=2.0, square=3.0)
    assert one == Noise(score=1.0, matrix=2.0) != two and one != 3
    first = Round(point=POINT, noise=one, score=np.ones(1), matrix=np.ones((1, 1)))
    other = replace(first, spread=np.ones((1, 1)))
    assert first == replace(first) and first != other and other != first
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    again = pickle.loads(pickle.dumps(LINEAR.rounds[0]))
    assert again == LINEAR.rounds[0] and not again.matrix.flags.writeable
    assert pickle.loads(pickle.dumps(first)).score.flags.writeable


def test_nothing_in_a_round_can_be_changed() -> None:
    values = np.zeros(4)
    one = changed(LINEAR, 0, score=values)
    values[0] = 5.0
    assert one.rounds[0].score[0] == 0.0
    for array in (one.look.sums, one.rounds[0].score, one.rounds[2].spread, one.rounds[0].point.coordinates):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_the_room_is_enough_for_its_numbers() -> None:
    """Nine rounds of many columns, whose numbers have all their digits."""
    columns = {f"x{place}": {"bounds": [0, 1]} for place in range(30)} | {"y": {"bounds": [0, 1]}}
    schema, kind = schema_with(columns=columns), nw.Model("y ~ .", family="gaussian")
    one = model_of(schema=schema, kind=kind)
    most = replace(one, rounds=(one.rounds[0],) * 8 + (one.rounds[2],))
    size = len(encode(Release(kind, schema, (replace(most, epsilon=2.0),))))
    assert size < kind.room(schema) and BYTES_OF_A_NUMBER * most.count() < kind.room(schema)


def test_shares_and_noise_are_facts() -> None:
    found = model().facts()["contributions"][0]
    assert found["family"] == "logistic" and found["look"]["share"] == pytest.approx(0.04, rel=1e-6)
    assert [one["share"] for one in found["rounds"]] == pytest.approx([0.06, 0.08, 0.82], rel=1e-6)
    assert found["rounds"][0]["noise_sd"] == {"score": model().contents.rounds[0].noise.score,
                                              "matrix": model().contents.rounds[0].noise.matrix}
    assert persons_model().facts()["contributions"][0]["look"]["rows"] == 251.5


def test_no_row_is_shortened_to_a_norm() -> None:
    made = model(schema=schema_with(norm_bound=0.5))
    assert made.clipped_norm is None and not any("norm" in rule for rule in made.rules())


# Holders -------------------------------------------------------------------------------------------------------------------


def test_holders_with_other_rounds_are_combined() -> None:
    start = nw.start(model(3))
    two = replace(model_of(2), rounds=(model_of(2).rounds[2],))
    together = nw.combine([model(kind=replace(MODEL, rounds=4)), Release(replace(MODEL, start=start), PUBLIC, (two,))])
    assert together.holders == 2 and together.kind == MODEL and decode(encode(together)) == together
    assert [len(one.rounds) for one in together.contributions] == [3, 1]


def test_other_families_formulas_and_orders_of_terms_are_not_combined() -> None:
    """A file does not name its coefficients, so that their order must be the same."""
    for kind, words in ((replace(MODEL, family="probit"), "family: logistic and probit"),
                        (nw.Model("smoker ~ ward + age", family="logistic"), "formula: 'smoker ~ age . ward' and"),
                        (nw.Model("smoker ~ age", family="logistic"), "formula: ")):
        with pytest.raises(IncompatibleReleasesError, match=words):
            nw.combine([model(), model(2, kind)])
    spaced = nw.combine([model(), model(2, nw.Model("smoker ~ age+ward", family="logistic"))])
    assert spaced.holders == 2 and spaced.formula == MODEL.formula


# Where the next one begins -------------------------------------------------------------------------------------------------


def test_a_start_is_the_last_round() -> None:
    made = model()
    last, found = made.contents.last.point, nw.start(made)
    assert found.coefficients == tuple(last.coefficients) and np.array_equal(found.matrix(), last.coordinates)
    assert found.scale == last.scale and nw.start(decode(encode(made))) == found
    kind = nw.Model(MODEL.formula, family="logistic", start=found)
    assert nw.kinds.kind_from_dict(kind.to_dict()) == kind and kind.settled(PUBLIC).names == made.basis.names


@pytest.mark.parametrize(("given", "words"), [
    (moments(), "only a release of kind model"), ("made.nwr", "expected a release"), (None, "expected a release"),
    (nw.combine([model(), model(2)]), "one data holder"),
])
def test_only_a_model_of_one_holder_can_be_started_from(given: Any, words: str) -> None:
    with pytest.raises(ReleaseError, match=words) as refused:
        nw.start(given)
    assert refused.value.found and refused.value.remedy


@pytest.mark.parametrize("start", [
    {"coefficients": [1.0]}, {"coefficients": "ab", "coordinates": [], "scale": 1.0},
    {"coefficients": [10**400], "coordinates": [[1.0]], "scale": 1.0}, {"coefficients": [], "coordinates": [], "scale": 1.0},
    {"coefficients": [1.0], "coordinates": [[1.0], [2.0]], "scale": 1.0},
    {"coefficients": [1.0, 2.0], "coordinates": [[1.0], [2.0, 3.0]], "scale": 1.0},
    {"coefficients": [float("nan")], "coordinates": [[1.0]], "scale": 1.0},
    {"coefficients": [1.0], "coordinates": [[1.0]], "scale": 0.0}, 3, "made.nwr"])
def test_what_is_no_start_is_refused(start: Any) -> None:
    with pytest.raises(DeclarationError, check=about("start")):
        nw.Model(MODEL.formula, family="logistic", start=start)


def test_a_start_of_another_formula_is_refused() -> None:
    start = nw.start(model())
    with pytest.raises(DeclarationError, match="the start belongs to another formula"):
        nw.Model("smoker ~ age", family="logistic", start=start).settled(PUBLIC)
