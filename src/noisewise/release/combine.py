"""Several holders' releases as one, if they describe the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from noisewise.errors import IncompatibleReleasesError
from noisewise.release.adassp import same_regression
from noisewise.release.model import GramPart, Release
from noisewise.release.single import SingleRelease
from noisewise.schema.basis import Basis, BasisColumn
from noisewise.schema.columns import UNKNOWN, Categorical, Column, Numeric, Unbounded
from noisewise.schema.schema import Schema

Releases: TypeAlias = "Release | SingleRelease | Iterable[Release | SingleRelease]"
"""What may be given where releases are analysed together; kinds that cannot be are refused."""


def combine(releases: Releases) -> Release:
    """One release with the parts of all. Budgets, noise and row counts may differ; the schema may not."""
    found = tuple(releases) if isinstance(releases, Iterable) else (releases,)
    if not found:
        raise IncompatibleReleasesError(
            "there must be at least one release to combine", found="an empty list"
        )
    tables: list[Release] = []
    for release in found:
        if isinstance(release, SingleRelease):
            raise IncompatibleReleasesError("a regression is fitted to releases of kind gram, adassp or moments",
                                            found=f"kind {release.kind}", remedy=release.remedy_for_fit)
        if not isinstance(release, Release):
            raise IncompatibleReleasesError(
                "only releases can be combined",
                found=type(release).__name__,
                remedy="load release files first: noisewise.load(path)",
            )
        tables.append(release)
    return _combined(tuple(tables))


def _combined(found: tuple[Release, ...]) -> Release:
    first = found[0]
    for number, release in enumerate(found[1:], start=2):
        differences = [] if alike(first, release) else list(differing(first, release))
        if differences:
            raise IncompatibleReleasesError(
                f"release {number} does not describe the same thing as release 1",
                found="; ".join(differences),
                remedy="releases that are to be combined are made from one schema with the same terms",
            )
    _refuse_repeats(found)
    if len(found) == 1:
        return first
    if any(release.pooled for release in found):
        raise IncompatibleReleasesError("sums of releases cannot be combined with others: a repetition would go unseen",
                                        found="a release of load_many with pooled=True", remedy="load all files in one call")
    return joined(found, tuple(part for release in found for part in release.parts))


def joined(heads: Sequence[Release], parts: tuple[GramPart, ...]) -> Release:
    """One release with these parts, of all that is common to releases that were found compatible."""
    first = heads[0]
    return Release(
        kind=first.kind,
        schema=first.schema if len({release.schema.partition for release in heads}) == 1 else replace(first.schema, partition=()),
        terms=first.terms,
        parts=parts,
        extra=_shared_fields(heads),
        version=max((release.version for release in heads), key=_version),
        columns=first.columns,
        formula=first.formula,
    )


def _refuse_repeats(releases: tuple[Release, ...]) -> None:
    seen: dict[bytes, int] = {}
    for number, release in enumerate(releases, start=1):
        for part in release.parts:
            earlier = seen.setdefault(part.fingerprint(), number)
            if earlier != number:
                raise IncompatibleReleasesError(
                    "each release is combined once: a release counted twice would fake precision",
                    found=f"releases {earlier} and {number} hold the same part",
                    remedy="remove the repetition",
                )


class Described(Protocol):
    """What must be the same of releases that are put together: known before any row is read."""

    @property
    def kind(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def terms(self) -> str | None: ...
    @property
    def columns(self) -> tuple[BasisColumn, ...]: ...
    @property
    def formula(self) -> str | None: ...
    @property
    def blocks(self) -> tuple[str, ...]: ...


def alike(one: Described, other: Described) -> bool:
    """Whether two releases have the same declarations, cheaply found out: then ``differing`` has nothing to say."""
    return (
        one.kind == other.kind
        and (one.schema is other.schema or (one.schema == other.schema and _levels(one.schema) == _levels(other.schema)))
        and (one.columns is other.columns or one.columns == other.columns)
        and one.formula == other.formula
        and one.blocks == other.blocks
    )


def _levels(schema: Schema) -> list[str]:
    """By text, so that 1 and true, which Python calls equal, differ as they do in a file."""
    return [repr(_meaning(column)) for column in schema.columns if isinstance(column, Categorical)]


def differing(one: Described, other: Described) -> Iterator[str]:
    """In words, each way in which two releases do not describe the same thing."""
    if one.kind != other.kind:
        yield f"kind: {one.kind} and {other.kind}"
    yield from _schema_differences(one.schema, other.schema)
    same_declared = Basis.of(one.schema, None).columns == Basis.of(other.schema, None).columns
    if not same_declared or one.kind != other.kind:
        return
    if one.formula is not None or other.formula is not None:
        if one.columns != other.columns or not same_regression(one.schema, one.terms, one.formula, other.formula):
            yield f"formula: {one.formula!r} and {other.formula!r}"
        if one.blocks != other.blocks:
            yield f"blocks: {', '.join(one.blocks)} and {', '.join(other.blocks)}"
    elif one.columns != other.columns:
        yield f"terms: {one.terms!r} and {other.terms!r}"


def same_declarations(one: Schema, terms: str | None, other: Schema, other_terms: str | None) -> bool:
    """Whether these are the same columns with the same meaning, however they are written, and whoever's rows they are of."""
    return next(_schema_differences(one, other), None) is None and (
        terms == other_terms or Basis.of(one, terms).columns == Basis.of(other, other_terms).columns)


def _schema_differences(one: Schema, other: Schema) -> Iterator[str]:
    for name in ("adjacency", "unit", "norm_bound"):
        values = (getattr(one, name), getattr(other, name))
        if values[0] != values[1]:
            show = (one.unit.to_dict(), other.unit.to_dict()) if name == "unit" else values
            yield f"{name}: {show[0]!r} and {show[1]!r}"
    mine, theirs = ({column.name: column for column in schema.columns} for schema in (one, other))
    for name, column in mine.items():
        if name in theirs:
            yield from _column_differences(column, theirs[name])
        else:
            yield f"column '{name}': only in the first"
    yield from (f"column '{name}': only in the second" for name in theirs if name not in mine)
    if one.names != other.names and set(one.names) == set(other.names):
        yield f"order of the columns: {', '.join(one.names)} and {', '.join(other.names)}"


def _column_differences(one: Column, other: Column) -> Iterator[str]:
    mine, theirs = _meaning(one), _meaning(other)
    if mine.keys() != theirs.keys():
        yield f"column '{one.name}': a number in one and a category in the other"
        return
    for name, value in mine.items():
        # By text for levels, so that 1 and true, which Python calls equal, differ as they do in a file.
        same = repr(value) == repr(theirs[name]) if isinstance(one, Categorical) else value == theirs[name]
        if not same:
            yield f"column '{one.name}', {name}: {value!r} and {theirs[name]!r}"


def _meaning(column: Column) -> dict[str, Any]:
    """What a declaration comes to: leaving a default out or writing it down is no difference."""
    if isinstance(column, Numeric):
        return {"bounds": [column.lower, column.upper], "missing": column.fill}
    if isinstance(column, Unbounded):
        return {"bounds": UNKNOWN, "missing": column.fill}
    return {"levels": list(column.levels), "missing": column.fill, "other": column.unseen}


def _shared_fields(releases: Sequence[Release]) -> dict[str, Any]:
    """Fields of a newer format: only what all releases agree on holds for the whole."""
    first = releases[0].extra
    return {
        name: value
        for name, value in first.items()
        if all(name in release.extra and release.extra[name] == value for release in releases)
    }


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
