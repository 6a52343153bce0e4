"""The schema: reading, refusing, writing back exactly; the template."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import about

from noisewise.errors import DeclarationError
from noisewise.schema import Categorical, Numeric, Schema, Unit
from noisewise.schema.toml import template

AGE = {"bounds": [18, 98]}
WARD = {"levels": ["A", "B", "C"]}

REFUSED: dict[str, tuple[Any, str]] = {
    "not a dictionary": ([], "a schema must be a dictionary"),
    "unknown key": (
        {"adjacency": "replace-one", "columns": {"age": AGE}, "epsilon": 1},
        "unknown key in the schema (found: epsilon)",
    ),
    "a key that is no text": (
        {"adjacency": "replace-one", "columns": {"age": AGE}, 1: 1},
        "unknown key in the schema (found: 1)",
    ),
    "no columns": ({"adjacency": "replace-one"}, "a schema needs columns"),
    "empty columns": ({"adjacency": "replace-one", "columns": {}}, "a schema needs columns"),
    "columns as a list": ({"adjacency": "replace-one", "columns": ["age"]}, "a schema needs columns"),
    "no adjacency": ({"columns": {"age": AGE}}, "adjacency must be declared"),
    "template adjacency": ({"adjacency": "?", "columns": {"age": AGE}}, "adjacency must be declared"),
    "another adjacency": ({"adjacency": "replace", "columns": {"age": AGE}}, "adjacency must be declared"),
    "adjacency as a list": ({"adjacency": ["replace-one"], "columns": {"age": AGE}}, "adjacency must be declared"),
    "unit as a number": ({"adjacency": "add-remove", "unit": 3, "columns": {"age": AGE}}, "unit must be"),
    "unit as another word": ({"adjacency": "add-remove", "unit": "person", "columns": {"age": AGE}}, "unit must be"),
    "unit without a maximum": ({"adjacency": "add-remove", "unit": {"column": "id"}, "columns": {"age": AGE}}, "unit must be"),
    "unit without a name": (
        {"adjacency": "add-remove", "unit": {"column": 3, "max_rows": 1}, "columns": {"age": AGE}},
        "unit must be",
    ),
    "unit with more": (
        {"adjacency": "add-remove", "unit": {"column": "id", "max_rows": 1, "rows": 2}, "columns": {"age": AGE}},
        "unit must be",
    ),
    "no rows": (
        {"adjacency": "add-remove", "unit": {"column": "id", "max_rows": 0}, "columns": {"age": AGE}},
        "max_rows must be",
    ),
    "half a row": (
        {"adjacency": "add-remove", "unit": {"column": "id", "max_rows": 1.5}, "columns": {"age": AGE}},
        "max_rows must be",
    ),
    "true rows": (
        {"adjacency": "add-remove", "unit": {"column": "id", "max_rows": True}, "columns": {"age": AGE}},
        "max_rows must be",
    ),
    "unit column analysed": (
        {"adjacency": "add-remove", "unit": {"column": "age", "max_rows": 1}, "columns": {"age": AGE}},
        "unit column identifies people",
    ),
    "norm of zero": ({"adjacency": "add-remove", "norm_bound": 0, "columns": {"age": AGE}}, "norm_bound must be"),
    "negative norm": ({"adjacency": "add-remove", "norm_bound": -1.0, "columns": {"age": AGE}}, "norm_bound must be"),
    "infinite norm": ({"adjacency": "add-remove", "norm_bound": float("inf"), "columns": {"age": AGE}}, "norm_bound must be"),
    "norm not a number": ({"adjacency": "add-remove", "norm_bound": float("nan"), "columns": {"age": AGE}}, "norm_bound must be"),
    "boolean norm": ({"adjacency": "add-remove", "norm_bound": True, "columns": {"age": AGE}}, "norm_bound must be"),
    "text norm": ({"adjacency": "add-remove", "norm_bound": "1", "columns": {"age": AGE}}, "norm_bound must be"),
    "norm beyond doubles": ({"adjacency": "add-remove", "norm_bound": 10**400, "columns": {"age": AGE}}, "norm_bound must be"),
    "rows dropped while their number is public": (
        {"adjacency": "replace-one", "columns": {"age": AGE | {"missing": "drop"}}},
        "column 'age': rows may not be dropped",
    ),
    "rows of a level dropped": (
        {"adjacency": "replace-one", "columns": {"age": AGE, "ward": WARD | {"missing": "drop"}}},
        "column 'ward': rows may not",
    ),
    "a wrong column": ({"adjacency": "replace-one", "columns": {"age": AGE, "ward": {}}}, "column 'ward': exactly one"),
}


@pytest.mark.parametrize(("declared", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_wrong_schema_is_refused_with_its_reason(declared: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Schema.from_dict(declared)
    assert message in str(caught.value)


def test_dropping_rows_is_allowed_where_their_number_is_not_public() -> None:
    schema = Schema.from_dict({"adjacency": "add-remove", "columns": {"age": AGE | {"missing": "drop"}}})
    assert schema.column("age").fill == "drop"


def test_a_column_is_declared_once() -> None:
    with pytest.raises(DeclarationError, match="declared only once"):
        Schema((Numeric("a", 0, 1), Categorical("a", ("A", "B"))), "replace-one")
    with pytest.raises(DeclarationError, match="declared only once"):
        Schema.from_dict({"adjacency": "replace-one", "columns": {"1": AGE, 1: AGE}})


def test_a_schema_needs_a_column_in_python_too() -> None:
    with pytest.raises(DeclarationError, match="at least one column"):
        Schema((), "replace-one")


def test_a_maximum_of_rows_needs_the_column_it_counts_by() -> None:
    with pytest.raises(DeclarationError, match="max_rows requires a column"):
        Unit(None, 5)
    assert Unit().is_row
    assert not Unit("person", 5).is_row


@pytest.mark.parametrize(
    ("adjacency", "unit", "public"),
    [
        ("replace-one", "row", True),
        ("add-remove", "row", False),
        ("replace-one", {"column": "person", "max_rows": 2}, False),
        ("add-remove", {"column": "person", "max_rows": 2}, False),
    ],
)
def test_when_the_number_of_rows_is_public(adjacency: str, unit: object, public: bool) -> None:
    schema = Schema.from_dict({"adjacency": adjacency, "unit": unit, "columns": {"age": AGE}})
    assert schema.rows_are_public is public


def test_a_column_is_found_by_name_and_a_wrong_name_lists_the_right_ones() -> None:
    schema = Schema.from_dict({"adjacency": "replace-one", "columns": {"age": AGE, "ward": WARD}})
    assert schema.column("ward") == Categorical("ward", ("A", "B", "C"))
    with pytest.raises(DeclarationError, match="found: 'Age'.*age, ward"):
        schema.column("Age")


def test_the_rules_say_what_happens_to_cells_that_do_not_fit() -> None:
    schema = Schema.from_dict(
        {
            "adjacency": "add-remove",
            "columns": {
                "age": AGE,
                "weight": {"bounds": [0, 200], "missing": "drop"},
                "ward": WARD | {"other": "C", "missing": "B"},
            },
        }
    )
    assert schema.rules() == [
        "age: clipped to [18, 98]; a missing value becomes 58.0",
        "weight: clipped to [0, 200]; a missing value drops its row",
        "ward: levels A, B, C; a missing value becomes B, any other value becomes C",
    ]


# Reading files


def test_a_schema_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        'adjacency = "add-remove"\nunit = {column = "person", max_rows = 5}\nnorm_bound = 1.5\n'
        '[columns.age]\nbounds = [18, 98]\n[columns."my ward"]\nlevels = ["A", "B"]\nother = "B"\n',
        encoding="utf-8",
    )
    expected = Schema(
        (Numeric("age", 18, 98), Categorical("my ward", ("A", "B"), None, "B")), "add-remove", Unit("person", 5), 1.5
    )
    assert Schema.load(path) == expected
    assert Schema.load(str(path)) == expected


def test_an_editor_that_writes_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('adjacency = "replace-one"\n[columns.a]\nbounds = [0, 1]\n', encoding="utf-8-sig")
    assert Schema.load(path).names == ("a",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"adjacency = ", "not valid TOML"),
        (b"[columns.a]\nbounds = [0, 1]\n[columns.a]\nbounds = [0, 1]\n", "not valid TOML"),
        (b'adjacency = "\xff"', "must be UTF-8 text"),
        (b"", "a schema needs columns"),
        (b'adjacency = "replace-one"\n[columns.a]\nbounds = [0, inf]\n', "two finite numbers"),
        (b'adjacency = "replace-one"\n[columns.a]\nbounds = [nan, 1]\n', "two finite numbers"),
        (b'adjacency = "replace-one"\n[columns.a]\nbounds = [1979-05-27, 1980-05-27]\n', "two finite numbers"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(content)
    with pytest.raises(DeclarationError, match=message):
        Schema.load(path)


def test_a_file_that_is_not_there_or_is_a_directory_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(DeclarationError, match="cannot be read"):
            Schema.load(path)


# Round trips

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
levels = (
    st.lists(
        st.one_of(names, st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False, width=32), st.booleans()),
        min_size=2,
        max_size=6,
    )
    .map(lambda found: [level for level in found if str(level) not in ("drop", "?")])
    .filter(lambda found: len(found) >= 2 and len(set(found)) == len({str(level) for level in found}) == len(found))
)


@st.composite
def numeric(draw: st.DrawFn, dropping: bool) -> dict[str, Any]:
    number = st.one_of(st.integers(-(10**18), 10**18), st.floats(-1e300, 1e300))
    lower, upper = sorted(draw(st.tuples(number, number).filter(lambda pair: float(pair[0]) != float(pair[1]))))
    declared: dict[str, Any] = {"bounds": [lower, upper]}
    if (float(upper) - float(lower)) / 2 == 0:
        declared["bounds"] = [0, 1]
    missing = draw(st.sampled_from([None, *declared["bounds"], *(["drop"] if dropping else [])]))
    return declared | ({} if missing is None else {"missing": missing})


@st.composite
def categorical(draw: st.DrawFn, dropping: bool) -> dict[str, Any]:
    found = draw(levels)
    declared: dict[str, Any] = {"levels": found}
    for key, extra in (("missing", ["drop"] if dropping else []), ("other", [])):
        if draw(st.booleans()):
            declared[key] = draw(st.sampled_from(found + extra))
    return declared


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    adjacency = draw(st.sampled_from(["replace-one", "add-remove"]))
    dropping = adjacency == "add-remove"
    columns = draw(st.dictionaries(names, st.one_of(numeric(dropping), categorical(dropping)), min_size=1, max_size=5))
    unit: object = "row"
    if draw(st.booleans()):
        unit = {"column": draw(names.filter(lambda name: name not in columns)), "max_rows": draw(st.integers(1, 10**6))}
    declared: dict[str, Any] = {"adjacency": adjacency, "unit": unit, "columns": columns}
    if draw(st.booleans()):
        declared["norm_bound"] = draw(st.one_of(st.integers(1, 100), st.floats(1e-3, 1e3)))
    return Schema.from_dict(declared)


def same(one: Schema, other: Schema) -> bool:
    """Equal, in the types and the order of everything too: 1, 1.0 and true are equal in Python, but not the same level."""
    return one == other and repr(one) == repr(other)


@given(schemas())
def test_any_schema_survives_a_dictionary(schema: Schema) -> None:
    assert same(Schema.from_dict(schema.to_dict()), schema)


@given(schema=schemas())
def test_any_schema_survives_a_file(tmp_path_factory: pytest.TempPathFactory, schema: Schema) -> None:
    path = tmp_path_factory.getbasetemp() / "any-schema.toml"
    path.write_text(schema.to_toml(), encoding="utf-8", newline="")
    assert same(Schema.load(path), schema)


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "back\\slash", "new\nline", "tab\t", "Größe", "体重", "a.b", "", "[x]", "🙂"]
)
def test_odd_names_and_levels_survive_a_file(name: str, tmp_path: Path) -> None:
    schema = Schema((Categorical(name, (name, name + "2"), name, name + "2"),), "replace-one", Unit(name + " id", 2))
    path = tmp_path / "schema.toml"
    path.write_text(schema.to_toml(), encoding="utf-8", newline="")
    assert same(Schema.load(path), schema)


def test_numpy_floats_are_written_as_numbers() -> None:
    schema = Schema((Numeric("a", np.float64(0.1), np.float64(2.0)),), "replace-one", norm_bound=np.float64(1.5))
    assert Schema.from_dict(tomllib.loads(schema.to_toml())) == schema


# The template


def test_a_template_holds_names_and_kinds_and_leaves_the_rest_open() -> None:
    text = template({"age": "number", "ward": "category", 'the "odd" one\n': "number"})
    assert tomllib.loads(text) == {
        "adjacency": "?",
        "unit": "row",
        "columns": {"age": {"bounds": ["?", "?"]}, "ward": {"levels": ["?"]}, 'the "odd" one\n': {"bounds": ["?", "?"]}},
    }


@given(st.dictionaries(names, st.sampled_from(["number", "category"])))
def test_a_template_is_valid_for_any_names(kinds: dict[str, Any]) -> None:
    columns = tomllib.loads(template(kinds)).get("columns", {})
    assert columns == {name: {"bounds": ["?", "?"]} if kind == "number" else {"levels": ["?"]} for name, kind in kinds.items()}
    assert list(columns) == list(kinds)


@pytest.mark.parametrize(
    ("kind", "message"), [("number", "column 'x': its bounds have not"), ("category", "column 'x': its levels have not")]
)
def test_a_template_cannot_be_used_before_it_is_filled_in(kind: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(template({"x": kind}))
    with pytest.raises(DeclarationError, match=message):
        Schema.load(path)


def test_a_template_with_bounds_still_needs_its_adjacency(tmp_path: Path) -> None:
    filled = template({"x": "number"}).replace('["?", "?"]', "[0, 1]")
    path = tmp_path / "schema.toml"
    path.write_text(filled)
    with pytest.raises(DeclarationError, check=about("adjacency")):
        Schema.load(path)
    path.write_text(filled.replace('adjacency = "?"', 'adjacency = "add-remove"'))
    assert Schema.load(path) == Schema((Numeric("x", 0, 1),), "add-remove")
