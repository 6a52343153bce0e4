"""The check of a fit to releases of kind moments: without the sum of its squares, a number cannot be checked as a response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisewise.results.kinds.gram import ALONE, table

if TYPE_CHECKING:
    from noisewise.results.posterior import Posterior


def can_check(posterior: Posterior) -> bool:
    """True if such a release has the statistics to check this fit."""
    return not posterior.has_sigma


__all__ = ["ALONE", "can_check", "table"]
