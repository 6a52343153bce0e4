"""What a page says: the right numbers in words that a reader needs, in markup that is whole."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import about
from tests.report.made_for_reports import FORMULA, NOISE, Reader, made_comparison, made_fit, made_release, rows, whole_report

import noisewise
from noisewise.errors import ResultError
from noisewise.releases.contents.gram import EntryNoise
from noisewise.reports.declared import bound_notes, column_moments
from noisewise.reports.redo import AUTHORS, TITLE
from noisewise.reports.write import report

ROOT = Path(__file__).parents[2]
NOISE_PER_ROW = NOISE / 4000


@pytest.fixture(scope="module")
def page() -> Reader:
    return Reader(whole_report().html)


def test_every_section_is_there_and_the_contents_lead_to_it(page: Reader) -> None:
    sections = [section["id"] for section in page.of("section")]
    assert sections == ["privacy", "budget", "declared", "noise", "fits", "sides", "models", "cite", "redo"]
    links = [link["href"] for link in page.of("a")]
    assert links == ["#main", *(f"#{name}" for name in sections)]
    assert page.of("html")[0]["lang"] == "en" and len(page.of("h1")) == 1


def test_headings_do_not_skip_a_level(page: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_drawing_has_a_text_alternative_with_its_numbers(page: Reader) -> None:
    drawings = page.of("svg")
    assert len(drawings) > 10
    assert all(drawing["role"] == "img" and len(drawing["aria-label"] or "") > 20 for drawing in drawings)
    fit = made_fit(made_release())
    low, high = np.quantile(fit.draws("age"), [0.025, 0.975])
    label = next(str(one["aria-label"]) for one in drawings if str(one["aria-label"]).startswith("age: "))
    assert f"95 % interval {low:.4f} to {high:.4f}" in label and "50 % interval" in label and "prior" in label


def test_identifiers_are_used_once_and_labels_point_to_something(page: Reader) -> None:
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert {attributes["aria-labelledby"] for _, attributes in page.tags if "aria-labelledby" in attributes} <= set(names)


def test_the_policy_allows_this_style_and_this_script_and_nothing_else() -> None:
    html = whole_report().html
    policy = next(str(meta["content"]) for meta in Reader(html).of("meta") if "http-equiv" in meta)
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy
    assert not re.search(r"(src|href)=\"(?!#)|url\(|@import|<link|style=\"|javascript:", html)


def test_the_privacy_statement_names_the_unit_the_odds_and_what_is_left(page: Reader) -> None:
    for words in ("ε = 1, δ = 10⁻⁶", "Each single row", "replace-one", "at most 73.2 % of the time", "Facts about groups",
                  "Replacing any one row changes little.", "Only the data holder knows", "becomes the nearer bound"):
        assert words in page.text, words


@pytest.mark.parametrize(("changes", "words"), [
    ({"unit": {"column": "person", "max_rows": 3}}, "Each “person” is protected with all of its rows, of which at most 3 were"),
    ({"adjacency": "add-remove"}, "Whether somebody is in the table at all is hidden too"),
    ({"adjacency": "add-remove"}, "guesses right about one row at most 88.1 % of the time."),
    ({"adjacency": "add-remove"}, "at most 88.1 % of the time with it"),
    ({"unit": {"column": "person", "max_rows": 3}}, "guesses right about one person at most 73.2 % of the time."),
    ({"stratum": {"year": "2024"}}, "one stratum of a population (year 2024)"),
])
def test_other_units_and_adjacencies(changes: dict[str, object], words: str) -> None:
    declared = {"adjacency": "replace-one", "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}, **changes}
    public = "unit" not in changes and changes.get("adjacency") != "add-remove"
    hidden = {} if public else {"rows": None, "noise": EntryNoise("gaussian", 11.3, 8.0, 8.0)}
    text = Reader(report(made_release(declared=declared, **hidden)).html).text
    assert words in text
    assert ("about 4,0" in text) != public


def test_the_drawing_names_the_larger_chance_under_add_remove() -> None:
    declared = {"adjacency": "add-remove", "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}}
    page = Reader(report(made_release(declared=declared, rows=None, noise=EntryNoise("gaussian", 12.0, 9.0, 12.0))).html)
    assert page.of("svg")[0]["aria-label"] == ("The chance of a right guess about one row: 50 % without the release, at most "
                                               "88.1 % with it.")
    assert float(str(page.of("circle")[0]["cx"])) == pytest.approx(10 + 3.2 * 88.08, abs=0.1)


def test_what_no_file_can_prove_is_told_as_a_rule(page: Reader) -> None:
    assert "as the file states: gaussian. Noise must be drawn from the operating system's random bytes" in page.text
    assert "The data holder must declare columns before the release, from public knowledge" in page.text
    assert "noise was drawn" not in page.text and "holder declared" not in page.text
    assert page.text.count("No file can prove") == 2 and "cannot prove how it was made" in page.text


def test_a_row_counts_for_one_unless_rows_were_averaged(page: Reader) -> None:
    """What a row adds to a sum of products: once as it is, and once with the others of its group, none of them larger than 1."""
    weight = "This is about the weight of 8 rows."
    assert weight in page.text and "each level of a larger category, except the first, is 0 or 1" in page.text
    averaged = Reader(report(made_release(average=3)).html).text
    assert "first averaged in random groups of 3" in averaged and "for less than 2" in averaged and weight not in averaged
    group = np.ones((3, 2))
    assert 1 < float((group.T @ np.ones((3, 3)) @ group / 3 - group[1:].T @ np.ones((2, 2)) @ group[1:] / 3).max()) < 2


def test_pure_epsilon_is_told_as_a_change_of_belief() -> None:
    pure = made_release(delta=0.0, epsilon=0.5, mechanism="laplace", noise=EntryNoise("laplace", 8.0, 8.0, 0.0))
    text = Reader(report(pure).html).text
    assert "δ = 0" in text and "one of 50 % at most 62.3 %" in text and "e^0.5 ≈ 1.65" in text


def test_means_of_columns_are_those_of_the_release() -> None:
    table, release = rows(), made_release()
    moments = column_moments(release)
    mean = 58 + 40 * moments["age", None].mean
    assert mean == pytest.approx(float(np.mean(table["age"])), abs=5 * 40 * NOISE_PER_ROW)
    assert moments["ward", "B"].mean == pytest.approx(float(np.mean(table["ward"] == "B")), abs=5 * NOISE_PER_ROW)
    assert (1 + moments["sick", None].mean) / 2 == pytest.approx(float(np.mean(table["sick"] == "yes")), abs=5 * NOISE_PER_ROW)
    assert moments["age", None].noise == pytest.approx(NOISE_PER_ROW)
    assert f"{mean:.3f} ± 0.080" in Reader(report(release).html).text


def test_bounds_that_the_sums_show_to_be_tight_or_loose_are_told() -> None:
    table = rows(count=20_000)
    usual = {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}

    def notes(values: Any, bounds: list[float]) -> list[str]:
        declared = {"adjacency": "replace-one", "columns": {**usual, "age": {"bounds": bounds}}}
        release = made_release({**table, "age": np.clip(values, *bounds)}, declared)
        return bound_notes(release.schema, column_moments(release))

    age = np.asarray(table["age"])
    assert notes(age, [18, 98]) == []
    assert "near its lower bound, 90" in notes(age, [90, 98])[0]
    assert "near its upper bound, 20" in notes(age, [18, 20])[0]
    assert "near one of the two bounds" in notes(age, [57, 59])[0]
    assert "vary little" in notes(58 + (age - 58) / 1000, [18, 98])[0]


def test_the_findings_name_what_leaves_zero_out(page: Reader) -> None:
    words = "The 95 % intervals of age (positive) and ward[T.B] (positive) exclude zero; that of ward[T.C] does not."
    assert words in page.text
    one = Reader(report(made_release(), fits=made_fit(made_release(), "stay ~ age"), interval=0.9).html)
    assert "The 90 % interval of age (positive) excludes zero." in one.text
    picks = [str(box["class"]) for box in one.of("input")]
    assert [name for name in picks if name.startswith("pick-k")] == ["pick-k0", "pick-k1", "pick-k2", "pick-k3"]


def test_ratios_of_a_logistic_regression() -> None:
    releases = [made_release(rows(seed)) for seed in (1, 2)]
    fit = made_fit(releases[0], "sick ~ age + ward", family="logistic")  # of one of two holders: not checked, which takes a while
    text = Reader(report(releases, fits=fit).html).text
    middle = float(np.exp(np.median(fit.draws("age"))))
    assert "Odds ratios" in text and f"{middle:.5f}" in text and "log odds of “sick” being “yes”" in text
    assert "sigma" not in text


def test_draws_that_disagree_are_told_at_the_top() -> None:
    release = made_release()
    fit = made_fit(release)
    samples = fit.samples.copy()
    samples[0] += 1.0
    found = report(release, fits=noisewise.Posterior(samples, fit.terms, fit.design, fit.info, fit.prior))
    assert any("the chains disagree" in flag for flag in found.flags)
    text = Reader(found.html).text
    assert "Before you use this" in text and "Do not trust these draws yet" in text
    assert "Before you use this" not in Reader(report(release, fits=fit).html).text


def test_a_comparison_shows_probabilities_bands_and_models(page: Reader) -> None:
    for words in ("80 %", "35 %", "age + ward", "median probability model: stay ~ age", "accounts for the privacy noise"):
        assert words in page.text, words
    plain = made_comparison(made_release(), without_noise=None, notes=("the noise hides much",))
    text = Reader(report(made_release(), comparisons=plain).html).text
    assert "Band" not in text and "The noise hides much." in text
    assert "The noise hides too much" not in page.text
    anything = made_comparison(made_release(), without_noise=np.tile([[0.0, 0.4], [1.0, 0.5]], (20, 1)))
    text = Reader(report(made_release(), comparisons=anything).html).text
    assert "without it, the probability of age could be anything." in text and "No problems were found" not in text


def test_several_holders_have_a_line_each_and_the_weakest_is_named() -> None:
    one, other = made_release(rows(1)), made_release(rows(2, 5000), epsilon=2.0)
    fit = made_fit(noisewise.combine([one, other]))
    text = Reader(report([one, other], fits=fit).html).text
    assert "2 data holders, each with ε from 1 to 2" in text and "weakest, at release 2 (ε = 2, δ = 10⁻⁶)" in text
    assert "9,000" in text and "People in several tables" in text and "the data holders agree" in text


def test_hundreds_of_terms_stay_light() -> None:
    columns = {f"x{place}": {"bounds": [-1, 1]} for place in range(300)}
    declared = {"adjacency": "replace-one", "columns": {"y": {"bounds": [-9, 9]}, **columns}}
    random = np.random.default_rng(1)
    table = {"y": random.uniform(-9, 9, 5000), **{name: random.uniform(-1, 1, 5000) for name in columns}}
    release = made_release(table, declared)
    found = report(release, fits=made_fit(release, "y ~ ."))
    text = Reader(found.html).text
    assert len(found.html) < 900_000
    assert "it is slow with more than 100 columns" in text
    assert "more terms are only in the table" in text and "more lines are not shown" in text


def test_the_citation_is_that_of_the_repository(page: Reader) -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'title: "{TITLE}"' in citation and f'name: "{AUTHORS}"' in citation
    assert TITLE in page.text and "Bernstein and D. Sheldon (2019)" in page.text


def test_papers_are_those_of_the_documentation() -> None:
    from noisewise.reports import papers

    known = " ".join(" ".join(page.read_text(encoding="utf-8").replace("*", "").split()) for page in (ROOT / "docs").glob("*.md"))
    named = [value for name, value in vars(papers).items() if name.isupper() and isinstance(value, str)]
    missing = [paper for paper in named if re.split(r"\(\d{4}\)\. ", paper)[1].split(". ")[0] not in known]
    assert len(named) > 5 and missing == []


def test_the_same_input_gives_the_same_bytes_and_reaches_no_rows() -> None:
    """In another process. What import-linter proves of all imports is at least true of those that a report makes."""
    program = ("import sys, noisewise; before = set(sys.modules); from tests.report.made_for_reports import whole_report\n"
               "sys.stdout.write(whole_report().html)\n"
               "sys.stderr.write(' '.join(sorted(name for name in set(sys.modules) - before if name.startswith('noisewise'))))")
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=600, cwd=ROOT,
                           env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"})
    assert whole_report().html.encode() == again.stdout
    reached = again.stderr.decode().split()
    assert "noisewise.reports.fits" in reached
    assert not [name for name in reached if name.startswith(("noisewise.data", "noisewise.privacy"))]


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    found = report(made_release(), path=path, title="Stays")
    assert path.read_text(encoding="utf-8") == found.html and "<title>Stays</title>" in found.html
    assert repr(found).startswith("<Report 'Stays': ")
    with pytest.raises(ResultError, match="the report could not be written"):
        found.save(tmp_path / "nowhere" / "report.html")


@pytest.mark.parametrize(("arguments", "words"), [
    (([],), "at least one release"), ((7,), "releases, or the paths"), (("nothing.nwr",), "release file does not exist"),
])
def test_what_is_no_release_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(noisewise.NoisewiseError, match=words):
        report(*arguments)  # type: ignore[arg-type]
    with pytest.raises(ResultError, check=about("interval")):
        report(made_release(), interval=95)
    with pytest.raises(ResultError, match="noisewise results"):
        report(made_release(), fits=[FORMULA.split()])  # type: ignore[list-item]
