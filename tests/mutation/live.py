"""Putting a mutant into a running process: into functions that are loaded, or into a module before it is imported."""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any


def put_into_function(module: ModuleType, tree: ast.Module, function: str) -> bool:
    """Replace the code of a function that other modules may have imported by name; False if this one cannot be replaced."""
    target = _function(module, function)
    code = _code(compile(tree, str(module.__file__), "exec"), function)
    if target is None or code is None or code.co_freevars != target.__code__.co_freevars:
        return False
    target.__code__ = code
    for name, loaded in list(sys.modules.items()):  # what was computed without the fault must not be remembered
        if name.partition(".")[0] == module.__name__.partition(".")[0]:
            for value in list(vars(loaded).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    return True


def _function(module: ModuleType, path: str) -> FunctionType | None:
    holder: Any = module
    for name in path.split("."):
        holder = vars(holder).get(name)
        if isinstance(holder, staticmethod | classmethod):
            holder = holder.__func__
        if isinstance(holder, property):
            holder = holder.fget
        while hasattr(holder, "__wrapped__"):
            holder = holder.__wrapped__
    return holder if isinstance(holder, FunctionType) else None


def _code(code: CodeType, path: str) -> CodeType | None:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found = part if part.co_qualname == path else _code(part, path)
            if found is not None:
                return found
    return None


class MutatedImport(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Has one module imported from a syntax tree instead of its file."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        # With a location, so that the module has a __file__: pytest asks for it where a module has doctests.
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")

    def install(self) -> None:
        sys.meta_path.insert(0, self)
