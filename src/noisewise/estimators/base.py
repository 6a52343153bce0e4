"""Shared by all three estimators: declarations, one release, one posterior, predictions for new rows."""

from __future__ import annotations

import secrets
import warnings
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise.arrays import Array
from noisewise.errors import ConvergenceWarning, DeclarationError, NoisewiseError, NoisewiseWarning, PrivacyError
from noisewise.estimators.callers import check_callers
from noisewise.estimators.declarations import Bounds, Levels, declare
from noisewise.estimators.predictions import IntervalKind, OutputMixin, interval_table
from noisewise.estimators.release_kinds import Wanted, check_wanted, kind_of_release
from noisewise.estimators.rows import Table, as_new_rows, read_features, read_table
from noisewise.holder.release import release
from noisewise.holder.watched_ledger import WatchedLedger
from noisewise.kinds import Kind
from noisewise.posterior.fit import fit
from noisewise.posterior.methods import DEFAULT_METHOD
from noisewise.posterior.prior import Prior
from noisewise.posterior.request import whole
from noisewise.progress import Tick
from noisewise.releases.release import Release
from noisewise.results import Posterior
from noisewise.results.fit_info import check_interval
from noisewise.run import Run
from noisewise.schema import Schema

if TYPE_CHECKING:
    from noisewise.estimators.predictions import Output
    from noisewise.holder.watched_ledger import BudgetLedger

WITHOUT_SPENDING: Final = "Call set_params(...) and refit_posterior(), which spend nothing; fit would release the rows again"


class StoredReleaseWarning(NoisewiseWarning):
    """The ledger returned an earlier release for this fit; no row was used."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegression(OutputMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators, with their shared parameters in the form scikit-learn expects. Do not use it directly."""

    _family: ClassVar[str]

    epsilon: float | None = None
    delta: float | None = None
    bounds: Bounds | None = None
    levels: Levels | None = None
    adjacency: str | None = None
    max_rows: int | None = None
    release_kind: str | None = None
    mechanism: str | None = None
    prior: Prior | None = None
    draws: int = 1000
    chains: int = 4
    interval: float = 0.95
    random_state: int | np.random.RandomState | None = None
    ledger: BudgetLedger | None = None
    edition: str | None = None
    progress: Tick | bool | None = None

    def fit(self, X: object, y: object, unit: object = None) -> Self:
        """Release the rows once, with noise, and fit the regression to the release.

        ``unit`` says which person each row belongs to, if a person can have several rows (see ``max_rows``). Errors are raised
        before the budget is charged, and no error depends on a value in X, y or unit.
        """
        check_callers(self, rows_are_units=self.adjacency == "replace-one" and unit is None)
        table = read_table(X, y, unit)
        schema, formula, kind = self._declared(table)
        seed = self._seed()
        validate_data(self, X, skip_check_array=True)  # names and number of features only
        assert self.epsilon is not None
        ledger = None if self.ledger is None else WatchedLedger(self.ledger)
        made = release(table.columns, schema, kind, epsilon=self.epsilon, delta=self.delta, ledger=ledger,
                       edition=self._edition(), run=Run(progress=self.progress))
        if ledger is not None and not ledger.completed:
            _check_stored(made, table.rows)
        self.__dict__.pop("posterior_", None)  # it belongs to an earlier release
        self.release_, self.formula_ = made, formula
        try:
            return self._fit_posterior(seed)
        except NoisewiseError as error:
            error.add_note("The release was made and its budget is spent. It is in release_; refit_posterior() fits it again.")
            raise

    def refit_posterior(self) -> Self:
        """Fit the regression to the release again with the current prior, method, draws and random_state.

        This reads no rows and spends no budget. Use it to compare priors or to get more draws.
        """
        check_is_fitted(self, "release_")
        self._check_posterior()
        check_wanted(self.release_.kind, self.release_.schema, self.formula_, self._wanted())
        return self._fit_posterior(self._seed())

    def predict_interval(self, X: object, interval: float | None = None, kind: IntervalKind | None = None) -> Output:
        """Return the lower and upper end of an interval for each row; a data frame after ``set_output(transform="pandas")``.

        With ``kind="response"`` the interval covers a new response of such a row, with ``kind="mean"`` the average of many; see
        `Posterior.predict`.
        """
        found = interval_table(*self._to_predict(X), self.interval if interval is None else interval, kind)
        return self._in_output(found)

    def __sklearn_clone__(self) -> Self:
        """Clone as usual but keep the same ledger; charges to a copy in memory would be lost."""
        without = copy(self)
        without.ledger = None
        made: Self = BaseEstimator.__sklearn_clone__(without)
        made.ledger = self.ledger
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the privacy noise has no seed
        tags.target_tags.required = True
        tags.input_tags.string = tags.input_tags.categorical = bool(self.levels)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _target(self) -> dict[str, object]:
        """Return the declaration of the response, which differs between estimators."""
        raise NotImplementedError

    def _wanted(self) -> Wanted:
        """Return what the posterior is asked for; no estimator has all of these parameters."""
        return Wanted(self._family, str(getattr(self, "method", DEFAULT_METHOD)), self.prior,
                      robust=bool(getattr(self, "robust", False)), near_normal=bool(getattr(self, "near_normal", False)))

    def _declared(self, table: Table) -> tuple[Schema, str, Kind]:
        """Check all public declarations; from the table, use only column names and, if it is public, the number of rows."""
        if self.epsilon is None:
            raise DeclarationError("epsilon is required: it limits what a fit reveals about any one person", argument="epsilon",
                                   found="epsilon=None", remedy="for example epsilon=1.0, with delta=1e-6")
        schema, formula = declare(table.features, table.response, self._target(), bounds=self.bounds, levels=self.levels,
                                  adjacency=self.adjacency, max_rows=self.max_rows, unit=table.unit)
        self._check_posterior()
        chosen = kind_of_release(self.release_kind, self.delta)
        kind = chosen.request(formula, self._family, self.mechanism)
        design = check_wanted(kind, schema, formula, self._wanted())
        if schema.rows_are_public:
            chosen.check_rows(table.rows, design)
        return schema, formula, kind

    def _check_posterior(self) -> None:
        """Refuse numbers of draws, chains and an interval that `noisewise.fit` would refuse."""
        whole("draws", self.draws, 1)
        whole("chains", self.chains, 1)
        check_interval(self.interval)

    def _seed(self) -> int | None:
        """Return the seed of the posterior draws; it seeds nothing else."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            return whole("random_state", int(self.random_state), 0)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _edition(self) -> str:
        """Return the edition. Without one, each fit is a new release, so that a ledger never returns a release of other rows."""
        if self.edition is not None or self.ledger is None:
            return self.edition or ""
        return f"fit {secrets.token_hex(8)}"

    def _fit_posterior(self, seed: int | None) -> Self:
        wanted = self._wanted()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            self.posterior_ = fit(self.formula_, self.release_, family=wanted.family, method=wanted.method, robust=wanted.robust,
                                  near_normal=wanted.near_normal, prior=wanted.prior, draws=self.draws, chains=self.chains,
                                  seed=seed, run=Run(progress=self.progress))
        for warning in caught:  # it advises fitting again, which need not spend budget
            doubtful = issubclass(warning.category, ConvergenceWarning)
            warnings.warn(f"{warning.message}. {WITHOUT_SPENDING}" if doubtful else str(warning.message), warning.category,
                          stacklevel=3)
        terms = self.posterior_.design.terms
        draws = self.posterior_.samples.reshape(-1, len(self.posterior_.terms))[:, : len(terms)]
        ends = np.quantile(draws, check_interval(self.interval), axis=0).T
        self.coef_names_ = np.array(terms[1:], dtype=object)
        self._set_coefficients(draws.mean(axis=0), ends)
        return self

    def _set_coefficients(self, means: Array, ends: Array) -> None:
        """Set the fitted coefficients; the intercept comes first."""
        self.intercept_: float | Array = float(means[0])
        self.coef_, self.intercept_interval_, self.coef_interval_ = means[1:], ends[0], ends[1:]

    def _to_predict(self, X: object) -> tuple[Posterior, object]:
        """Return the posterior and the rows to predict, which are the analyst's and not confidential."""
        check_is_fitted(self)
        features = read_features(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        return self.posterior_, as_new_rows(X, features, features.all_names if names is None else list(names))


def _check_stored(stored: Release, rows: int) -> None:
    """Warn that the ledger returned an earlier release; raise an error if the public number of rows differs."""
    released = stored.contributions[0].rows  # None if not public
    if released is not None and released != rows:
        raise PrivacyError("this edition was released before with a different number of rows", argument="edition",
                           found=f"{rows} rows now, {released} in the release", remedy="give these rows a new edition")
    warnings.warn("this edition was released before, so the stored release was fitted: no row was used and nothing was spent. If "
                  "the rows have changed, give a new edition", StoredReleaseWarning, stacklevel=3)
