"""`PointEstimate`: what `noisewise.fit` returns for an `adassp` release. Coefficients without their uncertainty."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np

from noisewise.arrays import Array
from noisewise.errors import NoisewiseWarning, ResultError
from noisewise.notebook import card, frame
from noisewise.results import prediction
from noisewise.results.families import GAUSSIAN
from noisewise.results.fit_info import FitInfo, frozen
from noisewise.results.new_rows import declared_levels, read_rows

if TYPE_CHECKING:
    import pandas

    from noisewise.schema import Design

NO_POSTERIOR: Final = "point estimate: no posterior, no intervals"


@dataclass(frozen=True, eq=False, repr=False)
class PointEstimate:
    """Regression coefficients in the user's units, without their uncertainty.

    `ridge` is the total added to the diagonal of the predictors' matrix, in scaled units. A large ridge shrinks the coefficients
    towards a constant response at the midpoint of its bounds.

    >>> estimate = noisewise.fit("stay ~ age", release)        # doctest: +SKIP
    >>> estimate.coefficients["age"]                           # doctest: +SKIP
    >>> estimate.predict({"age": [40, 70]})                    # doctest: +SKIP
    """

    values: Array
    design: Design
    info: FitInfo
    ridge: float = 0.0

    def __post_init__(self) -> None:
        values = frozen(self.values)
        if values.shape != (len(self.design.terms),) or not np.isfinite(values).all():
            raise ResultError("values must be one finite number for each term", argument="values", found=f"shape {values.shape}")
        object.__setattr__(self, "values", values)

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.design.terms

    @property
    def coefficients(self) -> pandas.Series[float]:
        """The coefficients by term."""
        import pandas

        return pandas.Series(self.values, index=pandas.Index(list(self.terms), name="term"), name="estimate")

    def summary(self, interval: float | None = None) -> pandas.DataFrame:
        """Tabulate the coefficients, in the column `estimate`."""
        if interval is not None:
            self._refuse("interval")
        return self.coefficients.to_frame()

    def predict(self, new_rows: object, interval: float | None = None) -> pandas.DataFrame:
        """Predict the mean response for new rows, in the column `mean`. `Posterior.predict` lists the accepted tables."""
        import pandas

        if interval is not None:
            self._refuse("interval")
        columns, index = read_rows(new_rows, self.design.columns_needed, declared_levels(self.design))
        ends = prediction.credible_ends(GAUSSIAN, (0.5, 0.5))
        mean, _, _ = prediction.predict_rows(columns, len(index), self.design, self.values[None, :], ends)
        return pandas.DataFrame({"mean": mean}, index=index)

    def draws(self, term: str | None = None) -> NoReturn:
        """Raise ResultError: a point estimate has no draws."""
        self._refuse("draws")

    def plot(self, *arguments: object, **options: object) -> NoReturn:
        """Raise ResultError: the plots show posteriors."""
        self._refuse("plot")

    def check(self, *arguments: object, **options: object) -> NoReturn:
        """Raise ResultError: an adassp release lacks the statistics that a predictive check compares."""
        self._refuse("a predictive check")

    def to_arviz(self) -> NoReturn:
        """Raise ResultError: ArviZ needs draws."""
        self._refuse("ArviZ export")

    def save(self, path: str | os.PathLike[str]) -> NoReturn:
        """Raise ResultError: there are no draws to save."""
        raise ResultError("a point estimate has no draws to save", found=os.fspath(path),
                          remedy="save the table: estimate.summary().to_csv(path)")

    def diagnose(self) -> list[str]:
        """List the reasons not to trust the estimate, in plain words. Empty if there are none."""
        return list(self.info.doubts)

    def warn_if_bad(self, stacklevel: int = 1) -> None:
        """Emit one NoisewiseWarning with everything that `diagnose` finds and what to do about it."""
        if self.info.doubts:
            message = (f"do not trust this estimate: {'; '.join(self.info.doubts)}. What to do: ask for a release with a larger "
                       "epsilon, more rows or a shorter formula")
            warnings.warn(message, NoisewiseWarning, stacklevel=stacklevel + 1)

    def _refuse(self, what: str) -> NoReturn:
        raise ResultError(f"this is a {NO_POSTERIOR}", found=f"a request for {what}",
                          remedy="an adassp release allows no more; for a posterior, ask the data holder for a release of kind "
                          "gram, which also serves every formula")

    def _subtitle(self) -> str:
        holders = "1 holder" if self.info.holders == 1 else f"{self.info.holders} holders"
        return f"method {self.info.method} · {holders} · ridge {self.ridge:.4g}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{term} {value:.4g}" for term, value in zip(self.terms[:8], self.values, strict=False))
        more = ", ..." if len(self.terms) > 8 else ""
        return f"<PointEstimate {self.info.formula!r}, {self._subtitle()}: {shown}{more} ({NO_POSTERIOR})>"

    def _repr_html_(self) -> str:
        return card(f"{self.info.formula} ({self._subtitle()})", frame(self.summary()), below=NO_POSTERIOR, notes=self.diagnose())
