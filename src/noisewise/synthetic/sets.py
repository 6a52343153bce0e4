"""`synthesize`: synthetic tables from a release, each from its own draw from the posterior (MODIPS).

`combine_synthetic` combines the estimates from m tables. With B, the variance between the tables' estimates, and ū, the mean of
their variances, the total variance is estimated by T = (1 + 1/m) B − ū (Raghunathan, Reiter and Rubin 2003, for fully synthetic
data). B contains the sampling variance of a table's own rows, which says nothing about the quantity, and the uncertainty that the
release leaves. That includes the privacy noise, because each table has its own draw from a posterior that accounts for it. T can
be negative if m is small, so it is at least the variance with the real rows themselves, ū times synthetic over real rows, plus
B/m. The interval is Student's, with (m − 1) (T / ((1 + 1/m) B))² degrees of freedom. Why other rules are wrong here:
docs/synthetic.md.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from noisewise.arrays import Array
from noisewise.errors import FitError, ResultError
from noisewise.posterior.request import whole
from noisewise.releases.combine import Releases, combine
from noisewise.releases.release import Release
from noisewise.results.fit_info import check_interval
from noisewise.run import DEFAULT, Run
from noisewise.schema import Categorical, Numeric, Schema
from noisewise.synthetic.files import write_tables
from noisewise.synthetic.moment_posterior import NoisyMoments, draw_moments
from noisewise.synthetic.row_law import RowLaw
from noisewise.synthetic.structure import Structure

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

BLOCK: Final = 2**16
RULES: Final = ("one-release", "separate", "imputation")


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """Synthetic tables from one release: ``[k]`` (a pandas DataFrame), ``len`` and iteration. Each is made on demand.

    ``rows``: the rows of each table. ``release_rows``: the rows behind the release, with noise if their number is private.
    """

    schema: Schema
    laws: tuple[RowLaw, ...]
    rows: int
    release_rows: float
    seed: int

    def __len__(self) -> int:
        return len(self.laws)

    def __getitem__(self, number: int) -> pandas.DataFrame:
        import pyarrow as pa

        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} synthetic tables")
        table: pandas.DataFrame = pa.Table.from_batches(self.batches(number % len(self))).to_pandas()
        return table

    def __iter__(self) -> Iterator[pandas.DataFrame]:
        return (self[number] for number in range(len(self)))

    def batches(self, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a table, in blocks. They are the same every time."""
        for block, start in enumerate(range(0, self.rows, BLOCK)):
            rng = np.random.default_rng([self.seed, number, block])
            yield self._batch(self.laws[number], min(BLOCK, self.rows - start), rng)

    def _batch(self, law: RowLaw, count: int, rng: np.random.Generator) -> pa.RecordBatch:
        import pyarrow as pa

        levels, numbers = law.scaled_rows(count, rng)
        arrays = []
        for column in self.schema.columns:
            if isinstance(column, Numeric):
                value = column.centre + column.half_width * numbers[column.name]
                arrays.append(pa.array(np.clip(value, float(column.lower), float(column.upper))))
            else:
                assert isinstance(column, Categorical)
                alike = all(type(level) is type(column.levels[0]) for level in column.levels)
                texts = list(column.levels) if alike else [str(level) for level in column.levels]
                arrays.append(pa.array(texts).take(pa.array(levels[column.name])))
        return pa.RecordBatch.from_arrays(arrays, names=list(self.schema.names))

    def cut_off(self, rows: int = 10_000) -> dict[str, float]:
        """For each number, the share of values outside the declared bounds before clipping."""
        outside = {column.name: 0.0 for column in self.schema.columns if isinstance(column, Numeric)}
        for number, law in enumerate(self.laws):
            _, numbers = law.scaled_rows(max(rows // len(self), 100), np.random.default_rng([self.seed, number]))
            for name, value in numbers.items():
                outside[name] += float(np.mean(np.abs(value) > 1.0)) / len(self)
        return outside

    def estimate(self, analysis: Callable[[pandas.DataFrame], tuple[npt.ArrayLike, npt.ArrayLike]], *,
                 names: Sequence[str] | None = None) -> CombinedEstimate:
        """Run an analysis on every table and combine the results.

        ``analysis`` takes a DataFrame and returns estimates and their variances (squared standard errors).
        """
        found = [analysis(table) for table in self]
        estimates, variances = (np.array([one[part] for one in found], dtype=float) for part in (0, 1))
        return combine_synthetic(estimates, variances, names=names, rows_ratio=self.rows / self.release_rows)

    def save(self, folder: str | os.PathLike[str], *, format: str = "parquet", run: Run = DEFAULT) -> list[Path]:
        """Write one file for each table to a folder: ``synthetic-01.parquet``, ...; ``format`` is ``parquet`` or ``csv``."""
        return write_tables(folder, [partial(self.batches, number) for number in range(len(self))], format, run)

    def __repr__(self) -> str:
        return f"<SyntheticData: {len(self)} tables of {self.rows:,} rows, {', '.join(self.schema.names)}>"

    def _repr_html_(self) -> str:
        from noisewise.notebook import card, frame

        return card(f"{len(self)} synthetic tables of {self.rows:,} rows; the top of the first:", frame(self[0].head()))


def synthesize(release: Releases, *, sets: int = 20, rows: int | None = None, seed: int | None = None) -> SyntheticData:
    """Make synthetic tables from a release of kind ``gram``, at no further privacy cost.

    Each of the ``sets`` tables has ``rows`` rows (by default, as many as are behind the release). It comes from its own draw from
    the posterior of the rows' distribution, which accounts for the privacy noise. Only means and covariances of the declared
    columns are preserved: numbers are normal given the categories. Values are within declared bounds and levels.

    Analyse every table as if it were real, and combine the results with `SyntheticData.estimate` or `combine_synthetic`. A single
    table says nothing about its own uncertainty.

    >>> import noisewise as nw
    >>> random = np.random.default_rng(1)
    >>> age = random.uniform(20, 80, 5000)
    >>> table = {"age": age, "stay": 2 + 0.1 * age + random.normal(0, 1, 5000)}
    >>> schema = nw.Schema.from_dict({"adjacency": "replace-one", "columns": {
    ...     "age": {"bounds": [0, 100]}, "stay": {"bounds": [0, 20]}}})
    >>> made = nw.synthesize(nw.release(table, schema, epsilon=5, delta=1e-6), sets=5, seed=1)
    >>> made
    <SyntheticData: 5 tables of 5,000 rows, age, stay>
    >>> mean = made.estimate(lambda t: (t["stay"].mean(), t["stay"].var() / len(t)))
    >>> bool(abs(mean.estimate[0] - 7) < 0.3)
    True
    """
    sets = whole("sets", sets, 2)
    seed = secrets.randbelow(2**31) if seed is None else whole("seed", seed, 0)
    together = combine(release)
    _check(together)
    structure = Structure.of(together)
    noisy = NoisyMoments.of(together.contributions, structure)
    size = float(noisy.matrix[0, 0])
    if size < structure.size:
        raise FitError("the release has too few rows for synthetic tables", found=f"{size:g}",
                       remedy="use more rows, or a release with less noise")
    count = whole("rows", round(size) if rows is None else rows, 1)
    draws = draw_moments(noisy, structure, sets, seed)
    laws = tuple(RowLaw.drawn(moments, structure, np.random.default_rng([seed, number])) for number, moments in enumerate(draws))
    return SyntheticData(together.schema, laws, count, size, seed)


def _check(release: Release) -> None:
    if release.kind.name != "gram":
        raise FitError("synthetic tables need a release of kind gram", found=f"kind {release.kind.name}",
                       remedy="ask the data holder for one")
    if release.clipped_norm is not None:
        raise FitError("rows were shortened to a norm bound, so the released moments are not the columns' own",
                       found="a norm bound", remedy="ask the data holder for a release without norm_bound")
    if any(part.average > 1 for part in release.contributions):
        raise FitError("rows were averaged in groups, so the released moments are not those of single rows",
                       found="an averaged release", remedy="ask the data holder for a release without average")


@dataclass(frozen=True, eq=False)
class CombinedEstimate:
    """Combined estimates from all tables: their mean, its standard deviation, and the degrees of freedom of its intervals."""

    names: tuple[str, ...]
    estimate: Array
    sd: Array
    degrees: Array
    sets: int

    def summary(self, interval: float = 0.95) -> pandas.DataFrame:
        """One row for each estimate, with its interval."""
        import pandas

        from noisewise.results.summary import percent_label

        ends = zip(map(percent_label, check_interval(interval)), self.interval(interval).T, strict=True)
        columns = {"estimate": self.estimate, "sd": self.sd, "df": self.degrees, **dict(ends)}
        return pandas.DataFrame(columns, index=pandas.Index(list(self.names), name="estimate of"))

    def interval(self, probability: float = 0.95) -> Array:
        """Lower and upper ends: (estimates, 2)."""
        from scipy.stats import t

        return np.asarray(self.estimate[:, None] + self.sd[:, None] * t.ppf(check_interval(probability), self.degrees[:, None]))


def combine_synthetic(estimates: npt.ArrayLike, variances: npt.ArrayLike, *, names: Sequence[str] | None = None,
                      rows_ratio: float = 1.0, rule: str = "one-release") -> CombinedEstimate:
    """Combine the results of the same analysis on each synthetic table.

    ``estimates`` and ``variances`` (squared standard errors) have one row for each table and, if there are several estimates, one
    column for each. ``rows_ratio``: rows of a synthetic table over rows of the real one. ``rule``: ``one-release`` is right for
    `synthesize`; ``separate`` (Liu: each table has its own noise) and ``imputation`` (Rubin) are for comparison.

    >>> combined = combine_synthetic([1.2, 0.9, 1.1, 1.0, 0.8], [0.01] * 5)
    >>> combined.estimate.round(2), combined.sd.round(3)
    (array([1.]), array([0.141]))
    """
    q, u = _checked(estimates, variances, rows_ratio)
    if rule not in RULES:
        raise ResultError("unknown rule", argument="rule", found=repr(rule), known=RULES)
    chosen = tuple(f"q{k + 1}" for k in range(q.shape[1])) if names is None else tuple(names)
    if len(chosen) != q.shape[1]:
        raise ResultError("names must have one name for each estimate", found=f"{len(chosen)} names, {q.shape[1]} estimates")
    m = len(q)
    between, within = q.var(axis=0, ddof=1), u.mean(axis=0)
    more = (1.0 + 1.0 / m) * between
    total, uncertain = {
        "one-release": (np.maximum(more - within, between / m + rows_ratio * within), more),
        "separate": (between / m + within, between / m),
        "imputation": (more + within, more),
    }[rule]
    degrees = (m - 1.0) * (total / np.maximum(uncertain, 1e-9 * total + 1e-300)) ** 2
    return CombinedEstimate(chosen, q.mean(axis=0), np.sqrt(total), np.clip(degrees, 1.0, 1e9), m)


def _checked(estimates: npt.ArrayLike, variances: npt.ArrayLike, ratio: float) -> tuple[Array, Array]:
    q, u = (np.atleast_1d(np.asarray(given, dtype=float)) for given in (estimates, variances))
    q, u = (given[:, None] if given.ndim == 1 else given for given in (q, u))
    if q.shape != u.shape or q.ndim != 2 or len(q) < 2:
        raise ResultError("estimates from two or more tables are needed, each with its variance", found=f"{q.shape}, {u.shape}")
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ResultError("estimates must be finite, and variances finite and not negative")
    if not (np.isfinite(ratio) and ratio >= 0):
        raise ResultError("rows_ratio, synthetic rows over real rows, must be finite and not negative", found=repr(ratio))
    return q, u
