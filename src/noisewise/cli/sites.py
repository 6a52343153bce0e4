"""Release files of several sites: read together, told by their names, compared, and shown line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noisewise.cli.files import INPUT_ENDINGS
from noisewise.cli.output import visible
from noisewise.cli.tables import plain_table
from noisewise.errors import IncompatibleReleasesError, ReleaseError
from noisewise.run import Run

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.releases.release import Release

NAMED: Final = 5
"""How many files a message names at most."""


def expand(files: Sequence[Path]) -> list[Path]:
    """Folders become the files in them, patterns such as ``site-*.nwr`` (in quotes, or left by Windows) those that match."""
    from noisewise.releases.many import release_paths

    for file in files:
        if file.name.lower().endswith(INPUT_ENDINGS) and not file.is_dir():
            raise ReleaseError("this is a table or a schema, where a release file is wanted", found=str(file),
                               remedy="a data holder makes one of a table: noisewise release")
    return [Path(file) for file in release_paths(files)]


def binary_release(files: Sequence[Path]) -> Release | None:
    """The release of the first file, if it is one of synthetic yes-or-no rows: these are used by themselves."""
    import noisewise

    found = noisewise.load(files[0])
    return found if found.kind.name == "binary" else None


@dataclass(frozen=True)
class Sites:
    """Files and what they hold."""

    files: tuple[Path, ...]
    releases: tuple[Release, ...]

    @classmethod
    def load(cls, files: Sequence[Path], run: Run) -> Sites:
        """Read the files, in the order given; an error names the first bad file."""
        from noisewise.releases.many import read_in_order

        return cls(tuple(files), tuple(read_in_order([str(file) for file in files], run=run)))

    def together(self) -> Release:
        """One release with the contributions of all, or an error that names the files."""
        import noisewise

        self._refuse_repeats()
        differences = self.differences()
        if differences:
            more = [f"and {len(differences) - NAMED} more"] if len(differences) > NAMED else []
            raise IncompatibleReleasesError("all files must be made from one schema with the same terms",
                                            found="; ".join(differences[:NAMED] + more),
                                            remedy="leave these files out, or have them released again from the shared schema")
        return noisewise.combine(self.releases)

    def differences(self) -> list[str]:
        """What is different, file by file, from the first file that most of the others agree with; empty if all agree."""
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
        return {place: f"{self.names[place]} is not like {mine} ({words})" for place, words in found.items() if words}

    def _refuse_repeats(self) -> None:
        seen: dict[bytes, int] = {}
        for place, release in enumerate(self.releases):
            for one in release.contributions:
                earlier = seen.setdefault(one.fingerprint(), place)
                if earlier != place:
                    first, second = self.files[earlier], self.files[place]
                    same = first.resolve() == second.resolve()
                    raise IncompatibleReleasesError(
                        "each release is used once: one that is counted twice would fake precision",
                        found=f"{first} is given twice" if same else f"{first} and {second} hold the same contribution",
                        remedy="leave one of them out")

    @property
    def names(self) -> list[str]:
        """The files by their names, or by their paths where two have the same name."""
        short = [file.name for file in self.files]
        return short if len(set(short)) == len(short) else [str(file) for file in self.files]

    @property
    def holders(self) -> list[str]:
        """A name for each holder of all files."""
        return [site for site, _, _ in self._contributions()]

    def documents(self) -> list[dict[str, Any]]:
        """Every contribution for machines."""
        return [{"site": site, "file": file, "rows": one.rows, "noisy_rows": one.matrix[0, 0] if one.rows is None else None,
                 "epsilon": one.epsilon, "delta": one.delta, "mechanism": one.mechanism, "noise_sd": one.noise.diagonal,
                 "created": one.created} for site, file, one in self._contributions()]

    def _contributions(self) -> list[tuple[str, Path, Any]]:
        return [(name if release.holders == 1 else f"{name} holder {number}", file, one)
                for name, file, release in zip(self.names, self.files, self.releases, strict=True)
                for number, one in enumerate(release.contributions, start=1)]

    def table(self) -> Table:
        """One line for each contribution: rows, privacy, noise."""
        table = plain_table("site", "rows", "epsilon", "delta", "noise sd")
        for heading in ("mechanism", "made"):
            table.add_column(heading, no_wrap=True)
        for site, _, one in self._contributions():
            rows = f"{one.matrix[0, 0]:,.0f} ± {one.noise.corner:,.0f}" if one.rows is None else f"{one.rows:,}"
            table.add_row(visible(site), rows, f"{one.epsilon:g}", f"{one.delta:g}", f"{one.noise.diagonal:,.4g}",
                          visible(one.mechanism), one.created)
        return table
