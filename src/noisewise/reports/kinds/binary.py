"""A `Binary` release in a report."""

from __future__ import annotations

from typing import ClassVar

from noisewise.releases.contents.binary import BinaryContribution
from noisewise.releases.release import Release
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, count, plural


class _BinaryView(KindView):
    results: ClassVar[tuple[type, ...]] = ()

    def what(self, release: Release) -> str:
        found = release.contents
        copies = f"{count(found.copies)} copies of " if found.copies > 1 else ""
        return (f"{copies}{plural(found.synthetic_rows, 'synthetic row')} of the column “{found.column}” (kind binary). What "
                "looks like a row is not a person's data.")

    def words_of(self, release: Release, contribution: BinaryContribution) -> str:
        were = "was" if contribution.alpha == 1 else "were"
        return (f"Before the synthetic rows were drawn, {plural(contribution.alpha, 'pseudo-row')} of each level {were} added to "
                "the real ones. This pulls shares towards one half.")

    def noise_table(self, release: Release) -> Table:
        found = release.contents
        zero, one = found.levels
        rows = [(f"copy {place}", count(found.synthetic_rows - ones), count(ones))
                for place, ones in enumerate(found.counts, start=1)]
        return Table.of(f"Synthetic rows by their level of {found.column}", ["Copy", str(zero), str(one)], rows)

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("estimate",)]


VIEW = _BinaryView()
