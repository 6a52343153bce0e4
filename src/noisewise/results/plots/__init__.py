"""Pictures of a posterior, drawn with matplotlib's objects and without pyplot's global state."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from noisewise.errors import ResultError
from noisewise.results.plots.picture import Picture, named_references
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "draw", "named_references", "write_figure"]

RESOLUTION = 180


def draw(picture: Picture, kind: str, ax: Axes | None, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the picture into `ax` or a new figure, and write it to `path` if given."""
    figure = _painter(kind)(picture, ax)
    write_figure(figure, path)
    return figure


def write_figure(figure: Figure, path: str | os.PathLike[str] | None) -> None:
    """Write a picture, whole or not at all, if a path is given."""
    if path is None:
        return
    try:
        with whole_file(path) as file:
            figure.savefig(file, dpi=RESOLUTION, format=Path(path).suffix.lstrip(".").lower() or None)
    except (OSError, ValueError) as error:
        raise ResultError(
            f"the picture could not be written to {os.fspath(path)}",
            found=str(error),
            remedy="use a folder that exists and the ending .png, .svg or .pdf",
        ) from error


def _painter(kind: str) -> Callable[[Picture, Axes | None], Figure]:
    if kind == "forest":
        from noisewise.results.plots.forest import forest

        return forest
    if kind == "posterior":
        from noisewise.results.plots.densities import densities

        return densities
    raise ResultError("kind is 'forest' or 'posterior'", found=repr(kind))
