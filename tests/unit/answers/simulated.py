"""Releases with numbers that a test chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from studies.partition_world import Plan

from noisewise.answers.asked import Asked
from noisewise.releases.release import Release
from noisewise.schema.questions import Question


def released(questions: tuple[Question, ...], means: list[float], *, parts: int = 50, rows: int = 100, epsilon: float = 1.0,
             mechanism: str = "k-norm", limits: tuple[float, float] | None = None) -> Release:
    """A release of ``y ~ x1 + x2`` whose noisy means are these; ``limits`` replace those of a location that were found."""
    blank = Plan.of(2, parts, rows, questions, epsilon, mechanism=mechanism).blank
    numbers = []
    for number, mean in zip(blank.contents.numbers, means, strict=True):
        if number.name.startswith(("location", "scale")) and limits is not None:
            half = (limits[1] - limits[0]) / 2.0
            lower, upper = limits if number.name.startswith("location") else (0.0, half / np.sqrt(parts))
            number = replace(number, lower=lower, upper=upper)
        numbers.append(replace(number, sum=(mean - number.lower) / number.width * parts))
    return blank.with_contributions((replace(blank.contents, numbers=tuple(numbers)),))


def asked_of(questions: tuple[Question, ...], means: list[float], **settings: Any) -> Asked:
    """The same as an analysis sees it."""
    return Asked.of_release(released(questions, means, **settings))
