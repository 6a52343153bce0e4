"""P2 of partition.md: a part's numbers depend on its own rows to the last bit, and on nothing else.

One part's rows are changed to anything, and there may be more or fewer of them anywhere in the file; all other parts are
compared bit by bit. Variants that are wrong on purpose show that this would be noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from tests.privacy.partition_parts import SOURCES, Bits, as_source, bits, changed, moments, questions_about

from noisewise.data.parts import answers, fits
from noisewise.data.statistics import partition_sums
from noisewise.data.statistics.partition import PartMoments
from noisewise.schema import Schema
from noisewise.schema import partition as answers_of_parts

Rows = dict[str, npt.NDArray[Any]]
Change = Callable[[Rows, np.random.Generator], Rows]

PARTS = 11
VICTIM = 4
OPEN = Schema.from_dict({"adjacency": "add-remove", "columns": {
    "y": {"bounds": "unknown"}, "x": {"bounds": "unknown"}, "z": {"bounds": "unknown", "missing": 0.5}}})
MIXED = Schema.from_dict({"adjacency": "add-remove", "columns": {
    "y": {"bounds": "unknown"}, "x": {"bounds": [-2, 3]}, "z": {"levels": ["a", "b", "c"], "other": "c"}}})
FORMULAS = {"plain": (OPEN, "y ~ x + z", ("x", "z")), "products": (OPEN, "y ~ 0 + x * z + I(x**2)", ("x", "z", "x:z"))}


def made(rows: int, rng: np.random.Generator) -> Rows:
    x = rng.normal(size=rows)
    return {"y": 100.0 + 0.3 * x + rng.normal(size=rows), "x": x, "z": rng.uniform(-1, 1, rows)}


def filled(value: float) -> Change:
    return lambda rows, rng: {name: np.full(len(values), value) for name, values in rows.items()}


def any_of(*values: float) -> Change:
    return lambda rows, rng: {name: rng.choice(np.array(values), len(own)) for name, own in rows.items()}


def repeated(times: int) -> Change:
    return lambda rows, rng: {name: np.tile(values, times) for name, values in rows.items()}


CHANGES: dict[str, Change] = {
    "zeros": filled(0.0),
    "infinite": filled(np.inf),
    "missing": filled(np.nan),
    "largest": any_of(1.7e308, -1.7e308),
    "smallest": any_of(5e-324, -5e-324, 1e-160),
    "all sizes": any_of(1e308, -1e200, 1e-200, 5e-324, np.nan, np.inf, -np.inf, -0.0, 1.0),
    "perfect fit": lambda rows, rng: {**rows, "y": 2.0 * rows["x"]},
    "same columns": lambda rows, rng: {**rows, "z": rows["x"]},
    "none": lambda rows, rng: {name: values[:0] for name, values in rows.items()},
    "one": lambda rows, rng: {name: values[:1] for name, values in rows.items()},
    "many": repeated(90),
    "other rows": lambda rows, rng: made(2 * len(rows["y"]) + 1, rng),
}


def split_table(rng: np.random.Generator, schema: Schema = OPEN) -> list[Rows]:
    """The rows of each part; one part is empty and one has a single row."""
    sizes = rng.integers(5, 40, PARTS)
    sizes[0], sizes[1] = 0, 1
    parts = [made(int(size), rng) for size in sizes]
    if schema is MIXED:
        parts = [{**part, "z": rng.choice(["a", "b", "c", "?"], len(part["y"]))} for part in parts]
    return parts


def shuffled(parts: list[Rows], rng: np.random.Generator) -> tuple[Rows, npt.NDArray[np.int64]]:
    """A file in which the rows of each part keep their order, and parts are mixed in some way."""
    belongs = rng.permutation(np.repeat(np.arange(len(parts)), [len(part["y"]) for part in parts]))
    place = np.argsort(np.argsort(belongs, kind="stable"))
    return {name: np.concatenate([part[name] for part in parts])[place] for name in parts[0]}, belongs


def found_in(parts: list[Rows], rng: np.random.Generator, case: str = "plain", source: str = "columns", batch: int = 10**9,
             folder: Path = Path()) -> Bits:
    schema, formula, tested = FORMULAS[case]
    rows, belongs = shuffled(parts, rng)
    found = moments(as_source(source, rows, folder, batch), schema, formula, belongs, PARTS)
    return bits(found, schema, formula, questions_about(*tested))


def with_victim(parts: list[Rows], change: str, rng: np.random.Generator) -> list[Rows]:
    return [CHANGES[change](part, rng) if place == VICTIM else part for place, part in enumerate(parts)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("case", FORMULAS)
def test_one_part_may_become_anything_and_the_others_stay_as_they_are(case: str, change: str) -> None:
    rng = np.random.default_rng(list(change.encode()))
    parts = split_table(rng)
    before, after = found_in(parts, rng, case), found_in(with_victim(parts, change, rng), rng, case)
    assert changed(before, after) <= {VICTIM}
    assert changed(before, after) or change in ("missing", "infinite")  # the victim itself is seen to change


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_sources_and_batches_make_no_difference(source: str, batch: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    parts = split_table(rng)
    before = found_in(parts, rng)
    assert not changed(before, found_in(parts, rng, source=source, batch=batch, folder=tmp_path))
    hostile = found_in(with_victim(parts, "all sizes", rng), rng, source=source, batch=batch, folder=tmp_path)
    assert changed(before, hostile) == {VICTIM}


def test_buffers_that_fill_up_several_times() -> None:
    """Parts have more rows than a buffer holds, and the victim fills it up more or less often than before."""
    rng = np.random.default_rng(6)
    parts = [made(partition_sums.LARGEST_BUFFER + 30 * place, rng) for place in range(PARTS)]
    before = found_in(parts, rng)
    for change in ("none", "many", "largest", "other rows"):
        assert changed(before, found_in(with_victim(parts, change, rng), rng)) == {VICTIM}


def test_texts_and_objects_in_a_part() -> None:
    rng = np.random.default_rng(7)
    parts = [{name: values.astype(object) for name, values in part.items()} for part in split_table(rng)]
    before = found_in(parts, rng)
    odd = np.array(["abc", "1e999", b"\xff", None, 10**400, True, [1], "nan", 2.5, "-7", object()], dtype=object)
    parts[VICTIM] = {name: rng.choice(odd, 50) for name in parts[VICTIM]}
    assert changed(before, found_in(parts, rng)) == {VICTIM}


def test_a_missing_cell_does_not_change_how_the_whole_numbers_of_others_are_read() -> None:
    """Arrow hands out whole numbers as doubles if one of the batch is missing; 2**53 + 1 is rounded in both ways alike."""
    rng = np.random.default_rng(8)
    belongs = np.arange(60) % 3
    large = 2**53 + rng.integers(0, 99, (3, 60))

    def table(cell: int | None) -> pa.Table:
        return pa.table({name: pa.array([cell if part == 1 else int(own) for own, part in zip(row, belongs, strict=True)],
                                        pa.int64()) for name, row in zip("yxz", large, strict=True)})

    found = [bits(moments(table(cell), OPEN, "y ~ x + z", belongs, 3), OPEN, "y ~ x + z", questions_about("x", "z"))
             for cell in (5, None, 2**63 - 1)]
    assert changed(found[0], found[1]) == {1} == changed(found[0], found[2])


def test_bounded_columns_and_categories() -> None:
    rng = np.random.default_rng(9)
    parts = split_table(rng, MIXED)
    asked = questions_about("x", "z[T.b]")

    def found(table: list[Rows]) -> Bits:
        rows, belongs = shuffled(table, rng)
        return bits(moments(rows, MIXED, "y ~ x + z", belongs, PARTS), MIXED, "y ~ x + z", asked)

    before = found(parts)
    for value in (np.nan, np.inf, 1e308):
        hostile = {"y": rng.choice([value, 1.0], 70), "x": rng.choice([value, 2.0], 70), "z": rng.choice(["", "b", "☃"], 70)}
        assert changed(before, found([hostile if place == VICTIM else part for place, part in enumerate(parts)])) == {VICTIM}


def hostile_moments(rng: np.random.Generator, parts: int, size: int) -> PartMoments:
    """Moments as no rows have them: of any size and sign, infinite, not symmetric, of any number of rows."""
    def anything(*shape: int) -> npt.NDArray[np.float64]:
        values = rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-320, 308, shape)
        return np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], shape), values)

    return PartMoments(rng.integers(0, 10**6, parts).astype(float), anything(parts, size, size), anything(parts, size), 0, False)


def test_hostile_moments_of_one_part_leave_all_others_as_they_are() -> None:
    """In vectorised arithmetic neighbours share a register: what is in one lane must not show in another."""
    rng = np.random.default_rng(10)
    rows, belongs = shuffled(split_table(rng), rng)
    found = moments(rows, OPEN, "y ~ x + z", belongs, PARTS)
    asked = questions_about("x", "z")
    before = bits(found, OPEN, "y ~ x + z", asked)
    for _ in range(60):
        victim = int(rng.integers(PARTS))
        hostile = hostile_moments(rng, PARTS, 4)
        now = [np.where((np.arange(PARTS) == victim).reshape(-1, *[1] * (own.ndim - 1)), other, own)
               for own, other in zip((found.counts, found.products, found.shift),
                                     (hostile.counts, hostile.products, hostile.shift), strict=True)]
        after = bits(PartMoments(now[0], now[1], now[2], 0, False), OPEN, "y ~ x + z", asked)
        assert changed(before, after) <= {victim}


def unlike(value: float, prior: str, parts: int = 8200) -> set[int]:
    """Which Bayes factors change if one of many parts leaves so much unexplained."""
    rng = np.random.default_rng(11)
    unexplained, rows = rng.uniform(0.5, 1.0, parts), rng.integers(8, 12, parts).astype(float)
    other = unexplained.copy()
    other[7] = value
    with np.errstate(all="ignore"):
        before, after = (answers_of_parts.log_bayes_factors(own, rows, 1, 2, prior) for own in (unexplained, other))
    return set(np.flatnonzero(before.view(np.int64) != after.view(np.int64)).tolist())


@pytest.mark.parametrize("prior", ["zellner-siow", "hyper-g"])
def test_nothing_is_interpolated_between_many_parts(prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of models up to the best of them is fine in a model comparison; among parts it would be a leak."""
    for value in (1e-300, 0.1, np.nan):  # NaN: a part that cannot be fitted
        assert unlike(value, prior) == {7}
    monkeypatch.setattr(answers_of_parts, "PARTS_AT_ONCE", 10**9)
    assert len(unlike(0.1, prior)) > 1000
    with pytest.raises(ValueError, match="finite"):
        unlike(np.nan, prior)


def test_a_part_whose_eigenvalues_are_not_found_is_unusable_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    rows, belongs = shuffled(split_table(rng), rng)
    found = moments(rows, OPEN, "y ~ x + z", belongs, PARTS)
    before = bits(found, OPEN, "y ~ x + z", questions_about("x", "z"))
    original, terms = np.linalg.eigh, ("Intercept", "x", "z")
    mine = found.products[VICTIM, 1, 2] / np.sqrt(found.products[VICTIM, 1, 1] * found.products[VICTIM, 2, 2])

    def eigh(matrices: npt.NDArray[np.float64]) -> Any:
        if matrices.shape[-1] == 3 and np.isclose(matrices[..., 1, 2], mine, rtol=1e-9).any():
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return original(matrices)

    assert fits.fit_parts(found.counts, found.products, found.shift, terms, answers.FLAT).usable[VICTIM]
    monkeypatch.setattr(np.linalg, "eigh", eigh)
    assert changed(before, bits(found, OPEN, "y ~ x + z", questions_about("x", "z"))) == {VICTIM}
    assert not fits.fit_parts(found.counts, found.products, found.shift, terms, answers.FLAT).usable[VICTIM]


def test_a_split_by_position_would_be_noticed() -> None:
    """One row of a sorted file is replaced by another, at another place: the rows in between move by one."""
    rng = np.random.default_rng(13)
    rows = made(110, rng)
    order = np.argsort(rows["x"])
    first = {name: values[order] for name, values in rows.items()}
    second = {name: np.append(values[1:], values[0] + 50.0) for name, values in first.items()}
    by_position = np.arange(110) % PARTS
    asked = questions_about("x", "z")

    def found(table: Rows, belongs: npt.NDArray[np.int64]) -> Bits:
        return bits(moments(table, OPEN, "y ~ x + z", belongs, PARTS), OPEN, "y ~ x + z", asked)

    assert len(changed(found(first, by_position), found(second, by_position))) == PARTS
    random = rng.permutation(by_position)  # the coupling of P1: everyone keeps the part, and the new row has that of the old one
    assert changed(found(first, random), found(second, np.append(random[1:], random[0]))) == {random[0]}


def test_buffers_that_parts_share_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all parts were multiplied whenever one is full, sums of others would be rounded at other places."""
    rng = np.random.default_rng(14)
    parts = [made(300, rng) for _ in range(PARTS)]
    monkeypatch.setattr(partition_sums, "LARGEST_BUFFER", 64)

    def found() -> tuple[Bits, Bits]:
        return tuple(found_in(table, rng, source="reader", batch=50)  # type: ignore[return-value]
                     for table in (parts, with_victim(parts, "other rows", rng)))

    assert changed(*found()) == {VICTIM}
    own = partition_sums.PartSums._multiply

    def all_at_once(self: Any, part: int) -> None:
        for one, waiting in enumerate(self._filled):
            if waiting:
                own(self, one)

    monkeypatch.setattr(partition_sums.PartSums, "_multiply", all_at_once)
    assert len(changed(*found())) > 1


def test_statistics_of_whole_batches_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns relative to the first row of the file instead of that of the part: the first row is one person's."""
    rng = np.random.default_rng(15)
    parts = split_table(rng)
    firsts: list[npt.NDArray[np.float64]] = []
    add = partition_sums.PartSums.add

    def relative(self: Any, values: npt.NDArray[np.float64], belongs: npt.NDArray[np.int64]) -> None:
        firsts.append(values[0, 1:].copy())
        values[:, 1:] -= firsts[0]
        add(self, values, belongs)

    def found(first: Rows) -> Bits:
        firsts.clear()
        table = [first, *parts[1:]]  # the only row of the first part is the first of the file
        rows = {name: np.concatenate([part[name] for part in table]) for name in first}
        belongs = np.repeat(np.arange(PARTS), [len(part["y"]) for part in table])
        return bits(moments(rows, OPEN, "y ~ x + z", belongs, PARTS), OPEN, "y ~ x + z", questions_about("x", "z"))

    one, other = (made(1, rng) for _ in range(2))
    assert changed(found(one), found(other)) == {0}
    monkeypatch.setattr(partition_sums.PartSums, "add", relative)
    assert len(changed(found(one), found(other))) > 1
