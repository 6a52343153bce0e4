"""Peña and Barrientos (paper 004), section 3: Example 1, 200 pupils, tests by parts of a table; Figures 1 and 2 as numbers.

    noisewise reproduce 004 example-1 --data DIRECTORY [--quick]      # DIRECTORY holds hsb2.csv.gz

Does gender predict the score in mathematics (H11), and does reading if science is in the model already (H12)? The parts'
statistics, the noise's law and the critical values are the library's own functions. Noise is drawn with a seed, except for the
releases that compare them with `noisewise.release`. The printed Gaussian variance is divided by M, the right one by M²: the
printed noise is private, and √M times too large.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from noisewise.answers.asked import MeanNoise
from noisewise.answers.hypothesis_test import NullRequest, Testable, null_draws
from noisewise.data.parts.answers import PartAnswers
from noisewise.data.splitting.parts import balanced_parts
from noisewise.privacy.calibration import analytic_gaussian_sigma
from noisewise.run import QUIET
from noisewise.schema import Design, Schema
from noisewise.schema.partition import PartPrior, part_design
from noisewise.schema.questions import BayesFactor, Criterion, PosteriorProbability

Array = npt.NDArray[np.float64]
Line = dict[str, Any]

FILE: Final = "hsb2.csv.gz"
RESPONSE: Final = "math"
COLUMNS: Final = (RESPONSE, "male", "science", "read")
PARTS: Final = (2, 5, 10)
EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf)
DELTAS: Final = (1e-6, 0.01, 0.1, 0.25, 0.5)
EPSILON: Final = 1.0
"""Of Figure 2 and of the errors."""
LEVELS: Final = (0.05, 0.01)
ODDS: Final = math.log(0.99 / 0.01)
"""The limit at which log Bayes factors are clipped, as in the paper."""
LARGEST_RATIO: Final = 7.0
NOISE_OF_EACH: Final = 20
"""Draws of noise for each random split."""
AT_ONCE: Final = 2000


@dataclass(frozen=True)
class Hypothesis:
    """One of the paper's two tests: its predictors, the last of which is tested."""

    name: str
    predictors: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        return Schema.from_dict({"adjacency": "replace-one", "columns": {
            name: {"bounds": "unknown"} for name in (RESPONSE, *self.predictors)}})

    @property
    def formula(self) -> str:
        return f"{RESPONSE} ~ {' + '.join(self.predictors)}"

    @property
    def design(self) -> Design:
        return part_design(self.schema, self.formula, ())

    @property
    def tested(self) -> tuple[tuple[str, float], ...]:
        return ((self.predictors[-1], 1.0),)

    def questions(self) -> dict[str, Testable]:
        return {"bayes-factor": BayesFactor((self.tested,), "zellner", (-ODDS, ODDS)),
                "likelihood-ratio": Criterion("likelihood-ratio", (self.tested,), (0.0, LARGEST_RATIO)),
                "posterior-probability": PosteriorProbability(self.tested, (0.0,))}

    def rows(self, table: dict[str, Array]) -> Array:
        """The constant, the predictors and the response, centred, which leaves slopes the same."""
        centred = [table[name] - table[name].mean() for name in (*self.predictors, RESPONSE)]
        return np.column_stack([np.ones(len(table[RESPONSE])), *centred])


HYPOTHESES: Final = (Hypothesis("gender", ("male",)), Hypothesis("read", ("science", "read")))


@lru_cache(maxsize=1)
def table_in(directory: str) -> dict[str, Array]:
    with gzip.open(Path(directory) / FILE, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"gender", "math", "science", "read"} <= set(rows[0]):
        raise SystemExit(f"{FILE} must have the columns gender, math, science and read")
    found = {name: np.array([float(row[name]) for row in rows]) for name in ("math", "science", "read")}
    return found | {"male": np.array([float(row["gender"] == "male") for row in rows])}


def part_statistics(hypothesis: Hypothesis, rows: Array, parts: int, question: Testable) -> Array:
    """(tables, parts): what the parts say, before clipping; ``rows`` are those of each table (tables, rows, columns), in order
    of the parts, which are equal."""
    tables, count, size = rows.shape
    pieces = rows.reshape(tables * parts, count // parts, size)
    products = np.swapaxes(pieces, 1, 2) @ pieces
    counts = np.full(tables * parts, count / parts)
    answers = PartAnswers(counts, products, np.zeros((tables * parts, size)), hypothesis.design, PartPrior("flat"))
    with np.errstate(invalid="ignore"):  # parts that cannot be fitted, such as those with one gender only
        return answers.answers(question, {}).reshape(tables, parts)


def split_order(count: int, parts: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """The rows ordered by random part, with the library's own split."""
    return np.argsort(balanced_parts(count, parts, random.bytes), kind="stable")


def split_means(hypothesis: Hypothesis, rows: Array, parts: int, question: Testable, splits: int,
                random: np.random.Generator) -> Array:
    """The mean over the parts of clipped statistics, for many random splits of one table."""
    assert question.limits is not None
    ordered = rows[np.array([split_order(len(rows), parts, random) for _ in range(splits)])]
    return np.asarray(np.clip(part_statistics(hypothesis, ordered, parts, question), *question.limits).mean(axis=1))


def exact_lines(directory: str) -> list[Line]:
    """Without parts and without noise."""
    lines = []
    for hypothesis in HYPOTHESES:
        rows = hypothesis.rows(table_in(directory))[None]
        found = {name: float(part_statistics(hypothesis, rows, 1, question)[0, 0])
                 for name, question in hypothesis.questions().items()}
        factor = found["bayes-factor"]
        lines.append({"hypothesis": hypothesis.name, "log_bayes_factor": factor, "probability": 1 / (1 + math.exp(-factor)),
                      "likelihood_ratio": found["likelihood-ratio"]})
    return lines


def figure_1(directory: str, splits: int) -> list[Line]:
    """Quartiles of P*(H|D) over splits and noise: Laplace noise of scale (U − L)/(Mε); and of the censored one."""
    from scipy.special import expit

    lines: list[Line] = []
    for hypothesis in HYPOTHESES:
        question = hypothesis.questions()["bayes-factor"]
        for parts in PARTS:
            random = np.random.default_rng([parts, len(hypothesis.predictors)])
            means = split_means(hypothesis, hypothesis.rows(table_in(directory)), parts, question, splits, random)
            for epsilon in EPSILONS:
                noisy = means
                if math.isfinite(epsilon):
                    noise = MeanNoise("k-norm", 2 * ODDS / (parts * epsilon), 1)
                    noisy = np.repeat(means, NOISE_OF_EACH) + noise.draws(NOISE_OF_EACH * splits, random)
                lines.append({"hypothesis": hypothesis.name, "parts": parts, "epsilon": epsilon}
                             | _quartiles(expit(noisy)) | _quartiles(expit(np.clip(noisy, -ODDS, ODDS)), "censored_"))
    return lines


def gaussian_noise(parts: int, delta: float, printed: bool) -> MeanNoise:
    """The noise on a mean over parts of numbers from 0 to 7; printed: the variance of a sum divided by M, not by M²."""
    if printed:
        return MeanNoise("gaussian", analytic_gaussian_sigma(EPSILON, delta, LARGEST_RATIO) / math.sqrt(parts), 1)
    return MeanNoise("gaussian", analytic_gaussian_sigma(EPSILON, delta, LARGEST_RATIO / parts), 1)


def null_of(hypothesis: Hypothesis, question: Testable, count: int | None, parts: int, noise: MeanNoise, censored: bool) -> Array:
    """The library's critical value; without the number of rows, as if parts were large and likelihood ratios chi-squared."""
    rows = None if count is None else count / parts
    return null_draws(NullRequest(question, parts, rows, len(hypothesis.design.terms), noise, censored))


def rejects(null: Array, values: Array, level: float, two_sided: bool = False) -> npt.NDArray[np.bool_]:
    """Reject by the calibrated p-value, as `noisewise.hypothesis_test` computes it."""
    above = (1 + len(null) - np.searchsorted(null, values, "left")) / (len(null) + 1)
    below = (1 + np.searchsorted(null, values, "right")) / (len(null) + 1)
    return np.asarray((2 * np.minimum(above, below) if two_sided else above) <= level)


def figure_2(directory: str, splits: int) -> list[Line]:
    """Quartiles of the censored 2 log Λ* with Gaussian noise, critical values, and how often the null is rejected."""
    lines: list[Line] = []
    for hypothesis in HYPOTHESES:
        question = hypothesis.questions()["likelihood-ratio"]
        rows = hypothesis.rows(table_in(directory))
        for parts in PARTS:
            random = np.random.default_rng([parts, len(hypothesis.predictors)])
            means = np.repeat(split_means(hypothesis, rows, parts, question, splits, random), NOISE_OF_EACH)
            for delta in DELTAS:
                for printed in (True, False):
                    noise = gaussian_noise(parts, delta, printed)
                    noisy = means + noise.draws(len(means), random)
                    censored = np.clip(noisy, 0.0, LARGEST_RATIO)
                    line = {"hypothesis": hypothesis.name, "parts": parts, "delta": delta,
                            "variance": "printed" if printed else "right", "sd": noise.sd, "negative": np.mean(noisy < 0)}
                    for kept, values in ((True, censored), (False, noisy)):
                        null = null_of(hypothesis, question, len(rows), parts, noise, kept)
                        for level in LEVELS:
                            name = "censored" if kept else "free"
                            line |= {f"critical_{name}_{level}": np.quantile(null, 1 - level),
                                     f"rejected_{name}_{level}": np.mean(rejects(null, values, level))}
                    lines.append(line | _quartiles(censored))
    return lines


def errors(directory: str, tables: int) -> list[Line]:
    """How often a true null hypothesis is rejected: predictors as they are, responses drawn from the fitted null model."""
    lines: list[Line] = []
    for hypothesis in HYPOTHESES:
        rows = hypothesis.rows(table_in(directory))
        for parts in PARTS:
            random = np.random.default_rng([parts, len(hypothesis.predictors), 1])
            means = {name: np.empty(tables) for name in hypothesis.questions()}
            for start in range(0, tables, AT_ONCE):
                drawn = null_tables(rows, min(AT_ONCE, tables - start), parts, random)
                for name, question in hypothesis.questions().items():
                    assert question.limits is not None
                    said = np.clip(part_statistics(hypothesis, drawn, parts, question), *question.limits)
                    means[name][start:start + len(drawn)] = said.mean(axis=1)
            for name, question in hypothesis.questions().items():
                for label, noise in _noises(question, parts):
                    lines += _errors(hypothesis, name, question, len(rows), parts, label, noise, means[name], random)
    return lines


def null_tables(rows: Array, tables: int, parts: int, random: np.random.Generator) -> Array:
    """Tables with the same predictors and new responses, ordered by random part."""
    kept, response = rows[:, :-2], rows[:, -1]
    fitted = kept @ np.linalg.lstsq(kept, response, rcond=None)[0]
    sd = math.sqrt(np.sum((response - fitted) ** 2) / (len(rows) - kept.shape[1]))
    drawn = np.repeat(rows[None], tables, axis=0)
    drawn[:, :, -1] = fitted + random.normal(0.0, sd, (tables, len(rows)))
    order = np.array([split_order(len(rows), parts, random) for _ in range(tables)])
    return np.take_along_axis(drawn, order[:, :, None], axis=1)


def _noises(question: Testable, parts: int) -> list[tuple[str, MeanNoise]]:
    assert question.limits is not None
    width = question.limits[1] - question.limits[0]
    found = [("Laplace", MeanNoise("k-norm", width / (parts * EPSILON), 1))]
    return found + [(f"Gaussian, δ = {delta:g}", MeanNoise("gaussian", analytic_gaussian_sigma(EPSILON, delta, width / parts), 1))
                    for delta in (1e-6, 0.25)]


def _errors(hypothesis: Hypothesis, name: str, question: Testable, count: int, parts: int, label: str, noise: MeanNoise,
            means: Array, random: np.random.Generator) -> list[Line]:
    from scipy.stats import chi2

    assert question.limits is not None
    noisy = means + noise.draws(len(means), random)
    censored = np.clip(noisy, *question.limits)
    sides = isinstance(question, PosteriorProbability)
    line: Line = {"hypothesis": hypothesis.name, "question": name, "parts": parts, "noise": label, "tables": len(means)}
    for level in LEVELS:
        for kept, values in ((True, censored), (False, noisy)):
            null = null_of(hypothesis, question, count, parts, noise, kept)
            line[f"{'censored' if kept else 'free'}_{level}"] = np.mean(rejects(null, values, level, sides))
        if name == "likelihood-ratio":
            critical = np.quantile(null_of(hypothesis, question, count, parts, noise, True), 1 - level)
            large = null_of(hypothesis, question, None, parts, noise, False)
            line |= {f"at_critical_{level}": np.mean(censored >= critical),
                     f"chi_squared_{level}": np.mean(rejects(large, noisy, level)),
                     f"uncalibrated_{level}": np.mean(censored >= chi2.ppf(1 - level, 1))}
    return [line]


def releases(directory: str, count: int, parts: int = 10) -> list[Line]:
    """Whole releases with their own splits and noise, to compare with Figure 1 and its simulated noise."""
    from scipy.special import expit

    import noisewise as nw

    lines = []
    for hypothesis in HYPOTHESES:
        question = hypothesis.questions()["bayes-factor"]
        table = {name: table_in(directory)[name] for name in (RESPONSE, *hypothesis.predictors)}
        kind = nw.Partition(hypothesis.formula, parts=parts, ask=[question])
        found = [nw.release(table, hypothesis.schema, kind, epsilon=EPSILON, run=QUIET) for _ in range(count)]
        values = expit(np.array([one.contents.numbers[0].mean(parts) for one in found]))
        lines.append({"hypothesis": hypothesis.name, "parts": parts, "epsilon": EPSILON, "releases": count} | _quartiles(values))
    return lines


def _quartiles(values: Array, prefix: str = "") -> Line:
    return {f"{prefix}{name}": value for name, value in zip(
        ("quartile_1", "median", "quartile_3"), np.quantile(values, [0.25, 0.5, 0.75]).tolist(), strict=True)}


def rounded(lines: Sequence[Line]) -> list[Line]:
    return [{name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in line.items()}
            for line in lines]


def cell(piece: str, directory: str, count: int = 0) -> dict[str, list[Line]]:
    """One piece; ``count`` is the number of splits, tables or releases."""
    lines = exact_lines(directory) if piece == "exact" else {
        "figure_1": figure_1, "figure_2": figure_2, "errors": errors, "releases": releases}[piece](directory, count)
    return {f"hypotheses_{piece}": rounded(lines)}
