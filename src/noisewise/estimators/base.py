"""What the three estimators have in common: declarations, one release, one posterior, predictions for new rows."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from noisewise.errors import ConvergenceWarning, DeclarationError, NoisewiseError
from noisewise.estimators.callers import check_callers
from noisewise.estimators.declarations import Declared, declare
from noisewise.estimators.output import OutputMixin
from noisewise.estimators.predictions import Floats, Kind, interval_table
from noisewise.estimators.request import check_request
from noisewise.estimators.rows import RowsError, Table, as_new_rows, read_features, read_table
from noisewise.estimators.stored import WatchedLedger, check_stored
from noisewise.holder.release import release
from noisewise.posterior.fit import fit, whole
from noisewise.posterior.methods import DEFAULT
from noisewise.results import Posterior
from noisewise.results.records import check_interval
from noisewise.schema import Schema

WITHOUT_SPENDING: Final = "After set_params(...), refit_posterior() does so for nothing; fit would release the rows again"


class PrivateRegression(OutputMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of the estimators: not to be used itself."""

    _family: ClassVar[str]
    coef_: Floats
    coef_interval_: Floats
    intercept_: float | Floats
    intercept_interval_: Floats

    def __init__(self, *, epsilon: float | None, delta: float | None, bounds: Any, levels: Mapping[str, Sequence[Any]] | None,
                 adjacency: str | None, max_rows: int | None, mechanism: str | None, prior: Any, draws: int, chains: int,
                 interval: float, random_state: Any, ledger: Any, edition: str | None, progress: Any) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.levels = levels
        self.adjacency = adjacency
        self.max_rows = max_rows
        self.mechanism = mechanism
        self.prior = prior
        self.draws = draws
        self.chains = chains
        self.interval = interval
        self.random_state = random_state
        self.ledger = ledger
        self.edition = edition
        self.progress = progress

    def fit(self, X: Any, y: Any, unit: Any = None) -> Self:
        """Release the rows once, with noise, and fit the regression to the release.

        ``unit`` tells whose each row is, where a person can have several (with ``max_rows``). Everything that can be refused is
        refused before the budget is charged, and nothing that is refused depends on a value in X, y or unit.
        """
        check_callers(self, rows_are_units=self.adjacency == "replace-one" and unit is None)
        table = read_table(X, y, unit)
        declared = self._declared(table)
        if declared.schema.rows_are_public and not table.rows:
            raise RowsError("X has 0 sample(s) while a minimum of 1 is required.")
        seed = self._seed()
        validate_data(self, X, skip_check_array=True)  # the names and the number of the features
        assert self.epsilon is not None
        ledger = None if self.ledger is None else WatchedLedger(self.ledger)
        made = release(table.columns, declared.schema, epsilon=self.epsilon, delta=self.delta, mechanism=self.mechanism,
                       ledger=ledger, edition=self._edition(), progress=self.progress)
        if ledger is not None and not ledger.completed:
            check_stored(made, table.rows)
        self.__dict__.pop("posterior_", None)  # it belongs to an earlier release
        self.release_, self.formula_ = made, declared.formula
        try:
            return self._fit_posterior(seed)
        except NoisewiseError as error:
            error.add_note("The release was made, and its budget is spent. It is release_, and refit_posterior() fits it again.")
            raise

    def refit_posterior(self) -> Self:
        """Fit the regression to the release again, with the prior, method, draws and random_state that are set now.

        It reads no rows and spends no budget: the way to compare priors or to ask for more draws.
        """
        check_is_fitted(self, "release_")
        self._check_request(self.formula_, self.release_.schema)
        return self._fit_posterior(self._seed())

    def predict_interval(self, X: Any, interval: float | None = None, kind: Kind | None = None) -> Any:
        """The lower and the upper end of an interval for each row; ``set_output(transform="pandas")`` makes it a data frame.

        ``kind="response"`` holds a new response of such a row, ``kind="mean"`` the average of many: see `Posterior.predict`.
        """
        found = interval_table(*self._to_predict(X), self.interval if interval is None else interval, kind)
        return self._in_output(found)

    def __sklearn_clone__(self) -> Self:
        """As any clone, but with the same ledger: what is charged to a copy in memory would be lost."""
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

    def _target(self) -> dict[str, Any]:
        """The declaration of the response: each estimator has its own."""
        raise NotImplementedError

    def _method(self) -> str:
        return DEFAULT

    def _declared(self, table: Table) -> Declared:
        """Everything that is public, checked; of the table only its names are needed."""
        if self.epsilon is None:
            raise DeclarationError("epsilon is mandatory: how much a fit may tell about any one person", found="epsilon=None",
                                   remedy="give for example epsilon=1.0, and delta=1e-6 for Gaussian noise")
        declared = declare(table.features, table.response, self._target(), bounds=self.bounds, levels=self.levels,
                           adjacency=self.adjacency, max_rows=self.max_rows, unit=table.unit)
        self._check_request(declared.formula, declared.schema)
        return declared

    def _check_request(self, formula: str, schema: Schema) -> None:
        check_request(formula, schema, family=self._family, method=self._method(), prior=self.prior, draws=self.draws,
                      chains=self.chains, interval=self.interval)

    def _seed(self) -> int | None:
        """The seed of the posterior's draws, and of nothing else."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            return whole("random_state", int(self.random_state), 0)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _edition(self) -> str:
        """Without an edition every fit is a release of its own: a ledger must not hand out that of other rows."""
        if self.edition is not None or self.ledger is None:
            return self.edition or ""
        return f"fit {secrets.token_hex(8)}"

    def _fit_posterior(self, seed: int | None) -> Self:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            self.posterior_ = fit(self.formula_, self.release_, family=self._family, method=self._method(), prior=self.prior,
                                  draws=self.draws, chains=self.chains, seed=seed, progress=self.progress)
        for warning in caught:  # its advice is to fit again, which need not cost anything
            doubtful = issubclass(warning.category, ConvergenceWarning)
            warnings.warn(f"{warning.message}. {WITHOUT_SPENDING}" if doubtful else str(warning.message), warning.category,
                          stacklevel=3)
        terms = self.posterior_.design.terms
        draws = self.posterior_.samples.reshape(-1, len(self.posterior_.terms))[:, : len(terms)]
        ends = np.quantile(draws, check_interval(self.interval), axis=0).T
        self.coef_names_ = np.array(terms[1:], dtype=object)
        self._set_coefficients(draws.mean(axis=0), ends)
        return self

    def _set_coefficients(self, means: Floats, ends: Floats) -> None:
        """The intercept is the first of all."""
        self.intercept_, self.coef_ = float(means[0]), means[1:]
        self.intercept_interval_, self.coef_interval_ = ends[0], ends[1:]

    def _to_predict(self, X: Any) -> tuple[Posterior, Any]:
        """The posterior and the rows to predict with it: these are the analyst's, and not confidential."""
        check_is_fitted(self)
        features = read_features(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        return self.posterior_, as_new_rows(X, features, features.all_names if names is None else list(names))
