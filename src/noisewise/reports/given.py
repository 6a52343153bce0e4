"""What a report was asked to be about: releases and results, read, and told which result belongs to which release."""

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
SHOWN: Final = "as the digest of noisy numbers that it records shows"
COMPARED: Final = ("That it belongs to the release was checked by schema, terms and number of data holders: it does not record "
                   "which release it was made from.")
OF_SOME: Final = ("It was not made from all of these releases, nor from one of them alone: the digest that it records is that of "
                  "some of them together, or of others with the same columns.")


@dataclass(frozen=True)
class ReleaseFile:
    """A release, what it is called in the report, and what proves that a file is the same."""

    release: Release
    name: str
    sha256: str | None = None
    size: int | None = None


Origin: TypeAlias = tuple[str | None, ReleaseFile | None]
"""Name and file of what a result was made from, if that is not everything."""


@dataclass(frozen=True)
class Fitted:
    """A result and what it is called; ``flags`` say what could not be made sure of, or does not fit.

    ``certain``: whether it records that it was made from its subject, or from one holder's release in it, which may be the file
    ``alone``; ``origin`` says in words what is known of that.
    """

    result: Result
    name: str
    file: str | None
    flags: tuple[str, ...] = ()
    whole: bool = True
    """Whether it is of all holders of its subject, as far as is recorded."""
    origin: str = COMPARED
    certain: bool = False
    alone: ReleaseFile | None = None


@dataclass
class Subject:
    """One release, or those of several holders together, and all that was fitted to it."""

    files: list[ReleaseFile]
    release: Release
    results: list[Fitted] = field(default_factory=list)

    @property
    def name(self) -> str:
        return listed([file.name for file in self.files], most=2 if len(self.files) == 2 else 1)

    @property
    def holders(self) -> list[str]:
        """A name for each holder, by its file."""
        names = []
        for file in self.files:
            count = file.release.holders
            names += [file.name] if count == 1 else [f"{file.name} holder {number}" for number in range(1, count + 1)]
        return names

    @cached_property
    def origins(self) -> Mapping[str, Origin]:
        """All that a result can be known to come from, by its digest: one holder of a file, one file, all files together."""
        found: dict[str, Origin] = {}
        for file in self.files:
            each = list(file.release.fingerprints())
            if len(each) > 1:
                found |= {digest_of([one]): (f"one of the {len(each)} holders of {file.name}", None) for one in each}
            found[digest_of(each)] = file.name, file
        return {**found, source_of(self.release): (None, None)}

    def declares(self, design: Design) -> bool:
        """Whether a result with this design can be of these columns."""
        return same_declarations(self.release.schema, self.release.terms, design.basis.schema, design.added_terms)


def read_release(given: Release | Path_, number: int) -> ReleaseFile:
    """A release, from its file or as it is."""
    if isinstance(given, Release):
        return ReleaseFile(given, f"release {number}")
    if not isinstance(given, str | os.PathLike):
        raise ResultError("a report is about releases, or the paths of their files", found=type(given).__name__,
                          remedy='for example noisewise.report("patients.nwr")')
    from noisewise.releases.files import decoded, read

    data = read(given)
    return ReleaseFile(decoded(data, given), Path(given).name, hashlib.sha256(data).hexdigest(), len(data))


def read_result(given: Result | Path_, number: int) -> Fitted:
    """A fit or a comparison, from its file or as it is."""
    if isinstance(given, Posterior | PointEstimate | Comparison):
        return Fitted(given, f"comparison {number}" if isinstance(given, Comparison) else f"fit {number}", None)
    if not isinstance(given, str | os.PathLike):
        raise ResultError("fits and comparisons are results of noisewise, or the paths of files that they were saved to",
                          found=type(given).__name__, remedy='for example fits=["stay.npz"]')
    from noisewise.results.store import load_result

    return Fitted(load_result(given), Path(given).name, Path(given).name)


def subjects_of(files: Sequence[ReleaseFile]) -> list[Subject]:
    """Releases of one schema, kind and terms belong together: they are several holders'."""
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
    """Whether `combine` would take both."""
    return one.kind.holders and (alike(one, other) or next(differing(one, other), None) is None)


def assign(subjects: Sequence[Subject], results: Iterable[Fitted]) -> None:
    """Each result to the release that it can be of; one that can be of none is refused."""
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
                raise ResultError(f"{fitted.name} was not fitted to the releases that are given", remedy=LEAVE_OUT,
                                  found=f"the digest of another release with the same columns, {info.source[:12]}…")
        nearness = [(info.holders == len(one.holders), one.release.formula == fitted.result.design.formula) for one in candidates]
        nearest = nearness.index(max(nearness))
        candidates[nearest].results.append(_flagged(fitted, candidates[nearest], nearness.count(nearness[nearest]) > 1))


def _certain(fitted: Fitted, subject: Subject, found: Origin) -> Fitted:
    """A result that records what it was made from."""
    name, file = found
    if name is None:
        these = "these very releases together" if len(subject.files) > 1 else "this very release"
        return replace(fitted, certain=True, origin=f"Made from {these} ({subject.name}), {SHOWN}.")
    flag = f"This result is of {name} alone, and the report is about {plural(len(subject.holders), 'data holder')}."
    return replace(fitted, flags=(flag,), whole=False, certain=True, alone=file, origin=f"Made from {name} alone, {SHOWN}.")


def _refusal(subjects: Sequence[Subject], fitted: Fitted) -> ResultError:
    alike_ones = [len(subject.holders) for subject in subjects if subject.declares(fitted.result.design)]
    if alike_ones:
        return ResultError(f"{fitted.name} was not fitted to the releases that are given, or not to them alone",
                           found=f"a fit of {plural(fitted.result.info.holders, 'holder')}, and releases of {max(alike_ones)}",
                           remedy="give all release files that it was fitted to")
    return ResultError(f"{fitted.name} was not fitted to the releases that are given",
                       found="a fit to another schema or other terms", remedy=LEAVE_OUT)


def _flagged(fitted: Fitted, subject: Subject, ambiguous: bool) -> Fitted:
    """What was compared is said of a fit of an earlier version, which does not record its release, and of one of some holders."""
    count, all_of_them = fitted.result.info.holders, len(subject.holders)
    recorded = bool(fitted.result.info.source)
    flags = []
    if count < all_of_them:
        flags.append(f"This result is of {plural(count, 'data holder')}, and the report is about {all_of_them}. "
                     + ("Whether it is of some of them cannot be told for certain." if recorded else
                        "Which of them it is of is not recorded in it."))
    if ambiguous:
        flags.append("Several of the given releases have the columns of this fit; it was taken for one of the first.")
    return replace(fitted, flags=tuple(flags), whole=count == all_of_them, origin=OF_SOME if recorded else COMPARED)
