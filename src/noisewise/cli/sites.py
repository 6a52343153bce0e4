"""Release files of several sites: read, named, compared and tabulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from noisewise.cli.files import INPUT_ENDINGS
from noisewise.cli.output import visible
from noisewise.cli.tables import plain_table
from noisewise.errors import IncompatibleReleasesError, ReleaseError
from noisewise.run import Run

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.releases.contribution import Contribution
    from noisewise.releases.release import Release
    from noisewise.reports.kinds.view import KindView

NAMED: Final = 5
"""Most files that a message names."""


def expand(files: Sequence[Path]) -> list[Path]:
    """Expand folders, and patterns such as ``site-*.nwr`` that the shell left alone (in quotes, or on Windows)."""
    from noisewise.releases.many import release_paths

    for file in files:
        if file.name.lower().endswith(INPUT_ENDINGS) and not file.is_dir():
            raise ReleaseError("expected a release file, not a table or schema", found=str(file),
                               remedy="a data holder makes a release file from a table with noisewise release")
    return [Path(file) for file in release_paths(files)]


def binary_release(files: Sequence[Path]) -> Release | None:
    """Return the first file's release if it is of kind binary, which is used alone."""
    import noisewise

    found = noisewise.load(files[0])
    return found if found.kind.name == "binary" else None


@dataclass(frozen=True)
class Sites:
    """Release files and their contents."""

    files: tuple[Path, ...]
    releases: tuple[Release, ...]

    @classmethod
    def load(cls, files: Sequence[Path], run: Run) -> Sites:
        """Read the files, in the order given; an error names the first bad file."""
        from noisewise.releases.many import read_in_order

        return cls(tuple(files), tuple(read_in_order([str(file) for file in files], run=run)))

    def together(self) -> Release:
        """Combine all releases; raise an error naming the files that do not fit."""
        import noisewise

        self._refuse_repeats()
        differences = self.differences()
        if differences:
            more = [f"and {len(differences) - NAMED} more"] if len(differences) > NAMED else []
            raise IncompatibleReleasesError("all files must be made from the same schema and terms",
                                            found="; ".join(differences[:NAMED] + more),
                                            remedy="leave these files out, or ask for new releases made with the shared schema")
        return noisewise.combine(self.releases)

    def differences(self) -> list[str]:
        """Describe each file that differs from the first, or from one that more files agree with; empty if all agree."""
        odd = self._unlike(0)
        if 2 * len(odd) > len(self.files):
            odd = min(odd, self._unlike(min(odd)), key=len)
        return list(odd.values())

    def _unlike(self, reference: int) -> dict[int, str]:
        from noisewise.releases.combine import alike, differing

        first, mine = self.releases[reference], self.names[reference]
        found = {place: "; ".join(differing(first, release, (mine, theirs)))
                 for place, (theirs, release) in enumerate(zip(self.names, self.releases, strict=True))
                 if not alike(first, release)}
        return {place: f"{self.names[place]} differs from {mine} ({words})" for place, words in found.items() if words}

    def _refuse_repeats(self) -> None:
        seen: dict[bytes, int] = {}
        for place, release in enumerate(self.releases):
            for one in release.contributions:
                earlier = seen.setdefault(one.fingerprint(), place)
                if earlier != place:
                    first, second = self.files[earlier], self.files[place]
                    same = first.resolve() == second.resolve()
                    raise IncompatibleReleasesError(
                        "each release must be given once, since counting it twice would fake precision",
                        found=f"{first} is given twice" if same else f"{first} and {second} contain the same contribution",
                        remedy="leave one of them out")

    @property
    def names(self) -> list[str]:
        """Return the file names, or the paths if two files have the same name."""
        short = [file.name for file in self.files]
        return short if len(set(short)) == len(short) else [str(file) for file in self.files]

    @property
    def holders(self) -> list[str]:
        """Return a name for each holder in all files."""
        return [site for site, _, _ in self._contributions()]

    def documents(self) -> list[dict[str, object]]:
        """Return every contribution for --json."""
        view = self._view
        return [{"site": site, "file": file, "rows": one.rows,
                 "noisy_rows": _noisy_rows(view, one)[0] if one.rows is None else None,
                 "epsilon": one.epsilon, "delta": one.delta, "mechanism": one.mechanism, "noise_sd": view.listed_noise(one),
                 "created": one.created} for site, file, one in self._contributions()]

    @property
    def _view(self) -> KindView:
        from noisewise.reports.kinds.view import view_of

        return view_of(self.releases[0].kind)

    def _contributions(self) -> list[tuple[str, Path, Contribution]]:
        return [(name if release.holders == 1 else f"{name} holder {number}", file, one)
                for name, file, release in zip(self.names, self.files, self.releases, strict=True)
                for number, one in enumerate(release.contributions, start=1)]

    def table(self) -> Table:
        """Return a table with one line per contribution."""
        table = plain_table("site", "rows", "epsilon", "delta", "noise sd")
        for heading in ("mechanism", "made"):
            table.add_column(heading, no_wrap=True)
        view = self._view
        for site, _, one in self._contributions():
            noise = view.listed_noise(one)
            rows = "{:,.0f} ± {:,.0f}".format(*_noisy_rows(view, one)) if one.rows is None else f"{one.rows:,}"
            table.add_row(visible(site), rows, f"{one.epsilon:g}", f"{one.delta:g}", "–" if noise is None else f"{noise:,.4g}",
                          visible(one.mechanism), one.created)
        return table


def _noisy_rows(view: KindView, one: Contribution) -> tuple[float, float]:
    return view.noisy_rows(one) or (float("nan"), float("nan"))
