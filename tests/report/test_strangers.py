"""Release files come from strangers: whatever a text in them is, it stays a text. And a fit is not shown with a wrong release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.report.made_for_reports import DECLARED, Reader, made_comparison, made_fit, made_release, rows

import noisewise
from noisewise.errors import ResultError
from noisewise.report.given import assign, read_release, read_result, subjects_of
from noisewise.report.write import report

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "' onfocus='alert(3)",
           "</style><script>alert(4)</script>", "{{ 7 * 7 }}", "${alert(5)}", "&lt;b&gt;", "javascript:alert(6)",
           "</svg><a href=//x>", "a" * 300, "\u202eabc"]
GOLDEN = Path(__file__).parents[1] / "golden"
SHORT = {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}


def hostile_release() -> noisewise.Release:
    columns = {"y": {"bounds": [0, 40]}, **{name: {"bounds": [18, 98]} for name in HOSTILE},
               "<b>ward</b>": {"levels": ["<i>A</i>", "\"B\"", "<script>C</script>"]}}
    random = np.random.default_rng(1)
    table = {name: random.uniform(18, 98, 2000) for name in ["y", *HOSTILE]}
    table["<b>ward</b>"] = random.choice(["<i>A</i>", "\"B\"", "<script>C</script>"], 2000)
    return made_release(table, {"adjacency": "replace-one", "columns": columns}, mechanism=HOSTILE[0], statement=HOSTILE[1],
                        library=HOSTILE[3])


def hostile_html(title: str = HOSTILE[0]) -> str:
    release = hostile_release()
    fit = made_fit(release, "y ~ .", doubts=(HOSTILE[0],))
    return report(release, fits=fit, title=title).html


def test_texts_of_a_release_stay_texts() -> None:
    page = Reader(hostile_html())
    assert page.scripts == 1 and len(page.of("style")) == 1
    assert not page.of("img") and not page.of("b") and not page.of("i")
    assert all(link["href"] and link["href"].startswith("#") for link in page.of("a"))
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
    for name in HOSTILE:
        assert " ".join(name.split()) in page.text, name


def test_a_fit_to_another_schema_is_refused() -> None:
    other = made_release(declared={"adjacency": "replace-one", "columns": {**SHORT, "stay": {"bounds": [0, 41]}}})
    for fit in (made_fit(made_release()), made_comparison(made_release())):
        with pytest.raises(ResultError, match="was not fitted to the releases that are given.*another schema"):
            report(other, fits=[fit])
    with pytest.raises(ResultError, match="a fit of 3 holders, and releases of 1"):
        report(made_release(), fits=[made_fit(made_release(), holders=3)])


def test_a_fit_to_another_release_of_the_same_schema_is_flagged() -> None:
    other = made_release(rows(2, effect=0.2))
    flags = report(other, fits=made_fit(made_release())).flags
    assert any("it may have been made from another release" in flag for flag in flags)
    assert not report(made_release(), fits=made_fit(made_release())).flags


def test_a_fit_of_some_of_the_holders_is_flagged_and_not_checked() -> None:
    releases = [made_release(rows(seed)) for seed in (1, 2)]
    found = report(releases, fits=made_fit(releases[0]))
    assert ["of 1 data holder, and the report is about 2" in flag for flag in found.flags] == [True]
    assert "Does the release agree" not in found.html


def test_results_find_their_release_among_several(tmp_path: Path) -> None:
    short = made_release(declared={"adjacency": "replace-one", "columns": SHORT})
    short.save(tmp_path / "short.nwr")
    text = Reader(report([made_release(), tmp_path / "short.nwr"], fits=[made_fit(short, "stay ~ age")]).html).text
    assert "Report on release 1 and short.nwr" in text
    assert "noisewise fit short.nwr 'stay ~ age'" in text and "release-1.nwr short.nwr" in text
    with pytest.raises(noisewise.NoisewiseError, match="same part"):
        report([made_release(), made_release()])


def test_a_result_goes_to_the_nearest_release_that_it_can_be_of() -> None:
    """Four holders' gram releases, one more release of the same schema, and a kind that allows no fit."""
    sites = [made_release(rows(seed)) for seed in (1, 2, 3, 4)]
    alone = made_release(rows(5), {**DECLARED, "norm_bound": 1.5})
    files = [read_release(given, place) for place, given in enumerate([*sites, alone, GOLDEN / "partition-1.4.nwr"], start=1)]
    subjects = subjects_of(files)
    assert [len(subject.files) for subject in subjects] == [4, 1, 1]
    fits = [made_fit(noisewise.combine(sites)), made_fit(sites[0]), made_fit(alone)]
    assign(subjects, [read_result(fit, place) for place, fit in enumerate(fits, start=1)])
    assert [[fitted.name for fitted in subject.results] for subject in subjects] == [["fit 1", "fit 2"], ["fit 3"], []]
    assert [bool(fitted.flags) for fitted in subjects[0].results] == [False, True] and not subjects[1].results[0].flags
