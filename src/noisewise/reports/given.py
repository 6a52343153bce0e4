"""The input of a report: read releases and results, and decide which result belongs to which release."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

from noisewise.errors import ResultError
from noisewise.releases.combine import alike, combine, differing, same_declarations
from noisewise.releases.release import Release
from noisewise.releases.source import digest_of, source_of
from noisewise.reports.kinds.view import view_of
from noisewise.reports.numbers import listed, plural
from noisewise.results.comparison import Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.schema import Design

Path_: TypeAlias = str | os.PathLike[str]
Result: TypeAlias = Posterior | PointEstimate | Comparison

LEAVE_OUT: Final = "give the release files that it was fitted to, or leave it out"
SHOWN: Final = "as its recorded digest of the noisy numbers shows"
COMPARED: Final = ("It does not record which release it was made from. It was matched to this one by schema, terms and number of "
                   "data holders.")
OF_SOME: Final = ("It was made neither from all of these releases nor from one of them alone. Its recorded digest is that of "
                  "some of them together, or of others with the same columns.")


@dataclass(frozen=True)
class ReleaseFile:
    """A release, its name in the report, and the digest and size of its file."""

    release: Release
    name: str
    sha256: str | None = None
    size: int | None = None


Origin: TypeAlias = tuple[str | None, ReleaseFile | None]
"""The name and file of what a result was made from, or None twice if it was made from the whole subject."""


@dataclass(frozen=True)
class Fitted:
    """A result and its name; ``flags`` state what could not be verified or does not fit.

    ``certain`` is True if it records that it was made from its subject or from one holder's release in it, which may be the file
    ``alone``. ``origin`` is a sentence about what is known of this.
    """

    result: Result
    name: str
    file: str | None
    flags: tuple[str, ...] = ()
    whole: bool = True
    """True if it is of all holders of its subject, as far as is recorded."""
    origin: str = COMPARED
    certain: bool = False
    alone: ReleaseFile | None = None


@dataclass
class Subject:
    """One release, or those of several holders together, and everything fitted to it."""

    files: list[ReleaseFile]
    release: Release
    results: list[Fitted] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The names of its files."""
        return listed([file.name for file in self.files], most=2 if len(self.files) == 2 else 1)

    @property
    def holders(self) -> list[str]:
        """A name for each holder, from its file."""
        names = []
        for file in self.files:
            count = file.release.holders
            names += [file.name] if count == 1 else [f"{file.name} holder {number}" for number in range(1, count + 1)]
        return names

    @cached_property
    def origins(self) -> Mapping[str, Origin]:
        """Everything that a result's digest can identify: one holder of a file, one file, or all files together."""
        found: dict[str, Origin] = {}
        for file in self.files:
            each = list(file.release.fingerprints())
            if len(each) > 1:
                found |= {digest_of([one]): (f"one of the {len(each)} holders of {file.name}", None) for one in each}
            found[digest_of(each)] = file.name, file
        return {**found, source_of(self.release): (None, None)}

    def declares(self, design: Design) -> bool:
        """True if a result with this design can be of these columns."""
        return same_declarations(self.release.schema, self.release.terms, design.basis.schema, design.added_terms)


def read_release(given: Release | Path_, number: int) -> ReleaseFile:
    """Accept a release, or load it from its file."""
    if isinstance(given, Release):
        return ReleaseFile(given, f"release {number}")
    if not isinstance(given, str | os.PathLike):
        raise ResultError("a report requires releases, or the paths of their files", found=type(given).__name__,
                          remedy='for example noisewise.report("patients.nwr")')
    from noisewise.releases.files import decoded, read

    data = read(given)
    return ReleaseFile(decoded(data, given), Path(given).name, hashlib.sha256(data).hexdigest(), len(data))


def read_result(given: Result | Path_, number: int) -> Fitted:
    """Accept a fit or a comparison, or load it from its file."""
    if isinstance(given, Posterior | PointEstimate | Comparison):
        return Fitted(given, f"comparison {number}" if isinstance(given, Comparison) else f"fit {number}", None)
    if not isinstance(given, str | os.PathLike):
        raise ResultError("fits and comparisons must be noisewise results, or the paths of files that they were saved to",
                          found=type(given).__name__, remedy='for example fits=["stay.npz"]')
    from noisewise.results.store import load_result

    return Fitted(load_result(given), Path(given).name, Path(given).name)


def subjects_of(files: Sequence[ReleaseFile]) -> list[Subject]:
    """Group releases with the same schema, kind and terms: they are those of several holders."""
    found: list[Subject] = []
    for file in files:
        subject = next((one for one in found if _together(one.release, file.release)), None)
        if subject is None:
            found.append(Subject([file], file.release))
        else:
            subject.files.append(file)
    for subject in found:
        if len(subject.files) > 1:
            subject.release = combine([file.release for file in subject.files])
    return found


def _together(one: Release, other: Release) -> bool:
    """True if `combine` would accept both."""
    return one.kind.holders and (alike(one, other) or next(differing(one, other), None) is None)


def assign(subjects: Sequence[Subject], results: Iterable[Fitted]) -> None:
    """Assign each result to the release that it can belong to; refuse a result that belongs to none."""
    for fitted in results:
        info = fitted.result.info
        candidates = [subject for subject in subjects if info.holders <= len(subject.holders)
                      and view_of(subject.release.kind).accepts(fitted.result) and subject.declares(fitted.result.design)]
        if not candidates:
            raise _refusal(subjects, fitted)
        origins = [(one, one.origins[info.source]) for one in candidates if info.source in one.origins] if info.source else []
        if origins:
            origins[0][0].results.append(_certain(fitted, *origins[0]))
            continue
        if info.source:
            candidates = [subject for subject in candidates if 1 < info.holders < len(subject.holders)]
            if not candidates:
                raise ResultError(f"{fitted.name} was not fitted to the given releases", remedy=LEAVE_OUT,
                                  found=f"the digest of another release with the same columns, {info.source[:12]}…")
        nearness = [(info.holders == len(one.holders), one.release.formula == fitted.result.design.formula) for one in candidates]
        nearest = nearness.index(max(nearness))
        candidates[nearest].results.append(_flagged(fitted, candidates[nearest], nearness.count(nearness[nearest]) > 1))


def _certain(fitted: Fitted, subject: Subject, found: Origin) -> Fitted:
    """Describe a result that records what it was made from."""
    name, file = found
    if name is None:
        these = "exactly these releases together" if len(subject.files) > 1 else "exactly this release"
        return replace(fitted, certain=True, origin=f"Made from {these} ({subject.name}), {SHOWN}.")
    flag = f"This result is about {name} alone, but the report is about {plural(len(subject.holders), 'data holder')}."
    return replace(fitted, flags=(flag,), whole=False, certain=True, alone=file, origin=f"Made from {name} alone, {SHOWN}.")


def _refusal(subjects: Sequence[Subject], fitted: Fitted) -> ResultError:
    alike_ones = [len(subject.holders) for subject in subjects if subject.declares(fitted.result.design)]
    if alike_ones:
        return ResultError(f"{fitted.name} was not fitted to the given releases, or not only to them",
                           found=f"a fit of {plural(fitted.result.info.holders, 'holder')}, and releases of {max(alike_ones)}",
                           remedy="give all release files that it was fitted to")
    return ResultError(f"{fitted.name} was not fitted to the given releases",
                       found="a fit to another schema or other terms", remedy=LEAVE_OUT)


def _flagged(fitted: Fitted, subject: Subject, ambiguous: bool) -> Fitted:
    """Flag a fit of only some holders, or of an earlier version, which did not record its release."""
    count, all_of_them = fitted.result.info.holders, len(subject.holders)
    recorded = bool(fitted.result.info.source)
    flags = []
    if count < all_of_them:
        flags.append(f"This result is about {plural(count, 'data holder')}, but the report is about {all_of_them}. "
                     + ("It is not certain that they are among these." if recorded else
                        "The result does not record which of them."))
    if ambiguous:
        flags.append("Several of the given releases have the columns of this fit. It is shown with the first of them.")
    return replace(fitted, flags=tuple(flags), whole=count == all_of_them, origin=OF_SOME if recorded else COMPARED)
