"""Release files come from strangers: whatever a text in them is, it stays a text. And a fit is not shown with a wrong release."""

from __future__ import annotations

import shlex
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from tests.report.made_for_reports import DECLARED, Reader, made_comparison, made_fit, made_release, real_release, rows

import noisewise
from noisewise.errors import ResultError
from noisewise.reports.declared import declared_table
from noisewise.reports.given import assign, read_release, read_result, subjects_of
from noisewise.reports.page import shown, visible
from noisewise.reports.write import report
from noisewise.schema import Schema

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "' onfocus='alert(3)",
           "</style><script>alert(4)</script>", "{{ 7 * 7 }}", "${alert(5)}", "&lt;b&gt;", "javascript:alert(6)",
           "</svg><a href=//x>", "a" * 300, "\u202eabc"]
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
        assert visible(name) in page.text, name


def test_nothing_in_a_page_is_invisible() -> None:
    odd = "a\u202eb\u2066c\u200bd\x1be\u2028f\x00g\U000e0041h\ufeffi"
    release = made_release(statement=odd, mechanism=odd, library=odd)
    found = report(release, fits=made_fit(release, doubts=(odd,)), title=odd)
    written = "a\\u202eb\\u2066c\\u200bd\\x1be\\u2028f\\x00g\\U000e0041h\\ufeffi"
    assert Reader(found.html).text.count(written) >= 6
    for text in (hostile_html("\u202e"), found.html, *found.flags):
        assert not [one for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def test_long_texts_and_lists_are_cut() -> None:
    """A file of a hundred megabytes does not make a page of as many."""
    levels = [f"level {place}" for place in range(5000)]
    columns = {**SHORT, "b" * 5000: {"bounds": [0, 1]}, "place": {"levels": ["x" * 5000, "y"]}}
    table = {**rows(), "b" * 5000: np.zeros(4000), "place": np.array(["y"] * 4000)}
    long = "w" * 5_000_000
    release = made_release(table, {"adjacency": "replace-one", "columns": columns}, statement=long, mechanism=long, library=long)
    found = report(release, fits=made_fit(release, "stay ~ age", doubts=(long,)))
    page = Reader(found.html)
    assert len(found.html) < 300_000 and all(len(flag) <= 2000 for flag in found.flags)
    assert f"{'w' * 1999}…" in page.text and "w" * 2000 not in page.text and "x" * 2000 not in page.text
    declared = Schema.from_dict({"adjacency": "replace-one", "columns": {**SHORT, "where": {"levels": levels}}})
    (cell,) = (row[1] for row in declared_table(declared, {}).rows if row[0] == "where")
    assert len(cell) > 2000 and len(shown(cell)) == 2000 and shown(cell).endswith("…")


def test_of_many_sentences_a_few_are_shown() -> None:
    release = made_release()
    text = Reader(report(release, fits=made_fit(release, doubts=tuple(f"doubt {place}" for place in range(3000)))).html).text
    assert "doubt 19" in text and "and 2980 more." in text and "doubt 2999" not in text


def test_drawings_and_commands_are_never_cut() -> None:
    """They are of no use in part; their limit is far above what they need."""
    columns = {f"quite_a_long_name_{place}": {"bounds": [-1, 1]} for place in range(90)}
    random = np.random.default_rng(1)
    table = {"y": random.uniform(-9, 9, 3000), **{name: random.uniform(-1, 1, 3000) for name in columns}}
    release = made_release(table, {"adjacency": "replace-one", "columns": {"y": {"bounds": [-9, 9]}, **columns}})
    formula = f"y ~ {' + '.join(columns)}"
    one, other = made_fit(release, formula, holders=1), made_release({**table, "y": table["y"] / 2}, release.schema.to_dict())
    text = report([release, other], fits=one).html  # of one of two holders: not checked, which takes a while
    (command,) = (str(words) for words in Reader(text).words if words.startswith("noisewise fit"))
    assert len(formula) > 1900 and shlex.quote(formula) in command and len(command) > 2000
    assert not [path for path in Reader(text).of("path") if "…" in str(path["d"])]
    assert not [card for card in Reader(text).of("li") if "…" in str(card.get("data-q"))]


@pytest.mark.outer
@pytest.mark.parametrize("size", [1e80, 1e200, 1e308])
@pytest.mark.parametrize("formula", ["stay ~ age + ward", "sick ~ age"])
def test_draws_that_are_too_large_are_told_on_the_page(tmp_path: Path, size: float, formula: str) -> None:
    release = made_release()
    fit = made_fit(release, formula, family="logistic" if "sick" in formula else "gaussian")
    for place, samples in enumerate((np.full_like(fit.samples, size), fit.samples.copy())):
        samples[1, 7, 0] = size
        noisewise.Posterior(samples, fit.terms, fit.design, fit.info, fit.prior).save(tmp_path / f"{place}.npz")
        found = report(release, fits=[tmp_path / f"{place}.npz", fit])
        text = Reader(found.html).text
        assert any(flag.startswith(f"{place}.npz: ") for flag in found.flags) and "Before you use this" in text
        if "stay" in formula:
            assert any("too large, or too far apart, to compute with" in flag for flag in found.flags)
            assert "No predictive check could be made" in text


def test_a_fit_to_another_schema_is_refused() -> None:
    other = made_release(declared={"adjacency": "replace-one", "columns": {**SHORT, "stay": {"bounds": [0, 41]}}})
    for fit in (made_fit(made_release()), made_comparison(made_release())):
        with pytest.raises(ResultError, match="was not fitted to the given releases.*another schema"):
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
    assert ["about 1 data holder, but the report is about 2" in flag for flag in found.flags] == [True]
    assert "Does the release agree" not in found.html


def test_results_find_their_release_among_several(tmp_path: Path) -> None:
    short = made_release(declared={"adjacency": "replace-one", "columns": SHORT})
    short.save(tmp_path / "short.nwr")
    text = Reader(report([made_release(), tmp_path / "short.nwr"], fits=[made_fit(short, "stay ~ age")]).html).text
    assert "Report on release 1 and short.nwr" in text
    assert "noisewise fit short.nwr 'stay ~ age'" in text and "release-1.nwr short.nwr" in text
    with pytest.raises(noisewise.NoisewiseError, match="same contribution"):
        report([made_release(), made_release()])


def test_a_result_goes_to_the_nearest_release_that_it_can_be_of(tmp_path: Path) -> None:
    """Four holders' gram releases, one more release of the same schema, and a kind that allows no fit."""
    sites = [made_release(rows(seed)) for seed in (1, 2, 3, 4)]
    alone = made_release(rows(5), {**DECLARED, "norm_bound": 1.5})
    given = [*sites, alone, real_release("partition", tmp_path)]
    files = [read_release(one, place) for place, one in enumerate(given, start=1)]
    subjects = subjects_of(files)
    assert [len(subject.files) for subject in subjects] == [4, 1, 1]
    fits = [made_fit(noisewise.combine(sites)), made_fit(sites[0]), made_fit(alone)]
    assign(subjects, [read_result(fit, place) for place, fit in enumerate(fits, start=1)])
    assert [[fitted.name for fitted in subject.results] for subject in subjects] == [["fit 1", "fit 2"], ["fit 3"], []]
    assert [bool(fitted.flags) for fitted in subjects[0].results] == [False, True] and not subjects[1].results[0].flags
