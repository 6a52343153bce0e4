"""A release in words, for someone who sees it for the first time."""

from __future__ import annotations

import textwrap

from noisewise.release.adassp import AdasspPart
from noisewise.release.model import GramPart, MomentsPart, Release
from noisewise.release.single import SingleRelease
from noisewise.schema.moment_blocks import NEEDED, MomentBlock

_WIDTH = 100
_MANY = 12
_PURPOSES = {
    "adassp": "one regression, by a point estimate",
    "moments": "logistic, probit or Poisson regression of this response on these predictors",
}


def describe(release: Release) -> str:
    """What is protected and how, what was released, and how large the noise is."""
    names = release.basis.names[1:]
    shown = ", ".join(names[:_MANY]) + (f" and {len(names) - _MANY} more" if len(names) > _MANY else "")
    unit = release.schema.unit
    protected = "one row" if unit.is_row else f"one {unit.column} (at most {unit.max_rows} rows)"
    lines = [
        f"noisewise release of kind {release.kind}: {_numbers(release)} noisy numbers"
        + (f" from each of {release.holders} holders" if release.holders > 1 else ""),
        *([] if release.formula is None else _wrap("for", f"{release.formula}: {_PURPOSES[release.kind]}")),
        *_wrap("columns", shown),
        *_wrap("protects", f"{protected}; neighbours: {release.adjacency}"),
    ]
    for number, part in enumerate(release.parts, start=1):
        lines += ["", f"part {number}{_added_up(part)}"] if release.holders > 1 else []
        lines += _describe_part(part)
    return "\n".join(lines)


def describe_single(release: SingleRelease) -> str:
    """The same for a release that is no matrix."""
    unit = release.schema.unit
    protected = "one row" if unit.is_row else f"all rows of one {unit.column}"
    delta = f", delta {release.delta!r}" if release.delta else ""
    lines = [
        ("protects", f"{protected}; neighbours: {release.adjacency}"),
        ("rows", "their number is not public" if release.rows is None else f"{release.rows} (public)"),
        ("privacy", f"epsilon {repr(release.epsilon).removesuffix('.0')}{delta}. {release.statement}"),
        *release.summary_lines(),
        ("made", f"{release.created} by {release.library}"),
    ]
    heading = f"noisewise release of kind {release.kind}: {release.title()}"
    return "\n".join([heading, *(line for label, text in lines for line in _wrap(label, text))])


def _numbers(release: Release) -> int:
    """An adassp release lacks the response's sum of squares and has an eigenvalue instead: the count is that of gram."""
    part, size = release.parts[0], release.basis.size
    return part.numbers if isinstance(part, MomentsPart) else size * (size + 1) // 2


def _describe_part(part: GramPart) -> list[str]:
    delta = f", delta {part.delta!r}" if part.delta else ""  # exact: a description may not promise more than was spent
    return [
        *_wrap("rows", "noisy: their number is not public" if part.rows is None else f"{part.rows} (public){_averaged(part)}"),
        *_wrap("privacy", f"epsilon {repr(part.epsilon).removesuffix('.0')}{delta}. {part.statement}"),
        *(_describe_blocks(part) if isinstance(part, MomentsPart) else _describe_noise(part)),
        *(_describe_eigenvalue(part) if isinstance(part, AdasspPart) else []),
        *_wrap("made", f"{part.created} by {part.library}"),
    ]


def _describe_noise(part: GramPart) -> list[str]:
    noise = part.noise
    corner = (
        "none on the number of rows" if noise.corner == 0 else f"{noise.corner:.4g} on the number of rows"
    )
    return _wrap(
        "noise",
        f"{part.mechanism}{_degrees(part)}; standard deviation {noise.diagonal:.4g} on the diagonal, "
        f"{noise.off_diagonal:.4g} off it, {corner} (scaled units)",
    )


def _describe_blocks(part: MomentsPart) -> list[str]:
    blocks = "; ".join(f"{block.noise:.4g} on {name} ({MomentBlock.named(name).describe()})"
                       for name, block in part.blocks.items())
    lines = _wrap("noise", f"{part.mechanism}; standard deviation {blocks} (scaled units; of a product of different predictors "
                           "divided by the root of its multinomial coefficient)")
    missing = [name for name in NEEDED if name not in part.blocks and (part.predictors or name == "y")]
    if missing:
        lines += _wrap("no fit", f"a regression cannot be fitted without the blocks that are not there: {', '.join(missing)}")
    if part.higher:
        lines += _wrap("not used", f"{', '.join(part.higher)}: no fit of this noisewise uses moments of such order")
    return lines


def _degrees(part: GramPart) -> str:
    return "" if part.noise.degrees is None else f", {part.noise.degrees} degrees of freedom"


def _describe_eigenvalue(part: AdasspPart) -> list[str]:
    found = part.smallest_eigenvalue
    return _wrap("ridge", f"the smallest eigenvalue of the predictors' matrix is {found.value:.4g}, with noise of standard "
                          f"deviation {found.noise:.4g}; epsilon {found.epsilon!r} and delta {found.delta!r} of these went to it")


def _added_up(part: GramPart) -> str:
    return f": the sum of {part.holders} holders" if part.holders > 1 else ""


def _averaged(part: GramPart) -> str:
    return f", averaged in {part.groups} random groups of {part.average}" if part.average > 1 else ""


def _wrap(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=f"  {label:<9} ", subsequent_indent=" " * 12
    )
