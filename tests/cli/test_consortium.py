"""Several sites from the command line: files that belong together, files that do not, and who stands out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.command_line import change, make_release, one_error, rows

import noisewise
from noisewise.posterior.request import Sampled
from noisewise.results.sites import LOG_SIGMA, SiteEffects
from noisewise.run import QUIET

FORMULA = "stay ~ age + ward"
QUICK = ("-m", "laplace", "--seed", "1")
# The noise is real: now and then the normal approximation, which is used for its speed, has a doubt.
pytestmark = pytest.mark.filterwarnings("ignore::noisewise.errors.ConvergenceWarning")


@pytest.fixture
def sites(tmp_path: Path, schema: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three sites that differ in rows, budget and kind of noise; the second has no patient in ward C."""
    monkeypatch.chdir(tmp_path)
    declared = noisewise.Schema.load(schema)
    made = []
    for number, (count, epsilon, delta) in enumerate([(3000, 50.0, 1e-6), (1000, 100.0, 1e-6), (6000, 30.0, None)], start=1):
        table: dict[str, Any] = rows(number, count)
        if number == 2:
            table["ward"] = np.where(table["ward"] == "C", "A", table["ward"])
        path = tmp_path / f"site-{number}.nwr"
        noisewise.release(table, declared, epsilon=epsilon, delta=delta, run=QUIET).save(path)
        made.append(path)
    return made


def test_sites_of_any_size_noise_and_budget_are_fitted_together(nw, sites) -> None:
    found = nw.json("fit", *sites, FORMULA, *QUICK)
    assert found["holders"] == 3 and [site["rows"] for site in found["sites"]] == [3000, 1000, 6000]
    assert [site["mechanism"] for site in found["sites"]] == ["gaussian", "gaussian", "laplace"]
    means = {row["term"]: row for row in found["terms"]}
    for term, truth in (("age", 0.2), ("ward[T.B]", 4.0), ("ward[T.C]", 0.0)):  # four sds: true but for 1 run in 10,000
        assert abs(means[term]["mean"] - truth) < 4 * means[term]["sd"]


def test_a_site_without_a_level_tells_nothing_about_it_and_does_no_harm(nw, sites) -> None:
    alone = nw.json("fit", sites[1], FORMULA, *QUICK)
    widths = {row["term"]: row["upper"] - row["lower"] for row in alone["terms"]}
    assert widths["ward[T.C]"] > 5 * widths["ward[T.B]"]
    without = {row["term"]: row["sd"] for row in nw.json("fit", sites[0], sites[2], FORMULA, *QUICK)["terms"]}
    together = {row["term"]: row["sd"] for row in nw.json("fit", *sites, FORMULA, *QUICK)["terms"]}
    assert together["age"] < 1.05 * without["age"] and together["ward[T.C]"] < 1.2 * without["ward[T.C]"]


def test_a_line_for_each_site(nw, sites) -> None:
    result = nw("fit", *sites, FORMULA, *QUICK, "--sites")
    assert result.exit_code == 0, result.stderr
    for words in ("site-1.nwr", "6,000", "1e-06", "laplace", "noise sd"):
        assert words in result.stdout
    assert "site-1.nwr" not in nw("fit", *sites, FORMULA, *QUICK).stdout


def test_patterns_that_the_shell_has_left(nw, sites) -> None:
    assert nw.json("fit", "site-*.nwr", FORMULA, *QUICK)["holders"] == 3
    assert nw("show", "site-*.nwr").exit_code == 0
    assert "no file matches" in one_error(nw("fit", "hospital-*.nwr", FORMULA))


def test_show_compares_files(nw, sites, schema) -> None:
    result = nw("show", *sites)
    assert result.exit_code == 0 and "can be fitted together" in result.stdout and "30" in result.stdout
    other = _other_schema(schema, "[0, 60]", "[0, 90]")
    result = nw("show", *sites, other)
    assert result.exit_code == 0 and "other.nwr differs from site-1.nwr" in result.stderr and "bounds" in result.stderr
    found = nw.json("show", *sites, other)
    assert len(found["releases"]) == 4 and len(found["differences"]) == 1


def test_noisy_numbers_of_rows_are_shown_with_their_noise(nw, schema, tmp_path) -> None:
    change(schema, "replace-one", "add-remove")
    made = [make_release(tmp_path / f"{name}.nwr", schema, seed) for seed, name in enumerate("ab")]
    assert "±" in nw("show", *made).stdout
    assert nw.json("fit", *made, FORMULA, *QUICK)["sites"][0]["rows"] is None


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_file_with_another_schema_is_named(nw, sites, schema, place) -> None:
    """Wherever it stands: the files that most agree with are right."""
    other = _other_schema(schema, '["A", "B", "C"]', '["A", "B", "D"]')
    files = [*sites[:place], other, *sites[place:]]
    said = one_error(nw("fit", *files, FORMULA))
    assert "other.nwr differs from site-1.nwr" in said and "levels" in said and "'D'" in said and said.count("differs from") == 1


def test_a_column_that_only_one_has_is_told_with_its_file(nw, sites, schema) -> None:
    other = _other_schema(schema, "[columns.age]", "[columns.weight]\nbounds = [0, 200]\n\n[columns.age]", weight=80.0)
    assert "column 'weight': only in other.nwr" in one_error(nw("fit", *sites, other, FORMULA))


def test_repeated_releases_are_told_by_their_files(nw, sites, tmp_path) -> None:
    assert "site-1.nwr is given twice" in one_error(nw("fit", sites[0], sites[1], sites[0], FORMULA))
    copy = shutil.copy(sites[0], tmp_path / "copy.nwr")
    said = one_error(nw("fit", *sites, copy, FORMULA))
    assert "site-1.nwr and" in said and "copy.nwr contain the same contribution" in said


def test_check_says_that_agreeing_sites_agree(nw, sites) -> None:
    nw("fit", *sites, FORMULA, *QUICK, "--save", "fit.npz")
    result = nw("check", "fit.npz", *sites, "--plot", "check.png", "--csv", "check.csv")
    assert result.exit_code == 0, result.stderr
    for words in ("site-2.nwr", "residual × age", "mean squared residual", "overall", "expected"):
        assert words in result.stdout
    assert Path("check.png").read_bytes().startswith(b"\x89PNG")
    assert list(pd.read_csv("check.csv").columns) == ["holder", "statistic", "observed", "expected", "lower", "upper", "p"]


def test_check_names_the_site_that_does_not_fit(nw, sites, schema, tmp_path) -> None:
    odd = {**rows(9, 3000)}
    odd["stay"] = odd["stay"] + 0.3 * (odd["age"] - 58)
    noisewise.release(odd, noisewise.Schema.load(schema), epsilon=50, delta=1e-6, run=QUIET).save(tmp_path / "site-4.nwr")
    files = [*sites, tmp_path / "site-4.nwr"]
    nw("fit", *files, FORMULA, *QUICK, "--save", "fit.npz")
    result = nw("check", "fit.npz", *files)
    assert result.exit_code == 0 and "site-4.nwr does not fit the others" in result.stderr
    assert any("site-4.nwr" in problem for problem in nw.json("check", "fit.npz", *files)["problems"])


def test_check_of_many_sites_shows_those_that_matter(nw, schema, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    declared = noisewise.Schema.load(schema)
    for number in range(15):
        table = rows(number, 500)
        table["stay"] = table["stay"] + (1.5 if number == 7 else 0)
        noisewise.release(table, declared, epsilon=100, delta=1e-6, run=QUIET).save(f"s{number:02}.nwr")
    nw("fit", "s*.nwr", FORMULA, *QUICK, "--save", "fit.npz")
    result = nw("check", "fit.npz", "s*.nwr")
    assert "s07.nwr" in result.stdout and "are not shown" in result.stdout
    assert len(nw.json("check", "fit.npz", "s*.nwr")["statistics"]) == 15 * 6 + 1


def test_check_of_one_release_says_what_it_cannot_tell(nw, sites) -> None:
    nw("fit", sites[0], FORMULA, *QUICK, "--save", "fit.npz")
    assert "single holder" in nw("check", "fit.npz", sites[0]).stdout
    nw("fit", sites[0], "stay ~ age", *QUICK, "--save", "fit.npz")
    assert "depend on ward[B]" in nw("check", "fit.npz", sites[0]).stderr


@pytest.fixture
def quick_sites(monkeypatch: pytest.MonkeyPatch) -> SiteEffects:
    """The sampler takes seconds to compile: random effects with known answers stand for it."""
    generator = np.random.default_rng(1)
    terms = ("Intercept", "age", "ward[T.B]", "ward[T.C]", "sigma")
    between = np.abs(generator.normal(size=(4, 1000, 5))) * [2.0, 0.05, 1.0, 1.0, 0.1]
    own = np.arange(1.0, 4.0)[:, None, None] + 0.01 * generator.normal(size=(3, 500, 5))
    effects = SiteEffects(terms, (*terms[:-1], LOG_SIGMA), between, own)
    population = np.abs(5 + generator.normal(size=(4, 1000, 5)))
    sampled = Sampled(population, np.zeros((4, 1000), dtype=bool), sites=effects)
    monkeypatch.setattr("noisewise.posterior.kinds.gram.random_sites", lambda *arguments: sampled)
    return effects


def test_random_effects_say_how_much_sites_differ(nw, sites, quick_sites) -> None:
    result = nw("fit", *sites, FORMULA, "--site", "random", "--seed", 1)
    assert result.exit_code == 0, result.stderr
    for words in ("differs between sites", "log sigma", "average site", "no transition diverged"):
        assert words in result.stdout
    assert f"{quick_sites.summary().loc['age', 'mean']:.3f}" in result.stdout
    assert "differs between sites" not in nw("fit", *sites, FORMULA, *QUICK).stdout
    found = nw.json("fit", *sites, FORMULA, "--site", "random", "--seed", 1)
    assert [row["term"] for row in found["between_sites"]] == list(quick_sites.varying)
    assert found["between_sites"][0]["upper"] == quick_sites.summary().loc["Intercept", "97.5%"]
    assert [row["site"] for row in found["site_coefficients"][::5]] == ["site-1.nwr", "site-2.nwr", "site-3.nwr"]
    assert found["site_coefficients"][6]["mean"] == pytest.approx(2.0, abs=0.01) and "between_sites" not in nw.json(
        "fit", *sites, FORMULA, *QUICK)


def test_check_refuses_other_kinds_and_other_files(nw, sites, schema, table) -> None:
    nw("fit", *sites, FORMULA, *QUICK, "--save", "fit.npz")
    made = nw("release", "adassp", table, "--schema", schema, "--epsilon", 5, "--delta", 1e-6, "--formula", FORMULA,
              "-o", "ada.nwr")
    assert made.exit_code == 0, made.stderr
    said = one_error(nw("check", "fit.npz", "ada.nwr"))
    assert "kind gram" in said and "kind adassp" in said and "remedy" in said
    said = one_error(nw("check", "fit.npz", *sites[:2]))
    assert "a fit of 3 holders and the releases of 2" in said
    assert "fit.npz" in one_error(nw("check", "fit.npz", *sites, "--csv", "fit.npz"))


def test_bad_checks(nw, sites, schema) -> None:
    nw("fit", *sites, FORMULA, *QUICK, "--save", "fit.npz")
    assert "schema" in one_error(nw("check", "fit.npz", _other_schema(schema, "[0, 60]", "[0, 90]")))
    assert "no such file" in one_error(nw("check", "missing.npz", *sites))
    assert ".png" in one_error(nw("check", "fit.npz", *sites, "--plot", "x.txt"))
    assert nw("check", "fit.npz").exit_code == 2


def _other_schema(schema: Path, old: str, new: str, **more: float) -> Path:
    changed = schema.parent / "other.toml"
    changed.write_text(schema.read_text().replace(old, new))
    table = {**rows(8), **{name: np.full(2000, value) for name, value in more.items()}}
    path = schema.parent / "other.nwr"
    noisewise.release(table, noisewise.Schema.load(changed), epsilon=100, delta=1e-6, run=QUIET).save(path)
    return path


def test_a_folder_and_a_pattern_in_quotes_are_the_files_in_them(nw, sites, tmp_path: Path) -> None:
    by_name = nw.json("fit", *sites, FORMULA, *QUICK)
    for given in (tmp_path, "site-*.nwr"):
        found = nw.json("fit", given, FORMULA, *QUICK)
        assert found["terms"] == by_name["terms"] and [Path(site["file"]).name for site in found["sites"]] == [
            "site-1.nwr", "site-2.nwr", "site-3.nwr"]
    shown = nw.json("show", tmp_path)
    assert len(shown["releases"]) == 3 and shown["differences"] == []
    (tmp_path / "none").mkdir()
    assert "contains no release files" in one_error(nw("fit", tmp_path / "none", FORMULA))


def test_pooled_files_are_fitted_alike_and_have_no_sites(nw, sites, tmp_path: Path) -> None:
    found = nw.json("fit", tmp_path, FORMULA, *QUICK, "--pool")
    assert found["holders"] == 3 and found["sites"] == []
    apart = {row["term"]: row for row in nw.json("fit", tmp_path, FORMULA, *QUICK)["terms"]}
    for row in found["terms"]:
        assert abs(row["mean"] - apart[row["term"]]["mean"]) < 0.1 * row["sd"]
    for wrong in (("--sites",), ("--site", "random")):
        assert "--pool" in nw("fit", tmp_path, FORMULA, "--pool", *wrong).stderr
    shutil.copy(sites[0], tmp_path / "site-4.nwr")
    assert "contain the same contribution" in one_error(nw("fit", tmp_path, FORMULA, "--pool"))
