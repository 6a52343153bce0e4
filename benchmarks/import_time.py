"""`import noisewise` against `import numpy, pandas`, each in a new process, in turns.

    python benchmarks/import_time.py [--repeats 15]

The target is a ratio of at most 1.5. The interpreter's own start is subtracted from both.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

TARGET = 1.5
STATEMENTS = {"nothing": "pass", "numpy, pandas": "import numpy, pandas", "noisewise": "import noisewise"}


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for repeat in range(options.repeats + 1):
        for name, statement in STATEMENTS.items():
            taken = seconds(statement)
            if repeat:  # the first round fills the page cache and writes bytecode
                times[name].append(taken)
    medians = {name: statistics.median(found) for name, found in times.items()}
    reference = medians["numpy, pandas"] - medians["nothing"]
    table = Table("import", "seconds, median", "ratio", "target", title=f"Import time, {options.repeats} processes each")
    for name in ("numpy, pandas", "noisewise"):
        own = medians[name] - medians["nothing"]
        ratio = own / reference
        target = f"≤ {TARGET:g}: {'met' if ratio <= TARGET else 'missed'}" if name == "noisewise" else ""
        table.add_row(name, f"{own:.3f}", f"{ratio:.2f}", target)
    Console().print(table)


if __name__ == "__main__":
    main()
