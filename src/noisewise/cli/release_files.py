"""Arguments that the analyst's commands share: release files before a formula, and the endings of what is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from noisewise.errors import ResultError

if TYPE_CHECKING:
    from noisewise.release import Release


def files_before_formula(files: list[Path], formula: str) -> list[Path]:
    """The files, if the last argument is a formula and there is one before it."""
    if "~" not in formula:
        swapped = any("~" in str(file) for file in files)
        hint = "the formula comes last" if swapped else "a formula such as \"stay ~ age + ward\", in quotes, comes last"
        raise typer.BadParameter(f"{formula!r} is no formula: {hint}")
    if not files:
        raise typer.BadParameter("a release file comes before the formula")
    return files


def check_endings(pictures: Mapping[str, Path | None], draws: Path | None) -> None:
    """Refuse, before the work is done, endings that are not those of pictures and of draws."""
    for option, path in pictures.items():
        if path is not None and path.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ResultError("a picture ends in .png, .svg or .pdf", found=str(path), remedy=f"for example {option} stay.png")
    if draws is not None and draws.suffix.lower() != ".npz":
        raise ResultError("saved draws end in .npz", found=str(draws), remedy="for example --save stay.npz")


def check_picture(formula: str, release: Release, family: str) -> None:
    """Refuse, before the work is done, a picture of more terms than one can look at."""
    from noisewise.results.plots.picture import MOST_TERMS
    from noisewise.schema.design import Design

    terms = len(Design.of(formula, release.basis, release.terms).terms) + (family == "gaussian")  # whose sigma is drawn too
    if terms > MOST_TERMS:
        raise ResultError(f"a picture shows at most {MOST_TERMS} terms", found=str(terms),
                          remedy="leave --plot out; --csv writes all terms; in Python plot(terms=...) draws some of a saved fit")
