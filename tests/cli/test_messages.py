"""What someone reads who makes a mistake for the first time: the options of the command line, and the name that was meant."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.cli.command_line import one_error

import noisewise
from noisewise.cli.fit.results import _remedy
from noisewise.errors import ConvergenceWarning, FitError
from noisewise.posterior.linear.methods import TOO_MANY_TO_BE_UNKNOWN
from noisewise.results import FitInfo
from noisewise.words import function, option

RELEASE = ("release", "TABLE", "-s", "SCHEMA", "-e", 1, "-o", "NEW")
PARTITION = ("release", "partition", *RELEASE[1:], "--formula", "stay ~ age", "--parts", 20)
PYTHON = re.compile(r"""\b[a-z_]+=["'\w\[]|noisewise\.[a-z]|\bNone\b|\bTrue\b""")
"""Words that only someone who writes Python knows."""

MISTAKES: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {
    "misspelt column": (("fit", "FILE", "stay ~ agee"), ("agee", "did you mean age? Known: stay, age, ward")),
    "misspelt method": (("fit", "FILE", "stay ~ age", "-m", "laplce"), ("did you mean laplace? Known: conditional",)),
    "misspelt method of a paper": (("fit", "FILE", "stay ~ age", "-m", "normal-xx"), ("did you mean normal-x?",)),
    "nothing like it": (("fit", "FILE", "stay ~ age", "-m", "quick"), ("remedy:  known: conditional",)),
    "one site": (("fit", "FILE", "stay ~ age", "--site", "random"), ("fit with no --site",)),
    "method of another family": (("fit", "FILE", "stay ~ age", "-m", "rows"), ("leave --method out",)),
    "a schema for a release": (("show", "SCHEMA"), ("not a table or schema", "noisewise release")),
    "a table for a release": (("fit", "TABLE", "stay ~ age"), ("not a table or schema",)),
    "a release for a fit": (("check", "FILE", "FILE"), ("saved fit (.npz)", "--save stay.npz")),
    "another kind": (("answer", "FILE"), ("kind partition", "noisewise fit")),
    "still another kind": (("hypothesis-test", "FILE"), ("kind partition", "noisewise fit")),
    "misspelt mechanism": ((*RELEASE, "--mechanism", "gausian"), ("did you mean gaussian?",)),
    "no delta": ((*RELEASE, "--mechanism", "gaussian"), ("found:   no --delta", "give a --delta well below")),
    "misspelt coefficient": ((*PARTITION, "--ask", "posterior-probability of=agee at=0"), ("did you mean age?",)),
    "a database without a query": (("release", "x.duckdb", *RELEASE[2:]), ("use --query",)),
    "no ledger": ((*RELEASE, "--ledger", "nosuch.db"),
                  ("the ledger does not exist", "noisewise ledger open nosuch.db --epsilon")),
    "no ledger to show": (("ledger", "show", "nosuch.db"), ("noisewise ledger open nosuch.db",)),
    "misspelt column of the table": (("bounds", "TABLE", "-e", 1, "-c", "agee", "--adjacency", "replace-one"),
                                     ("did you mean age?",)),
    "misspelt family": (("estimate", "FILE", "-c", "age", "-f", "normall"), ("did you mean normal?",)),
    "misspelt term": (("compare", "FILE", "stay ~ age", "--keep", "agee"), ("did you mean age?",)),
    "misspelt difference of sites": (("fit", "FILE", "stay ~ age", "--site", "randm"), ("did you mean random?",)),
    "a release for a table": (("release", "FILE", *RELEASE[2:]), ("not a release", "noisewise show")),
    "a table for a schema": (("release", "TABLE", "-s", "TABLE", *RELEASE[4:]), ("UTF-8 text", "noisewise schema init")),
    "a fit for a release": (("fit", "FIT", "stay ~ age"), ("a zip archive", "give the release file (.nwr)", "noisewise check")),
    "yes-or-no rows for a fit": (("fit", "BINARY", "stay ~ age"), ("kind binary", "noisewise estimate")),
    "a partition for a fit": (("fit", "ANSWERS", "stay ~ age"), ("kind partition", "it answers questions: noisewise answer")),
    "a folder for a release": (("answer", "FOLDER"), ("is a folder", "ends in .nwr")),
    "no such fit": (("check", "nosuch.npz", "FILE"), ("nosuch.npz", "check the path")),
    "a level of five": (("hypothesis-test", "ANSWERS", "--level", 5), ("found:   5.0", "for example 0.05")),
    "a ledger of nothing": (("ledger", "open", "new.db", "-e", 0), ("found:   epsilon 0.0, delta 0.0", "--epsilon 3")),
    "a plan for nothing": (("plan", "budget", "-e", 0, "--release", "laplace:0.1"), ("epsilon 0.0", "--epsilon 3")),
    "half a plan": (("plan", "power", "stay ~ age", "-s", "SCHEMA", "-n", 1000), ("--rows 10000 and --epsilon 1", "--power 0.8")),
    "no epsilon": (("audit", "-s", "SCHEMA"), ("give --epsilon, and a --delta",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_the_words_of_the_command_line(name: str, nw: Any, release: Path, schema: Path, table: Path,
                                                            tmp_path: Path) -> None:
    given, expected = MISTAKES[name]
    places = {"FILE": release, "SCHEMA": schema, "TABLE": table, "NEW": tmp_path / "new.nwr", "FIT": tmp_path / "fit.npz",
              "ANSWERS": tmp_path / "answers.nwr", "BINARY": tmp_path / "binary.nwr", "FOLDER": tmp_path}
    places["FIT"].write_bytes(b"PK")
    if "ANSWERS" in given:
        asked = noisewise.Partition("stay ~ age", parts=20, ask={"ask": "posterior-probability", "of": "age", "at": [0]})
        noisewise.release(str(table), noisewise.Schema.load(schema), asked, epsilon=1).save(places["ANSWERS"])
    if "BINARY" in given:
        declared = noisewise.Schema.from_dict({"adjacency": "replace-one", "columns": {"sick": {"levels": [0, 1]}}})
        noisewise.release({"sick": np.ones(9)}, declared, noisewise.Binary("sick", rows=9), epsilon=1).save(places["BINARY"])
    message = one_error(nw(*(places.get(word, word) if isinstance(word, str) else word for word in given)))
    assert all(words in message for words in expected), message
    remedy = message.partition("remedy:")[2].replace('"posterior-probability of=age at=0"', "")
    assert not PYTHON.search(remedy), message
    assert not (tmp_path / "new.nwr").exists()


@pytest.mark.parametrize(("given", "told"), [
    (("release", "x.csv", "-s", "s.toml", "-o", "x.nwr", "-e", "one"), "'--epsilon' / '-e': must be a number, not 'one'"),
    (("release", "moment", "x.csv", "-s", "s.toml", "-o", "x.nwr", "-e", "1"),
     "'moment'; did you mean moments?"),
    (("release", "counts", "x.csv", "-s", "s.toml", "-o", "x.nwr", "-e", "1"), "unknown kind of release 'counts'; known: gram"),
    (("audit", "everything"), "unknown kind of release 'everything'; known: gram"),
    (("release", "moments", "x.csv", "-s", "s.toml", "-o", "x.nwr", "-e", "1", "-d", "1e-6"), "Missing option '--formula'"),
    (("release", "x.csv", "-s", "s.toml", "-o", "x.nwr", "-e", "1", "--formula", "y ~ x"), "No such option: --formula"),
    (("release", "partition", "x.csv", "-s", "s", "-o", "x.nwr", "-e", "1", "--formula", "y ~ x", "--parts", "9"),
     "Missing option '--ask'"),
    (("fit", "x.nwr", "y ~ x", "--draws", "ten"), "'--draws': must be a whole number, not 'ten'"),
    (("fit", "x.nwr", "y ~ x", "--draws", "0"), "'--draws': must be >= 1, not '0'"),
    (("fit", "x.nwr", "y ~ x", "--family", "poison"), "not 'poison'; did you mean poisson?"),
])
def test_a_value_of_the_wrong_kind_is_shown(nw: Any, given: tuple[str, ...], told: str) -> None:
    result = nw(*given)
    assert result.exit_code == 2 and told in re.sub(r"[│\s]+", " ", result.stderr), result.stderr


def test_programs_read_the_same_remedy(nw: Any, release: Path) -> None:
    error = nw.json("fit", release, "stay ~ age", "--site", "random", code=1)["error"]
    assert error["remedy"] == "fit with no --site" and error["argument"] == "--site" and error["known"] is None
    error = nw.json("fit", release, "stay ~ age", "--method", "laplce", code=1)["error"]
    assert error["argument"] == "--method" and error["found"] == "'laplce'" and "laplace" in error["known"]


def test_a_warning_of_the_library_names_options(nw: Any, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(*given: Any, **more: Any) -> None:
        warnings.warn("use " + option("draws", 4000), ConvergenceWarning, stacklevel=2)
        raise FitError("stopped here", found=option("site", None), remedy=option("nothing_here", 1) + " " + function("load"))

    monkeypatch.setattr("noisewise.cli.fit.command._fit", warns)
    told = nw("fit", release, "stay ~ age").stderr
    assert "Warning: use --draws 4000" in told and "found:   no --site" in told
    assert "remedy:  nothing_here=1 noisewise.load" in told  # what the command line does not have is said as Python has it


def test_a_misspelt_command_and_option(nw: Any, release: Path) -> None:
    assert "Did you mean 'fit'?" in nw("fitt", release).output
    assert "--method" in nw("fit", release, "stay ~ age", "--methd", "laplace").output


def test_a_ledger_that_is_begun_by_a_release_is_announced_also_where_little_is_said(nw: Any, table: Path, schema: Path,
                                                                                    tmp_path: Path) -> None:
    budget = tmp_path / "budget.db"
    command = ("release", table, "-s", schema, "-e", 1, "--ledger", budget, "--total-epsilon", 3, "--quiet")
    first = nw(*command, "-o", tmp_path / "a.nwr")
    assert first.exit_code == 0 and f"Started a new ledger at {budget}" in first.stderr
    again = nw(*command, "-o", tmp_path / "b.nwr", "--edition", "2")
    assert again.exit_code == 0 and "Started a new ledger" not in again.stderr
    assert "an existing ledger" in nw("ledger", "open", budget, "-e", 3).stdout


def test_laplace_with_hidden_predictors_is_not_told_to_use_the_method_that_it_approximates() -> None:
    def posterior(*doubts: str) -> Any:
        info = FitInfo("laplace", "gaussian", "stay ~ age", 1, 4, 1000, doubts=doubts)
        return SimpleNamespace(info=info, sites=None, has_sigma=True, diagnose=lambda: list(doubts))

    assert _remedy(posterior("sigma cannot be distinguished from 0")) == "the default method: leave --method out"
    assert "fewer predictors" in _remedy(posterior(TOO_MANY_TO_BE_UNKNOWN))


def test_a_file_of_a_later_format_and_files_that_are_none(nw: Any, release: Path, tmp_path: Path) -> None:
    document = json.loads(release.read_text())
    later, empty, garbage = tmp_path / "later.nwr", tmp_path / "empty.nwr", tmp_path / "garbage.nwr"
    later.write_text(json.dumps({**document, "version": "9.0"}))
    empty.write_bytes(b"")
    garbage.write_bytes(bytes(range(256)))
    assert "upgrade noisewise" in one_error(nw("show", later))
    assert "empty.nwr" in one_error(nw("show", empty)) and "garbage.nwr" in one_error(nw("show", garbage))
