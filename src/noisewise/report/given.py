"""What a report was asked to be about: releases and results, read, and told which result belongs to which release."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn, TypeAlias

from noisewise.errors import ResultError
from noisewise.release.combine import alike, combine, differing, same_declarations
from noisewise.release.model import Release
from noisewise.release.single import SingleRelease
from noisewise.report.numbers import listed, plural
from noisewise.report.origin import COMPARED, OF_SOME, Origin, origins, words
from noisewise.results.model_comparison import Comparison
from noisewise.results.point_estimate import PointEstimate
from noisewise.results.posterior import Posterior
from noisewise.schema import Design

AnyRelease: TypeAlias = Release | SingleRelease
Path_: TypeAlias = str | os.PathLike[str]
Result: TypeAlias = Posterior | PointEstimate | Comparison


@dataclass(frozen=True)
class ReleaseFile:
    """A release, what it is called in the report, and what proves that a file is the same."""

    release: AnyRelease
    name: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Fitted:
    """A result and what it is called; ``flags`` say what could not be made sure of, or does not fit.

    ``certain``: whether it records that it was made from its subject, or from one holder's part of it, which may be the file
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
    release: AnyRelease
    results: list[Fitted] = field(default_factory=list)

    @property
    def name(self) -> str:
        return listed([file.name for file in self.files], most=2 if len(self.files) == 2 else 1)

    @property
    def holders(self) -> list[str]:
        """A name for each holder, by its file."""
        names = []
        for file in self.files:
            count = file.release.holders if isinstance(file.release, Release) else 1
            names += [file.name] if count == 1 else [f"{file.name} part {number}" for number in range(1, count + 1)]
        return names

    @cached_property
    def origins(self) -> Mapping[str, Origin]:
        """What a result can be known to come from, by the digest that it records."""
        return origins(self.files, self.release)

    def declares(self, design: Design) -> bool:
        """Whether a result with this design can be of these columns."""
        terms = self.release.terms if isinstance(self.release, Release) else None
        return same_declarations(self.release.schema, terms, design.basis.schema, design.added_terms)


def read_release(given: AnyRelease | Path_, number: int) -> ReleaseFile:
    """A release, from its file or as it is."""
    if isinstance(given, Release | SingleRelease):
        return ReleaseFile(given, f"release {number}")
    if not isinstance(given, str | os.PathLike):
        raise ResultError("a report is about releases, or the paths of their files", found=type(given).__name__,
                          remedy='for example noisewise.report("patients.nwr")')
    from noisewise.release.files import decoded, read

    data = read(given)
    return ReleaseFile(decoded(data, given), Path(given).name, hashlib.sha256(data).hexdigest(), len(data))


def read_result(given: Result | Path_, number: int) -> Fitted:
    """A fit or a comparison, from its file or as it is."""
    if isinstance(given, Posterior | PointEstimate | Comparison):
        return Fitted(given, f"comparison {number}" if isinstance(given, Comparison) else f"fit {number}", None)
    if not isinstance(given, str | os.PathLike):
        raise ResultError("fits and comparisons are results of noisewise, or the paths of files that they were saved to",
                          found=type(given).__name__, remedy='for example fits=["stay.npz"]')
    from noisewise.results.comparison_store import load_result

    return Fitted(load_result(given), Path(given).name, Path(given).name)


def subjects_of(files: Sequence[ReleaseFile]) -> list[Subject]:
    """Releases of one schema, kind and terms belong together: they are several holders'."""
    found: list[Subject] = []
    for file in files:
        for subject in found:
            first = subject.files[0].release
            if isinstance(file.release, Release) and isinstance(first, Release) and _together(first, file.release):
                subject.files.append(file)
                break
        else:
            found.append(Subject([file], file.release))
    for subject in found:
        releases = [file.release for file in subject.files]
        if len(releases) > 1:
            subject.release = combine(releases)
    return found


def _together(one: Release, other: Release) -> bool:
    """Whether `combine` would take both."""
    return alike(one, other) or next(differing(one, other), None) is None


def assign(subjects: Sequence[Subject], results: Iterable[Fitted]) -> None:
    """Each result to the release that it can be of; one that can be of none is refused."""
    for fitted in results:
        candidates = [subject for subject in subjects
                      if _may_be_of(fitted, subject) and subject.declares(fitted.result.design)]
        if not candidates:
            _refuse(subjects, fitted)
        if fitted.result.info.source:
            if _placed(fitted, candidates):
                continue
            candidates = [subject for subject in candidates if 1 < fitted.result.info.holders < len(subject.holders)]
            if not candidates:
                _refuse_another(fitted)
        subject = max(candidates, key=lambda one: _nearness(fitted, one))  # the first of those that are equally near
        equals = [one for one in candidates if _nearness(fitted, one) == _nearness(fitted, subject)]
        subject.results.append(_flagged(fitted, subject, len(equals) > 1))


def _placed(fitted: Fitted, candidates: Sequence[Subject]) -> bool:
    """Put a result that records what it was made from where it belongs; False if that is not among the candidates."""
    for subject in candidates:
        found = subject.origins.get(fitted.result.info.source)
        if found is not None:
            flags = () if found.name is None else (
                f"This result is of {found.name} alone, and the report is about {plural(len(subject.holders), 'data holder')}.",)
            subject.results.append(replace(fitted, flags=flags, whole=found.name is None, certain=True, alone=found.file,
                                           origin=words(found, subject.name, len(subject.files) > 1)))
            return True
    return False


def _may_be_of(fitted: Fitted, subject: Subject) -> bool:
    """Whether such a result can come from that kind of release, and has not more holders."""
    result, kind = fitted.result, subject.release.kind
    if isinstance(result, Posterior):
        possible = kind in ("gram", "microdata") or (kind == "moments" and not result.has_sigma)
    else:
        possible = kind == ("adassp" if isinstance(result, PointEstimate) else "gram")
    return possible and result.info.holders <= len(subject.holders)


def _nearness(fitted: Fitted, subject: Subject) -> tuple[bool, bool]:
    formula = subject.release.formula if isinstance(subject.release, Release) else None
    return fitted.result.info.holders == len(subject.holders), formula == fitted.result.design.formula


def _refuse_another(fitted: Fitted) -> NoReturn:
    raise ResultError(f"{fitted.name} was not fitted to the releases that are given",
                      found=f"the digest of another release with the same columns, {fitted.result.info.source[:12]}…",
                      remedy="give the release files that it was fitted to, or leave it out")


def _refuse(subjects: Sequence[Subject], fitted: Fitted) -> NoReturn:
    alike_ones = [subject for subject in subjects if subject.declares(fitted.result.design)]
    if alike_ones:
        raise ResultError(f"{fitted.name} was not fitted to the releases that are given, or not to them alone",
                          found=f"a fit of {plural(fitted.result.info.holders, 'holder')}, "
                          f"and releases of {max(len(subject.holders) for subject in alike_ones)}",
                          remedy="give all release files that it was fitted to")
    raise ResultError(f"{fitted.name} was not fitted to the releases that are given",
                      found="a fit to another schema or other terms",
                      remedy="give the release files that it was fitted to, or leave it out")


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
