"""Small made-up releases of every kind: another one for each seed, all of an example with the same declarations."""

from __future__ import annotations

import atexit
import functools
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.kinds import Kind
from noisewise.releases.contents.adassp import AdasspContribution, SmallestEigenvalue
from noisewise.releases.contents.binary import BinaryContribution
from noisewise.releases.contents.bounds import BoundsContribution, ColumnBounds
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.releases.contents.model import ModelContribution
from noisewise.releases.contents.moments import BlockSums, MomentsContribution
from noisewise.releases.contents.partition import Number, PartitionContribution
from noisewise.releases.contents.rows import LevelNoise, NumberNoise, RowsContribution, RowsFile
from noisewise.releases.format import decode, encode
from noisewise.releases.release import Release
from noisewise.releases.rows_file import RowsWriter, describe_file
from noisewise.schema import Basis, Schema
from noisewise.schema.moment_blocks import DEFAULT_BLOCKS, MomentBlock
from noisewise.schema.questions import Question
from noisewise.scores.change import Weights, changed_square
from noisewise.scores.families import FAMILIES
from noisewise.scores.looks import Layout
from noisewise.scores.rounds import Look, Noise, Point, Round

DECLARED: dict[str, Any] = {
    "adjacency": "replace-one",
    "unit": "row",
    "columns": {
        "age": {"bounds": [18, 98]},
        "ward": {"levels": ["A", "B", "C"], "other": "C"},
        "smoker": {"levels": ["no", "yes"]},
    },
}
PERSON = {"column": "person", "max_rows": 3}
TERMS = "age:ward + I(age**2)"
ROWS = 250
HEAD: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "mechanism": "gaussian",
    "sensitivity": 1.2,
    "statement": "Whoever sees this release learns little about any one row.",
    "created": "2026-11-15",
    "library": "noisewise 0.1.0",
}
PURE: dict[str, Any] = {**HEAD, "delta": 0.0}


def schema_with(**changes: Any) -> Schema:
    return Schema.from_dict({**DECLARED, **changes})


def columns_with(**changes: Any) -> dict[str, Any]:
    return {**DECLARED["columns"], **changes}


PUBLIC, OPEN, PERSONS = schema_with(), schema_with(adjacency="add-remove"), schema_with(unit=PERSON)


def rows_in(schema: Schema) -> int | None:
    return ROWS if schema.rows_are_public else None


def sums_of(seed: int, size: int, corner: float | None = None) -> np.ndarray[Any, np.dtype[np.float64]]:
    noise = np.random.default_rng(seed).normal(scale=100.0, size=(size, size))
    matrix = noise + noise.T
    if corner is not None:
        matrix[0, 0] = corner
    return matrix


# Gram


def gram_of(schema: Schema = PUBLIC, terms: str | None = TERMS, seed: int = 1, **changes: Any) -> GramContribution:
    rows = rows_in(schema)
    noise = changes.get("noise", EntryNoise("gaussian", 8.0, 8.0 / np.sqrt(2), 8.0 if rows is None else 0.0))
    return GramContribution(**{**HEAD, "rows": rows, "matrix": sums_of(seed, Basis.of(schema, terms).size, rows), "noise": noise,
                               "mechanism": noise.distribution, **changes})


def release_of(schema: Schema | None = None, terms: str | None = TERMS, seed: int = 1, **changes: Any) -> Release:
    schema = PUBLIC if schema is None else schema
    return Release(nw.Gram(terms), schema, (gram_of(schema, terms, seed, **changes),))


def gram_like(schema: Schema = PUBLIC, terms: str | None = TERMS, **like: Any) -> Callable[..., Release]:
    """A maker of gram releases with these changes."""

    def make(seed: int = 1, **changes: Any) -> Release:
        return release_of(schema, terms, seed, **{**like, **changes})

    return make


def laplace(sd: float = 9.0, corner: float = 0.0) -> EntryNoise:
    return EntryNoise("laplace", sd, sd, corner)


def wishart(degrees: int = 100, scale: float = 4.5, noisy_corner: bool = False, **changes: Any) -> EntryNoise:
    diagonal = scale * math.sqrt(2 * degrees)
    return EntryNoise(**{"distribution": "wishart", "diagonal": diagonal, "off_diagonal": scale * math.sqrt(degrees),
                         "corner": diagonal if noisy_corner else 0.0, "degrees": degrees, "scale": scale, **changes})


# One regression

ADASSP = "age ~ ward + smoker"
EIGENVALUE = SmallestEigenvalue(value=40.0, noise=5.0, epsilon=0.3, delta=1e-7, sensitivity=0.25)


def adassp_of(seed: int = 1, size: int = 4, **changes: Any) -> AdasspContribution:
    matrix = sums_of(seed, size, ROWS)
    return AdasspContribution(**{
        **HEAD, "rows": ROWS, "matrix": matrix, "moments": matrix[0] / 3, "smallest_eigenvalue": EIGENVALUE,
        "noise": EntryNoise("gaussian", 8.0, 8.0 / np.sqrt(2), 0.0), **changes})


def adassp(seed: int = 1, formula: str = ADASSP, terms: str | None = None, **changes: Any) -> Release:
    kind = nw.AdaSSP(formula, terms)
    return Release(kind, PUBLIC, (adassp_of(seed, len(kind.columns(PUBLIC)) - 1, **changes),))


MOMENTS = "smoker ~ age + ward"
PREDICTORS = 3
NOISE = {"n": 9.0, "x": 4.0, "xx": 6.0, "y": 5.0, "yx": 3.0, "xxx": 7.0}


def blocks_of(names: tuple[str, ...] = tuple(DEFAULT_BLOCKS), seed: int = 1,
              predictors: int = PREDICTORS) -> dict[str, BlockSums]:
    random = np.random.default_rng(seed)
    sizes = {name: MomentBlock.named(name).size(predictors) for name in names}
    return {name: BlockSums(DEFAULT_BLOCKS.get(name, 1.0), NOISE[name], random.normal(0, 100, size))
            for name, size in sizes.items()}


def moments_of(seed: int = 1, names: tuple[str, ...] = tuple(DEFAULT_BLOCKS), **changes: Any) -> MomentsContribution:
    return MomentsContribution(**{**HEAD, "sensitivity": 0.7, "rows": None if "n" in names else ROWS, "predictors": PREDICTORS,
                                  "blocks": blocks_of(names, seed), **changes})


def moments(seed: int = 1, formula: str = MOMENTS, schema: Schema = PUBLIC, **changes: Any) -> Release:
    return Release(nw.Moments(formula), schema, (moments_of(seed, **changes),))


def hidden_moments(seed: int = 1, **changes: Any) -> Release:
    one = moments_of(seed, **{"names": ("n", "x", "xx", "xxx", "y", "yx"), **changes})
    return Release(nw.Moments(MOMENTS, blocks={name: block.weight for name, block in one.blocks.items()}), PERSONS, (one,))


# One regression in several rounds

MODEL = nw.Model("smoker ~ age + ward", family="logistic")
LINEAR_MODEL = nw.Model("age ~ smoker + ward", family="gaussian")
MODEL_DISTANCE = 0.2367
"""All sums together, in standard deviations of their noise: ε = 1 and δ = 1e-6 allow 0.23670…"""
LOOK_SHARE, ROUND_SHARES = 0.04, (0.06, 0.08, 0.82)


def model_noise(schema: Schema, share: float, scaled: bool, spread: bool) -> tuple[Noise, float]:
    """The noise of a round that has this share of the budget, and the sensitivity."""
    weights = Weights.of(schema.adjacency, scaled=scaled, spread=spread)
    added, replaced = (changed_square(weights, added=one) for one in (True, False))
    norm = schema.unit.max_rows * math.sqrt(added if schema.adjacency == "add-remove" else replaced)
    score = norm / (MODEL_DISTANCE * math.sqrt(share))
    given = {"matrix": weights.matrix, "square": weights.square, "spread": weights.spread}
    return Noise(score=score, **{name: score / math.sqrt(weight) for name, weight in given.items() if weight}), norm


def model_of(seed: int = 1, schema: Schema = PUBLIC, kind: nw.Model = MODEL, **changes: Any) -> ModelContribution:
    """One contribution: a first look and three rounds, of which the last releases Σ s sᵀ unless the response has two levels."""
    random, family = np.random.default_rng(seed), FAMILIES[kind.family]
    basis = Basis(schema, kind.columns(schema))
    layout, predictors = Layout.of(basis, family), basis.size - 1
    rounds, norms = [], []
    for place, share in enumerate(ROUND_SHARES, start=1):
        spread = place == len(ROUND_SHARES) and family.response != "two levels"
        noise, norm = model_noise(schema, share, family.scaled, spread)
        norms.append(norm)
        point = Point(coefficients=random.normal(size=predictors), coordinates=random.normal(size=(predictors, predictors)),
                      scale=1.0 + random.random() if family.scaled else 1.0, spread=spread)
        rounds.append(Round(point=point, noise=noise, score=random.normal(0, 30, predictors), matrix=sums_of(seed, predictors),
                            square=random.normal(200, 20) if family.scaled else None,
                            spread=sums_of(seed + 1, predictors) if spread else None))
    public = schema.rows_are_public
    added, replaced = layout.squares(schema, True) + (not public), layout.squares(schema, False)
    largest = schema.unit.max_rows * math.sqrt(added if schema.adjacency == "add-remove" else max(added, replaced))
    sd = largest / (MODEL_DISTANCE * math.sqrt(LOOK_SHARE))
    look = Look(noise=sd, sums=random.normal(0, 100, layout.size), rows=ROWS if public else 251.5,
                rows_noise=0.0 if public else sd)
    return ModelContribution(**{**HEAD, "rows": ROWS if public else None, "sensitivity": max(norms), "basis": basis,
                                "family": kind.family, "look": look, "rounds": tuple(rounds), **changes})


def model(seed: int = 1, kind: nw.Model = MODEL, schema: Schema = PUBLIC, **changes: Any) -> Release:
    return Release(kind, schema, (model_of(seed, schema, kind, **changes),))


def persons_model(seed: int = 1, **changes: Any) -> Release:
    return model(seed, LINEAR_MODEL, PERSONS, **changes)


def open_model(seed: int = 1, **changes: Any) -> Release:
    return model(seed, nw.Model("visits ~ age + I(age**2)", "I(age**2)", "negative-binomial", rounds=2),
                 schema_with(adjacency="add-remove", columns=columns_with(visits={"bounds": [0, 20]})), **changes)


# Questions

TALL = "Größe (cm)"
OPEN_COLUMNS = {"y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}}
ALL_QUESTIONS: tuple[Question, ...] = (
    nw.PosteriorProbability("age", at=(-0.1, 0.0, 0.30000000000000004), combine="stouffer", limit=2.0),
    nw.PosteriorProbability({TALL: 1.0, "age": -2.5}, at=(0.0,), combine="rescaled-normal"),
    nw.PosteriorProbability("smoker[T.True]", at=(1e-7,), combine="fisher", limit=0.01),
    nw.PosteriorQuantile("age", centre_share=0.25, width_share=0.125),
    nw.PosteriorQuantile("ward[T.B]", bounds=(-1e6, 2.5)),
    nw.BayesFactor(["ward[T.B]", "ward[T.C]"], prior="zellner-siow", limits=(-3.0, 7.0)),
    nw.Criterion("bic", ("age", TALL), limits=(-8.0, 9.5)),
)
PARTITIONED = nw.Partition(f"income ~ `{TALL}` + age * smoker + I(age**2) + ward", 100, ALL_QUESTIONS,
                           {"name": "normal-inverse-gamma", "scale": 2.5, "shape": 1.5, "rate": 0.25}, "gaussian")
PARTITIONED_SCHEMA = schema_with(stratum={"year": "2026"}, columns={
    "income": {"bounds": "unknown"}, TALL: {"bounds": "unknown", "missing": 170.5}, "age": {"bounds": [18, 98], "missing": 60},
    "ward": {"levels": ["A", "B", "C"]}, "smoker": {"levels": [False, True]}})


def partition_of(seed: int = 1, **changes: Any) -> PartitionContribution:
    number = Number("P(x <= 0)", -1.5, 1.5, 12.0 + seed)
    return PartitionContribution(**{**PURE, "epsilon": 0.5, "mechanism": "k-norm", "sensitivity": 1.0, "rows": None,
                                    "balanced": False, "noise": 2.0, "noise_epsilon": 0.5, "numbers": (number,), **changes})


def partition(seed: int = 1, kind: Kind | None = None, **changes: Any) -> Release:
    asked = nw.Partition("y ~ x", 20, [nw.PosteriorProbability("x", at=(0.0,))]) if kind is None else kind
    schema = schema_with(adjacency="add-remove", columns=OPEN_COLUMNS)
    return Release(asked, schema, (partition_of(seed, **changes),))


def gaussian_partition(seed: int = 1, **changes: Any) -> Release:
    random = np.random.default_rng(seed)
    numbers = tuple(Number(name, *(limits or (-1.7, 2.3)), random.normal(50, 20))
                    for question in ALL_QUESTIONS for name, limits in question.numbers())
    one = partition_of(**{"rows": 12_345, "epsilon": 1.25, "delta": 1e-7, "mechanism": "gaussian", "balanced": True,
                          "noise": 36.5, "sensitivity": math.sqrt(len(numbers)), "noise_epsilon": 1.25 * 0.625,
                          "numbers": numbers, **changes})
    return Release(PARTITIONED, PARTITIONED_SCHEMA, (one,))


# Rows

ROWS_SCHEMA = schema_with(columns={
    "ward": {"levels": ["A", "B", "C"], "other": "C"}, "age": {"bounds": [18, 98], "missing": 60},
    "smoker": {"levels": [False, True]}, TALL: {"bounds": [49.5, 230.25]}, "grade": {"levels": [1, "two", 3.5]}})
CELLS: dict[str, Any] = {
    "ward": LevelNoise(0.2, 0.5761168847658291), "age": NumberNoise(0.2, "laplace", 2.0),
    "smoker": LevelNoise(0.2, 0.7310585786300048), TALL: NumberNoise(0.2, "laplace", 2.0),
    "grade": LevelNoise(0.2, 0.5761168847658291)}
GRID_ROWS = np.array([
    # age, height; ward, smoker, grade: one line for each copy
    [[-1048576, 524288, 0, 0, 0], [-1200000, 500000, 1, 0, 2]],
    [[7, -3, 2, 1, 1], [3000000, -2222222, 2, 1, 1]],
    [[1048575, 0, 1, 0, 2], [-5, 123456789, 0, 1, 0]],
], dtype=np.int64)
"""Three rows in two copies: numbers in units of 2**-20, then codes of levels."""
FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


@functools.cache
def rows_file(seed: int, only_levels: bool = False) -> RowsFile:
    path = FOLDER / f"{seed}{'-levels' * only_levels}.rows.parquet"
    schema = schema_with(columns={"ward": DECLARED["columns"]["ward"]}) if only_levels else ROWS_SCHEMA
    rows = (GRID_ROWS[:, :, 2:3] + seed) % 3 if only_levels else GRID_ROWS + np.array([seed, seed, 0, 0, 0])
    with RowsWriter(path, schema, 2) as writer:
        writer.write(rows)
    return describe_file(path, path.name)


def rows_of(seed: int = 1, **changes: Any) -> RowsContribution:
    return RowsContribution(**{**PURE, "epsilon": 10.0, "mechanism": "laplace", "sensitivity": 2.0, "rows": 3, "copies": 2,
                               "schema": ROWS_SCHEMA, "columns": CELLS, "file": rows_file(seed), "folder": FOLDER, **changes})


def rows(seed: int = 1, **changes: Any) -> Release:
    return Release(nw.Rows(copies=2), ROWS_SCHEMA, (rows_of(seed, **changes),))


def gaussian_rows(seed: int = 1, **changes: Any) -> Release:
    cells = CELLS | {name: NumberNoise(0.2, "gaussian", 10.0) for name in ("age", TALL)}
    return rows(seed, **{"columns": cells, "mechanism": "gaussian", "delta": 1e-6, **changes})


def only_levels(seed: int = 1, **changes: Any) -> Release:
    schema = schema_with(columns={"ward": DECLARED["columns"]["ward"]})
    one = rows_of(**{"mechanism": "randomised-response", "schema": schema, "columns": {"ward": LevelNoise(1.0, 0.6)},
                     "epsilon": 3.0, "file": rows_file(seed, only_levels=True), **changes})
    return Release(nw.Rows(copies=2), schema, (one,))


# Bounds and yes-or-no rows

AGE = ColumnBounds("age", 18.0, 98.0, ("lower", "upper"), outside=117, error=58, rows_needed=235)
STAY = ColumnBounds("length of stay", 0.0, 42.5, ("upper",), outside=99, error=49, rows_needed=100)
ESTIMATED = {"age": {"bounds": "unknown"}, "length of stay": {"bounds": "unknown"}}


def bounds_of(*columns: ColumnBounds, **changes: Any) -> BoundsContribution:
    return BoundsContribution(**{**PURE, "epsilon": 0.1, "mechanism": "exponential", "rows": ROWS, "columns": columns,
                                 "probability": 0.95, "sensitivity": 1.0, **changes})


def bounds(seed: int = 1, tail: float = 0.005, schema: Schema | None = None, **changes: Any) -> Release:
    kind = nw.Bounds({"age": (None, None), "length of stay": (0, None)}, tail)
    schema = schema_with(columns=ESTIMATED) if schema is None else schema
    head = {"rows": rows_in(schema), "sensitivity": float(schema.unit.max_rows), **changes}
    return Release(kind, schema, (bounds_of(replace(AGE, upper=97.0 + seed), STAY, **head),))


def persons_bounds(seed: int = 1, **changes: Any) -> Release:
    return bounds(seed, schema=schema_with(unit=PERSON, stratum={"year": "2024"}, columns=ESTIMATED), **changes)


def binary_of(seed: int = 1, **changes: Any) -> BinaryContribution:
    return BinaryContribution(**{**PURE, "mechanism": "beta-binomial", "sensitivity": 1.0, "rows": 1000, "column": "smoker",
                                 "levels": ("no", "yes"), "synthetic_rows": 200, "counts": (80, 75 + seed), "alpha": 309,
                                 **changes})


def binary(seed: int = 1, schema: Schema | None = None, **changes: Any) -> Release:
    schema = PUBLIC if schema is None else schema
    return Release(nw.Binary("smoker", 200, 2), schema, (binary_of(seed, **changes),))


def hidden_binary(seed: int = 1, **changes: Any) -> Release:
    schema = schema_with(adjacency="add-remove", columns={"smoker": {"levels": [0, 1]}})
    return binary(seed, schema, **{"rows": None, "levels": (0, 1), **changes})


# All of them

EXAMPLES: dict[str, Callable[..., Release]] = {
    "gram": release_of,
    "gram, add-remove": gram_like(OPEN),
    "gram, persons": gram_like(PERSONS, None),
    "gram, laplace": gram_like(schema_with(norm_bound=1.5), noise=laplace(), delta=0.0),
    "gram, wishart": gram_like(OPEN, noise=wishart(noisy_corner=True)),
    "gram, averaged": gram_like(average=7),
    "gram, odd levels": gram_like(schema_with(columns={"c": {"levels": [True, 1.5, 7, "x\ty\nz", "ß €"]}}), None),
    "gram, odd bounds": gram_like(schema_with(columns={"x": {"bounds": [-1e300, 0.1]}, "a:b": {"bounds": [-0.0, 5e-300]}}), None),
    "model": model,
    "model, persons": persons_model,
    "model, add-remove": open_model,
    "adassp": adassp,
    "moments": moments,
    "moments, persons": hidden_moments,
    "partition": partition,
    "partition, gaussian": gaussian_partition,
    "rows": rows,
    "rows, gaussian": gaussian_rows,
    "rows, levels": only_levels,
    "bounds": bounds,
    "bounds, persons": persons_bounds,
    "binary": binary,
    "binary, add-remove": hidden_binary,
}
"""By name; the first word is the kind. `test_contract` sees that no kind is forgotten."""

ONE_OF_EACH = ("gram", "model", "adassp", "moments", "partition", "rows", "bounds", "binary")
OF_HOLDERS = tuple(name for name, make in EXAMPLES.items() if make().kind.holders)
OF_ONE = tuple(name for name in ONE_OF_EACH if name not in OF_HOLDERS)


def every_example(names: Any = tuple(EXAMPLES)) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", [EXAMPLES[name] for name in names], ids=names)


def document(release: Release) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(encode(release))
    return read


def decoded(changed: dict[str, Any]) -> Release:
    return decode(json.dumps(changed).encode())


Change = Callable[[dict[str, Any]], None]


def setting(*path: str | int, to: object) -> Change:
    def change(changed: Any) -> None:
        *steps, last = path
        for step in steps:
            changed = changed[step]
        changed[last] = to

    return change


def removing(*path: str | int) -> Change:
    def change(changed: Any) -> None:
        *steps, last = path
        for step in steps:
            changed = changed[step]
        del changed[last]

    return change


# Less noise


def with_less_noise(one: Any, factor: float) -> list[Any]:
    """The same contribution with less noise, each in one place; none for bounds, which state no noise."""
    return _LESS[type(one)](one, factor)


def _gram(one: Any, factor: float) -> list[Any]:
    noise = one.noise
    if noise.distribution == "wishart":
        fewer = round(factor * noise.degrees) - (factor > 0.9)
        return [replace(one, noise=wishart(fewer, noise.scale, noise.corner > 0)),
                replace(one, noise=wishart(noise.degrees, factor * noise.scale, noise.corner > 0))]
    return [replace(one, noise=EntryNoise(noise.distribution, factor * noise.diagonal, factor * noise.off_diagonal,
                                          factor * noise.corner))]


def _adassp(one: Any, factor: float) -> list[Any]:
    (less,) = _gram(one, factor)
    return [replace(less, smallest_eigenvalue=replace(one.smallest_eigenvalue, noise=factor * one.smallest_eigenvalue.noise))]


def _moments(one: Any, factor: float) -> list[Any]:
    return [replace(one, blocks={name: replace(block, noise=factor * block.noise) for name, block in one.blocks.items()})]


def _model(one: Any, factor: float) -> list[Any]:
    def less(noise: Noise) -> Noise:
        return Noise(**{name: sd if sd is None else factor * sd for name, sd in vars(noise).items()})

    look = replace(one.look, noise=factor * one.look.noise, rows_noise=factor * one.look.rows_noise)
    return [replace(one, look=look, rounds=tuple(replace(found, noise=less(found.noise)) for found in one.rounds))]


def _rows(one: Any, factor: float) -> list[Any]:
    numbers = {name: replace(noise, scale=factor * noise.scale) for name, noise in one.numbers.items()}
    odds = {name: noise.keep / (1 - noise.keep) / factor for name, noise in one.levels.items()}
    levels = {name: replace(noise, keep=odds[name] / (1 + odds[name])) for name, noise in one.levels.items()}
    return [*([replace(one, columns={**one.columns, **numbers})] if numbers else []),
            *(replace(one, columns={**one.columns, name: noise}) for name, noise in levels.items())]


_LESS: dict[type, Callable[[Any, float], list[Any]]] = {
    GramContribution: _gram, AdasspContribution: _adassp, MomentsContribution: _moments,
    ModelContribution: _model, RowsContribution: _rows,
    PartitionContribution: lambda one, factor: [replace(one, noise=factor * one.noise)],
    BinaryContribution: lambda one, factor: [replace(one, alpha=math.floor(factor * one.alpha) - 1)],
    BoundsContribution: lambda one, factor: [],
}
