"""``noisewise plan gram``: what each mechanism would cost, from the schema alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import one_error

import noisewise

BUDGET = ("--epsilon", 1, "--delta", "1e-6")
NAMES = ["gaussian", "laplace", "wishart", "wishart-paper"]


def test_every_mechanism_is_compared_with_the_noise_that_a_release_would_have(nw: Any, schema: Path, table: Path) -> None:
    document = nw.json("plan", "gram", "--schema", schema, *BUDGET, "--rows", 2000)
    assert [one["mechanism"] for one in document["mechanisms"]] == NAMES
    for planned in document["mechanisms"]:
        [part] = noisewise.release(table, noisewise.Schema.load(schema), noisewise.Gram(mechanism=planned["mechanism"]),
                                   epsilon=1, delta=1e-6).contributions
        sd = planned["noise_sd"]
        assert (sd["diagonal"], sd["off_diagonal"]) == (part.noise.diagonal, part.noise.off_diagonal)
        assert planned["degrees_of_freedom"] == part.noise.degrees and planned["delta"] == part.delta
        assert planned["sd_of_a_mean_in_ranges"] == pytest.approx(part.noise.off_diagonal / 4000)
        assert planned["share_of_a_second_moment"] == pytest.approx(3 * part.noise.diagonal / 2000)
    gaussian, laplace, wishart, paper = (one["relative_to_gaussian"]["diagonal"] for one in document["mechanisms"])
    assert gaussian == 1 < wishart < paper and laplace > 0


def test_the_table_and_what_it_means(nw: Any, schema: Path) -> None:
    plain = nw("plan", "gram", "-s", schema, *BUDGET)
    assert plain.exit_code == 0 and plain.stderr == ""
    assert all(name in plain.stdout for name in NAMES) and "second moment" not in plain.stdout
    assert "Nothing was read and nothing was spent" in plain.stdout
    longer = nw("plan", "gram", "-s", schema, *BUDGET, "--rows", 10_000, "--terms", "I(age**2)")
    assert "second moment" in longer.stdout and "5 columns, replace-one" in longer.stdout
    assert "Nothing was" not in nw("plan", "gram", "-s", schema, *BUDGET, "--quiet").stdout


def test_what_cannot_be_had_is_said(nw: Any, schema: Path) -> None:
    given = ("plan", "gram", "-s", schema, "--epsilon", 10, "--delta", "1e-6")
    result = nw(*given)
    assert "refused" in result.stdout and "wishart-paper is refused: the degrees of freedom of paper 004" in result.stderr
    [*_, paper] = nw.json(*given)["mechanisms"]
    assert paper["mechanism"] == "wishart-paper" and "paper 004" in paper["refused"]["rule"]


@pytest.mark.parametrize("wrong", [("--epsilon", 0, "--delta", "1e-6"), ("--epsilon", 1, "--delta", 2)])
def test_a_budget_that_is_none_is_an_error(nw: Any, schema: Path, wrong: tuple[object, ...]) -> None:
    assert "must" in one_error(nw("plan", "gram", "-s", schema, *wrong))


def test_wrong_use_is_exit_code_2(nw: Any, schema: Path) -> None:
    for given in ((*BUDGET,), ("-s", schema, "--epsilon", 1), ("-s", schema, *BUDGET, "--rows", 0)):
        assert nw("plan", "gram", *given).exit_code == 2
    assert nw("plan", "--help").exit_code == nw("plan", "gram", "--help").exit_code == 0


def test_a_release_by_the_command_line(nw: Any, schema: Path, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "w.nwr"
    document = nw.json("release", table, "-s", schema, *BUDGET, "--mechanism", "wishart", "-o", target)
    [part] = document["contributions"]
    assert (document["format_version"], part["mechanism"]) == ("1.0", "wishart")
    assert part["noise_sd"]["diagonal"] == pytest.approx(part["scale"] * (2 * part["degrees_of_freedom"]) ** 0.5)
    assert "degrees of freedom" in nw("show", target).stdout
