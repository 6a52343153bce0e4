"""Every kind checks itself, is written as plain data and read back, and has a digest and a price."""

from __future__ import annotations

import pickle
import re
from dataclasses import FrozenInstanceError, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.refusals import about
from tests.unit.holder.asked import ASKED, Asked, every_kind

import noisewise as nw
from noisewise.errors import DeclarationError, NoisewiseError
from noisewise.holder.plan import plan_of
from noisewise.holder.request import Request
from noisewise.kinds import Kind, kind_from_dict, kind_named, kinds, registry
from noisewise.kinds.model import Start

PROBABILITY: dict[str, Any] = {"ask": "posterior-probability", "of": "x", "at": [0]}

START = Start((1, -0.5), ((1, 0), (0.25, 2)), 1)

ACCEPTED: dict[str, tuple[Kind, dict[str, Any]]] = {
    "gram": (nw.Gram(), {"name": "gram"}),
    "gram, blanks": (nw.Gram(" age:ward "), {"name": "gram", "terms": "age:ward"}),
    "gram, average of one": (nw.Gram(average=1), {"name": "gram"}),
    "gram, all": (nw.Gram("age:ward", "gaussian", 5),
                  {"name": "gram", "terms": "age:ward", "mechanism": "gaussian", "average": 5}),
    "model": (nw.Model("y ~ x "), {"name": "model", "formula": "y ~ x", "family": "gaussian"}),
    "model, all": (nw.Model("y ~ x", "I(x**2)", "logistic", 2, START),
                   {"name": "model", "formula": "y ~ x", "terms": "I(x**2)", "family": "logistic", "rounds": 2,
                    "start": {"coefficients": [1.0, -0.5], "coordinates": [[1.0, 0.0], [0.25, 2.0]], "scale": 1.0}}),
    "moments": (nw.Moments(" y ~ x"), {"name": "moments", "formula": "y ~ x"}),
    "moments, all": (nw.Moments("y ~ x", "I(x**2)", {"yx": 2, "x": 1}),
                     {"name": "moments", "formula": "y ~ x", "terms": "I(x**2)", "blocks": {"x": 1.0, "yx": 2.0}}),
    "adassp": (nw.AdaSSP("y ~ x ", "x:z"), {"name": "adassp", "formula": "y ~ x", "terms": "x:z"}),
    "partition": (nw.Partition("y ~ x", 10, {"ask": "bic", "of": "x"}),
                  {"name": "partition", "formula": "y ~ x", "parts": 10,
                   "ask": [nw.Criterion("bic", "x").to_dict()]}),
    "partition, all": (nw.Partition("y ~ x", 10, [nw.Criterion("bic", "x")], {"name": "zellner", "g": 5}, "k-norm"),
                       {"name": "partition", "formula": "y ~ x", "parts": 10, "ask": [nw.Criterion("bic", "x").to_dict()],
                        "prior": {"name": "zellner", "g": 5.0}, "mechanism": "k-norm"}),
    "rows": (nw.Rows(), {"name": "rows", "copies": 1}),
    "rows, all": (nw.Rows(2, {"b": 2, "a": 1}, "laplace"),
                  {"name": "rows", "copies": 2, "shares": {"a": 1.0, "b": 2.0}, "mechanism": "laplace"}),
    "bounds": (nw.Bounds("age"), {"name": "bounds", "of": {"age": [None, None]}, "tail": 0.005, "digits": 3}),
    "bounds, several": (nw.Bounds(["age", "stay"]), {"name": "bounds", "of": {"age": [None, None], "stay": [None, None]},
                                                     "tail": 0.005, "digits": 3}),
    "bounds, all": (nw.Bounds({"age": (0, None)}, 0.01, 2),
                    {"name": "bounds", "of": {"age": [0.0, None]}, "tail": 0.01, "digits": 2}),
    "binary": (nw.Binary("smoker", 200, 3), {"name": "binary", "column": "smoker", "rows": 200, "copies": 3}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_kind_is_plain_data_and_back(case: str) -> None:
    kind, plain = ACCEPTED[case]
    assert kind.to_dict() == plain
    again = kind_from_dict(plain)
    assert again == kind and type(again) is type(kind) and again.digest() == kind.digest() and hash(again) == hash(kind)
    assert kind_named(plain["name"]) is type(kind)


def test_every_kind_is_in_these_tests() -> None:
    names = {kind.name for kind in kinds()}
    assert {kind.name for kind, _ in ACCEPTED.values()} == names == {make.__self__.name for make, _ in REJECTED}


REJECTED: list[tuple[Any, dict[str, Any]]] = [
    *((nw.Gram.from_options, options) for options in (
        {"terms": 5}, {"mechanism": 3}, {"average": 0}, {"average": -2}, {"average": 2.5}, {"average": True}, {"average": "5"},
        {"average": 10**20})),
    *((nw.Model.from_options, {"formula": "y ~ x"} | options) for options in (
        {"formula": None}, {"formula": 5}, {"terms": 5}, {"family": "cauchy"}, {"family": None}, {"family": 3}, {"rounds": -1},
        {"rounds": 9}, {"rounds": 1.0}, {"rounds": True}, {"start": "made.nwr"}, {"start": {}},
        {"start": {"coefficients": [1.0]}},
        {"start": {**START.to_dict(), "scale": 0.0}}, {"start": {**START.to_dict(), "scale": float("nan")}},
        {"start": {**START.to_dict(), "coefficients": [1.0]}}, {"start": {**START.to_dict(), "coordinates": [[1.0], [1.0, 2.0]]}},
        {"start": {**START.to_dict(), "coefficients": [10**400, 1.0]}}, {"start": {**START.to_dict(), "more": 1}})),
    *((nw.Moments.from_options, {"formula": "y ~ x"} | options) for options in (
        {"formula": None}, {"formula": 5}, {"terms": 5}, {"blocks": {}}, {"blocks": ["x"]}, {"blocks": {"xy": 1}},
        {"blocks": {"yxxxxxx": 1}}, {"blocks": {"x": 0}}, {"blocks": {"x": "1"}}, {"blocks": {"x": float("inf")}},
        {"blocks": {"x": float("nan")}})),
    *((nw.AdaSSP.from_options, options) for options in ({"formula": None}, {"formula": 5}, {"formula": "y ~ x", "terms": 5})),
    *((nw.Partition.from_options, {"formula": "y ~ x", "parts": 8, "ask": PROBABILITY} | options) for options in (
        {"formula": None}, {"parts": None}, {"parts": 1}, {"parts": 8.0}, {"parts": True}, {"parts": 100_001}, {"ask": []},
        {"ask": None}, {"ask": "x"}, {"ask": [PROBABILITY, PROBABILITY]}, {"ask": {"ask": "mean", "of": "x"}},
        {"prior": "cauchy"}, {"prior": "zellner"}, {"mechanism": 3})),
    *((nw.Rows.from_options, options) for options in (
        {"copies": 0}, {"copies": 1001}, {"copies": 2.0}, {"copies": True}, {"shares": ["age"]}, {"shares": {"age": 0}},
        {"shares": {"age": -1}}, {"shares": {"age": "2"}}, {"shares": {"age": float("nan")}},
        {"shares": {"age": 1e13}}, {"shares": {"age": 1e-13}}, {"shares": {1: 2}},
        {"mechanism": 3})),
    *((nw.Bounds.from_options, {"of": "age"} | options) for options in (
        {"of": []}, {"of": {}}, {"of": 3}, {"of": [3]}, {"of": ["age", "age"]}, {"of": {"age": (0, 1)}}, {"of": {"age": 5}},
        {"of": {"age": (float("inf"), None)}}, {"tail": "much"}, {"tail": 0.7}, {"tail": float("nan")},
        {"tail": True}, {"digits": 2.5}, {"digits": 0})),
    *((nw.Binary.from_options, {"column": "smoker", "rows": 10} | options) for options in (
        {"column": ""}, {"column": 3}, {"rows": 0}, {"rows": 2.0}, {"rows": True}, {"rows": 2**60}, {"copies": 0},
        {"copies": 10_001})),
]


def named(value: Any) -> str:
    return str(value)[:60] if isinstance(value, dict) else value.__self__.name


@pytest.mark.parametrize(("make", "options"), REJECTED, ids=named)
def test_a_kind_refuses_wrong_options_when_it_is_made(make: Any, options: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError) as refused:
        make(options)
    assert refused.value.rule and refused.value.found and refused.value.advice


@pytest.mark.parametrize(("plain", "words"), [
    ({"name": "histogram"}, "unknown kind.*known: gram, model, moments"), ({}, "unknown kind"),
    ({"name": ["gram"]}, "unknown kind"),
    *((given, "dictionary of its name and options") for given in ("gram", None, {1: 2})),
    ({"name": "gram", "formula": "y ~ x"}, "unknown option.*known: terms, mechanism, average"),
    ({"name": "moments"}, "lacks a required option"), ({"name": "binary", "column": "a"}, "lacks a required option"),
])
def test_what_is_no_kind_is_refused(plain: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        kind_from_dict(plain)


@every_kind()
def test_other_options_have_another_digest(asked: Asked) -> None:
    every = [asked.kind, *asked.others]
    assert len({kind.digest() for kind in every}) == len(every) == len(set(every))


DIGESTS = {
    "gram": (nw.Gram(), "e19c61174a161f33"),
    "gram, terms": (nw.Gram("age:ward"), "dcb5a9742b26a31b"),
    "rows": (nw.Rows(copies=2, shares={"age": 2}), "61b8e6860a9a049a"),
    "bounds": (nw.Bounds({"age": (0, None)}), "ed316513395ff432"),
    "binary": (nw.Binary("smoker", rows=200), "7af8a0b6a37d0da6"),
}


@pytest.mark.parametrize("case", DIGESTS)
def test_digests_stay_what_they_were(case: str) -> None:
    """A ledger knows a repetition by them, whatever version asks again."""
    kind, digest = DIGESTS[case]
    assert kind.digest()[:16] == digest


def test_an_option_added_later_leaves_digests_alone() -> None:
    @dataclass(frozen=True)
    class Newer(nw.Gram):
        name: ClassVar[str] = "gram"
        later: str | None = None

    assert Newer("age:ward").digest() == nw.Gram("age:ward").digest() != Newer("age:ward", later="x").digest()


@every_kind()
def test_a_kind_cannot_be_changed(asked: Asked) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(asked.kind, fields(asked.kind)[0].name, None)


@every_kind()
def test_every_kind_says_what_it_is_for(asked: Asked) -> None:
    kind = asked.kind
    assert kind.name and kind.purpose and kind.use and kind.title(asked.schema) and kind.variant.startswith(kind.name)
    assert kind.room(asked.schema) >= 65_536 and bool(kind.columns(asked.schema)) == kind.has_columns
    kind.check_columns(asked.schema, kind.columns(asked.schema))
    if kind.has_columns:
        with pytest.raises(NoisewiseError):
            kind.check_columns(asked.schema, kind.columns(asked.schema)[1:])


@every_kind()
def test_the_price_of_a_kind_is_known_before_rows_are(asked: Asked) -> None:
    """It composes: twice the same is twice epsilon by the basic rule, and less room for anything is no cheaper."""
    cost = plan_of(asked.kind, asked.schema, asked.epsilon, asked.delta).cost()
    assert (cost.epsilon, cost.delta) == (asked.epsilon, asked.delta or 0.0)
    assert asked.kind.price(asked.schema, epsilon=asked.epsilon, delta=asked.delta) == cost
    more = plan_of(asked.kind, asked.schema, 2 * asked.epsilon, asked.delta).cost()
    assert more.epsilon == 2 * cost.epsilon and more != cost
    assert type(cost).from_dict(cost.as_dict()) == cost


@every_kind()
def test_a_plan_has_all_defaults_filled_in_and_is_the_plan_of_what_it_says(asked: Asked) -> None:
    plan = plan_of(asked.kind, asked.schema, asked.epsilon, asked.delta)
    again = plan_of(plan.kind, asked.schema, asked.epsilon, asked.delta)
    assert again.kind == plan.kind and again.cost() == plan.cost()
    first, second = (Request(one.kind, asked.schema, one.epsilon, one.delta) for one in (plan, again))
    assert first.digest() == second.digest()


def test_all_requests_of_these_tests_are_different() -> None:
    digests = [Request(asked.kind, asked.schema, asked.epsilon, asked.delta or 0.0).digest() for asked in ASKED.values()]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(("kind", "option"), [
    (nw.Rows(shares={"age": 2}), "shares"), (nw.Moments("y ~ x", blocks={"yx": 2}), "blocks"),
    (nw.Bounds({"age": (0, None)}), "of")])
def test_no_option_can_be_changed_afterwards(kind: Kind, option: str) -> None:
    value, before = getattr(kind, option), kind.digest()
    with pytest.raises(TypeError):
        value["age"] = -1.0
    with pytest.raises(AttributeError, match="create another kind"):
        value._items = ()
    copied = pickle.loads(pickle.dumps(kind))
    assert copied == kind and hash(copied) == hash(kind) and copied.digest() == kind.digest() == before
    assert dict(value) == value and repr(value) == repr(dict(value)) and len(value) == 1


def test_equal_kinds_have_equal_hashes() -> None:
    assert nw.Bounds(["a", "b"]) == nw.Bounds(["b", "a"]) and hash(nw.Bounds(["a", "b"])) == hash(nw.Bounds(["b", "a"]))
    assert nw.Rows(shares={"a": 1, "b": 2}) == nw.Rows(shares={"b": 2.0, "a": 1.0})
    assert nw.Rows(shares={"a": 1, "b": 2}) != nw.Rows(shares={"a": 2, "b": 1}) != nw.Rows()


@every_kind()
def test_a_kind_with_its_defaults_filled_in_asks_for_the_same(asked: Asked) -> None:
    settled = plan_of(asked.kind, asked.schema, asked.epsilon, asked.delta)
    again = plan_of(settled.kind, asked.schema, asked.epsilon, asked.delta)
    assert again.kind == settled.kind and again.cost() == settled.cost()


def test_rows_of_categories_and_far_shares_can_be_asked_for_again() -> None:
    answers = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"answer": {"levels": ["no", "yes"]}}})
    numbers = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {name: {"bounds": [0, 1]} for name in ("age", "stay")}})
    for schema, kind in ((answers, nw.Rows()), (numbers, nw.Rows(shares={"age": 1e-4, "stay": 1e5}))):
        settled = plan_of(kind, schema, 2.0, None)
        assert plan_of(settled.kind, schema, 2.0, None).cost() == settled.cost()
    with pytest.raises(NoisewiseError, check=about("mechanism")):
        plan_of(nw.Rows(mechanism="randomised-response"), numbers, 2.0, None)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_a_name_instead_of_an_object_is_refused_with_the_object_that_was_meant(kind: type[Kind]) -> None:
    schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {"age": {"bounds": [0, 1]}}})
    for given in (kind, kind.name):
        with pytest.raises(DeclarationError, match=rf"kind must be.*noisewise\.{kind.__name__}\("):
            nw.release({}, schema, given, epsilon=1.0)  # type: ignore[arg-type]


def test_a_room_asks_the_registry_for_its_own_files_only() -> None:
    """The walls see imports; what the registry imports by name they do not see. A price is the holder's, and kinds ask for it."""
    allowed = {"holder": {"holder", "kinds"}, "command": {"cli"}, "contents": {"releases"}, "audit": {"audits"},
               "posterior": {"posterior"}, "check": {"results"}, "selection": {"selection"}, "answers": {"answers"},
               "report": {"reports"}}
    assert set(registry.ROOMS) <= set(allowed)
    home = Path(nw.__file__).parent
    found = [(name, path.relative_to(home).parts[0]) for path in home.rglob("*.py") if path.name != "registry.py"
             for name in re.findall(r"(?:module_of|has_room)\([^)]*?, \"(\w+)\"\)", path.read_text())]
    assert len(found) >= 8 and all(room in allowed[name] for name, room in found), found
