"""Check the callers of ``fit``: scikit-learn code around an estimator can leak, or spend budget, beyond the estimator's control.

scikit-learn does not tell an estimator which pipeline or search it is part of, but the call stack does. Each fit inspects it once
and refuses everything not known to be harmless. What happens before the pipeline is invisible.

Cross-validation is allowed only if no row influences which rows are fitted together. Each fold is a separate release, which
assumes that changing one row of the table changes at most one of its rows. That holds if the positions of a fold's rows depend on
the number of rows only, this number is public, and no position occurs twice. It fails for stratified folds (one label moves many
rows), and if adding or removing a row moves the borders of all folds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple

from noisewise.errors import NoisewiseWarning, PrivacyError

HARMLESS: Final = ("base", "compose", "model_selection", "pipeline", "utils")
"""Modules of scikit-learn that may be among the callers. All except ``base`` and ``utils`` are inspected further."""

ON_THE_WAY: Final = ("cross_val_score", "evaluate_candidates", "_run_search")
"""Functions of scikit-learn between a fold and its user that do not change the rows."""

_warned_for: tuple[str, int] | None = None
"""The line of the last warning: one warning is enough for all of its fits."""


class RepeatedReleaseWarning(NoisewiseWarning):
    """A private estimator is fitted repeatedly, and every fit is a release."""


def check_callers(estimator: Any, *, rows_are_units: bool) -> None:
    """Refuse callers that break the guarantee; warn about searches that spend budget in every fit.

    ``rows_are_units``: each row is a person, and their number is public.
    """
    frames = list(_frames())
    modules = [str(frame.f_globals.get("__name__", "")).split(".") for frame in frames]
    callers = [place for place, module in enumerate(modules) if module[0] == "sklearn" and len(module) > 1]
    for frame in frames:
        _check_object(frame.f_locals.get("self"), estimator)
    for place in callers:
        if modules[place][1] not in HARMLESS:  # a worker of an ensemble sees this, and no object
            raise _refusal(f"{'.'.join(modules[place][:2])}, {frames[place].f_code.co_name}")
    validating = [place for place in callers if modules[place][1] == "model_selection"]
    if not validating:
        return
    _check_folds([frames[place] for place in validating], rows_are_units=rows_are_units)
    if estimator.ledger is not None and estimator.edition is not None:
        raise PrivacyError("edition must not be set within a cross-validation, since every fit uses different rows",
                           found="an edition", remedy="leave edition out, so that every fit is a separate release")
    counted = "Without a ledger, nobody counts them." if estimator.ledger is None else "The ledger counts them."
    _warn_once(frames, callers[-1], (
        f"sklearn.model_selection may fit this estimator many times, and every fit is a release that spends "
        f"epsilon={estimator.epsilon}: the costs for the same people add up. {counted} Scores computed on confidential rows "
        "have no noise. Do not publish them or anything chosen by them (best_params_, best_estimator_ and its release). To "
        "compare priors or methods, fit once and use refit_posterior(), which spends nothing"))


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _check_object(caller: Any, estimator: Any) -> None:
    """Refuse an object that fits the estimator, from any module, unless its treatment of the rows is known."""
    from sklearn.base import BaseEstimator
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline

    if caller is estimator or not isinstance(caller, BaseEstimator) or _is_known_search(caller):
        return
    if isinstance(caller, Pipeline):
        for _, step in caller.steps[:-1]:
            _refuse_learner(step)
    elif isinstance(caller, TransformedTargetRegressor):
        _refuse_learner(caller.transformer)
        if caller.check_inverse:
            raise PrivacyError("an inverse transformation must not be checked on confidential rows: a warning would reveal "
                               "something about them", found=f"check_inverse=True in {type(caller).__name__}",
                               remedy="give check_inverse=False")
    else:
        raise _refusal(type(caller).__name__)


def _refusal(found: str) -> PrivacyError:
    return PrivacyError(
        "only you, a pipeline, a TransformedTargetRegressor or a cross-validation may fit a private estimator: others may "
        "choose, repeat or change rows depending on other rows, which breaks the guarantee", found=found,
        remedy="fit the estimator directly; to choose among predictors use noisewise.compare, among priors refit_posterior()")


def _warn_once(frames: list[FrameType], outermost: int, message: str) -> None:
    """Warn at the user's line, and not again while the line is the same.

    Python's warning filters do not help, since scikit-learn resets them in every fold.
    """
    global _warned_for
    user = frames[min(outermost + 1, len(frames) - 1)]
    line = (user.f_code.co_filename, user.f_lineno)
    if line != _warned_for:
        _warned_for = line
        warnings.warn(message, RepeatedReleaseWarning, stacklevel=outermost + 3)


def _is_known_search(caller: Any) -> bool:
    """True for a search whose candidates do not depend on scores. Subclasses may do anything, so they do not count."""
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

    return type(caller) in (GridSearchCV, RandomizedSearchCV)


def _check_folds(frames: Sequence[FrameType], *, rows_are_units: bool) -> None:
    """Refuse a cross-validation unless its splitter is found and known; ``frames`` are its calls, innermost first."""
    unseen = False
    for frame in frames:
        name, caller = frame.f_code.co_name, frame.f_locals.get("self")
        if name == "_fit_and_score":
            unseen = True
        elif name == "cross_validate":
            _check_splitter(frame.f_locals.get("cv"))
            unseen = False
        elif _is_known_search(caller) and name == "fit":
            _check_splitter(getattr(caller, "_checked_cv_orig", frame.f_locals.get("cv_orig")))  # a local before 1.7
            unseen = False
        elif name not in ON_THE_WAY:
            raise PrivacyError("only some cross-validation functions leave every row unchanged and in one place", found=name,
                               remedy="use cross_validate, cross_val_score, GridSearchCV or RandomizedSearchCV")
    if unseen:
        raise PrivacyError("the splitter of a cross-validation must be visible",
                           found="a fold in a separate thread or process", remedy="leave n_jobs out")
    if not rows_are_units:
        raise PrivacyError("cross-validation requires a public number of rows, one per person: otherwise one person "
                           "moves others between the folds", found="add-remove, or persons with several rows",
                           remedy='fit once; or declare adjacency="replace-one", if the number of rows is public')


def _check_splitter(splitter: Any) -> None:
    from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit

    known = (KFold, RepeatedKFold, ShuffleSplit, PredefinedSplit)
    if type(splitter) not in known:
        raise PrivacyError("the folds of a private estimator must not depend on any row: each fold would reveal more than its "
                           "epsilon", found=f"{type(splitter).__name__} (of classifiers StratifiedKFold is the default)",
                           remedy="give cv=KFold(5), or another of " + ", ".join(kind.__name__ for kind in known))


class Rule(NamedTuple):
    """When a transformer that learns by default is harmless: a description of the settings, and a test of them."""

    settings: str
    holds: Callable[[Any], bool]


def _refuse_learner(step: Any) -> None:
    """Refuse a step that learns from confidential rows."""
    learner = learner_in(step)
    if learner is None:
        return
    rule = _rules().get(type(learner))
    raise PrivacyError(
        "a transformer before a private estimator must not learn from the confidential rows or reveal them: one person "
        "would change the rows of all others, which breaks the guarantee", found=type(learner).__name__,
        remedy=("leave it out, since the estimator scales by the declared bounds itself" if rule is None
                else f"give it {rule.settings}")
        + "; or freeze one that was fitted to public rows: sklearn.frozen.FrozenEstimator(transformer)")


def learner_in(step: Any) -> Any | None:
    """Return the first transformer in a step that appears to learn from the rows it is fitted to.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> learner_in(make_pipeline(FunctionTransformer(), StandardScaler()))
    StandardScaler()
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.utils import get_tags

    if step is None or isinstance(step, (str, FrozenEstimator)):  # "passthrough" and "drop"
        return None
    parts = _parts_of(step)
    if parts is not None:
        return next((found for found in map(learner_in, parts) if found is not None), None)
    rule = _rules().get(type(step))
    learns = get_tags(step).requires_fit if rule is None else not rule.holds(step)
    return step if learns else None


def _parts_of(step: Any) -> list[Any] | None:
    """Return the transformers inside a transformer, or None if it is not composite."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if isinstance(step, Pipeline):
        return [part for _, part in step.steps]
    if isinstance(step, FeatureUnion):
        return [part for _, part in step.transformer_list]
    if isinstance(step, ColumnTransformer):
        return [*(part for _, part, _ in step.transformers), step.remainder]
    return None


def _rules() -> dict[type, Rule]:
    """Errors, warnings and shapes must not reveal unknown categories, empty columns or rare entries."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures

    def encodes_declared(step: Any) -> bool:
        unset = all(getattr(step, name, None) is None for name in ("min_frequency", "max_categories", "drop"))
        return (unset and not isinstance(step.categories, str) and not getattr(step, "sparse_output", False)
                and step.handle_unknown in ("ignore", "use_encoded_value"))

    return {
        PolynomialFeatures: Rule("any settings", lambda step: True),
        FunctionTransformer: Rule("check_inverse=False", lambda step: not step.check_inverse or step.inverse_func is None),
        OneHotEncoder: Rule('categories=[...], handle_unknown="ignore", sparse_output=False and no drop, min_frequency or '
                            "max_categories", encodes_declared),
        OrdinalEncoder: Rule('categories=[...], handle_unknown="use_encoded_value" and no min_frequency or max_categories',
                             encodes_declared),
        SimpleImputer: Rule('strategy="constant", keep_empty_features=True and no add_indicator', lambda step: bool(
            step.strategy == "constant" and step.keep_empty_features and not step.add_indicator)),
    }
