"""The error tree: what its docstring draws is what there is, and a message says rule, finding and remedy."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Sequence

import pytest

from noisewise import errors
from noisewise.errors import NoisewiseError, NoisewiseWarning
from noisewise.words import Either, Option, Words, either, function, leave_out, option

CLASSES = {
    name: found
    for name, found in vars(errors).items()
    if inspect.isclass(found) and issubclass(found, (Exception, Warning)) and found.__module__ == errors.__name__
}


def drawn_tree() -> dict[str, str | None]:
    """Child to parent, read off the indentation of the drawing in the module docstring."""
    assert errors.__doc__ is not None
    parents: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in errors.__doc__.splitlines():
        found = re.match(r"^(?P<lead>[ │├└─]*)(?P<name>[A-Z][A-Za-z]+(?:Error|Warning))\b", line)
        if found is None:
            continue
        depth = len(found["lead"])
        while path and path[-1][0] >= depth:
            path.pop()
        parents[found["name"]] = path[-1][1] if path else None
        path.append((depth, found["name"]))
    return parents


def test_the_drawing_shows_every_class_under_its_parent() -> None:
    parents = drawn_tree()
    assert set(parents) == set(CLASSES)
    for name, parent in parents.items():
        expected = {"NoisewiseError": "Exception", "NoisewiseWarning": "UserWarning"}.get(name, parent)
        assert [base.__name__ for base in CLASSES[name].__bases__] == [expected]


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_class_has_one_of_the_two_roots_and_a_docstring(name: str) -> None:
    assert issubclass(CLASSES[name], NoisewiseError) != issubclass(CLASSES[name], NoisewiseWarning)
    assert CLASSES[name].__doc__


@pytest.mark.parametrize(
    ("found", "remedy", "message"),
    [
        (None, None, "the rule"),
        ("that", None, "the rule (found: that)"),
        (None, "do this", "the rule; do this"),
        ("that", "do this", "the rule (found: that); do this"),
        ("", "", "the rule (found: ); "),
    ],
)
def test_a_message_says_the_rule_what_was_found_and_what_to_do(found: str | None, remedy: str | None, message: str) -> None:
    error = errors.BudgetError("the rule", found=found, remedy=remedy)
    assert str(error) == message
    assert (error.rule, error.found, error.remedy) == ("the rule", found, remedy)


@pytest.mark.parametrize(("found", "known", "remedy", "advice"), [
    ("'agee'", ("age", "stay"), None, "did you mean age? Known: age, stay"),
    ("agee", ["age", "stay"], "look", "did you mean age? Known: age, stay; look"),
    ("age", ("age", "stay"), None, "known: age, stay"),
    ("something else", ("age", "stay"), None, "known: age, stay"),
    (None, ("age", "stay"), None, "known: age, stay"),
    ("12", None, "for example 0.95", "for example 0.95"),
    ("agee", (), "look", "look"),
])
def test_only_a_name_that_is_nearly_right_is_suggested(found: str | None, known: Sequence[str] | None, remedy: str | None,
                                                       advice: str) -> None:
    error = errors.FitError("the rule", argument="term", found=found, known=known, remedy=remedy)
    assert error.advice == advice and str(error).endswith(f"; {advice}")
    assert error.argument == "term" and error.known == (None if known is None else tuple(known))


def test_an_error_becomes_one_of_another_class_and_keeps_its_fields() -> None:
    error = errors.FitError("a rule", argument="method", found="'x'", known=("a", "b"), remedy=option("method", "a"))
    same, renamed = error.into(errors.ReleaseError), error.into(errors.ReleaseError, "another rule")
    assert type(same) is errors.ReleaseError and vars(same) == vars(error) and str(same) == str(error)
    assert vars(renamed) == {**vars(error), "rule": "another rule"} and "another rule" in str(renamed)


def test_errors_can_be_sent_to_another_process() -> None:
    error = errors.FitError("a rule", argument="method", found=option("site", None), remedy="use " + option("method"))
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error) and str(again) == str(error)
    assert isinstance(again.remedy, Words) and again.remedy.pieces == ("use ", Option("method"))


def test_advice_is_a_text_in_the_words_of_python_and_keeps_what_it_names() -> None:
    words = "use " + option("method", "exact") + ", " + leave_out("draws") + " or see " + function("fit_sum") + either("!", "?")
    assert words == 'use method="exact", leave draws out or see noisewise.fit_sum!'
    assert isinstance(words, Words) and words.said(str).count("Option(") == 2
    known = errors.FitError("a rule", known=("a",), remedy=words).advice
    assert isinstance(known, Words) and known.pieces[-1] == Either("!", "?")
    assert option("pooled", True) == "pooled=True" and option("site", None) == "site=None"


def test_what_was_found_cannot_be_passed_by_position() -> None:
    with pytest.raises(TypeError):
        NoisewiseError("the rule", "that")  # type: ignore[misc]
