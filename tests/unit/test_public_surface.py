"""The public surface is a promise: these names and no others, and importing them costs little."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import noisewise

NAMES = ["AdaSSP", "BayesFactor", "Binary", "Bounds", "Comparison", "Criterion", "Gram", "Ledger", "Model", "Moments",
         "NoisewiseError", "Partition", "PointEstimate", "Posterior", "PosteriorProbability", "PosteriorQuantile", "Prior",
         "Release", "Rows", "Run", "Schema", "__version__", "answer", "audit", "combine", "combine_synthetic", "compare",
         "compare_methods", "fit", "fit_binary", "fit_many", "fit_sum", "hypothesis_test", "load", "load_many", "plan",
         "plan_power", "query", "release", "report", "start", "suggest_parts", "synthesize"]
ESTIMATORS = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor"]
HEAVY = ["formulaic", "jax", "matplotlib", "opendp", "pandas", "pyarrow", "pydantic", "scipy", "sklearn"]


def modules_after(statement: str) -> set[str]:
    """The modules of a new interpreter after one statement."""
    program = f"{statement}; import sys; found = sorted(sys.modules); import json; print(json.dumps(found))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    return set(json.loads(finished.stdout.splitlines()[-1]))


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(noisewise.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(noisewise, name) is not None
    assert name in dir(noisewise)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_can_be_used_and_are_imported_when_asked_for(name: str) -> None:
    assert getattr(noisewise, name).__name__ == name
    assert name in dir(noisewise)


def test_without_scikit_learn_an_estimator_says_how_to_install_it() -> None:
    program = ("import sys; sys.modules['sklearn'] = None; import noisewise\n"
               "try: noisewise.PrivateLinearRegression\nexcept noisewise.NoisewiseError as error: print(error)")
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert "pip install 'noisewise[sklearn]'" in finished.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = noisewise.nonsense  # type: ignore[attr-defined]


def test_importing_noisewise_imports_nothing_heavy() -> None:
    assert not modules_after("import noisewise") & set(HEAVY)


@pytest.mark.parametrize("statement", ["import noisewise", "from noisewise.cli.program import main"])
def test_next_to_nothing_is_imported_before_a_name_is_asked_for_or_ctrl_c_is_heard(statement: str) -> None:
    found = modules_after(statement) - modules_after("pass")
    ours = {name for name in found if name.split(".")[0] == "noisewise"}
    assert ours <= {"noisewise", "noisewise.version", "noisewise.cli", "noisewise.cli.program"}
    assert not found & {"numpy", "typer", "rich", *HEAVY} and len(found) < 20


def test_type_checkers_see_the_names_that_there_are() -> None:
    """The imports for them are another list than the one that a program uses."""
    seen: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(str(noisewise.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
            imports = [line for line in node.body if isinstance(line, ast.ImportFrom)]
            seen |= {alias.name: str(line.module) for line in imports for alias in line.names}
    assert seen == noisewise._HOMES and sorted(seen) == sorted({*NAMES, *ESTIMATORS} - {"__version__"})


def test_every_name_is_itself_whatever_is_imported_before() -> None:
    """A package of the same name as a function would hide it."""
    rooms = {path.name.removesuffix(".py") for path in Path(str(noisewise.__file__)).parent.iterdir()}
    assert not rooms & {*NAMES, *ESTIMATORS}
    assert all(callable(getattr(noisewise, name)) for name in NAMES if name != "__version__")


def test_the_check_for_heavy_imports_would_notice_one() -> None:
    assert "scipy" in modules_after("import noisewise, scipy")


def test_declaring_a_schema_imports_nothing_heavy() -> None:
    declared = "{'adjacency': 'replace-one', 'columns': {'a': {'bounds': [0, 1]}}}"
    assert not modules_after(f"import noisewise; noisewise.Schema.from_dict({declared})") & set(HEAVY)


def test_the_version_is_a_version() -> None:
    assert [part.isdecimal() for part in noisewise.__version__.split(".")[:2]] == [True, True]


def test_the_function_named_release_is_not_hidden_by_the_package_of_that_name() -> None:
    program = "import noisewise, noisewise.releases.files, noisewise.holder.release; print(noisewise.release)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert finished.stdout.startswith("<function release")
