"""The error tree: what its docstring draws is what there is, and a message says rule, finding and remedy."""

from __future__ import annotations

import inspect
import re

import pytest

from noisewise import errors
from noisewise.errors import NoisewiseError, NoisewiseWarning

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


def test_what_was_found_cannot_be_passed_by_position() -> None:
    with pytest.raises(TypeError):
        NoisewiseError("the rule", "that")  # type: ignore[misc]
