"""``answer``: the answers of a release to the questions it was made for."""

from __future__ import annotations

from typing import Any

from noisewise.answers.asked import without_questions
from noisewise.kinds.registry import has_room, module_of
from noisewise.releases.release import Release


def answer(release: Release, *, prior_probability: float = 0.5, probability: float = 0.95, seed: int = 0) -> Any:
    """Answer the questions of a release; for kind partition each answer is a point, an interval due to the noise and a sentence.

    ``prior_probability``: of the hypothesis that coefficients are not zero, for Bayes factors. ``probability``: of the intervals.
    """
    if not isinstance(release, Release) or not has_room(release.kind, "answers"):
        raise without_questions(release)
    return module_of(release.kind, "answers").answer(release, prior_probability=prior_probability, probability=probability,
                                                     seed=seed)
