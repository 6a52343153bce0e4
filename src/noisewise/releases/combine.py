"""Combine several holders' releases into one, if they describe the same thing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from noisewise.errors import IncompatibleReleasesError, ReleaseError
from noisewise.kinds import Kind
from noisewise.releases.contribution import Contribution
from noisewise.releases.release import Release
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import UNKNOWN, Categorical, Column, Numeric, Unbounded
from noisewise.schema.schema import Schema
from noisewise.words import option

if TYPE_CHECKING:
    from noisewise.releases.pooled import Pool

Releases: TypeAlias = Release | Iterable[Release]
"""One release, or several to analyse together."""


def combine(releases: Releases) -> Release:
    """Combine releases into one with the contributions of all. Budgets, noise and row counts may differ; the schema may not."""
    if isinstance(releases, Release):
        return releases
    found = tuple(releases) if isinstance(releases, Iterable) else (releases,)
    if not found:
        raise IncompatibleReleasesError("at least one release is required", found="an empty list")
    for release in found:
        if not isinstance(release, Release):
            given = release if isinstance(releases, (list, tuple)) else releases
            raise IncompatibleReleasesError("expected a release or a list of releases", found=type(given).__name__,
                                            remedy="load release files first: noisewise.load(path)")
    if len(found) == 1:
        return found[0]
    together = Together([f"release {number}" for number in range(1, len(found) + 1)])
    for place, release in enumerate(found):
        if not release.kind.holders:
            raise IncompatibleReleasesError(f"releases of kind {release.kind.name} cannot be analysed together",
                                            found=f"{len(found)} releases", remedy=release.kind.use)
        together.add(place, release)
    if any(release.pooled for release in found):
        raise IncompatibleReleasesError("pooled releases cannot be combined with others: a duplicate would go unnoticed",
                                        found="a release from load_many with " + option("pooled", True),
                                        remedy="load all files in one call")
    return together.release()


class Together:
    """Collects contributions release by release, comparing each release once with the others; errors name the releases."""

    def __init__(self, names: Sequence[str], pool: Pool | None = None) -> None:
        self._names = names
        self._last: Release | None = None
        self._heads: dict[object, Release] = {}
        self._seen: dict[bytes, int] = {}
        self._contributions: list[Contribution] = []
        self._pool = pool

    def add(self, place: int, release: Release) -> None:
        """Add the contributions of the release with this place in the list of names."""
        self._compare(place, release)
        for contribution in release.contributions:
            earlier = self._seen.setdefault(contribution.fingerprint(), place)
            if earlier != place:
                one, other = self._names[earlier], self._names[place]
                same = os.path.realpath(one) == os.path.realpath(other)
                raise IncompatibleReleasesError("each release may be used only once: counting one twice would fake precision",
                                                found=f"{one} is given twice" if same else
                                                f"{one} and {other} contain the same contribution",
                                                remedy="leave one of them out")
            if self._pool is None:
                self._contributions.append(contribution)
                continue
            try:
                self._pool.add(contribution)
            except ReleaseError as error:
                raise error.into(ReleaseError, f"{self._names[place]}: {error.rule}") from None

    def _compare(self, place: int, release: Release) -> None:
        # Most releases share the declarations of the previous one, so the quick check is usually enough.
        if self._last is not None and not alike(self._last, release):
            one, other = self._names[0], self._names[place]
            differences = "; ".join(differing(next(iter(self._heads.values())), release, (one, other)))
            if differences:
                raise IncompatibleReleasesError(
                    f"{other} does not describe the same thing as {one}", found=differences,
                    remedy="analyse together only releases made from one schema with the same terms")
        self._last = release
        what_may_differ = (release.schema.stratum, release.version, release.kind, repr(release.extra))
        if what_may_differ not in self._heads:
            self._heads[what_may_differ] = release.with_contributions(release.contributions[:1])

    def release(self) -> Release:
        """One release with all contributions and with what their releases have in common."""
        heads = list(self._heads.values())
        first = heads[0]
        kind = reduce(lambda kind, head: kind.joined(head.kind), heads, first.kind)
        schema = first.schema if len({head.schema.stratum for head in heads}) == 1 else replace(first.schema, stratum=())
        found = tuple(self._contributions) if self._pool is None else self._pool.contributions()
        # Fields of a newer format: keep only those on which all releases agree.
        extra = {name: value for name, value in first.extra.items()
                 if all(name in head.extra and head.extra[name] == value for head in heads)}
        version = max((head.version for head in heads), key=lambda version: [int(number) for number in version.split(".")])
        return Release(kind, schema, found, columns=first.columns, extra=extra, version=version)


def alike(one: Release, other: Release) -> bool:
    """True if two releases clearly have the same declarations, so that ``differing`` yields nothing. A cheap check."""
    # By text: levels 1 and true are equal in Python but differ in a file.
    return ((one.kind.name, one.formula) == (other.kind.name, other.formula)
            and one.contributions[0].common() == other.contributions[0].common()
            and (one.schema is other.schema or repr(one.schema) == repr(other.schema))
            and (one.columns is other.columns or one.columns == other.columns))


def differing(one: Release, other: Release, names: tuple[str, str] = ("the first", "the second")) -> Iterator[str]:
    """Yield each difference between the declarations of two releases, in words."""
    yield from differing_requests(one, other.kind, other.schema, other.columns, other.contributions[0].common(), names)


def differing_requests(there: Release, other_kind: Kind, other_schema: Schema, other_columns: Sequence[BasisColumn],
                       other_common: Mapping[str, str], names: tuple[str, str] = ("the first", "the second")) -> Iterator[str]:
    """The same for a request. Compares only what is known before any row is read."""
    kind, schema, columns = there.kind, there.schema, there.columns
    if kind.name != other_kind.name:
        yield f"kind: {kind.name} and {other_kind.name}"
    yield from _schema_differences(schema, other_schema, names)
    if kind.name != other_kind.name or Basis.of(schema, None).columns != Basis.of(other_schema, None).columns:
        return
    asked = kind.differing(other_kind, schema, tuple(columns) == tuple(other_columns))
    if asked is not None:
        yield asked
    for name, value in there.contributions[0].common().items():
        if value != other_common[name]:
            yield f"{name}: {value} and {other_common[name]}"


def same_declarations(one: Schema, terms: str | None, other: Schema, other_terms: str | None) -> bool:
    """True if the columns and their meaning are the same, however they are written and whoever's rows they describe."""
    return next(_schema_differences(one, other), None) is None and (
        terms == other_terms or Basis.of(one, terms).columns == Basis.of(other, other_terms).columns)


def _schema_differences(one: Schema, other: Schema, names: tuple[str, str] = ("", "")) -> Iterator[str]:
    for name in ("adjacency", "unit", "norm_bound"):
        values = [schema.unit.to_dict() if name == "unit" else getattr(schema, name) for schema in (one, other)]
        if values[0] != values[1]:
            yield f"{name}: {values[0]!r} and {values[1]!r}"
    mine, theirs = ({column.name: column for column in schema.columns} for schema in (one, other))
    for name in mine | theirs:
        if name in mine and name in theirs:
            yield from _column_differences(mine[name], theirs[name])
        else:
            yield f"column '{name}': only in {names[name in theirs]}"
    if one.names != other.names and set(one.names) == set(other.names):
        yield f"order of the columns: {', '.join(one.names)} and {', '.join(other.names)}"


def _column_differences(one: Column, other: Column) -> Iterator[str]:
    mine, theirs = _meaning(one), _meaning(other)
    if mine.keys() != theirs.keys():
        yield f"column '{one.name}': a number in one and a category in the other"
        return
    for name, value in mine.items():
        # Levels by text: 1 and true are equal in Python but differ in a file.
        if value != theirs[name] or (isinstance(one, Categorical) and repr(value) != repr(theirs[name])):
            yield f"column '{one.name}', {name}: {value!r} and {theirs[name]!r}"


def _meaning(column: Column) -> dict[str, object]:
    """The meaning of a declaration: it makes no difference whether a default is written down."""
    if isinstance(column, Numeric):
        return {"bounds": [column.lower, column.upper], "missing": column.fill}
    if isinstance(column, Unbounded):
        return {"bounds": UNKNOWN, "missing": column.fill}
    return {"levels": list(column.levels), "missing": column.fill, "other": column.unseen}
