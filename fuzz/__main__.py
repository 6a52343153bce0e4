"""Run the targets: ``python -m fuzz [TARGET …] [--runs N]``. A finding ends the run with a traceback and leaves its input."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz import NAMES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=", ".join(NAMES) + "; all by default", metavar="TARGET")
    parser.add_argument("--runs", type=float, default=1e5)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in this process: atheris ends it
    options = parser.parse_args()
    if unknown := set(options.targets) - set(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if options.here:
        run_here(options.targets[0], int(options.runs))
        return 0
    failed = []
    for name in options.targets or NAMES:
        print(f"{name}: {int(options.runs)} inputs", flush=True)
        done = subprocess.run([sys.executable, "-m", "fuzz", name, "--runs", str(options.runs), "--here"], check=False,
                              capture_output=True, text=True)
        lines = done.stderr.strip().splitlines()
        print("   " + (lines[-1] if lines else ""))
        if done.returncode:
            failed.append(name)
            print("\n".join(lines[-60:]))
    print("findings in: " + ", ".join(failed) if failed else "no findings")
    return 1 if failed else 0


def run_here(name: str, runs: int) -> None:
    """Run all inputs in this process, guided by the coverage of our own code."""
    import atheris

    with atheris.instrument_imports(include=["noisewise"]):  # before anything of ours is imported
        from fuzz.targets import TARGETS, attack

    corpus = Path(tempfile.mkdtemp(prefix=f"noisewise-fuzz-{name}-"))
    for number, seed in enumerate(TARGETS[name].seeds()):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], f"-runs={runs}", "-max_len=8192", "-print_final_stats=0", "-verbosity=1", str(corpus)],
                  lambda data: attack(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
