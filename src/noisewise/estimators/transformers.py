"""Transformers before a private estimator: which take something from the rows they are fitted to, or tell about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from noisewise.errors import PrivacyError


class Rule(NamedTuple):
    """When a transformer that learns by default is harmless: the settings in words, and a test of them."""

    settings: str
    holds: Callable[[Any], bool]


def refuse_learner(step: Any) -> None:
    """Refuse a step that learns from confidential rows."""
    learner = learner_in(step)
    if learner is None:
        return
    rule = _rules().get(type(learner))
    raise PrivacyError(
        "a transformer before a private estimator may not learn from the confidential rows, nor tell about them: one person "
        "would change the rows of all others, and the guarantee would be false", found=type(learner).__name__,
        remedy=("leave it out, since the estimator scales by the declared bounds itself" if rule is None
                else f"give it {rule.settings}")
        + "; or freeze one that was fitted to public rows: sklearn.frozen.FrozenEstimator(transformer)")


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
    learns = get_tags(step).requires_fit if rule is None else not rule.holds(step)
    return step if learns else None


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


def _rules() -> dict[type, Rule]:
    """Unknown categories must not show in an error or a warning, nor empty columns or few entries in the shape of a result."""
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
