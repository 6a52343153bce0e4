"""A griffe extension for the reference page: examples in docstrings (``>>> …``) become code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Puts a fence around each example, without the doctest directives that readers need not see."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(found: re.Match[str]) -> str:
    return f"```pycon\n{re.sub(r' +# doctest: .*', '', found[0])}\n```"
