"""What holds for a release of every kind: how it is made, compared, written, read and described."""

from __future__ import annotations

import copy
import dataclasses
import html
import json
import os
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.releases.examples_of_releases import (
    DECLARED,
    EXAMPLES,
    HEAD,
    OF_HOLDERS,
    OF_ONE,
    ONE_OF_EACH,
    decoded,
    document,
    every_example,
    removing,
    setting,
    with_less_noise,
)

import noisewise as nw
from noisewise.errors import IncompatibleReleasesError, ReleaseError, ReleaseFormatError, ReleaseWriteError
from noisewise.kinds import kinds
from noisewise.releases import append
from noisewise.releases.batches import check_append
from noisewise.releases.contribution import today
from noisewise.releases.format import decode, encode
from noisewise.releases.release import FORMAT_VERSION, Release, contribution_of
from noisewise.releases.source import source_of
from noisewise.schema import Schema

Make = Callable[..., Release]


def test_every_kind_is_in_these_tests() -> None:
    assert {name.partition(",")[0] for name in EXAMPLES} == set(ONE_OF_EACH) == {kind.name for kind in kinds()}
    assert all(make().kind.name == name.partition(",")[0] for name, make in EXAMPLES.items())


# Writing and reading


@every_example()
def test_what_is_written_is_read_back_exactly(make: Make, tmp_path: Path) -> None:
    made = make()
    data = encode(made)
    again = decode(data)
    assert again == made and encode(again) == data and again.version == FORMAT_VERSION == "1.0"
    assert again.columns == made.columns and type(again.contents) is contribution_of(made.kind)
    path = made.save(tmp_path / "made.nwr")
    found = nw.load(path)
    assert path.read_bytes() == data and found == made and found.describe() == made.describe()
    assert source_of(found) == source_of(made)
    assert found.save(tmp_path / "again.nwr").read_bytes() == data


@every_example(OF_HOLDERS)
def test_several_holders_are_written_and_read_back(make: Make) -> None:
    together = nw.combine(make(seed=seed) for seed in (1, 2, 3))
    assert together.holders == 3 and decode(encode(together)) == together
    assert [one.fingerprint() for one in together.contributions] == together.fingerprints()


@every_example()
def test_the_file_says_what_is_needed_and_nothing_else(make: Make) -> None:
    made = make()
    found = document(made)
    columns = ["columns"] if made.columns else []
    assert list(found) == ["format", "version", "kind", "schema", "rules", *columns, "contributions"]
    assert (found["format"], found["kind"], found["schema"]) == ("noisewise-release", made.kind.to_dict(), made.schema.to_dict())
    [one] = found["contributions"]
    public = made.schema.rows_are_public
    assert list(one) == [*(["rows"] if public else []), "privacy", "library", "created", "contents"]
    assert list(one["privacy"]) == ["epsilon", "delta", "mechanism", "sensitivity", "statement"]
    fields = contribution_of(made.kind).FIELDS.model_fields
    assert {name for name, field in fields.items() if field.is_required()} <= set(one["contents"]) <= set(fields)
    assert found["rules"] == made.rules() and found["rules"][:len(made.schema.rules())] == made.schema.rules()


@every_example()
def test_the_number_of_rows_is_stated_if_it_is_public_and_only_then(make: Make) -> None:
    made = make()
    public = made.schema.rows_are_public
    assert (made.contents.rows is not None) == public
    assert "not public" in made.describe() or public
    other = Schema.from_dict({**made.schema.to_dict(), "adjacency": "add-remove" if public else "replace-one", "unit": "row"})
    assert other.rows_are_public != public
    with pytest.raises(ReleaseError, match="stated exactly" if not public else "the number of rows must not be stated"):
        Release(made.kind, other, made.contributions, columns=made.columns)
    if not public:
        with pytest.raises(ReleaseError, match="read"):
            encode(make(extra={"rows": 1234}))  # nor does it slip in as a field of a newer format


def objects(found: Any, names: bool = False) -> Iterator[dict[str, Any]]:
    """Every object of a document whose keys are names of fields; ``names``: those of this one are not."""
    if isinstance(found, dict):
        if not names:
            yield found
        for key, value in found.items():
            keyed_by_names = not names and isinstance(value, dict) and (
                key in ("blocks", "stratum") or (key == "columns" and "share" not in value))
            if key != "kind":
                yield from objects(value, keyed_by_names)
    elif isinstance(found, list):
        for value in found:
            yield from objects(value)


@every_example()
def test_unknown_fields_of_a_newer_version_are_kept_in_every_place(make: Make) -> None:
    changed = document(make())
    changed["version"] = "1.7"
    places = list(objects(changed))
    for number, place in enumerate(places):
        place["unknown"] = {"nested": [number, 2.5, None, {"deep": True}]}
    changed["declared"] = "a name that is used inside"
    changed["contributions"][0]["model_config"] = {"__class__": "x", "model_extra": 1}
    found = decoded(changed)
    assert len(places) > 5 and json.loads(encode(found)) == changed and decode(encode(found)) == found
    assert found.version == "1.7" and found.extra["declared"] == changed["declared"] and found.contents.extra["unknown"]
    assert found.schema == make().schema and found != make() and found.kind == make().kind


@every_example(ONE_OF_EACH)
@pytest.mark.parametrize("extra", [
    *({"future": value} for value in ({1, 2}, float("nan"), (1, 2), "\x00", object())),
    {"kind": "other"}, {"contributions": []}, {"schema": {"adjacency": "add-remove"}}, {1: 2}])
def test_what_cannot_be_read_back_is_not_written(make: Make, extra: Any, tmp_path: Path) -> None:
    made = make()
    odd = Release(made.kind, made.schema, made.contributions, columns=made.columns, extra=extra)
    with pytest.raises(ReleaseWriteError, match=r"read|JSON"):
        odd.save(tmp_path / "a.nwr")
    assert not (tmp_path / "a.nwr").exists()


@every_example(ONE_OF_EACH)
def test_what_a_field_is_for_cannot_be_said_twice(make: Make) -> None:
    for name in (*contribution_of(make().kind).FIELDS.model_fields, "epsilon"):
        place = {"privacy": {name: 7}} if name == "epsilon" else {"contents": {name: 7}}
        if name not in {**make().contents.contents(), "epsilon": 1}:
            continue
        with pytest.raises(ReleaseError, match="would read back differently"):
            encode(make(extra=place))


@every_example()
def test_less_noise_than_is_promised_is_neither_written_nor_read(make: Make) -> None:
    made = make()
    found = with_less_noise(made.contents, 0.1)
    assert bool(found) == (made.kind.name != "bounds")
    for less in found:
        odd = made.with_contributions((less,))
        with pytest.raises(ReleaseError, match="could not be read back.*(too small|at least)"):
            encode(odd)


WRONG_IN_A_FILE: dict[str, tuple[Any, str]] = {
    "another format": (setting("format", to="other"), "noisewise-release"),
    "no schema": (removing("schema"), "schema: Field required"),
    "no contributions": (removing("contributions"), "contributions: "),
    "an empty list": (setting("contributions", to=[]), "at least one contribution"),
    "no list": (setting("contributions", to={}), "valid list"),
    "no epsilon": (removing("contributions", 0, "privacy", "epsilon"), r"contributions\.0\.privacy\.epsilon: Field required"),
    "a text": (setting("contributions", 0, "privacy", "epsilon", to="1"), "valid number"),
    "a truth": (setting("contributions", 0, "privacy", "epsilon", to=True), "valid number"),
    "negative": (setting("contributions", 0, "privacy", "epsilon", to=-1.0), "epsilon must be positive"),
    "delta": (setting("contributions", 0, "privacy", "delta", to=1), "delta must be at least 0 and below 1"),
    "sensitivity": (setting("contributions", 0, "privacy", "sensitivity", to=0), "sensitivity must be positive"),
    "mechanism": (setting("contributions", 0, "privacy", "mechanism", to=" "), "mechanism must be non-empty text"),
    "no statement": (setting("contributions", 0, "privacy", "statement", to=""), "statement must be non-empty text"),
    "control": (setting("contributions", 0, "privacy", "statement", to="\x1b[2Jgone"), "control characters"),
    "half": (setting("contributions", 0, "library", to="\ud800"), "lone surrogates"),
    "time of day": (setting("contributions", 0, "created", to="2026-11-15T09:00:00"), "must be a date"),
    "rows": (setting("contributions", 0, "rows", to=250.0), r"contributions\.0\.rows"),
    "negative rows": (setting("contributions", 0, "rows", to=-1), "rows"),
    "too many rows": (setting("contributions", 0, "rows", to=2**62), "rows"),
    "no contents": (removing("contributions", 0, "contents"), r"contributions\.0\.contents: Field required"),
    "other contents": (setting("contributions", 0, "contents", to=[]), r"contributions\.0\.contents"),
    "adjacency": (setting("schema", "adjacency", to="sometimes"), "adjacency"),
    "unit": (setting("schema", "unit", to="person"), "unit"),
    "stratum": (setting("schema", "stratum", to={"year": 3}), "stratum"),
    "no columns": (setting("schema", "columns", to={}), "columns"),
    "an unknown option": (setting("kind", "colour", to="blue"), "kind.*unknown option.*upgrade"),
    "no kind": (setting("kind", to=None), "reads releases of kind"),
    "an unknown kind": (setting("kind", to={"name": "quantiles"}), r"'quantiles' in a file of version 1\.0\); upgrade"),
    "a list": (setting("columns", to=[]), "columns"),
    "rules": (setting("rules", to="none"), "rules"),
}


@every_example(ONE_OF_EACH)
@pytest.mark.parametrize("wrong", WRONG_IN_A_FILE)
def test_what_is_wrong_with_a_file_is_said(make: Make, wrong: str) -> None:
    change, words = WRONG_IN_A_FILE[wrong]
    changed = document(make())
    change(changed)
    with pytest.raises(ReleaseFormatError, match=words) as refused:
        decoded(changed)
    assert refused.value.rule and len(str(refused.value)) < 2000


@every_example(ONE_OF_EACH)
def test_every_field_of_the_contents_is_needed_and_has_its_type(make: Make) -> None:
    found = document(make())["contributions"][0]["contents"]
    for name in found:
        for change in (removing("contributions", 0, "contents", name), setting("contributions", 0, "contents", name, to="?"),
                       setting("contributions", 0, "contents", name, to={"?": 1})):
            changed = document(make())
            change(changed)
            with pytest.raises(ReleaseFormatError, match=rf"contributions\.0\.contents\.{name}"):
                decoded(changed)


SHORT_FORMS: dict[str, dict[str, Any]] = {
    "gram": {"average": 1}, "model": {"start": None}, "adassp": {"formula": "age ~ ward + smoker "}, "moments": {"terms": None},
    "partition": {"ask": {"ask": "posterior-probability", "of": "x", "at": [0]}}, "rows": {"mechanism": None},
    "bounds": {"of": ["age", "length of stay"]}, "binary": {"copies": ...},
}


@pytest.mark.parametrize("name", SHORT_FORMS)
def test_a_kind_is_read_in_the_form_in_which_it_is_written(name: str) -> None:
    """What a caller may write in another way has one form in a file."""
    changed = document(EXAMPLES[name]())
    kind = {option: value for option, value in {**changed["kind"], **SHORT_FORMS[name]}.items() if value is not ...}
    [option] = SHORT_FORMS[name]
    with pytest.raises(ReleaseFormatError, match=f"kind: '{option}' is not in the form required in a file"):
        decoded({**changed, "kind": kind})


# What is no release


@every_example(ONE_OF_EACH)
def test_a_release_has_contributions_of_its_own_kind(make: Make) -> None:
    made = make()
    with pytest.raises(ReleaseError, match="at least one contribution"):
        Release(made.kind, made.schema, ())
    for name in ONE_OF_EACH:
        if name != made.kind.name:
            with pytest.raises(ReleaseError, match=f"release of kind {made.kind.name} must have contributions of the same kind"):
                Release(made.kind, made.schema, EXAMPLES[name]().contributions, columns=made.columns)
    for wrong in (made.kind.name, None, type(made.kind)):
        with pytest.raises(ReleaseError, match="must have a kind"):
            Release(wrong, made.schema, made.contributions)  # type: ignore[arg-type]


@every_example(ONE_OF_EACH)
def test_a_contribution_counts_once(make: Make) -> None:
    made = make()
    words = "fake precision" if made.kind.holders else "exactly one contribution"
    with pytest.raises(ReleaseError, match=words):
        made.with_contributions(made.contributions * 2)


@every_example(ONE_OF_EACH)
def test_columns_are_those_of_the_kind(make: Make) -> None:
    made = make()
    if made.columns:
        assert made.basis is made.basis and made.basis.columns == made.columns == made.kind.columns(made.schema)
        with pytest.raises(ReleaseError):
            Release(made.kind, made.schema, made.contributions, columns=made.columns[1:])
    else:
        gram = EXAMPLES["gram"]()
        with pytest.raises(ReleaseError, match="has no columns"):
            Release(made.kind, made.schema, made.contributions, columns=gram.columns)


WRONG_HEADS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0.0}, "epsilon must be positive"), ({"epsilon": float("inf")}, "epsilon must be a finite number"),
    ({"epsilon": float("nan")}, "epsilon must be a finite number"), ({"epsilon": "1"}, "epsilon must be a number"),
    ({"sensitivity": -2.0}, "sensitivity must be positive"), ({"sensitivity": True}, "sensitivity must be a number"),
    ({"delta": 1.0}, "delta must be at least 0 and below 1"), ({"delta": -1e-9}, "delta must be at least 0 and below 1"),
    ({"delta": None}, "delta must be a number"), ({"rows": -1}, "rows must be a whole number"),
    ({"rows": True}, "rows must be a (whole )?number"), ({"rows": 2.5}, "rows must be a whole number"),
    ({"rows": 10**400}, "rows must be a"), ({"rows": 10**6000}, "rows must be a"), ({"rows": "many"}, "rows must be a"),
    ({"statement": " "}, "statement must be non-empty text"), ({"statement": 7}, "statement must be non-empty text"),
    ({"library": None}, "library must be non-empty text"), ({"library": ""}, "library must be non-empty text"),
    ({"mechanism": " "}, "mechanism must be non-empty text"), ({"created": "2026-11-15T10:00:00"}, "created must be a date"),
    ({"created": "20261115"}, "created must be a date"), ({"created": "2026-02-30"}, "created must be a date"),
    ({"created": "yesterday"}, "created must be a date"),
]


@every_example(ONE_OF_EACH)
@pytest.mark.parametrize(("changes", "words"), WRONG_HEADS)
def test_what_every_contribution_states_is_checked(make: Make, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ReleaseError, match=words) as refused:
        make(**changes)
    assert refused.value.found


@every_example(OF_ONE)
def test_a_sensitivity_that_follows_from_what_was_asked_for_is_that(make: Make) -> None:
    with pytest.raises(ReleaseError, match="the sensitivity of this release must be"):
        make(sensitivity=1.5 * make().contents.sensitivity)


@every_example(ONE_OF_EACH)
def test_plain_numbers_are_kept_whatever_was_given(make: Make) -> None:
    assert type(make(epsilon=np.float64(make().contents.epsilon)).contents.epsilon) is float
    if make().schema.rows_are_public:
        assert type(make(rows=np.int64(make().contents.rows)).contents.rows) is int


# Equality and what cannot be changed


@every_example()
def test_content_decides_equality(make: Make) -> None:
    made = make()
    assert made == make() == copy.deepcopy(made) == pickle.loads(pickle.dumps(made))
    changed = [make(seed=2), make(statement="In other words."), make(created="2024-02-29"), make(library="other"),
               make(extra={"future": 1}),
               Release(made.kind, made.schema, made.contributions, columns=made.columns, extra={"future": 1}),
               Release(made.kind, made.schema, made.contributions, columns=made.columns, version="1.2")]
    for one in changed:
        assert one != made and not one == made
    assert made != "a release" and made.contents != 1
    assert all(EXAMPLES[name]().contents != made.contents for name in ONE_OF_EACH if name != made.kind.name)
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


@every_example()
def test_nothing_can_be_changed_afterwards(make: Make) -> None:
    made = pickle.loads(pickle.dumps(make()))
    for frozen in (make(), made):
        with pytest.raises(dataclasses.FrozenInstanceError):
            frozen.version = "2.0"
        with pytest.raises(dataclasses.FrozenInstanceError):
            frozen.contents.epsilon = 2.0
        arrays = [value for value in vars(frozen.contents).values() if isinstance(value, np.ndarray)]
        arrays += [block.sums for block in getattr(frozen.contents, "blocks", {}).values()]
        for one in getattr(frozen.contents, "rounds", ()):
            arrays += [frozen.contents.look.sums, one.score, one.matrix, one.point.coefficients, one.point.coordinates]
        assert not any(array.flags.writeable for array in arrays)
        for mapping in (getattr(frozen.contents, name, None) for name in ("blocks", "columns")):
            if mapping is not None:
                with pytest.raises(TypeError):
                    mapping["age"] = None
    kept = {"future": [1]}
    release = Release(made.kind, made.schema, made.contributions, columns=made.columns, extra=kept)
    one = make(extra=kept)
    kept["future"].append(2)
    assert release.extra == one.contents.extra == {"future": [1]}


def test_the_declared_dictionary_is_left_alone() -> None:
    before = copy.deepcopy(DECLARED)
    for make in EXAMPLES.values():
        make()
    assert before == DECLARED


@every_example()
def test_fingerprints_tell_noisy_numbers_apart(make: Make) -> None:
    made = make()
    (found,) = made.fingerprints()
    assert len(found) == 32 and found == made.contents.fingerprint() == make().contents.fingerprint()
    assert len({make(seed=seed).contents.fingerprint() for seed in (1, 2, 3)}) == 3
    assert all(EXAMPLES[name]().fingerprints() != [found] for name in ONE_OF_EACH if name != made.kind.name)


# Words

SAYS: dict[str, tuple[str, ...]] = {
    "gram": ("36 noisy numbers", "age, ward[B], ward[C], smoker", "T2(age)", "250 (public)", "one row; neighbours: replace-one",
             "epsilon 1, delta 1e-06. Whoever", "standard deviation 8 on the diagonal, 5.657 off it, none on the number of rows"),
    "gram, persons": ("one person (at most 3 rows)", "noisy: their number is not public", "8 on the number of rows"),
    "gram, laplace": ("epsilon 1. Whoever", "laplace; standard deviation 9 on the diagonal"),
    "gram, wishart": ("wishart, 100 degrees of freedom; standard deviation",),
    "gram, averaged": ("250 (public), averaged in 36 random groups of 7",),
    "model": ("kind model: 47 noisy numbers", "smoker ~ age + ward: this regression", "250 (public)",
              "5 sums of single columns, with 4 % of the budget", "2 rounds that looked for the coefficients, then the last one, "
              "with 82 % of the budget: sums over rows of the score and of the information, for 4 coefficients",
              "about the weight of 10 rows"),
    "model, persons": ("one person (at most 3 rows)", "about 252, with noise of standard deviation",
                       "the information, and of squared residuals, and of the score's squares"),
    "adassp": ("kind adassp: 15 noisy numbers", "age ~ ward + smoker: one regression, by a point estimate",
               "smallest eigenvalue of the predictors' matrix 40, with noise of standard deviation 5", "cost: epsilon 0.3"),
    "moments": ("kind moments: 13 noisy numbers", "smoker ~ age + ward: logistic, probit or Poisson",
                "6 on xx (each product of 2 predictors)", "3 on yx (the response times each predictor)"),
    "moments, persons": ("not used xxx: this version of noisewise uses no moments of this order",),
    "partition": ("kind partition: 1 noisy number", "their number is not public", "20 random parts, independently filled",
                  "k-norm, scale 2", "epsilon 0.5. Whoever", "P(x <= 0), clipped to [-1.5, 1.5]"),
    "partition, gaussian": ("one row; neighbours: replace-one", "12345 (public)", "epsilon 1.25, delta 1e-07",
                            "100 random parts of about 123 rows, equal", "normal-inverse-gamma, scale 2.5",
                            "P(age <= 0), clipped to [-2, 2]", "gaussian, scale 36.5"),
    "rows": ("kind rows: 30 noisy numbers", "5 columns, 2 copies", "3 (public)",
             "laplace noise on each of 2 copies: age, standard deviation 113.1;",
             "randomised response on each of 2 copies: ward, kept with probability 0.5761", "in random order; SHA-256"),
    "rows, levels": ("kind rows: 6 noisy numbers", "1 column, 2 copies"),
    "bounds": ("kind bounds: 3 noisy numbers", "18 to 98. With probability 95 %, at most 117 rows",
               "(or 0.5 % of the rows plus 58, if that is more) lie beyond each",
               "lie beyond the upper bound, which does not lie further out", "epsilon 0.1, delta 0, in equal parts for 3 bounds"),
    "binary": ("kind binary: 2 noisy numbers", "2 copies of 200 synthetic rows of 'smoker'", "with 'yes' 80, 76",
               "by 309 pseudo-rows of each level", "1000 (public)"),
}


@every_example()
def test_it_describes_itself(make: Make, request: pytest.FixtureRequest) -> None:
    made = make()
    text = made.describe()
    words = " ".join(text.split())
    assert words.startswith(f"noisewise release of kind {made.kind.name}: {made.contents.count():,} noisy number")
    for said in (made.kind.purpose, HEAD["statement"], f"neighbours: {made.adjacency}", "2026-11-15 by noisewise 0.1.0",
                 *SAYS.get(request.node.callspec.id, ())):
        assert said in words, said
    assert max(map(len, text.splitlines())) <= 100 or made.kind.name == "gram"
    assert (made.formula or "") in words and "holder 1" not in words


def test_all_kinds_are_described_in_these_tests() -> None:
    assert set(ONE_OF_EACH) <= set(SAYS) <= set(EXAMPLES)


@every_example(OF_HOLDERS)
def test_holders_are_described_one_by_one(make: Make) -> None:
    words = " ".join(nw.combine([make(), make(seed=2, epsilon=0.9995)]).describe().split())
    assert "from each of 2 holders" in words and "holder 1 rows" in words and "holder 2 rows" in words
    assert "epsilon 0.9995" in words and words.count(HEAD["statement"]) == 2


@every_example()
def test_machines_have_the_same_facts(make: Make) -> None:
    made = make()
    facts = json.loads(json.dumps(made.facts(), allow_nan=False))
    assert (facts["kind"], facts["format_version"]) == (made.kind.to_dict(), "1.0")
    assert facts["schema"] == json.loads(json.dumps(made.schema.to_dict()))
    assert ("columns" in facts) == bool(made.columns) and facts.get("columns", []) == [column.name for column in made.columns[1:]]
    [one] = facts["contributions"]
    for name in (*HEAD, "rows"):
        assert one[name] == getattr(made.contents, name), name
    assert "statistic" not in one and set(one) - {*HEAD, "rows"}


@every_example()
def test_it_is_shown_in_a_line_and_in_a_notebook(make: Make) -> None:
    made = make()
    text = repr(made)
    budget = f"(epsilon, delta) = ({made.contents.epsilon}, {made.contents.delta})>"
    assert text.startswith(f"<Release {made.kind.name}: {made.title()}, {made.adjacency}") and text.endswith(budget)
    assert len(text) < 200 and (made.formula or "") in text
    assert repr(made.contents).startswith(f"{type(made.contents).__name__}(rows=") and len(repr(made.contents)) < 200
    shown = made._repr_html_()
    heading = html.escape(made.describe().splitlines()[0])
    assert shown.startswith(f"<p><b>{heading}</b></p>") and html.escape(HEAD["statement"]) in shown
    assert "<script>" not in make(statement="<script>alert(1)</script>")._repr_html_()


def test_today_is_a_day_without_a_time() -> None:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", today())


# Holders


@every_example(OF_HOLDERS)
def test_releases_of_several_holders_go_together(make: Make, tmp_path: Path) -> None:
    one, two = make(), make(seed=2)
    together = nw.combine([one, two])
    assert together.contributions == one.contributions + two.contributions and together.schema == one.schema
    with pytest.raises(ReleaseError, match="release of one holder"):
        _ = together.contents
    path = one.save(tmp_path / "batches.nwr")
    assert check_append(path, one.kind, one.schema) == one
    assert append(path, two) == together == nw.load(path)
    for repeated in ([one, one], [one, two, one], [together, two], [one, make(statement="In other words.")]):
        with pytest.raises(IncompatibleReleasesError, match="fake precision"):
            nw.combine(repeated)


@every_example(OF_ONE)
def test_what_is_one_holders_is_refused_with_others(make: Make, tmp_path: Path) -> None:
    one, two = make(), make(seed=2)
    path = one.save(tmp_path / "one.nwr")
    assert nw.combine([one]) == one == nw.combine(one)
    with pytest.raises(IncompatibleReleasesError, match=f"of kind {one.kind.name} cannot be analysed together") as refused:
        nw.combine([one, two])
    assert refused.value.remedy == one.kind.use
    with pytest.raises(ReleaseError, match=rf"one\.nwr: expected a release of kind gram, .*kind {one.kind.name}"):
        nw.load_many(tmp_path)
    with pytest.raises(ReleaseWriteError, match="needs its own file"):
        check_append(path, one.kind, one.schema)
    with pytest.raises(ReleaseError, match="expected a release of kind gram, .* from one or several holders"):
        append(path, two)
    assert sorted(name for name in os.listdir(tmp_path) if not name.endswith(".parquet")) == ["one.nwr"]


@every_example(["adassp", "moments", "gram"])
def test_other_kinds_are_not_combined(make: Make) -> None:
    for name in ("adassp", "moments", "gram"):
        other = EXAMPLES[name](seed=2)
        if other.kind.name != make().kind.name:
            with pytest.raises(IncompatibleReleasesError, match=f"kind: {make().kind.name} and {name}") as refused:
                nw.combine([make(), other])
            assert "terms" not in (refused.value.found or "") and "formula" not in (refused.value.found or "")
