"""What cannot be seen is written out, on a page and on a terminal; what can be seen stays as it is."""

from __future__ import annotations

import pytest

from noisewise.cli import output
from noisewise.reports import page


@pytest.mark.parametrize(("text", "written"), [
    ("\x1b[31m\x07\x9b", "\\x1b[31m\\x07\\x9b"), ("\t\r\x7f", "\\x09\\x0d\\x7f"),
    ("\u202aa\u202bb\u202cc\u202dd\u202e", "\\u202aa\\u202bb\\u202cc\\u202dd\\u202e"),
    ("\u2066\u2067\u2068\u2069\u200e\u200f\u061c", "\\u2066\\u2067\\u2068\\u2069\\u200e\\u200f\\u061c"),
    ("\u200b\ufeff\xad\u2028\u2029\ud800", "\\u200b\\ufeff\\xad\\u2028\\u2029\\ud800"),
    ("two\nlines", "two\nlines"), ("Größe (cm), 年齢, עברית, a\xa0b, ε′ ≤ 10⁻⁶", "Größe (cm), 年齢, עברית, a\xa0b, ε′ ≤ 10⁻⁶"),
])
def test_only_what_cannot_be_seen_is_written_out(text: str, written: str) -> None:
    assert page.visible(text) == output.visible(text) == written


def test_a_text_that_grows_when_it_is_written_out_is_cut_too() -> None:
    assert len(page.shown("\u202e" * 10**6)) == page.MOST_CHARACTERS
    assert page.shown("a" * 2000) == "a" * 2000 and page.shown("a" * 2001) == "a" * 1999 + "…"
    assert page.shown(page.Whole("a" * 5000)) == "a" * 5000
    assert len(page.shown(page.Whole("a" * 10**6))) == page.MOST_OF_A_DRAWING
