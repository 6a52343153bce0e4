"""What rows add to a model release in floats is what the data pass sums; the search for a worst point comes near the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisewise.audits.audit import model_request
from noisewise.audits.canaries import any_rows, scaled
from noisewise.audits.model import _Attack
from noisewise.audits.model_points import Added, worst_point
from noisewise.audits.request import Request
from noisewise.kinds import Model
from noisewise.kinds.model import Start
from noisewise.schema import Schema
from noisewise.scores.change import changed_square
from noisewise.scores.families import FAMILIES
from noisewise.scores.rounds import Point

COLUMNS = {"a": {"bounds": [0, 10]}, "s": {"levels": ["no", "yes"]}, "w": {"levels": ["A", "B", "C"]},
           "unused": {"bounds": [0, 1]}}
RESPONSES = {"number": {"bounds": [-3, 5]}, "two levels": {"levels": [0, 1]}, "count": {"bounds": [0, 12]}}


def attack(family: str, adjacency: str, **more: Any) -> _Attack:
    schema = Schema.from_dict({"adjacency": adjacency, "columns": {"y": RESPONSES[FAMILIES[family].response], **COLUMNS},
                               **more})
    return _Attack.of(Request(schema, 1.0, 1e-6, Model("y ~ a + w + a:s", terms="a:s", family=family, rounds=1)))


@pytest.mark.outer(but=["gaussian-replace-one-box", "negative-binomial-add-remove-box", "logistic-add-remove-ball"])
@pytest.mark.parametrize("more", [{}, {"norm_bound": 0.8}], ids=["box", "ball"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_change_a_release_as_the_data_pass_says(family: str, adjacency: str, more: dict[str, Any]) -> None:
    """Both are written independently; they differ by the rounding of values, of sums and of the point."""
    one, random = attack(family, adjacency, **more), np.random.default_rng(4)
    scale = {"gaussian": 0.7, "negative-binomial": 0.4}.get(family, 1.0)
    terms, predictors = one.added.problem.terms, len(one.added.predictors)
    for size in (0.3, 3.0):
        point = Point(coefficients=random.normal(size=terms) / 3, coordinates=size * random.normal(size=(terms, predictors)),
                      scale=scale, spread=False)
        rounds, rows = one.rounds_at(point), any_rows(one.added.basis.schema, 4, random)
        single = [{name: values[[place]] for name, values in rows.items()} for place in range(4)]
        nobody = {name: values[:0] for name, values in rows.items()}
        sds, exact = one.sds(rounds), [one.exact(row, rounds) for row in single]
        values = scaled(one.added.basis, rows)
        found = one.added.change(rounds)(values, values)
        alone = one.added.change(rounds)(values, np.zeros((1, one.added.basis.size)))
        smallest = float(np.min(sds))
        for i in range(4):
            for j in range(4):
                assert np.linalg.norm((exact[i] - exact[j]) / sds) == pytest.approx(found[i, j], abs=2e-3 / smallest, rel=1e-3)
            if adjacency == "add-remove":
                change = np.linalg.norm((exact[i] - one.exact(nobody, rounds)) / sds)
                assert change == pytest.approx(alone[i, 0], abs=2e-3 / smallest, rel=1e-3)


@pytest.mark.outer(but=["logistic-replace-one", "poisson-add-remove"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_comes_near_the_bounds_and_not_above(family: str, adjacency: str) -> None:
    """A normal residual that is as large as possible has b = a², so that only the score changes: √4 of √4.35."""
    request = model_request(adjacency, 1.0, 1e-6, family)
    added = Added.of(request.plan())
    point, pair = worst_point(added, None)
    sensitivity = added.plan.mechanism.sensitivity
    (_, noise), = rounds = added.at_once(point)
    spread = rounds[0][0].spread
    bound = float(np.hypot(sensitivity.of_round(spread) / noise.score, sensitivity.look / added.plan.blank.contents.look.noise))
    proved = changed_square(sensitivity.weights(spread), added=adjacency == "add-remove")
    assert sensitivity.of_round(spread) == pytest.approx(np.sqrt(proved), rel=1e-3)
    assert 0.94 * bound < pair.size <= bound


def test_a_start_is_the_only_point() -> None:
    start = Start((0.5, 1.0), ((1.0, 0.0), (0.0, 1.0)), 1.0)
    request = model_request("replace-one", 1.0, 1e-6, "logistic")
    kind = Model("b ~ a", family="logistic", start=start)
    one = _Attack.of(Request(request.schema, 1.0, 1e-6, kind))
    point, pair = worst_point(one.added, one.start)
    assert point.coefficients.tolist() == [0.5, 1.0] and pair.size > 0
    assert len(one.rounds_at(point)) == 1 and len(one.rounds_at(point)) < len(_Attack.of(request).rounds_at(point))
