"""The inner ring with every supported Python that this machine has, each in an environment of its own: `make pythons`.

    python tests/pythons.py [--workers 2] [3.12 3.13]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
EVERY_NAME = "import noisewise; [getattr(noisewise, name) for name in noisewise.__all__]"


NOT_YET = ["3.14"]
"""Versions that pyproject.toml does not list because no run has passed with them; tested where they are found."""


def versions() -> list[str]:
    """The versions of Python that pyproject.toml lists as supported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in project["classifiers"])
    return [match[1] for match in listed if match]


def candidates(version: str) -> Iterator[Path]:
    """Programs that may be this Python: on the path, or installed by pyenv."""
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python"))


def interpreter(version: str) -> Path | None:
    """The first that runs and is what its name says; a shim of pyenv may be neither."""
    for program in candidates(version):
        asked = subprocess.run([program, "-c", VERSION], capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return program
    return None


def tested(version: str, program: Path, workers: int) -> str:
    """Install, import and test with one Python; the outcome in words."""
    place = ROOT / f".venv-{version}"
    python = place / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = {
        "no environment": [program, "-m", "venv", place],
        "cannot be installed": [*pip, "--editable", ".[test]"],
        "cannot be imported": [python, "-W", "error", "-c", EVERY_NAME],
        "tests failed": [python, "-m", "pytest", "-q", "-n", str(workers), "--dist", "loadfile"],
    }
    for failure, command in steps.items():
        if subprocess.run(command, cwd=ROOT).returncode != 0:
            return failure
    return "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=versions() + NOT_YET)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    outcomes = {}
    for version in asked.versions:
        program = interpreter(version)
        print(f"== Python {version}: {program or 'not found'}", flush=True)
        outcomes[version] = "not found on this machine" if program is None else tested(version, program, asked.workers)
    print("\n".join(f"Python {version}: {outcome}" for version, outcome in outcomes.items()))
    tried = [outcome for outcome in outcomes.values() if not outcome.startswith("not found")]
    return 0 if tried and set(tried) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
