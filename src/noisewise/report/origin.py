"""What a result says of its own origin, next to the releases that a report is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from noisewise.release.source import digest_of, source_of

if TYPE_CHECKING:
    from noisewise.report.given import AnyRelease, ReleaseFile

SHOWN: Final = "as the digest of noisy numbers that it records shows"
COMPARED: Final = ("That it belongs to the release was checked by schema, terms and number of data holders: it does not record "
                   "which release it was made from.")
OF_SOME: Final = ("It was not made from all of these releases, nor from one of them alone: the digest that it records is that of "
                  "some of them together, or of others with the same columns.")


@dataclass(frozen=True)
class Origin:
    """Where a result comes from, for certain. ``name`` and ``file`` are of what it was made from, if that is not everything."""

    name: str | None = None
    file: ReleaseFile | None = None


def origins(files: Sequence[ReleaseFile], together: AnyRelease) -> Mapping[str, Origin]:
    """All that a result can be known to come from, by its digest: one holder's part of a file, one file, all files together."""
    found: dict[str, Origin] = {}
    for file in files:
        each = list(file.release.fingerprints())
        if len(each) > 1:
            found |= {digest_of([one]): Origin(f"one of the {len(each)} parts of {file.name}") for one in each}
        found[digest_of(each)] = Origin(file.name, file)
    return {**found, source_of(together): Origin()}


def words(origin: Origin, names: str, several: bool) -> str:
    """In a sentence, what a result was made from."""
    if origin.name is not None:
        return f"Made from {origin.name} alone, {SHOWN}."
    return f"Made from {'these very releases together' if several else 'this very release'} ({names}), {SHOWN}."
