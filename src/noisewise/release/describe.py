"""A release in words, for someone who sees it for the first time."""

from __future__ import annotations

import textwrap

from noisewise.release.adassp import AdasspPart
from noisewise.release.model import GramPart, Release

_WIDTH = 100
_MANY = 12


def describe(release: Release) -> str:
    """What is protected and how, what was released, and how large the noise is."""
    size = release.basis.size
    names = release.basis.names[1:]
    shown = ", ".join(names[:_MANY]) + (f" and {len(names) - _MANY} more" if len(names) > _MANY else "")
    unit = release.schema.unit
    protected = "one row" if unit.is_row else f"one {unit.column} (at most {unit.max_rows} rows)"
    lines = [
        # An adassp release lacks the response's sum of squares and has an eigenvalue instead: the count is the same.
        f"noisewise release of kind {release.kind}: {size * (size + 1) // 2} noisy numbers"
        + (f" from each of {release.holders} holders" if release.holders > 1 else ""),
        *([] if release.formula is None else _wrap("for", f"{release.formula}: one regression, by a point estimate")),
        *_wrap("columns", shown),
        *_wrap("protects", f"{protected}; neighbours: {release.adjacency}"),
    ]
    for number, part in enumerate(release.parts, start=1):
        lines += ["", f"part {number}"] if release.holders > 1 else []
        lines += _describe_part(part)
    return "\n".join(lines)


def _describe_part(part: GramPart) -> list[str]:
    delta = f", delta {part.delta!r}" if part.delta else ""  # exact: a description may not promise more than was spent
    noise = part.noise
    corner = (
        "none on the number of rows" if noise.corner == 0 else f"{noise.corner:.4g} on the number of rows"
    )
    return [
        *_wrap("rows", "noisy: their number is not public" if part.rows is None else f"{part.rows} (public){_averaged(part)}"),
        *_wrap("privacy", f"epsilon {repr(part.epsilon).removesuffix('.0')}{delta}. {part.statement}"),
        *_wrap(
            "noise",
            f"{part.mechanism}{_degrees(part)}; standard deviation {noise.diagonal:.4g} on the diagonal, "
            f"{noise.off_diagonal:.4g} off it, {corner} (scaled units)",
        ),
        *(_describe_eigenvalue(part) if isinstance(part, AdasspPart) else []),
        *_wrap("made", f"{part.created} by {part.library}"),
    ]


def _degrees(part: GramPart) -> str:
    return "" if part.noise.degrees is None else f", {part.noise.degrees} degrees of freedom"


def _describe_eigenvalue(part: AdasspPart) -> list[str]:
    found = part.smallest_eigenvalue
    return _wrap("ridge", f"the smallest eigenvalue of the predictors' matrix is {found.value:.4g}, with noise of standard "
                          f"deviation {found.noise:.4g}; epsilon {found.epsilon!r} and delta {found.delta!r} of these went to it")


def _averaged(part: GramPart) -> str:
    return f", averaged in {part.groups} random groups of {part.average}" if part.average > 1 else ""


def _wrap(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=f"  {label:<9} ", subsequent_indent=" " * 12
    )
