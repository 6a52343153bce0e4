"""``answer``: what a release says about the questions that were asked of it."""

from __future__ import annotations

from typing import Any

from noisewise.answers.asked import without_questions
from noisewise.kinds.registry import has_room, module_of
from noisewise.releases.release import Release


def answer(release: Release, *, prior_probability: float = 0.5, probability: float = 0.95, seed: int = 0) -> Any:
    """Answer the questions of a release: for kind partition a point, an interval that the noise implies, and a sentence for each.

    ``prior_probability`` is that of the hypothesis that coefficients are not zero, for Bayes factors. ``probability`` is that of
    the intervals.
    """
    if not isinstance(release, Release) or not has_room(release.kind, "answers"):
        raise without_questions(release)
    return module_of(release.kind, "answers").answer(release, prior_probability=prior_probability, probability=probability,
                                                     seed=seed)
