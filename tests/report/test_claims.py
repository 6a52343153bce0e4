"""Files that state less noise than their guarantee needs are told, and honest files never are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.report.made_for_reports import Reader, made_release, rows

import noisewise
from noisewise.holder.gram import blank_gram, plan_gram
from noisewise.privacy.calibration import log_delta_of_gaussian
from noisewise.release import EntryNoise, Release
from noisewise.release.adassp import AdasspPart
from noisewise.release.model import GramPart
from noisewise.release.moments import MomentsPart
from noisewise.report.claims import doubts, least_delta, too_little_noise
from noisewise.report.write import report
from noisewise.schema import Basis, Schema

COLUMNS = {"visits": {"bounds": [0, 10]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}}
TABLE = {**{name: rows(count=60)[name] for name in ("age", "ward")}, "visits": [1.0, 4.0] * 30, "person": list(range(30)) * 2}
REAL: dict[str, dict[str, Any]] = {
    "gaussian": {"delta": 1e-6},
    "laplace": {},
    "laplace with a delta": {"delta": 1e-6, "mechanism": "laplace"},
    "wishart": {"delta": 1e-6, "mechanism": "wishart"},
    "averaged": {"delta": 1e-6, "average": 3},
    "terms": {"delta": 1e-6, "terms": "age:ward + I(age**2)"},
    "adassp": {"delta": 1e-6, "kind": "adassp", "formula": "visits ~ age + ward"},
    "moments": {"delta": 1e-6, "kind": "moments", "formula": "visits ~ age + ward"},
    "moments with weights": {"delta": 1e-6, "kind": "moments", "formula": "visits ~ age", "blocks": {"x": 1, "yx": 4, "xx": 0.3}},
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "replace-one": {"adjacency": "replace-one"},
    "add-remove": {"adjacency": "add-remove"},
    "short rows": {"adjacency": "replace-one", "norm_bound": 0.7},
    "persons": {"adjacency": "replace-one", "unit": {"column": "person", "max_rows": 2}},
}
NOT_WITH: dict[str, tuple[str, ...]] = {"averaged": ("add-remove", "persons"), "wishart": ("persons",)}


def real_release(name: str, declared: dict[str, Any], epsilon: float) -> Release:
    schema = Schema.from_dict({**declared, "columns": COLUMNS})
    found = noisewise.release(TABLE, schema, epsilon=epsilon, progress=False, **REAL[name])
    assert isinstance(found, Release)
    return found


def with_less_noise(part: GramPart, factor: float) -> GramPart:
    if isinstance(part, MomentsPart):
        return replace(part, blocks={name: replace(block, noise=factor * block.noise) for name, block in part.blocks.items()})
    if isinstance(part, AdasspPart):
        part = replace(part, smallest_eigenvalue=replace(part.smallest_eigenvalue, noise=factor * part.smallest_eigenvalue.noise))
    noise = part.noise
    return replace(part, noise=EntryNoise(noise.distribution, factor * noise.diagonal, factor * noise.off_diagonal,
                                          factor * noise.corner))


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_real_releases_raise_no_doubt_and_the_same_with_less_noise_do(name: str, schema: str) -> None:
    if schema in NOT_WITH.get(name, ()):
        return
    for epsilon in (0.1, 3.0):
        release = real_release(name, SCHEMAS[schema], epsilon)
        part = release.parts[0]
        assert doubts(release, ["a"]) == []
        if part.noise.distribution != "wishart":
            # Two thirds and a third of a budget are not used as well as the whole, so that adassp has noise to spare.
            words = too_little_noise(with_less_noise(part, 0.6 if name == "adassp" else 0.999))
            assert words is not None and "too small" in words


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 20.0, 3000.0])
@pytest.mark.parametrize("delta", [1e-90, 1e-12, 1e-6, 0.4])
@pytest.mark.parametrize("columns", [1, 30])
def test_gaussian_noise_of_every_budget(epsilon: float, delta: float, columns: int) -> None:
    """The noise is rounded up and widened for the grid: a little less would still do, one part in a hundred would not."""
    declared = {f"x{place}": {"bounds": [0, 1]} for place in range(columns)}
    schema = Schema.from_dict({"adjacency": "add-remove", "columns": declared})
    basis = Basis.of(schema, None)
    (part,) = blank_gram(schema, None, basis, plan_gram(basis, epsilon, delta)).parts
    assert too_little_noise(part) is None
    assert too_little_noise(with_less_noise(part, 0.99)) is not None


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1.0, 8.0, 600.0, 1e6])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0, 3.0])
def test_the_delta_is_that_of_the_calibration(epsilon: float, share: float) -> None:
    distance = share * math.sqrt(2 * epsilon)
    expected = math.exp(log_delta_of_gaussian(epsilon, 1 / distance))
    assert least_delta(epsilon, distance) == pytest.approx(expected, rel=1e-7, abs=1e-290)
    assert least_delta(epsilon, distance) <= expected * (1 + 1e-12)


def test_any_one_class_of_entries_can_have_too_little() -> None:
    enough = EntryNoise("gaussian", 12.0, 9.0, 12.0)
    schema = {"adjacency": "add-remove", "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}}
    assert doubts(made_release(declared=schema, rows=None, noise=enough), ["a"]) == []
    for name in ("diagonal", "off_diagonal", "corner"):
        (words,) = doubts(made_release(declared=schema, rows=None, noise=replace(enough, **{name: 5.0})), ["a"])
        assert words.startswith("a: the noise that its file states is too small for the ε, δ and sensitivity that it states")


def test_a_doubt_is_told_at_the_top_and_with_the_guarantee() -> None:
    found = report(made_release(sensitivity=4.0))
    (flag,) = found.flags
    assert flag.startswith("Do not rely on the guarantee. release 1: the noise") and "at ε = 1 and not 10⁻⁶." in flag
    text = Reader(found.html).text
    assert text.count("such noise has δ = ") == 2 and "Do not rely on this guarantee:" in text
    laplace = made_release(delta=0.0, sensitivity=8.0, noise=EntryNoise("laplace", 8.0, 8.0, 0.0))
    assert "such noise has ε = 1.414 and not 1." in report(laplace).flags[0]
    assert "Do not rely" not in Reader(report(made_release()).html).text


def test_many_doubts_are_a_few_lines() -> None:
    bad = [made_release(rows(seed, 50), sensitivity=4.0) for seed in range(9)]
    flags = report(bad).flags
    assert len(flags) == 7 and flags[-1].endswith("The same is true of 3 further data holders.")


def test_a_delta_pays_for_a_little_less_laplace_noise() -> None:
    noise = EntryNoise("laplace", 8.0, 8.0, 0.0)
    part = made_release(noise=noise, sensitivity=8.0, delta=0.0).parts[0]
    needed = -math.expm1((1.0 - math.sqrt(2)) / 2)
    assert too_little_noise(replace(part, delta=1.01 * needed)) is None
    assert too_little_noise(replace(part, delta=0.99 * needed)) is not None
