"""What notebooks show: a table of every result, in which no name of a file from elsewhere becomes HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.answers.answer import answer
from noisewise.audits.report import AuditReport, Finding, Released
from noisewise.notebook import described
from noisewise.results.checks import PredictiveCheck
from noisewise.run import QUIET

HOSTILE = "<script>alert(1)</script>"
ALLOWED = {"p", "b", "br", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
SCHEMA = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    HOSTILE: {"bounds": [0, 1]}, "y": {"bounds": [0, 3]}, "group": {"levels": ["no", HOSTILE]}}})


class Tags(HTMLParser):
    """Reads HTML as a browser does, and keeps what it finds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def rows() -> dict[str, Any]:
    x = np.linspace(0, 1, 400)
    return {HOSTILE: x, "y": 1 + x + np.resize([-0.3, -0.3, 0.3, 0.3], 400), "group": np.resize(["no", HOSTILE], 400)}


@pytest.fixture(scope="module")
def release() -> nw.Release:
    return nw.release(rows(), SCHEMA, epsilon=1e5, delta=1e-6, run=QUIET)


@pytest.fixture(scope="module")
def results(release: nw.Release, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("ledger")
    ledger = nw.Ledger.open(folder / "budget.db", epsilon=3.0, delta=1e-6, name=HOSTILE)
    formula = f"y ~ `{HOSTILE}` + group"
    question = {"ask": "posterior-probability", "of": f"group[T.{HOSTILE}]", "at": [0]}
    partition = nw.release(rows(), SCHEMA, nw.Partition("y ~ group", parts=10, ask=[question]), epsilon=3.0, run=QUIET)
    posterior = nw.fit(formula, release, method="laplace", draws=250, seed=1, run=QUIET)
    claim = Released("gram", HOSTILE, "replace-one", "row", 1.0, 1e-6)
    bounds = nw.release(rows(), SCHEMA, nw.Bounds(HOSTILE, tail=0.1, digits=1), epsilon=2.0, ledger=ledger, run=QUIET)
    return {
        "schema": SCHEMA, "release": release, "partition": partition, "ledger": ledger, "posterior": posterior,
        "answers": answer(partition), "bounds": bounds,
        "binary": nw.release(rows(), SCHEMA, nw.Binary("group", rows=10), epsilon=1.0, run=QUIET),
        "synthetic": nw.synthesize(release, sets=2, rows=10, seed=1),
        "check": posterior.check(release, holders=[HOSTILE]),
        "sum": nw.fit_sum(HOSTILE, release, family="normal", draws=250, seed=1),
        "audit": AuditReport((Finding(claim, 4000, 12, 0.4, 0.9, 1.1, False, True),), confidence=0.99),
    }


NAMES = ("schema", "release", "partition", "ledger", "posterior", "answers", "bounds", "binary", "synthetic", "check", "sum",
         "audit")


@pytest.mark.parametrize("name", NAMES)
def test_every_result_is_a_table_in_which_names_are_only_text(name: str, results: dict[str, Any]) -> None:
    html = results[name]._repr_html_()
    tags = Tags(html)
    assert "table" in tags.found and set(tags.found) <= ALLOWED, set(tags.found) - ALLOWED
    assert tags.attributes <= {"class", "border", "style", "valign", "rowspan"}  # of pandas
    assert HOSTILE in tags.words or name == "partition"


@pytest.mark.parametrize("name", NAMES)
def test_the_short_form_is_short(name: str, results: dict[str, Any]) -> None:
    assert name == "schema" or (len(repr(results[name])) < 250 and "\n" not in repr(results[name]))


def test_the_reader_of_these_tests_would_see_a_script() -> None:
    assert "script" in Tags(f"<p>{HOSTILE}</p>").found


def test_a_check_tells_its_problems(results: dict[str, Any]) -> None:
    check: PredictiveCheck = results["check"]
    assert Tags(check._repr_html_()).found.count("li") == len(check.problems())


def test_a_description_keeps_all_its_words(release: nw.Release) -> None:
    words = " ".join(release.describe().split())
    assert Tags(described(release.describe())).words.replace(" ", "") == words.replace(" ", "")
