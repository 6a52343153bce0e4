"""Declared is imported: pyproject.toml names the packages that the code imports, and no others."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests import oldest, pythons

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

USERS_EXTRAS = ("polars", "postgres", "duckdb", "spark", "sklearn", "arviz")
"""Extras that src imports. The others are for working on the library."""

TYPES = {"_typeshed"}
"""Known to type checkers alone: no package has it."""
OURS = {"noisewise", "studies", "tests", "docs", "benchmarks", "fuzz", "tiny_kind"}
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "_pytest": "pytest"}
"""The distribution of a module where the names differ."""

BROUGHT = {"markupsafe": "jinja2", "joblib": "scikit-learn", "pillow": "matplotlib", "coverage": "pytest-cov",
           "markdown": "zensical", "griffe": "mkdocstrings"}
"""Packages that come with another: what they are used for is part of the other's interface."""

INDIRECT = {
    "flatbuffers": "jax.export needs it, jax does not require it",
    "adbc-driver-manager": "adbc-driver-postgresql connects with it",
    "noisewise-studies": "found by name, never imported",
}
"""Declared, never imported."""

TOP_LEVEL_OF_AN_EXTRA = {"estimators": "sklearn"}
"""Rooms of src that import an extra when they are imported; everywhere else an extra is imported inside a function."""


def distribution(module: str) -> str:
    return DISTRIBUTIONS.get(module, re.sub(r"[-_.]+", "-", module).lower())


def required(requirements: Iterable[str]) -> set[str]:
    """The distributions that requirements name, with those of our own extras that they name."""
    found = set()
    for one in requirements:
        match = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", one)
        assert match, one
        if match[1] == "noisewise":
            found |= required(each for extra in match[2].split(",") for each in EXTRAS[extra])
        else:
            found.add(distribution(match[1]))
    return found


DEFAULT = required(PROJECT["dependencies"])


def extras(*names: str) -> set[str]:
    return required(one for name in names for one in EXTRAS[name])


SEPARATE = extras("other-systems") | {"d3p", "numpyro", "dp-statsmodels"}
"""Compared with in environments of their own: the extra other-systems, studies/other_systems_d3p_requirements.txt."""


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("needed", "import_module", "importorskip"):
            yield str(node.args[0].value)


def modules(source: str) -> set[str]:
    """The first part of each absolute import anywhere in the source, imports by name included."""
    return {name.partition(".")[0] for node in ast.walk(ast.parse(source)) for name in _names(node)}


def at_import(source: str) -> set[str]:
    """Those that run when the file is imported: outside functions, and outside `if` (TYPE_CHECKING, find_spec)."""
    waiting: list[ast.AST] = list(ast.parse(source).body)
    found = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.If)):
            found |= {name.partition(".")[0] for name in _names(node)}
            waiting += ast.iter_child_nodes(node)
    return found


def others(names: Iterable[str]) -> set[str]:
    """The distributions of third-party modules."""
    return {distribution(name) for name in set(names) - sys.stdlib_module_names - OURS - TYPES}


@cache
def imported(folder: str) -> set[str]:
    """What a folder imports from others. Modules beside a script (`import boxes`) are ours."""
    files = list((ROOT / folder).rglob("*.py"))
    beside = {file.stem for file in files} - {"duckdb", "polars"}
    return others({name for file in files for name in modules(file.read_text(encoding="utf-8"))} - beside)


def undeclared(found: Iterable[str], declared: set[str]) -> set[str]:
    return {name for name in found if name not in declared and BROUGHT.get(name) not in declared}


def test_what_src_imports_is_declared() -> None:
    assert undeclared(imported("src/noisewise"), DEFAULT | extras(*USERS_EXTRAS)) == set()


def test_what_src_imports_when_imported_is_a_default_dependency() -> None:
    for file in (ROOT / "src/noisewise").rglob("*.py"):
        room = file.relative_to(ROOT / "src/noisewise").parts[0]
        allowed = DEFAULT | (extras(TOP_LEVEL_OF_AN_EXTRA[room]) if room in TOP_LEVEL_OF_AN_EXTRA else set())
        assert undeclared(others(at_import(file.read_text(encoding="utf-8"))), allowed) == set(), file


def test_what_is_declared_is_imported() -> None:
    assert (DEFAULT | extras(*USERS_EXTRAS)) - imported("src/noisewise") == {"flatbuffers", "adbc-driver-manager"} & set(INDIRECT)


def test_no_extra_is_a_default_dependency() -> None:
    assert DEFAULT & extras(*USERS_EXTRAS) == set()


def test_what_studies_import_is_declared() -> None:
    """`noisewise-studies` requires noisewise and nothing else."""
    assert undeclared(imported("studies"), DEFAULT | SEPARATE) == set()


def test_what_tests_and_benchmarks_import_is_in_the_extra_test() -> None:
    """The site is built with the zensical of the extra docs; without it that test is skipped."""
    for folder in ("tests", "benchmarks"):
        assert undeclared(imported(folder), DEFAULT | SEPARATE | extras("test") | {"zensical"}) == set(), folder


def test_what_docs_import_is_in_the_extra_docs() -> None:
    """Pictures of reports are taken in a browser, with the playwright of the extra test."""
    assert undeclared(imported("docs"), DEFAULT | extras("docs") | {"playwright"}) == set()


def test_what_fuzz_imports_is_in_the_extra_fuzz() -> None:
    assert undeclared(imported("fuzz"), DEFAULT | extras("fuzz")) == set()


def test_every_extra_is_known() -> None:
    assert set(EXTRAS) == {*USERS_EXTRAS, "studies", "fuzz", "other-systems", "test", "docs", "dev"}
    assert not set(INDIRECT) & imported("src/noisewise")


def test_the_oldest_environment_has_exactly_the_lower_bounds() -> None:
    """`make oldest` installs what this prints, and then checks what is installed."""
    declared = [*PROJECT["dependencies"], *(one for extra in USERS_EXTRAS for one in EXTRAS[extra])]
    assert tuple(oldest.USERS_EXTRAS) == USERS_EXTRAS
    assert set(oldest.constraints().splitlines()) == {
        re.sub(r"\[.*\]", "", one.replace(" ", "")).replace(">=", "==") for one in declared}


@pytest.mark.parametrize("wrong", [["a"], ["a>=1"], ["a==1.0"], ["a>=1.0,<2"], ["a>=1.0", "a>=1.1"]])
def test_a_bound_that_is_no_lower_bound_is_noticed(wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oldest, "requirements", lambda: wrong)
    with pytest.raises(ValueError, match="lower bound"):
        oldest.bounds()


def test_a_newer_package_is_not_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oldest, "requirements", lambda: ["numpy>=1.0", f"pandas>={importlib.metadata.version('pandas')}"])
    assert [line.split(":")[0] for line in oldest.differences()] == ["numpy"]
    assert str(oldest.problem()).startswith("numpy: ")
    monkeypatch.setattr(oldest, "requirements", lambda: [f"pandas>={importlib.metadata.version('pandas')}"])
    assert oldest.problem() is None


def test_supported_pythons_are_tested() -> None:
    listed = re.findall(r":: Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(listed) <= set(pythons.VERSIONS) and PROJECT["requires-python"] == f">={pythons.VERSIONS[0]}"
    assert pythons.interpreter("2.0") is None


SOURCE = """
import a.b, json
from c.d import e
from . import f
if TYPE_CHECKING:
    import t
class C:
    import k
def g():
    import h as i
    needed('j.k', 'j', 'l', 'm')
    importlib.import_module("n.o")
"""


def test_imports_are_found() -> None:
    assert others(modules(SOURCE)) == {"a", "c", "h", "j", "k", "n", "t"}
    assert others(at_import(SOURCE)) == {"a", "c", "k"}


def test_a_missing_or_idle_package_is_noticed() -> None:
    assert undeclared({"numpy", "autograd", "markupsafe"}, {"numpy", "jinja2"}) == {"autograd"}
    assert undeclared({"markupsafe"}, {"numpy"}) == {"markupsafe"}
    assert required(["a-b>=1; python_version < '3.13'", "C.d[x]==2", "noisewise[polars]"]) == {"a-b", "c-d", "polars"}
