"""Release files of several sites: read together, told by their names, compared, and shown line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from noisewise.cli.files import INPUT_ENDINGS
from noisewise.cli.tables import plain_table
from noisewise.cli.talk import visible
from noisewise.errors import IncompatibleReleasesError, ReleaseError

if TYPE_CHECKING:
    from rich.table import Table

    from noisewise.progress import Tick
    from noisewise.release import Release

NAMED: Final = 5
"""How many files a message names at most."""


def expand(files: Sequence[Path]) -> list[Path]:
    """Folders become the files in them, patterns such as ``site-*.nwr`` (in quotes, or left by Windows) those that match."""
    from noisewise.release.many import release_paths

    for file in files:
        if file.name.lower().endswith(INPUT_ENDINGS) and not file.is_dir():
            raise ReleaseError("this is a table or a schema, where a release file is wanted", found=str(file),
                               remedy="a data holder makes one of a table: noisewise release")
    return [Path(file) for file in release_paths(files)]


@dataclass(frozen=True)
class Sites:
    """Files and what they hold."""

    files: tuple[Path, ...]
    releases: tuple[Release, ...]

    @classmethod
    def load(cls, files: Sequence[Path], progress: Tick | bool | None = False) -> Sites:
        from noisewise.release.many import read_in_order

        return cls(tuple(files), tuple(read_in_order([str(file) for file in files], progress=progress)))

    def together(self) -> Release:
        """One release with the parts of all, or an error that names the files."""
        import noisewise

        self._refuse_repeats()
        differences = self.differences()
        if differences:
            more = [f"and {len(differences) - NAMED} more"] if len(differences) > NAMED else []
            raise IncompatibleReleasesError(
                "all files must be made from one schema with the same terms",
                found="; ".join(differences[:NAMED] + more),
                remedy="leave these files out, or have them released again from the shared schema",
            )
        return noisewise.combine(self.releases)

    def differences(self) -> list[str]:
        """What is different, file by file, from the first file that most of the others agree with; empty if all agree."""
        reference, odd = 0, self._unlike(0)
        if 2 * len(odd) > len(self.files):
            other = min(odd)
            unlike_other = self._unlike(other)
            if len(unlike_other) < len(odd):
                reference, odd = other, unlike_other
        first = self.names[reference]
        return [f"{self.names[place]} is not like {first} ({found})" for place, found in odd.items()]

    def _unlike(self, reference: int) -> dict[int, str]:
        from noisewise.release.combine import alike, differing

        found = {}
        first = self.releases[reference]
        for place, release in enumerate(self.releases):
            words = "" if alike(first, release) else "; ".join(differing(first, release))
            if words:  # "the first" is the one that it is compared with
                mine, theirs = self.names[reference], self.names[place]
                words = words.replace("only in the first", f"only in {mine}")
                found[place] = words.replace("only in the second", f"only in {theirs}")
        return found

    def _refuse_repeats(self) -> None:
        seen: dict[bytes, int] = {}
        for place, release in enumerate(self.releases):
            for part in release.parts:
                earlier = seen.setdefault(part.fingerprint(), place)
                if earlier != place:
                    one, other = self.files[earlier], self.files[place]
                    same = one.resolve() == other.resolve()
                    found = f"{one} is given twice" if same else f"{one} and {other} hold the same part"
                    raise IncompatibleReleasesError(
                        "each release is used once: one that is counted twice would fake precision",
                        found=found, remedy="leave one of them out",
                    )

    @property
    def names(self) -> list[str]:
        """The files by their names, or by their paths where two have the same name."""
        short = [file.name for file in self.files]
        return short if len(set(short)) == len(short) else [str(file) for file in self.files]

    @property
    def holders(self) -> list[str]:
        """A name for each part of all files."""
        return [_part_name(name, release, number) for name, release in zip(self.names, self.releases, strict=True)
                for number in range(1, release.holders + 1)]

    def documents(self) -> list[dict[str, Any]]:
        """Every part for machines."""
        return [
            {"site": site, "file": file, "rows": part.rows, "noisy_rows": part.matrix[0, 0] if part.rows is None else None,
             "epsilon": part.epsilon, "delta": part.delta, "mechanism": part.mechanism, "noise_sd": part.noise.diagonal,
             "created": part.created}
            for site, file, part in self._parts()
        ]

    def _parts(self) -> Iterator[tuple[str, Path, Any]]:
        parts = [(file, part) for file, release in zip(self.files, self.releases, strict=True) for part in release.parts]
        yield from ((site, file, part) for site, (file, part) in zip(self.holders, parts, strict=True))

    def table(self) -> Table:
        """One line for each part: rows, privacy, noise."""

        table = plain_table()
        table.add_column("site", style="bold", overflow="fold")
        for heading in ("rows", "epsilon", "delta", "noise sd"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("mechanism", no_wrap=True)
        table.add_column("made", no_wrap=True)
        for site, _, part in self._parts():
            rows = f"{part.matrix[0, 0]:,.0f} ± {part.noise.corner:,.0f}" if part.rows is None else f"{part.rows:,}"
            delta = f"{part.delta:g}" if part.delta else "0"
            table.add_row(visible(site), rows, f"{part.epsilon:g}", delta, f"{part.noise.diagonal:,.4g}", visible(part.mechanism),
                          part.created)
        return table


def _part_name(name: str, release: Release, number: int) -> str:
    return name if release.holders == 1 else f"{name} part {number}"
