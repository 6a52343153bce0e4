"""How large the noise is, statistic by statistic, in words and in the units of the table."""

from __future__ import annotations

from typing import Final

from noisewise.release.adassp import AdasspPart
from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import GramPart, Release
from noisewise.release.moments import MomentsPart
from noisewise.release.partition import PartitionRelease
from noisewise.release.single import SingleRelease
from noisewise.report.declared import column_moments
from noisewise.report.numbers import count, listed, number, percent, plural, rough
from noisewise.report.tables import Table
from noisewise.schema.columns import Numeric
from noisewise.schema.moment_blocks import MomentBlock

MOST_WORDS: Final = 4
DISTRIBUTIONS: Final = {"gaussian": "normal (Gaussian)", "laplace": "Laplace", "wishart": "Wishart"}

SCALED: Final = (
    "In the released sums a column of numbers is scaled so that its bounds become −1 and 1, a category of two levels is −1 or 1, "
    "and each further level of a larger one is 0 or 1. So one row counts for at most 1 in a sum of products, unless rows were "
    "averaged.")
AVERAGED: Final = (
    " Rows were averaged in random groups of {} before. A row is then multiplied with the others of its group, and can count for "
    "more than 1 in a sum of products, though for less than 2.")


def noise_words(release: Release | SingleRelease, holders: list[str]) -> list[str]:
    """What the noise was added to, and how much of it."""
    if isinstance(release, PartitionRelease):
        return [f"The table was split at random into {count(release.parts)} parts. Each part's answers, clipped to limits, were "
                f"added up, and noise was added to each sum ({release.mechanism}, scale {number(release.noise)} where one part "
                f"counts for at most 1). In an average over the parts that is {number(release.noise / release.parts)} of the "
                "distance between the limits."]
    if isinstance(release, MicrodataRelease):
        copies = f" in each of {count(release.copies)} copies" if release.copies > 1 else ""
        return [f"Every cell carries noise of its own{copies}: numbers {release.mechanism} noise, categories are kept or "
                "replaced at random. The table says how much."]
    if not isinstance(release, Release):
        return []
    found = [SCALED]
    whose: dict[str, list[str]] = {}
    for name, part in zip(part_names(release, holders), release.parts, strict=True):
        whose.setdefault(_part_words(part), []).append(name)
    for words, names in list(whose.items())[:MOST_WORDS]:
        found.append(words if len(whose) == 1 else f"{listed(names, most=3)}: {words}")
    if len(whose) > MOST_WORDS:
        found.append("The table of the budget has the noise of all of them.")
    return found


def part_names(release: Release, holders: list[str]) -> list[str]:
    """Of holders, or of sums of holders that were added up while they were read."""
    if len(holders) == len(release.parts):
        return holders
    return [f"sum {place} of {plural(part.holders, 'holder')}" for place, part in enumerate(release.parts, start=1)]


def _part_words(part: GramPart) -> str:
    if isinstance(part, MomentsPart):
        blocks = "; ".join(f"{number(block.noise)} on {MomentBlock.named(name).describe()}"
                           for name, block in part.blocks.items())
        return f"Normal (Gaussian) noise with a standard deviation of {blocks}."
    noise = part.noise
    words = (f"{DISTRIBUTIONS[noise.distribution]} noise with a standard deviation of {number(noise.off_diagonal)} in each sum "
             f"of products of two different columns, and of {number(noise.diagonal)} in each sum of squares")
    words += (f"; the number of rows carries noise of {number(noise.corner)}." if noise.corner else
              "; none in the number of rows, which is public.")
    words += (AVERAGED.format(count(part.average)) if part.average > 1 else
              f" That is about the weight of {plural(max(1, round(noise.off_diagonal)), 'row')}.")
    if isinstance(part, AdasspPart):
        words += (f" The smallest eigenvalue of the predictors' matrix was released with noise of "
                  f"{number(part.smallest_eigenvalue.noise)}.")
    return words[0].upper() + words[1:]


def noise_table(release: Release | SingleRelease) -> Table | None:
    """The noise in the units of the table."""
    if isinstance(release, MicrodataRelease):
        return _cells(release)
    if isinstance(release, PartitionRelease):
        rows = [(one.name, number(one.lower), number(one.upper), number(one.mean(release.parts)),
                 number(one.width * release.noise / release.parts)) for one in release.numbers]
        return Table.of("Released numbers, as averages over the parts",
                        ["Number", "Lower limit", "Upper limit", "Released", "Scale of the noise"], rows)
    if isinstance(release, Release):
        return _means(release)
    return None


def _cells(release: MicrodataRelease) -> Table:
    rows = []
    for name in release.schema.names:
        share = percent(release.columns[name].share)
        if name in release.numbers:
            column = release.schema.column(name)
            assert isinstance(column, Numeric)
            sd = release.sd_in_units(name)
            rows.append((name, share, f"standard deviation {number(sd)}",
                         f"{number(sd / (2 * column.half_width))} times the distance of its bounds"))
        else:
            rows.append((name, share, f"kept with probability {percent(release.levels[name].keep)}",
                         "else another level, all equally likely"))
    return Table.of("Noise in each cell", ["Column", "Share of the budget", "Noise", "Compare"], rows, words=(0, 2, 3))


def _means(release: Release) -> Table | None:
    rows = []
    for (name, level), moment in column_moments(release).items():
        column = release.schema.column(name)
        if isinstance(column, Numeric):
            width = column.half_width
            rows.append((name, rough(moment.noise * width), f"{rough(50 * moment.noise)} %"))
        else:
            share = moment.noise / (2 if level is None else 1)
            rows.append((name if level is None else f"{name}[{level}]", f"{rough(100 * share)} %", f"{rough(100 * share)} %"))
    if not rows:
        return None
    return Table.of("Noise in the mean of each column, or in the share of its level: standard deviations",
                    ["Column", "In its own units", "Of its range"], rows)
