"""What is in the golden files: made-up numbers that use every field of every kind of release, in format 1.0.

The files are a promise: every later version of noisewise reads them and finds exactly this. They are not to be written again:
``python -m tests.golden.make_golden FOLDER`` shows what the present code would write. A kind that is added, or a field, gets a
file of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.kinds import AdaSSP, Binary, Bounds, Gram, Model, Moments, Partition, Rows
from noisewise.kinds.model import Start
from noisewise.releases.contents.adassp import AdasspContribution, SmallestEigenvalue
from noisewise.releases.contents.binary import BinaryContribution
from noisewise.releases.contents.bounds import BoundsContribution, ColumnBounds
from noisewise.releases.contents.gram import EntryNoise, GramContribution
from noisewise.releases.contents.model import ModelContribution
from noisewise.releases.contents.moments import BlockSums, MomentsContribution
from noisewise.releases.contents.partition import Number, PartitionContribution
from noisewise.releases.contents.rows import LevelNoise, NumberNoise, RowsContribution, RowsFile
from noisewise.releases.release import Release
from noisewise.releases.rows_file import RowsWriter
from noisewise.schema import Basis, Schema
from noisewise.schema.moment_blocks import MomentBlock
from noisewise.schema.partition import PartPrior
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability, PosteriorQuantile, Question
from noisewise.scores.rounds import Look, Noise, Point, Round

FOLDER: Final = Path(__file__).parent
TALL: Final = "Größe (cm)"
AGE: Final = {"bounds": [18, 98], "missing": 60}
WARD: Final = {"levels": ["A", "B", "C"], "other": "C"}
COLUMNS: Final[dict[str, Any]] = {"age": AGE, TALL: {"bounds": [49.5, 230.25]}, "ward": WARD,
                                  "grade": {"levels": [1, 2, 3], "missing": 2}, "smoker": {"levels": [False, True]}}
TERMS: Final = "age:ward + I(age**2)"
SIZE: Final = 11
"""Of the matrix of these columns and terms, the constant included."""


def schema(columns: dict[str, Any] | None = None, **changes: Any) -> Schema:
    return Schema.from_dict({"adjacency": "replace-one", "unit": "row", **changes, "columns": columns or COLUMNS})


def head(epsilon: float = 1.0, delta: float = 1e-07, mechanism: str = "gaussian", created: str = "2026-11-15",
         **more: Any) -> dict[str, Any]:
    """What every contribution states."""
    budget = f"epsilon = {epsilon:g} and delta = {delta:g}"
    return {"rows": 1200, "epsilon": epsilon, "delta": delta, "mechanism": mechanism, "created": created,
            "statement": f"What one person contributes changes the probability of any result by little, with {budget}.",
            "library": "noisewise 0.2.0", **more}


def matrix(corner: float, step: float, size: int = SIZE) -> NDArray[np.float64]:
    """Multiples of 2**-16 and numbers that need all 17 digits, of both signs and many sizes."""
    row, column = np.indices((size, size))
    low, high = np.minimum(row, column), np.maximum(row, column)
    values = np.round(step * (1 + low) * np.cos(high + 3.0 * low) * 2**16) / 2**16
    special = {(0, 0): corner, (1, 2): 0.1 + 0.2, (3, 4): -1e-17, (5, 6): 0.0, (6, 6): 123456789012345.68}
    for (one, other), value in special.items():
        values[one, other] = values[other, one] = value
    return values


# A matrix ------------------------------------------------------------------------------------------------------------------


def gram_of(kind: Gram, noise: EntryNoise, step: float, **more: Any) -> Release:
    made = head(**more)
    return Release(kind, schema(norm_bound=1.75), (GramContribution(matrix=matrix(made["rows"], step), noise=noise,
                                                                    average=kind.average or 1, **made),))


def gram() -> Release:
    return gram_of(Gram(TERMS, "gaussian"), EntryNoise("gaussian", 26.881, 26.881 / 2**0.5, 0.0), 37.5, sensitivity=5.7454)


def gram_laplace() -> Release:
    """Of no row at all."""
    return gram_of(Gram(TERMS, "laplace"), EntryNoise("laplace", 93.352, 93.352, 0.0), 0.3, rows=0, sensitivity=33.0049,
                   epsilon=0.5, delta=0.0, mechanism="laplace", created="2024-02-29")


def gram_wishart() -> Release:
    noise = EntryNoise("wishart", 46.31962664465249, 32.75292210246286, 0.0, degrees=65, scale=4.0625)
    return gram_of(Gram(TERMS, "wishart"), noise, -12.25, rows=1201, sensitivity=4.0625, mechanism="wishart")


def gram_averaged() -> Release:
    return gram_of(Gram(TERMS, "gaussian", 10), EntryNoise("gaussian", 56.5431, 56.5431 / 2**0.5, 0.0), 8.5, rows=1201,
                   sensitivity=12.0853)


def gram_holders() -> Release:
    """Of two holders with other noise, who protect people with up to three rows: nobody knows how many rows there are."""
    declared = schema({**COLUMNS, "age": AGE | {"missing": "drop"}}, adjacency="add-remove",
                      unit={"column": "patient", "max_rows": 3}, stratum={"year": "2026", "site": "North 1"})
    first = GramContribution(matrix=matrix(1203.75, 37.5), noise=EntryNoise("gaussian", 112.289, 112.289 / 2**0.5, 112.289),
                             **head(sensitivity=24.0001, rows=None))
    second = GramContribution(matrix=matrix(-2.5, 0.3), noise=EntryNoise("laplace", 305.473, 305.473, 305.473),
                              **head(0.5, 0.0, "laplace", "2024-02-29", sensitivity=108.001, rows=None))
    return Release(Gram(TERMS), declared, (first, second))


# One regression ------------------------------------------------------------------------------------------------------------


def adassp() -> Release:
    def of_holder(rows: int, step: float, sd: float, eigenvalue_sd: float, epsilon: float, created: str) -> AdasspContribution:
        moments = np.round(step * np.sin(np.arange(7.0)) * 2**16) / 2**16
        moments[3] = -1e-17
        smallest = SmallestEigenvalue(-3.25 * step, eigenvalue_sd, epsilon / 3, 3.333333333333333e-08, 4.0626220703125)
        return AdasspContribution(
            matrix=matrix(rows, step, 7), moments=moments, smallest_eigenvalue=smallest,
            noise=EntryNoise("gaussian", sd, sd / 2**0.5, 0.0),
            **head(epsilon, created=created, rows=rows, sensitivity=5.745364667453199))

    return Release(AdaSSP("smoker ~ age * ward + I(age**2)", TERMS), schema(norm_bound=1.75), (
        of_holder(1200, 37.5, 40.053, 56.26, 1.0, "2026-11-15"), of_holder(0, 0.3, 77.247, 108.848, 0.5, "2024-02-29")))


WEIGHTS: Final = {"x": 1.0, "xx": 1.0, "xxx": 0.1, "y": 0.7, "yx": 1.5, "yxx": 0.25}


def moments() -> Release:
    def sums(name: str, step: float) -> NDArray[np.float64]:
        values = np.round(step * np.cos(np.arange(float(MomentBlock.named(name).size(6))) + len(name)) * 2**16) / 2**16
        if name == "yx":
            values[1], values[2] = 0.1 + 0.2, -1e-17
        return values

    def of_holder(rows: int, step: float, sd: float, epsilon: float, created: str) -> MomentsContribution:
        blocks = {name: BlockSums(weight, sd / weight**0.5, sums(name, step)) for name, weight in WEIGHTS.items()}
        return MomentsContribution(predictors=6, blocks=blocks,
                                   **head(epsilon, created=created, rows=rows, sensitivity=6.889583256951123))

    declared = {"visits": {"bounds": [0, 12]}} | {name: COLUMNS[name] for name in COLUMNS if name != "grade"}
    kind = Moments("visits ~ age * smoker + I(age**2) + ward", "age:smoker + I(age**2)", WEIGHTS)
    return Release(kind, schema(declared, norm_bound=1.75), (
        of_holder(1200, 37.5, 32.2341, 1.0, "2026-11-15"), of_holder(0, 0.3, 61.9765, 0.5, "2024-02-29")))


# One regression in several rounds ------------------------------------------------------------------------------------------


LOOKS: Final = (73.9762, 142.2343, 140.3599)
LOOKED: Final = (40.5185, 35.09)
LAST: Final = (10.7761, 19.1489)
START: Final = 15.6928
"""Standard deviations: of first looks, of rounds that look for the coefficients, of last rounds, of one that began there."""


def waves(size: int, step: float) -> NDArray[np.float64]:
    """Numbers of both signs, multiples of 2**-16; the last needs all 17 digits."""
    values = np.round(step * np.cos(np.arange(float(size)) + step) * 2**16) / 2**16
    values[-1] = 0.1 + 0.2
    return values


def model() -> Release:
    """Of two holders with another number of rounds."""
    declared, kind = schema(), Model(f"`{TALL}` ~ age * ward + I(age**2)", TERMS, "gaussian", rounds=2)

    def made(noise: Noise, step: float) -> Round:
        point = Point(coefficients=waves(7, 10 * step), coordinates=waves(49, step).reshape(7, 7), scale=12.5 + step,
                      spread=noise.spread is not None)
        return Round(point=point, noise=noise, score=waves(7, 100 * step), matrix=matrix(600.5, step, 7), square=450.25 + step,
                     spread=None if noise.spread is None else matrix(300.5, step, 7))

    def of_holder(rows: int, rounds: tuple[Round, ...], look: float, epsilon: float, sensitivity: float, created: str) -> Any:
        return ModelContribution(
            basis=Basis(declared, kind.columns(declared)), family="gaussian", rounds=rounds,
            look=Look(noise=look, sums=waves(6, 30.0), rows=rows, rows_noise=0.0),
            **head(epsilon, created=created, rows=rows, sensitivity=sensitivity))

    first = (made(Noise(score=LOOKED[0], matrix=LOOKED[0] / 0.5**0.5, square=LOOKED[0]), 1.5),
             made(Noise(score=LOOKED[1], matrix=LOOKED[1] / 0.5**0.5, square=LOOKED[1]), 0.75),
             made(Noise(score=LAST[0], matrix=LAST[0] / 0.35**0.5, square=LAST[0], spread=LAST[0] / 0.15**0.5), 0.5))
    alone = (made(Noise(score=LAST[1], matrix=LAST[1] / 0.35**0.5, square=LAST[1], spread=LAST[1] / 0.15**0.5), -0.25),)
    return Release(kind, declared, (of_holder(1200, first, LOOKS[0], 1.0, 2.1215, "2026-11-15"),
                                    of_holder(0, alone, LOOKS[1], 0.5, 2.0858, "2024-02-29")))


def model_start() -> Release:
    """Of people with up to three rows; begun where another release ended. Nobody knows how many rows there are."""
    declared = schema(adjacency="add-remove", unit={"column": "patient", "max_rows": 3}, stratum={"year": "2026"})
    start = Start((-1.5, 0.0625), ((0.875, -0.25), (0.0, 1.25)), 1.0)
    kind = Model("smoker ~ age", family="logistic", start=start)
    point = Point(coefficients=np.array(start.coefficients), coordinates=start.matrix(), scale=1.0, spread=False)
    only = Round(point=point, noise=Noise(score=START, matrix=START / 0.2**0.5), score=waves(2, 20.0),
                 matrix=np.array([[310.25, -1e-17], [-1e-17, 0.1 + 0.2]]))
    return Release(kind, declared, (ModelContribution(
        basis=Basis(declared, kind.columns(declared)), family="logistic", rounds=(only,),
        look=Look(noise=LOOKS[2], sums=waves(3, 30.0), rows=1203.75, rows_noise=LOOKS[2]),
        **head(rows=None, sensitivity=3.2864)),))


# Questions -----------------------------------------------------------------------------------------------------------------

QUESTIONS: Final[tuple[Question, ...]] = (
    PosteriorProbability("age", at=(-0.1, 0.0, 0.30000000000000004), combine="stouffer", limit=2.0),
    PosteriorProbability({TALL: 1.0, "age": -2.5}, at=(0.0,), combine="rescaled-normal"),
    PosteriorProbability("smoker[T.True]", at=(1e-7,), combine="fisher", limit=0.01),
    PosteriorQuantile("age", centre_share=0.25, width_share=0.125),
    PosteriorQuantile("ward[T.B]", bounds=(-1e6, 2.5)),
    BayesFactor(["ward[T.B]", "ward[T.C]"], prior="zellner-siow", limits=(-3.0, 7.0)),
    BayesFactor({"ward[T.B]": 1.0, "ward[T.C]": -1.0}, prior="hyper-g"),
    Criterion("likelihood-ratio", ("age",)),
    Criterion("bic", ("age", TALL), limits=(-8.0, 9.5)),
    Criterion("aic", ("age:smoker[T.True]",)),
)
SELECTED: Final = {"location of age": (-1.7, 2.3), "scale of age": (0.0, 0.2), "scale of ward[T.B]": (0.0, 50000.125)}
SUMS: Final = (37.5, 0.1 + 0.2, -1e-17, 2.0**-16, -12.75, 100.0, 81.25, 50.0, 49.5, 1.5, 63.0, 58.25, 0.0, 1e9)
INCOMES: Final[dict[str, Any]] = {"income": {"bounds": "unknown"}, TALL: {"bounds": "unknown", "missing": 170.5}, "age": AGE,
                                  "ward": WARD, "smoker": {"levels": [False, True]}}


def partition() -> Release:
    named = [(name, limits or SELECTED[name]) for question in QUESTIONS for name, limits in question.numbers()]
    kind = Partition(f"income ~ `{TALL}` + age * smoker + I(age**2) + ward", 100, QUESTIONS,
                     PartPrior("normal-inverse-gamma", scale=2.5, shape=1.5, rate=0.25), "gaussian")
    return Release(kind, schema(INCOMES, stratum={"year": "2026"}), (PartitionContribution(
        balanced=True, noise=22.0842, noise_epsilon=0.78125, **head(1.25, rows=12_345, sensitivity=14**0.5),
        numbers=tuple(Number(name, *limits, value) for (name, limits), value in zip(named, SUMS, strict=True))),))


def partition_k_norm() -> Release:
    """Without a prior, of parts that were filled row by row: nobody knows how many rows there are."""
    kind = Partition("income ~ age", 8, PosteriorProbability("age", at=(0.0,), combine="rescaled-normal"), mechanism="k-norm")
    declared = schema(INCOMES, adjacency="add-remove", unit={"column": "patient", "max_rows": 3})
    return Release(kind, declared, (PartitionContribution(
        balanced=False, numbers=(Number("P(age <= 0)", 0.0, 1.0, -0.75),), noise=2.0, noise_epsilon=0.5,
        **head(0.5, 0.0, "k-norm", rows=None, sensitivity=1.0)),))


# Rows ----------------------------------------------------------------------------------------------------------------------

CELLS: Final[dict[str, Any]] = {"ward": WARD, "age": AGE, "smoker": {"levels": [False, True]}, TALL: COLUMNS[TALL],
                                "grade": {"levels": [1, "two", 3.5]}}
GRID_ROWS: Final = np.array([
    # age, height; ward, smoker, grade: one line for each copy
    [[-1048576, 524288, 0, 0, 0], [-1200000, 500000, 1, 0, 2]],
    [[7, -3, 2, 1, 1], [3000000, -2222222, 2, 1, 1]],
    [[1048575, 0, 1, 0, 2], [-5, 123456789, 0, 1, 0]],
], dtype=np.int64)
"""Three rows in two copies: numbers in units of 2**-20, then codes of levels."""
ROWS_FILE: Final = RowsFile("rows-1.0.rows.parquet", 1399, "7cb3654cf8331f3b93bc151acca1dd1c931f2edc08b838febdaf078dab32be6c")


def rows() -> Release:
    shares = {name: 1.0 for name in CELLS} | {"age": 2.0}
    noise = {"ward": LevelNoise(1 / 6, 0.576116884765829), "age": NumberNoise(1 / 3, "laplace", 1.0),
             "smoker": LevelNoise(1 / 6, 0.7310585786300048), TALL: NumberNoise(1 / 6, "laplace", 2.0),
             "grade": LevelNoise(1 / 6, 0.576116884765829)}
    return Release(Rows(2, shares, "laplace"), schema(CELLS), (RowsContribution(
        schema=schema(CELLS), copies=2, columns=noise, file=ROWS_FILE, folder=FOLDER,
        **head(12.0, 0.0, "laplace", rows=3, sensitivity=2.0)),))


def write_rows(path: Path) -> None:
    """The file of rows, as the present code writes it."""
    with RowsWriter(path, schema(CELLS), 2) as writer:
        writer.write(GRID_ROWS)


# Bounds and yes-or-no rows -------------------------------------------------------------------------------------------------


def bounds() -> Release:
    """One bound was known, both of another column are of no use."""
    found = (ColumnBounds("income", 0.0, 115000.5, ("upper",), outside=489, error=244, rows_needed=490),
             ColumnBounds(TALL, 7.0, -1.7e-05, ("lower", "upper"), outside=545, error=272, rows_needed=1091))
    return Release(Bounds({"income": (0, None), TALL: (None, None)}, 0.01, 2), schema(INCOMES, stratum={"year": "2026"}), (
        BoundsContribution(columns=found, probability=0.99, **head(0.3, 0.0, "permute-and-flip", sensitivity=1.0)),))


def binary() -> Release:
    return Release(Binary("smoker", 200, 2), schema(adjacency="add-remove"), (BinaryContribution(
        column="smoker", levels=(False, True), synthetic_rows=200, counts=(80, 0), alpha=309,
        **head(1.0, 0.0, "beta-binomial", rows=None, sensitivity=1.0)),))


GOLDEN: Final[dict[str, Callable[[], Release]]] = {
    "gram": gram, "gram-laplace": gram_laplace, "gram-wishart": gram_wishart, "gram-averaged": gram_averaged,
    "gram-holders": gram_holders, "model": model, "model-start": model_start, "moments": moments, "adassp": adassp,
    "partition": partition, "partition-k-norm": partition_k_norm, "rows": rows, "bounds": bounds, "binary": binary,
}
"""By the name of the file, without its version and ending."""


def path_of(name: str) -> Path:
    """The golden file of this name."""
    return FOLDER / f"{name}-1.0.nwr"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_rows(target / ROWS_FILE.name)
    for made in GOLDEN:
        GOLDEN[made]().save(target / path_of(made).name)
