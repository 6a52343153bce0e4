"""Who calls ``fit``: what scikit-learn does around an estimator can leak, or spend budget, without the estimator's doing.

scikit-learn tells an estimator nothing about the pipeline or the search that it is part of. The stack of calls does: it is looked
at once in each fit. Whatever is not known to be harmless is refused. What happens before the pipeline cannot be seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

from noisewise.errors import NoisewiseWarning, PrivacyError
from noisewise.estimators.folds import check_folds, is_known_search
from noisewise.estimators.transformers import refuse_learner

HARMLESS: Final = ("base", "compose", "model_selection", "pipeline", "utils")
"""Modules of scikit-learn that may be among the callers. What they are doing is looked at, but for ``base`` and ``utils``."""

_warned_for: tuple[str, int] | None = None
"""The line that was warned of last: one warning is enough for all of its fits."""


class RepeatedReleaseWarning(NoisewiseWarning):
    """Something fits a private estimator again and again, and every fit is a release."""


def check_callers(estimator: Any, *, rows_are_units: bool) -> None:
    """Refuse callers under which the guarantee would be false; warn of searches that spend budget in every fit.

    ``rows_are_units``: each row is a person, and how many there are is public.
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
    check_folds([frames[place] for place in validating], rows_are_units=rows_are_units)
    if estimator.ledger is not None and estimator.edition is not None:
        raise PrivacyError("within a cross-validation every fit has other rows, but one edition of a table is released once",
                           found="an edition", remedy="leave edition out, so that every fit is a release of its own")
    counted = "Without a ledger nobody counts them." if estimator.ledger is None else "The ledger counts them."
    _warn_once(frames, callers[-1], (
        f"sklearn.model_selection may fit this estimator many times, and every fit is a release that spends "
        f"epsilon={estimator.epsilon}: those of the same people add up. {counted} Scores that it computes on confidential rows "
        "have no noise and may not be published, nor may what is chosen by them: best_params_, best_estimator_, its release. To "
        "compare priors or methods, fit once and use refit_posterior(), which spends nothing"))


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _check_object(caller: Any, estimator: Any) -> None:
    """Refuse an object that fits the estimator, whatever its module, unless what it does with the rows is known."""
    from sklearn.base import BaseEstimator
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline

    if caller is estimator or not isinstance(caller, BaseEstimator) or is_known_search(caller):
        return
    if isinstance(caller, Pipeline):
        for _, step in caller.steps[:-1]:
            refuse_learner(step)
    elif isinstance(caller, TransformedTargetRegressor):
        refuse_learner(caller.transformer)
        if caller.check_inverse:
            raise PrivacyError("whether a target can be transformed back is not tried on confidential rows: a warning would tell "
                               "about them", found=f"check_inverse=True in {type(caller).__name__}",
                               remedy="give check_inverse=False")
    else:
        raise _refusal(type(caller).__name__)


def _refusal(found: str) -> PrivacyError:
    return PrivacyError(
        "a private estimator is fitted by its user, a pipeline, a TransformedTargetRegressor or a cross-validation: others may "
        "choose, repeat or change rows by what is in all rows, and the guarantee would be false", found=found,
        remedy="fit the estimator itself; to choose among predictors use noisewise.compare, and among priors refit_posterior()")


def _warn_once(frames: list[FrameType], outermost: int, message: str) -> None:
    """Warn at the user's line, once as long as it is the same.

    The filters of Python do not help: scikit-learn sets them back in every fold.
    """
    global _warned_for
    user = frames[min(outermost + 1, len(frames) - 1)]
    line = (user.f_code.co_filename, user.f_lineno)
    if line != _warned_for:
        _warned_for = line
        warnings.warn(message, RepeatedReleaseWarning, stacklevel=outermost + 3)
