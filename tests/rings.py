"""The rings of the test suite.

The inner ring runs before every commit (`make test`), the outer ring before every merge (`make test-all`), and slow tests once
per version (`make slow`). A test is in the inner ring unless it is marked `outer` or `slow`, or its folder is listed below.

- `@pytest.mark.outer` moves a test to the outer ring; `@pytest.mark.outer(but=["replace-one"])` keeps the named cases inside.
- `@pytest.mark.inner` keeps a test of an outer folder or file inside, as its smoke test.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
OUTER_FOLDERS = ("calibration", "docs", "unit/literature")
"""Studies, pages of the documentation and the papers' own methods."""


def folder_is_outer(path: Path) -> bool:
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix().startswith(tuple(f"{one}/" for one in OUTER_FOLDERS))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the outer folders, and the cases that stay inside. Marks are selected afterwards."""
    cases: dict[tuple[str, frozenset[str]], set[str]] = defaultdict(set)
    for item in items:
        if folder_is_outer(item.path):
            item.add_marker("outer")
        mark = item.get_closest_marker("outer")
        if mark is not None and (inside := frozenset(mark.kwargs.get("but", ()))):
            case = item.callspec.id  # type: ignore[attr-defined]
            cases[item.nodeid.split("[")[0], inside].add(case)
            if case in inside:
                item.add_marker("inner")
    some = config.getoption("lf", default=False) or any("::" in argument for argument in config.args)
    if not some:  # else cases were left out of the collection
        for (test, inside), found in cases.items():
            if missing := inside - found:
                raise pytest.UsageError(f"{test}: no cases {sorted(missing)} to keep inside; there are {sorted(found)}")
