"""Releases as papers and programs get them wrong, and the audit's verdict on each.

    python -m studies.audit_misprints              # writes studies/results/audit_misprints.csv, takes a minute

NOT PRIVATE: the noise here is simulated, has a seed, and is of the wrong size on purpose. Do not use it on data. The
errors are described in docs/errata.md. The tests also audit each release with the noise that it needs.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.audits.laws import Gaussian, Laplace
from noisewise.audits.report import Released
from noisewise.audits.trial import Drawn, Subject, draw_many, judge
from noisewise.privacy.calibration import analytic_gaussian_sigma
from studies.paper_002 import their_multiplier
from studies.workers import Line, write

Array = npt.NDArray[np.float64]

OUTPUT = Path("studies/results/audit_misprints.csv")
DELTA = 1e-5
PARTS = 100
"""M in the papers that split a table."""
ROWS = 1000
EPSILONS = (0.1, 1.0, 4.0)


@dataclass(frozen=True)
class Variant:
    """A release of the literature.

    Attributes:
        source: where it is printed.
        what: what is wrong with it.
        released: the claim.
        change: how far one unit can move the released numbers.
        size: the noise as printed: a standard deviation, or a scale if there is no delta.
        too_little: True if that is less than needed, so that the audit must flag it.
        moved: how far a group of units moves the numbers, if units differ.
    """

    source: str
    what: str
    released: Released
    change: Array
    size: float
    too_little: bool
    moved: Callable[[int], Array] | None = None

    @property
    def promised(self) -> float:
        """The distance of neighbours in units of the noise that would be needed."""
        claim = self.released
        return 1 / analytic_gaussian_sigma(claim.epsilon, claim.delta, 1.0) if claim.delta else claim.epsilon

    @property
    def needed(self) -> float:
        return float(np.linalg.norm(self.change, 2 if self.released.delta else 1)) / self.promised

    def subject(self, random: np.random.Generator, size: float) -> Subject:
        """Two tables with noise of this size from a seeded generator."""
        law = Gaussian() if self.released.delta else Laplace()
        if self.released.delta:
            weights = self.change / np.linalg.norm(self.change) / self.needed
        else:
            weights = np.where(np.arange(len(self.change)) == np.argmax(np.abs(self.change)), 1 / self.needed, 0.0)
        group = max(1, round(law.clearest / float(weights @ self.change) * size / self.needed))  # it may be chosen at will
        moved = group * self.change if self.moved is None else self.moved(group)
        exact = np.zeros_like(moved), moved
        noise = random.normal if self.released.delta else random.laplace

        def draw(which: int) -> Array:
            return exact[which] + noise(0.0, size, moved.shape)

        return Subject(self.released, exact, draw, np.zeros(len(moved), dtype=bool), weights, law, group, self.promised,
                       self.promised)


def variants() -> Iterator[Variant]:
    """All of them, at several epsilons."""
    for epsilon in (0.1, 1.0, 10.0):
        yield Variant("paper 002", "standard deviation of the published code", _claim("(S, z)", "gaussian", epsilon, DELTA),
                      np.array([1.0, 1.0]), math.sqrt(2) * their_multiplier(epsilon, DELTA), True)
    for epsilon in EPSILONS:
        correct = analytic_gaussian_sigma(epsilon, DELTA, 1.0)
        gaussian = _claim("(S, z)", "gaussian", epsilon, DELTA)
        yield Variant("paper 002", "add-remove sensitivity for replaced rows", gaussian, _replaced_row(),
                      math.sqrt(2) * correct, True)
        yield Variant("paper 002", "averaged rows, sensitivity unchanged", gaussian, np.array([4 * (1 - 1 / 10)]),
                      math.sqrt(2) * correct, True)
        mean = _claim("a mean of parts", "laplace", epsilon, 0.0)
        yield Variant("paper 000", "scale ε/M of a mean", mean, np.array([1 / PARTS]), epsilon / PARTS, epsilon < 1)
        largest = -2 * math.log(0.01)
        yield Variant("paper 000", "sum divided by M", _claim("a sum over parts", "laplace", epsilon, 0.0), np.array([largest]),
                      largest / (PARTS * epsilon), True)
        bound, columns = 5.0, 4
        entries = columns * (columns + 1) // 2
        matrix = _claim("gram", "laplace", epsilon, 0.0)
        yield Variant("paper 004", "scale without ε and without a square", matrix, np.full(entries, bound**2), bound * entries,
                      bound > epsilon)
        yield Variant("paper 004", "centred before the noise", matrix, np.array([4 * (1 - 1 / ROWS)]), 1 / epsilon, True,
                      lambda group: np.array([4 * group * (1 - group / ROWS)]))
        parts = _claim("a mean of parts", "gaussian", epsilon, DELTA)
        yield Variant("paper 004", "variance divided by M, not M²", parts, np.array([1 / PARTS]), correct / math.sqrt(PARTS),
                      False)


def _claim(kind: str, mechanism: str, epsilon: float, delta: float) -> Released:
    return Released(kind, mechanism, "replace-one", "one row", epsilon, delta)


def _replaced_row() -> Array:
    """(S, z), each entry of S once as the paper adds its noise: x = (1, 0) and y = 1 replaced by x = (0, 1) and y = 1."""
    x, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    squares = np.outer(x, x) - np.outer(other, other)
    return np.concatenate([squares[np.triu_indices(2)], x - other])


def other_library(random: np.random.Generator) -> Subject | None:
    """diffprivlib's LinearRegression with bounds that begin at zero, which gives the squares of x no noise.

    Without an intercept, two rows, y = 0: the release is noise divided by the exact sum of the squares.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from diffprivlib.models import LinearRegression
    except ImportError:
        return None
    tables = np.array([[1.0], [1.0]]), np.array([[1.0], [100.0]])

    def draw(which: int) -> Array:
        model = LinearRegression(epsilon=1.0, bounds_X=(0, 100), bounds_y=(0, 100), fit_intercept=False,
                                 random_state=int(random.integers(2**31)))
        return np.asarray(model.fit(tables[which], np.zeros(2)).coef_, dtype=float)

    released = Released("LinearRegression", "diffprivlib", "replace-one", "one row", 1.0, 0.0)
    nothing = np.zeros(1)
    return Subject(released, (nothing, nothing), draw, np.zeros(1, dtype=bool), nothing, None, 1, 0.0, math.inf,
                   lambda numbers: -np.abs(numbers[:, 0]))


def line(source: str, what: str, subject: Subject, drawn: Drawn, level: float, too_little: bool) -> Line:
    found = judge(subject, drawn, level).as_dict()
    names = ("kind", "mechanism", "epsilon", "delta", "epsilon_any", "epsilon_law", "noise_at_most", "flagged", "draws", "group")
    rounded = {name: float(f"{found[name]:.4g}") if isinstance(found[name], float) else found[name] for name in names}
    return {"source": source, "what": what, **rounded, "too_little": too_little}


def run(draws: int, *, seed: int = 8, confidence: float = 0.99, controls: bool = False, library: bool = True) -> list[Line]:
    """All variants as printed, or (controls) with the noise that each needs."""
    random = np.random.default_rng(seed)
    every = list(variants())
    level = (1 - confidence) / (len(every) + 1)
    lines = []
    for variant in every:
        subject = variant.subject(random, variant.needed if controls else variant.size)
        drawn = draw_many(subject, draws, random)
        lines.append(line(variant.source, variant.what, subject, drawn, level, variant.too_little and not controls))
    other = other_library(random) if library and not controls else None
    if other is not None:
        drawn = draw_many(other, min(draws, 2000), random)
        lines.append(line("diffprivlib", "bounds (0, 100), no intercept", other, drawn, level, True))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Misprinted mechanisms, and the audit's verdict on them.")
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    lines: list[dict[str, Any]] = run(arguments.draws)
    write(lines, arguments.output)
    for found in lines:
        print(found)


if __name__ == "__main__":
    main()
