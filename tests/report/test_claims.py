"""A release that contradicts itself, which no file can, is told at the top of its page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report.made_for_reports import Reader, made_release, rows

from noisewise.errors import ReleaseError
from noisewise.releases.contents.gram import EntryNoise
from noisewise.releases.format import decode, encode
from noisewise.releases.promises import RULE
from noisewise.reports.release_view import doubts
from noisewise.reports.write import report


def test_any_one_class_of_entries_can_have_too_little() -> None:
    enough = EntryNoise("gaussian", 12.0, 9.0, 12.0)
    schema = {"adjacency": "add-remove", "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}}}
    assert doubts(made_release(declared=schema, rows=None, noise=enough), ["a"]) == []
    for name in ("diagonal", "off_diagonal", "corner"):
        (words,) = doubts(made_release(declared=schema, rows=None, noise=replace(enough, **{name: 5.0})), ["a"])
        assert words.startswith(f"a: {RULE}: this noise has delta = ")


def test_a_doubt_is_told_at_the_top_and_with_the_guarantee() -> None:
    found = report(made_release(sensitivity=4.0))
    (flag,) = found.flags
    assert flag.startswith("Do not rely on the guarantee. release 1: the noise") and "at epsilon = 1.0, not 1e-06." in flag
    text = Reader(found.html).text
    assert text.count("this noise has delta = ") == 2 and "Do not rely on this guarantee:" in text
    laplace = made_release(delta=0.0, sensitivity=8.0, mechanism="laplace", noise=EntryNoise("laplace", 8.0, 8.0, 0.0))
    assert "this noise has epsilon = 1.414, not 1.0." in report(laplace).flags[0]
    assert "Do not rely" not in Reader(report(made_release()).html).text


def test_a_file_that_contradicts_itself_cannot_be_read() -> None:
    assert decode(encode(made_release())) == made_release()
    with pytest.raises(ReleaseError, match="the noise stated in the file is too small"):
        decode(encode(made_release(sensitivity=4.0)))


def test_many_doubts_are_a_few_lines() -> None:
    bad = [made_release(rows(seed, 50), sensitivity=4.0) for seed in range(9)]
    flags = report(bad).flags
    assert len(flags) == 7 and flags[-1].endswith("The same is true of 3 more data holders.")
