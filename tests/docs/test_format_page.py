"""The page about the format keeps its word: it names every field, its example is a release, and its readers read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel
from tests.golden.make_golden import GOLDEN, path_of

import noisewise as nw
from noisewise.kinds import Kind, kinds
from noisewise.kinds.binary import MOST_COPIES as MOST_BINARY_COPIES
from noisewise.kinds.model import MOST_ROUNDS
from noisewise.kinds.rows import MOST_COPIES
from noisewise.releases import files, json_text
from noisewise.releases.contents.partition import MECHANISMS
from noisewise.releases.contents.rows import MOST_CELLS
from noisewise.releases.fields import HolderFields, ReleaseFields
from noisewise.releases.release import FORMAT_VERSION, contribution_of
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS, MomentBlock, check_size
from noisewise.schema.partition import MOST_PARTS, PRIORS
from noisewise.schema.questions import ASKS, BAYES_PRIORS, COMBINATIONS, MOST_NUMBERS
from noisewise.scores.families import FAMILIES, Family
from noisewise.scores.likelihood import entry_variances

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "format.md").read_text(encoding="utf-8")
MOMENTS = (DOCS / "moments.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands under a heading, up to the next one that is not below it."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE | re.IGNORECASE)
    assert found, title
    return found[1]


def named(field: str, text: str) -> bool:
    """Whether a table of the text has a line for this field, alone or after those that it is within."""
    return re.search(rf"^\|[^|]*`([\w.*\[\]]+\.)?{re.escape(field)}`", text, flags=re.MULTILINE) is not None


def fields_of(model: type[BaseModel]) -> Iterator[str]:
    """The names of all fields, those of models within included."""
    for name, info in model.model_fields.items():
        yield info.alias or name
        yield from (inner for found in _models(info.annotation) for inner in fields_of(found))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        yield from (found for inner in get_args(annotation) for found in _models(inner))


def code(text: str, function: str) -> dict[str, Any]:
    """The names that the Python block with this function defines; what follows a function is left out."""
    source = next(found for found in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if f"def {function}(" in found)
    names: dict[str, Any] = {"np": np}
    exec(source.partition("\nfor name")[0], names)
    return names


# Fields and limits


def test_every_field_of_the_head_is_on_the_page() -> None:
    text = section("The head")
    inside = {"max_rows", "name", "factors", "column"}  # in sentences
    for name in {*fields_of(ReleaseFields), *fields_of(HolderFields), "contributions", "contents"} - inside:
        assert named(name, text), name
    assert all(f"`{name}`" in text or f'"{name}"' in text for name in inside)
    assert not named("colour", text)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_field_and_option_of_a_kind_is_in_its_section(kind: type[Kind]) -> None:
    text = section(kind.name)
    own = [*fields_of(contribution_of(kind).FIELDS), *(option.name for option in dataclass_fields(kind))]  # type: ignore[arg-type]
    shared = set(fields_of(contribution_of(nw.Gram).FIELDS)) if kind is nw.AdaSSP else set()  # "as for gram"
    missing = [name for name in own if not named(name, text) and name not in shared]
    assert own and missing == []
    assert f'"{kind.name}"' in section("The head") and f"`{kind.name}`" in section("Noise against promise")


def test_names_and_limits_of_the_page_are_those_of_the_code() -> None:
    assert PAGE.startswith(f"# The release file, format {FORMAT_VERSION}\n")
    for limit in (f"{files.SIZE_LIMIT:,} bytes", f"{json_text.MAX_DEPTH} levels"):
        assert limit in section("What this library refuses")
    partition = section("Partition")
    assert all(f'"{name}"' in partition for name in (*MECHANISMS, *PRIORS, *COMBINATIONS, *BAYES_PRIORS))
    assert all(f"`{ask}`" in partition for ask in ASKS)
    assert f"2 to {MOST_PARTS:,}" in partition and f"at most {MOST_NUMBERS}" in partition
    assert f"from 1 to {MOST_COPIES}" in section("Rows") and f"({MOST_CELLS:,})" in section("Rows")
    assert f"1 to {MOST_BINARY_COPIES:,}" in section("Binary")
    assert f"0 to {MOST_ROUNDS}" in section("Model") and f"at most {MOST_ROUNDS + 1}" in section("Model")
    assert all(f'"{name}"' in section("Model") for name in FAMILIES)


def test_the_page_about_moments_has_the_weights_and_limits_of_the_code() -> None:
    table = re.findall(r"^\| `(\w+)` \| Σ[^|]*\| ([\d.]+) \|$", MOMENTS, flags=re.MULTILINE)
    assert {name: float(weight) for name, weight in table} == dict(DEFAULT_BLOCKS)
    stated = dict(re.findall(r"`(x+)` (?:needs )?at most (\d+)", MOMENTS))
    assert set(stated) == {"xx", "xxxx", "xxxxxx"}
    for name, most in stated.items():
        check_size(MomentBlock.named(name), int(most))
        with pytest.raises(nw.NoisewiseError):
            check_size(MomentBlock.named(name), int(most) + 1)


# The example and the readers


def test_the_example_is_a_release_as_this_library_writes_it(tmp_path: Path) -> None:
    found = re.search(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    assert found
    path = tmp_path / "example.nwr"
    path.write_text(found[1], encoding="utf-8")
    release = nw.load(path)
    assert release.contents.rows == 400 and release.basis.names == ("1", "age", "ward[B]", "ward[C]", "T2(age)")
    assert release.save(tmp_path / "again.nwr").read_text(encoding="utf-8") == found[1]


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("gram")])
def test_the_reader_of_matrices_finds_what_the_library_finds(name: str) -> None:
    found = list(code(PAGE, "matrices")["matrices"](path_of(name)))
    expected = nw.load(path_of(name)).contributions
    assert len(found) == len(expected)
    for (matrix, variance), one in zip(found, expected, strict=True):
        assert np.array_equal(matrix, one.matrix) and np.array_equal(variance, one.variances)


def test_the_columns_of_the_page_are_those_of_the_library() -> None:
    document = json.loads(path_of("gram").read_text(encoding="utf-8"))
    table = {"age": np.array([18.0, 71.0, 98.0]), "Größe (cm)": np.array([49.5, 180.0, 230.25]),
             "ward": np.array(["A", "C", "B"], dtype=object), "grade": np.array([1, 2, 3], dtype=object),
             "smoker": np.array([False, True, True], dtype=object)}
    rows = [{name: cells[place] for name, cells in table.items()} for place in range(3)]
    value = code(PAGE, "value")["value"]
    by_page = [[value(column, row, document["schema"]["columns"]) for column in document["columns"]] for row in rows]
    np.testing.assert_allclose(by_page, nw.load(path_of("gram")).basis.evaluate(table), atol=1e-12)


def test_the_reader_of_moments_finds_what_the_library_finds() -> None:
    found = list(code(MOMENTS, "blocks")["blocks"](path_of("moments")))
    expected = nw.load(path_of("moments")).contributions
    assert len(found) == len(expected) == 2
    for blocks, one in zip(found, expected, strict=True):
        assert list(blocks) == list(one.blocks)
        for name, (monomials, sums, sds) in blocks.items():
            assert np.array_equal(sums, one.blocks[name].sums) and len(monomials) == len(sums)
            orders = MomentBlock.named(name).multiplicities(one.predictors)
            np.testing.assert_allclose(sds, one.blocks[name].noise / np.sqrt(orders), rtol=1e-14)
        np.testing.assert_allclose(blocks["xx"][2] ** 2, one.variances[1:-1, 1:-1][np.triu_indices(one.predictors)])


@pytest.mark.parametrize("name", ["model", "model-start"])
def test_the_reader_of_rounds_finds_what_the_library_finds(name: str) -> None:
    found = list(code(PAGE, "rounds")["rounds"](path_of(name)))
    expected = nw.load(path_of(name)).contributions
    assert [len(rounds) for rounds in found] == [len(one.rounds) for one in expected]
    for rounds, one in zip(found, expected, strict=True):
        for (coefficients, coordinates, score, matrix, sd, sds), made in zip(rounds, one.rounds, strict=True):
            assert np.array_equal(coefficients, made.point.coefficients)
            assert np.array_equal(coordinates, made.point.coordinates)
            assert np.array_equal(score, made.score) and np.array_equal(matrix, made.matrix) and sd == made.noise.score
            variances = entry_variances(made.noise.matrix, len(matrix))
            np.testing.assert_allclose(sds**2, variances)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_the_grids_and_limits_of_families_are_those_of_the_page(family: Family) -> None:
    """The sums of every file that was ever written are about these."""
    bounds, scale = {"number": (10.0, 30.0), "two levels": (0.0, 1.0), "count": (0.0, 100.0)}[family.response], 0.5
    start, step, count = family.grid(bounds, scale)
    last, middle = start + step * (count - 1), np.array([2.0])
    low, high = family.limits(middle, bounds, scale)
    mean = np.exp(2.0)
    root = np.sqrt(mean if family.name == "poisson" else mean + scale * mean**2)
    counted = (-8.0, np.log(100.0) + 1.5, np.floor(max(mean - 2.5 * root - 1, 0.0)), np.ceil(mean + 2.5 * root + 1))
    stated = {"gaussian": (10 - 2.3 * scale, 30 + 2.3 * scale, 2 - 2.3 * scale, 2 + 2.3 * scale), "logistic": (-16, 16, 0, 1),
              "probit": (-6, 6, 0, 1), "poisson": counted, "negative-binomial": counted}[family.name]
    assert (start, last, low[0], high[0]) == pytest.approx(stated, abs=2.0**-9 if family.response == "count" else 1e-9)
    assert count == 2**16 if family.name == "gaussian" else step == 2.0**-9
    assert f'| `"{family.name}"` |' in section("Model")


@pytest.mark.parametrize("name", ["partition", "partition-k-norm"])
def test_the_reader_of_answers_finds_what_the_library_finds(name: str) -> None:
    release = nw.load(path_of(name))
    parts, one = release.kind.parts, release.contents  # type: ignore[attr-defined]
    found = list(code(PAGE, "means")["means"](path_of(name)))
    assert [(number, mean) for number, mean, _ in found] == [(number.name, number.mean(parts)) for number in one.numbers]
    root = 1.0 if name == "partition" else 2**0.5  # one number: Laplace noise
    np.testing.assert_allclose([sd for *_, sd in found], [number.width * root * one.noise / parts for number in one.numbers])


def test_the_reader_of_rows_finds_what_the_library_finds() -> None:
    names, found = code(PAGE, "noisy_rows"), nw.load(path_of("rows"))
    release, table = names["noisy_rows"](path_of("rows"))
    assert table.to_pylist() == found.contents.table().to_pylist() and release["kind"] == found.kind.to_dict()
    keep = found.contents.levels["ward"].keep
    other = (1 - keep) / 2
    seen = table.column("ward").to_pylist().count("A") / table.num_rows
    assert names["share_of_level"](release, table, "ward", "A") == pytest.approx((seen - other) / (keep - other))
