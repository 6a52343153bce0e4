"""Cross-validation around ``fit``: allowed only where nobody's row has a say in which rows are fitted together.

Each fold is a release of its own, which declares that a change of one row of the table is a change of one row at most. That holds
if the places of a fold's rows follow from the number of rows, this number is public, and no place comes twice. It does not hold
for stratified folds (one label moves many rows), nor where a row more or less moves the borders of all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any, Final

from noisewise.errors import PrivacyError

ON_THE_WAY: Final = ("cross_val_score", "evaluate_candidates", "_run_search")
"""Functions of scikit-learn between a fold and its user that leave the rows alone."""


def is_known_search(caller: Any) -> bool:
    """Whether this is a search whose candidates do not depend on scores. Subclasses may do anything."""
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

    return type(caller) in (GridSearchCV, RandomizedSearchCV)


def check_folds(frames: Sequence[FrameType], *, rows_are_units: bool) -> None:
    """Refuse a cross-validation unless its splitter is seen and known; ``frames`` are its calls, the innermost first."""
    unseen = False
    for frame in frames:
        name, caller = frame.f_code.co_name, frame.f_locals.get("self")
        if name == "_fit_and_score":
            unseen = True
        elif name == "cross_validate":
            _check_splitter(frame.f_locals.get("cv"))
            unseen = False
        elif is_known_search(caller) and name == "fit":
            _check_splitter(getattr(caller, "_checked_cv_orig", None))
            unseen = False
        elif name not in ON_THE_WAY:
            raise PrivacyError("only some ways of cross-validation leave every row as it is, and in one place", found=name,
                               remedy="use cross_validate, cross_val_score, GridSearchCV or RandomizedSearchCV")
    if unseen:
        raise PrivacyError("a cross-validation must show by what it splits the rows",
                           found="a fold in a thread or process of its own", remedy="leave n_jobs out")
    if not rows_are_units:
        raise PrivacyError("a cross-validation needs a public number of rows, each of which is a person: otherwise one person "
                           "moves others between the folds", found="add-remove, or persons with several rows",
                           remedy='fit once; or declare adjacency="replace-one", if the number of rows is public')


def _check_splitter(splitter: Any) -> None:
    from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit

    known = (KFold, RepeatedKFold, ShuffleSplit, PredefinedSplit)
    if type(splitter) not in known:
        raise PrivacyError("the folds of a private estimator may not depend on anybody's row: each fold would tell more than its "
                           "epsilon", found=f"{type(splitter).__name__} (of classifiers StratifiedKFold is the default)",
                           remedy="give cv=KFold(5), or another of " + ", ".join(kind.__name__ for kind in known))
