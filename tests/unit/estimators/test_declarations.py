"""Whatever is public is declared: what is missing is refused by name, and nothing is completed from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning
from tests.refusals import about
from tests.unit.estimators.made_tables import linear, of_arrays
from tests.unit.estimators.stand_in import stand_in_fit

import noisewise as nw
from noisewise.errors import DeclarationError
from noisewise.estimators import RowsError, base
from noisewise.estimators.rows import read_features, read_table

TABLE = pd.DataFrame({"age": [30.0, 50.0, 70.0], "ward": ["A", "B", "A"]})
STAY = [1.0, 2.0, 3.0]


@pytest.fixture(autouse=True)
def without_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "fit", stand_in_fit)


@pytest.mark.parametrize("argument", ["epsilon", "bounds", "target_bounds", "adjacency"])
def test_what_is_missing_is_refused_by_name_with_a_remedy(argument: str) -> None:
    with pytest.raises(DeclarationError, match=argument) as caught:
        linear(**{argument: None}).fit(TABLE, STAY)
    assert caught.value.argument == argument and argument in str(caught.value.remedy)


@pytest.mark.parametrize("estimator", [nw.PrivateLogisticRegression, nw.PrivatePoissonRegressor])
def test_the_others_refuse_a_missing_target_too(estimator: Any) -> None:
    with pytest.raises(DeclarationError, match="=None") as caught:
        estimator(epsilon=1, bounds=(0, 1), adjacency="replace-one").fit([[0.5]], [1])
    assert caught.value.argument == ("classes" if estimator is nw.PrivateLogisticRegression else "target_bounds")


@pytest.mark.parametrize(("changed", "message"), [
    ({"bounds": {"age": (20, 90), "height": (0, 2)}}, "bounds names a column that X does not have.*height"),
    ({"bounds": {}}, "neither for age"),
    ({"bounds": {"age": (20, 90), "ward": (0, 1)}}, "both bounds and levels.*ward"),
    ({"bounds": {"age": 90}}, r"bounds\['age'\].*pair"),
    ({"bounds": {"age": (90, 20)}}, "lower bound must be below"),
    ({"bounds": [(20, 90)]}, "mapping"),
    ({"bounds": ([20, 0], [90, 1])}, "no feature may have levels"),
    ({"levels": ["A", "B"]}, "levels must map"),
    ({"levels": {"ward": "AB"}}, "levels must be a list"),
    ({"levels": {"ward": ["A", "B"], "sex": ["f", "m"]}}, "levels names a column that X does not have.*sex"),
    ({"target_bounds": 25}, "target_bounds.*pair"),
    ({"adjacency": "both"}, "adjacency must be declared"),
    ({"max_rows": 2}, "max_rows=2 without unit"),
])
def test_declarations_that_do_not_fit_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        linear(**changed).fit(TABLE, STAY)


def test_units_need_a_number_of_rows() -> None:
    with pytest.raises(DeclarationError, check=about("max_rows")):
        linear().fit(TABLE, STAY, unit=[1, 1, 2])


def test_names_that_no_formula_could_hold_are_refused() -> None:
    for name in ("a`b", "sigma", "Intercept", "1"):
        with pytest.raises(nw.NoisewiseError):
            of_arrays().fit(pd.DataFrame({name: [0.5]}), [0.5])


@pytest.mark.parametrize("bounds", [(0, 1), (np.float64(0), np.int64(1)), ([0, 0], [1, 1]), (np.zeros(2), np.ones(2)),
                                    (0, [1, 1]), {"x0": (0, 1), "x1": np.array([0, 1])}], ids=repr)
def test_bounds_can_be_written_in_several_ways(bounds: Any) -> None:
    model = of_arrays(bounds=bounds).fit(np.full((3, 2), 0.5), np.full(3, 0.5))
    assert [column.to_dict() for column in model.release_.schema.columns] == [{"bounds": [0, 1]}] * 3


@pytest.mark.parametrize("pairs", [((0, 1), (2, 3)), [(0, 1), (2, 3)], [[0, 1], [2, 3]], np.array([[0, 1], [2, 3]])], ids=repr)
def test_pairs_of_two_features_are_not_taken_for_lows_and_highs(pairs: Any) -> None:
    with pytest.raises(DeclarationError, check=about("bounds")):
        of_arrays(bounds=pairs).fit(np.full((3, 2), 0.5), np.full(3, 0.5))


HOSTILE = [np.full(4, 1e300), np.full(4, np.nan), np.array([np.inf, -np.inf, 0.0, np.nan]),
           np.array([{}, "x", None, 10**400], object)]


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["gram", pytest.param("model", marks=pytest.mark.outer)])
@pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")
def test_no_value_makes_a_fit_fail_and_nothing_public_depends_on_one(adjacency: str, kind: str) -> None:
    """Schema, formula, noise and attributes of a fit are the same, whatever the cells hold."""
    asked = {"adjacency": adjacency, "release_kind": kind, "method": "conditional", "draws": 50, "chains": 1}
    tame = np.full(4, 0.5)
    public = []
    for cells in (tame, *HOSTILE):
        for features, target in ((np.column_stack([tame, cells]), tame), (np.column_stack([tame, tame]), cells)):
            model = of_arrays(**asked).fit(features, target)
            contents = model.release_.contents
            noise = contents.noise if kind == "gram" else (contents.look.noise, contents.look.rows_noise)
            public.append((model.release_.schema.to_toml(), model.formula_, noise, model.n_features_in_, sorted(vars(model))))
    assert all(found == public[0] for found in public)


def test_the_number_of_rows_is_told_only_where_it_is_public() -> None:
    nobody, no_target = np.zeros((0, 2)), np.zeros(0)
    with pytest.raises(RowsError, match="0 sample"):
        of_arrays().fit(nobody, no_target)
    assert of_arrays(adjacency="add-remove").fit(nobody, no_target).release_.contents.rows is None
    with pytest.raises(RowsError) as caught:
        of_arrays().fit(np.zeros((7, 2)), np.zeros(6))
    assert "7" not in str(caught.value) and "6" not in str(caught.value)


@pytest.mark.parametrize(("features", "message"), [
    (csr_array(np.eye(3)), "Sparse data"), (np.zeros(3), "Reshape your data"),
    ("patients.csv", "an array, a data frame or a list"),
    ({"a": [1]}, "an array, a data frame or a list"), (7, "an array, a data frame or a list"), (np.zeros((3, 0)), "0 feature"),
    (np.zeros((3, 1), complex), "Complex data"), ([[1], [1, 2], [3]], "2D array|same length"),
    (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "repeated name"), (pd.DataFrame({}), "0 feature"),
])
def test_tables_of_the_wrong_shape_are_refused(features: Any, message: str) -> None:
    with pytest.raises(RowsError, match=message):
        of_arrays().fit(features, STAY)


def test_targets_of_the_wrong_shape_are_refused() -> None:
    for target, message in [(None, "y is None"), (np.zeros((3, 2)), "1d array"),
                            (pd.DataFrame({"a": [1], "b": [1]}), "1d array")]:
        with pytest.raises(RowsError, match=message):
            of_arrays().fit(np.zeros((3, 1)), target)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert "`stay`" in of_arrays().fit(np.zeros((3, 1)), pd.DataFrame({"stay": STAY})).formula_


def test_confidential_cells_are_not_printed() -> None:
    for found in (read_table(TABLE, STAY, None), read_features(TABLE)):
        assert not any(cell in repr(found) for cell in ("30.0", "ward"))
