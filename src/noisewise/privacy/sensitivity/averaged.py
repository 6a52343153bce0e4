"""Sensitivity of the Gram matrix of averaged rows (paper 002, Appendix B.1). The proofs are in averaged.md, beside this file.

The paper says that averaging leaves the sensitivity unchanged. It does not: one row's change is multiplied by the sum of the
other rows of its group, so unless rows are very short the sensitivity grows, to nearly 4r² instead of √2(1 + r²).
"""

from __future__ import annotations

import math
from fractions import Fraction

from noisewise.checks import is_whole
from noisewise.errors import PrivacyError
from noisewise.privacy.rounding import round_up, sqrt_round_up
from noisewise.privacy.sensitivity.gram import GramSensitivity, gram_sensitivity
from noisewise.schema.basis import STATISTIC_GRID


def averaged_sensitivity(*, group: int, scalars: int, blocks: int, size: int, radius: float, norm_clipped: bool,
                         indicators: int = 0) -> GramSensitivity:
    """Bound the effect of replacing one row on the floored matrix Σ_groups (1/k)(Σa)(Σa)ᵀ, a = (1, u).

    Args:
        group: number k of rows in a group, at least 2; one group may have fewer.
        scalars, blocks, size, radius, norm_clipped: as for `gram_sensitivity`.
        indicators: how many of the blocks hold no negative value, like the indicators of a category.

    The result is for Gaussian noise only: its L1 norm is infinite, so Laplace noise cannot be calibrated to it.

    >>> s = averaged_sensitivity(group=2, scalars=1, blocks=0, size=2, radius=1.0, norm_clipped=False)
    >>> round(s.frobenius ** 2, 2), s.l1
    (12.0, inf)
    """
    check_group(group)
    if not 0 <= indicators <= blocks:
        raise PrivacyError("indicators must be between 0 and the number of blocks", found=f"{indicators} of {blocks}",
                           remedy="count the released columns again")
    # A group of one row is an ordinary row; this call also checks the shape and includes the grid.
    alone = gram_sensitivity(scalars=scalars, blocks=blocks, size=size, radius=radius, norm_clipped=norm_clipped,
                             adjacency="replace-one")
    radius_squared, apart_squared = Fraction(scalars + blocks), scalars + blocks - Fraction(indicators, 2)
    if norm_clipped:
        radius_squared = min(radius_squared, Fraction(radius) ** 2)
        apart_squared = min(apart_squared, radius_squared)
    change = sqrt_round_up(_squared_change(group, radius_squared, apart_squared))
    step = Fraction(STATISTIC_GRID)  # A4: flooring adds less than one step to the change of each entry.
    return GramSensitivity(frobenius=max(alone.frobenius, round_up(Fraction(change) + size * step)), l1=math.inf,
                           corner_is_public=True, adjacency="replace-one", unit_is_row=True, max_rows=1)


def check_group(group: object) -> None:
    """Refuse anything that cannot be the size of a group to average."""
    if not is_whole(group, 2):
        raise PrivacyError("average must be a whole number >= 2", found=repr(group),
                           remedy="for example 10, or leave averaging out")


def _squared_change(group: int, radius_squared: Fraction, apart_squared: Fraction) -> Fraction:
    """A2. 8S² + 16S²(r − S/k)², never below it; S is half the largest distance of two rows. 8r² + 16(1 − 1/k)²r⁴ if S = r."""
    if apart_squared == radius_squared:
        return 8 * radius_squared + 16 * (1 - Fraction(1, group)) ** 2 * radius_squared**2
    # S²(r − S/k)² = S²(r² + S²/k²) − 2S²·rS/k, and rounding rS up would make it smaller: divide instead.
    least_product = apart_squared * radius_squared / Fraction(sqrt_round_up(apart_squared * radius_squared))
    inner = radius_squared + apart_squared / group**2 - 2 * least_product / group
    return 8 * apart_squared + 16 * apart_squared * inner
