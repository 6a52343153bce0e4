"""The oldest environment: every package that users need, at the lower bound that pyproject.toml gives.

    python tests/oldest.py            print the bounds as constraints for pip
    python tests/oldest.py --check    fail unless they are what is installed here

`make oldest` installs and tests it. Packages for tests and the documentation may be new, and so may what these packages require.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
USERS_EXTRAS = ("polars", "postgres", "duckdb", "spark", "sklearn", "arviz")


def requirements() -> Iterator[str]:
    """The requirements of the library and of the extras that it imports."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    yield from project["dependencies"]
    for extra in USERS_EXTRAS:
        yield from project["optional-dependencies"][extra]


def bounds() -> dict[str, str]:
    """The lower bound of each package, by its name.

    Raises:
        ValueError: a requirement is not a name with a lower bound, or a package has two bounds.
    """
    found: dict[str, str] = {}
    for requirement in requirements():
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=(\d+(?:\.\d+)+)", requirement)
        if match is None:
            raise ValueError(f"write a name and a lower bound, and nothing else: {requirement}")
        if found.setdefault(match[1], match[2]) != match[2]:
            raise ValueError(f"{match[1]} has two lower bounds: {found[match[1]]} and {match[2]}")
    return found


def constraints() -> str:
    return "".join(f"{name}=={version}\n" for name, version in sorted(bounds().items()))


def differences() -> list[str]:
    """Packages that are installed here in another version than their lower bound."""
    installed = {name: importlib.metadata.version(name) for name in bounds()}
    return [f"{name}: {installed[name]} is installed, {version} is the lower bound"
            for name, version in bounds().items() if release(installed[name]) != release(version)]


def problem() -> str | None:
    """What `--check` exits with: None, which is success, or the differences. An empty string would be a failure."""
    return "\n".join(differences()) or None


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end.

    >>> release("2.2.0") == release("2.2")
    True
    """
    numbers = [int(number) for number in version.split(".")]
    while numbers[-1:] == [0]:
        numbers.pop()
    return tuple(numbers)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(problem())
    sys.stdout.write(constraints())
