"""A `Bounds` release in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from noisewise.releases.release import Release
from noisewise.reports.kinds.view import KindView
from noisewise.reports.numbers import Table, count, listed, number, plural


class _BoundsView(KindView):
    results: ClassVar[tuple[type, ...]] = ()

    def what(self, release: Release) -> str:
        found = release.contents
        return (f"{plural(found.count(), 'bound')} of {plural(len(found.columns), 'column')}, to declare in a schema (kind "
                "bounds).")

    def noise_words(self, release: Release, holders: Sequence[str]) -> list[str]:
        found = release.contents
        return [f"Bounds were selected at random, better ones with a higher probability ({found.mechanism}). Known bounds are "
                "unchanged.",
                *(f"{label}: {text.removesuffix('.')}." for label, text in found.lines(release.kind, release.schema))]

    def noise_table(self, release: Release) -> Table:
        rows = [(one.name, number(one.lower), number(one.upper), listed(list(one.asked)), count(one.rows_needed))
                for one in release.contents.columns]
        return Table.of("Bounds as released", ["Column", "Lower", "Upper", "Estimated", "Rows needed"], rows,
                        words=(0, 3))


VIEW = _BoundsView()
