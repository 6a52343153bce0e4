"""A `Rows` release in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from noisewise.releases.contents.rows import NumberNoise, RowsContribution
from noisewise.releases.release import Release
from noisewise.reports.kinds.gram import some_formula
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, count, number, percent
from noisewise.schema.columns import Numeric

LOOK: Final = ("What the rows look like", "Published rows look like people but are mostly noise. Anyone known to be in the table "
               "is known to have a noisy row here, though not which one.")


class _RowsView(KindView):
    def what(self, release: Release) -> str:
        copies = release.contents.copies
        return (f"Every row of the table{f' {count(copies)} times' if copies > 1 else ''}, with independent noise in each cell "
                "(kind rows). What looks like a row is not a person's data.")

    def words_of(self, release: Release, contribution: RowsContribution) -> str:
        copies = f" in each of {count(contribution.copies)} copies" if contribution.copies > 1 else ""
        numbers = f"numbers have {contribution.mechanism} noise, " if contribution.numbers else ""
        return (f"Every cell has independent noise{copies}: {numbers}categories are kept or replaced at random. The table "
                "says how much.")

    def noise_table(self, release: Release) -> Table:
        rows = []
        for column in release.schema.columns:
            noise = release.contents.columns[column.name]
            share = percent(noise.share)
            if isinstance(noise, NumberNoise):
                assert isinstance(column, Numeric)
                sd = release.contents.sd_in_units(column.name)
                rows.append((column.name, share, f"standard deviation {number(sd)}",
                             f"{number(sd / (2 * column.half_width))} times the distance between the bounds"))
            else:
                rows.append((column.name, share, f"kept with probability {percent(noise.keep)}",
                             "otherwise any other level, equally likely"))
        return Table.of("Noise in each cell", ["Column", "Share of the budget", "Noise", "Compare"], rows, words=(0, 2, 3))

    def not_protected(self, release: Release) -> list[tuple[str, str]]:
        return [LOOK]

    def commands(self, release: Release) -> list[tuple[str, ...]]:
        return [("fit", some_formula(release.schema))]

    def files(self, release: Release) -> Mapping[str, tuple[int, str]]:
        file = release.contents.file
        return {file.name: (file.bytes, file.sha256)}


VIEW = _RowsView()
