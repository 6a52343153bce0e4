"""Every public name has a docstring: modules, classes, functions, methods, and what `noisewise` exports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import noisewise

SOURCE = Path(noisewise.__file__).parent
ROOMS = sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")})


def _silent(decorators: list[ast.expr]) -> bool:
    """Whether the name is documented elsewhere: a setter by its getter, an overload by its implementation."""
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in decorators}
    return bool(names & {"setter", "overload", "override"})


def undocumented(body: list[ast.stmt], place: str) -> Iterator[str]:
    """Public functions, classes and methods without a docstring."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if _silent(node.decorator_list):
                continue
            if not ast.get_docstring(node):
                yield f"{place}:{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node.body, f"{place}:{node.name}")


def _of_module(path: Path) -> list[str]:
    tree, place = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(SOURCE))
    return ([] if ast.get_docstring(tree) else [place]) + list(undocumented(tree.body, place))


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_a_docstring(room: str) -> None:
    root = SOURCE / room
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    assert [name for path in files for name in _of_module(path)] == []


def test_a_missing_docstring_is_noticed() -> None:
    source = '"""A module."""\nclass A:\n    """Doc."""\n    def b(self): pass\n    def _c(self): pass\ndef d(): pass\n'
    assert list(undocumented(ast.parse(source).body, "x.py")) == ["x.py:A:b", "x.py:d"]


@pytest.mark.parametrize("name", noisewise.__all__)
def test_every_exported_name_says_what_it_is(name: str) -> None:
    assert (getattr(noisewise, name).__doc__ or "").strip()
