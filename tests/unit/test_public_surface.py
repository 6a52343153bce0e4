"""The public surface is a promise: these names and no others, and importing them costs little."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import noisewise

NAMES = ["BayesFactor", "BinarySynthesis", "Comparison", "Criterion", "Ledger", "NoisewiseError", "PartitionRelease",
         "PointEstimate", "Posterior", "PosteriorProbability", "PosteriorQuantile", "Prior", "Release", "Schema", "__version__",
         "answer", "audit", "combine", "combine_synthetic", "compare", "compare_methods", "fit", "fit_binary", "fit_many",
         "fit_sum", "load", "load_many", "plan_power", "private_bounds", "query", "release", "report", "suggest_parts",
         "synthesize", "synthesize_binary", "test"]
ESTIMATORS = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivatePoissonRegressor"]
HEAVY = ["formulaic", "jax", "matplotlib", "opendp", "pandas", "pyarrow", "pydantic", "scipy", "sklearn"]


def modules_after(statement: str) -> set[str]:
    """The top-level modules of a new interpreter after one statement."""
    program = f"{statement}; import json, sys; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
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
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'noisewise[sklearn]'" in finished.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = noisewise.nonsense  # type: ignore[attr-defined]


def test_importing_noisewise_imports_nothing_heavy() -> None:
    assert not modules_after("import noisewise") & set(HEAVY)


def test_the_check_for_heavy_imports_would_notice_one() -> None:
    assert "scipy" in modules_after("import noisewise, scipy")


def test_declaring_a_schema_imports_nothing_heavy() -> None:
    declared = "{'adjacency': 'replace-one', 'columns': {'a': {'bounds': [0, 1]}}}"
    assert not modules_after(f"import noisewise; noisewise.Schema.from_dict({declared})") & set(HEAVY)


def test_the_version_is_a_version() -> None:
    assert [part.isdecimal() for part in noisewise.__version__.split(".")[:2]] == [True, True]


def test_the_function_named_release_is_not_hidden_by_the_package_of_that_name() -> None:
    program = "import noisewise, noisewise.release.files, noisewise.holder.release; print(noisewise.release)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout.startswith("<function release")
