"""Who calls ``fit``: what scikit-learn does around an estimator can leak, or spend budget, without the estimator's doing.

scikit-learn tells an estimator nothing about the pipeline or the search that it is part of. The stack of calls does: it is looked
at once in each fit, and only for objects and modules of scikit-learn. What happens before the pipeline cannot be seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from noisewise.errors import NoisewiseWarning, PrivacyError

REPEATING: Final = ("calibration", "ensemble", "feature_selection", "model_selection", "multiclass", "multioutput",
                    "semi_supervised")
"""Modules of scikit-learn that fit an estimator several times to the same people."""


_warned_for: tuple[int, str, int] | None = None
"""The call that was warned of last: one warning is enough for all of its fits."""


class RepeatedReleaseWarning(NoisewiseWarning):
    """Something fits a private estimator again and again, and every fit is a release."""


def check_callers(*, epsilon: Any, has_ledger: bool, has_edition: bool) -> None:
    """Refuse a pipeline that learns from the confidential rows; warn of searches that spend budget in every fit."""
    frames = list(_frames())
    modules = [str(frame.f_globals.get("__name__", "")).split(".") for frame in frames]
    callers = [place for place, module in enumerate(modules) if module[0] == "sklearn" and len(module) > 1]
    for place in callers:
        for step in _steps_before(frames[place].f_locals.get("self")):
            _refuse_learner(step)
    repeating = next((".".join(modules[place][:2]) for place in reversed(callers) if modules[place][1] in REPEATING), None)
    if repeating is None:
        return
    if has_ledger and has_edition:
        raise PrivacyError(f"within {repeating} every fit has other rows, but one edition of a table is released once",
                           found="an edition", remedy="leave edition out, so that every fit is a release of its own")
    counted = "The ledger counts them." if has_ledger else "Without a ledger nobody counts them."
    _warn_once(frames, callers[-1], (
        f"{repeating} may fit this estimator many times, and every fit is a release that spends epsilon={epsilon}: those of the "
        f"same people add up. {counted} Scores that it computes on confidential rows have no noise and may not be published. To "
        "compare priors or methods, fit once and use refit_posterior(), which spends nothing"))


def _warn_once(frames: list[FrameType], outermost: int, message: str) -> None:
    """Warn at the user's line. The filters of Python do not help: scikit-learn sets them back in every fold."""
    global _warned_for
    user = frames[min(outermost + 1, len(frames) - 1)]
    call = (id(frames[outermost]), user.f_code.co_filename, user.f_lineno)
    if call != _warned_for:
        _warned_for = call
        warnings.warn(message, RepeatedReleaseWarning, stacklevel=outermost + 3)


def learner_in(step: Any) -> Any | None:
    """The first transformer in a step that takes something from the rows it is fitted to, as far as can be told.

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
    learns = get_tags(step).requires_fit if rule is None else rule(step)
    return step if learns else None


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _steps_before(caller: Any) -> list[Any]:
    """The transformers through which this caller passes rows before it calls the estimator."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline

    if isinstance(caller, Pipeline):
        return [step for _, step in caller.steps[:-1]]
    if isinstance(caller, TransformedTargetRegressor):
        return [caller.transformer]
    return []


def _parts_of(step: Any) -> list[Any] | None:
    """The transformers inside a transformer; None of what has none."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if isinstance(step, Pipeline):
        return [part for _, part in step.steps]
    if isinstance(step, FeatureUnion):
        return [part for _, part in step.transformer_list]
    if isinstance(step, ColumnTransformer):
        return [*(part for _, part, _ in step.transformers), step.remainder]
    return None


def _rules() -> dict[type, Callable[[Any], bool]]:
    """Transformers that have to be fitted but, with these settings, take nothing from the rows."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

    def encoder(step: Any) -> bool:
        found = [getattr(step, name, None) for name in ("min_frequency", "max_categories")]
        return isinstance(step.categories, str) or step.handle_unknown == "error" or found != [None, None]

    return {
        PolynomialFeatures: lambda step: False,
        OneHotEncoder: encoder,  # handle_unknown="error" lets a value stop the fit
        OrdinalEncoder: encoder,
        SimpleImputer: lambda step: bool(step.strategy != "constant" or step.add_indicator),
    }


def _refuse_learner(step: Any) -> None:
    learner = learner_in(step)
    if learner is None:
        return
    raise PrivacyError(
        "a transformer before a private estimator may not learn from the confidential rows: one person would change the rows "
        "of all others, and the guarantee would be false", found=type(learner).__name__,
        remedy="leave it out, since the estimator scales by the declared bounds itself; or freeze one that was fitted to public "
        "rows: sklearn.frozen.FrozenEstimator(transformer); encoders: give categories and a handle_unknown other than 'error'",
    )
