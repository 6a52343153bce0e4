"""What a release costs as an event of dp-accounting, whose accountants are an oracle for ours."""

from __future__ import annotations

from typing import Any

import dp_accounting

from noisewise.privacy.cost import Cost


def event(cost: Cost) -> Any:
    """Its noise multipliers are relative to the distance between neighbours of *our* adjacency.

    In dp-accounting that is the convention of `ADD_OR_REMOVE_ONE`, whatever our adjacency is: with one of its replacement
    relations it would take the sensitivity twice, or refuse. It has no event where only (epsilon, delta) is known.
    """
    makers = {"gaussian": dp_accounting.GaussianDpEvent, "laplace": dp_accounting.LaplaceDpEvent}
    return dp_accounting.ComposedDpEvent([makers[piece.kind](*piece.numbers) for piece in cost.pieces])
