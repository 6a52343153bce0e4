"""Plots of results, drawn with Matplotlib objects and without pyplot's global state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from noisewise.errors import ResultError
from noisewise.plots.densities import densities
from noisewise.plots.forest import forest
from noisewise.plots.picture import Picture, named_references

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "draw", "named_references"]

PAINTERS: Final = {"forest": forest, "posterior": densities}


def draw(picture: Picture, kind: str, ax: Axes | None, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the picture into `ax` or a new figure, and write it to `path` if given."""
    if kind not in PAINTERS:
        raise ResultError("kind must be 'forest' or 'posterior'", found=repr(kind))
    return PAINTERS[kind](picture, ax).finish(path)
