"""The inner ring with every Python from 3.11 on that this machine has, each in an environment of its own: `make pythons`.

    python tests/pythons.py [--workers 2] [3.12 3.13]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""The classifiers in pyproject.toml list those that have passed."""
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
EVERY_NAME = "import noisewise; [getattr(noisewise, name) for name in noisewise.__all__]"


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
    parser.add_argument("versions", nargs="*", default=VERSIONS)
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
