"""Conversion between a `Release` and the bytes of a file; imported only when a file is read or written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic import ValidationError, create_model

from noisewise.errors import NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.kinds import Kind, kind_from_dict, kinds
from noisewise.releases.contribution import Contribution
from noisewise.releases.fields import (
    FactorFields,
    HolderFields,
    RecordFields,
    ReleasedColumnFields,
    ReleaseFields,
    items,
    known_part,
    put_back,
    shape,
    unknown_part,
)
from noisewise.releases.json_text import parse, render, short
from noisewise.releases.release import FORMAT_VERSION, Release, contribution_of
from noisewise.schema.basis import BasisColumn
from noisewise.schema.columns import Categorical, Column, Level
from noisewise.schema.polynomial import Factor
from noisewise.schema.schema import Schema

FORMAT: Final = "noisewise-release"
LONGEST_TEXT: Final = 600
MAX_DEGREE: Final = 1000
"""No formula yields a higher degree, so a reader need not allocate for one."""
DAMAGED: Final = "the file was changed or damaged: get a new copy from whoever made it"
_MAJOR: Final = int(FORMAT_VERSION.split(".")[0])


def decode(data: bytes) -> Release:
    """Decode a release; anything wrong with the bytes raises `ReleaseFormatError`."""
    try:
        return _decoded(parse(data))
    except ReleaseFormatError as error:
        raise ReleaseFormatError(_shown(error.rule), found=error.found and _shown(error.found),
                                 remedy=_shown(error.advice or DAMAGED)) from None


def _decoded(document: dict[str, Any]) -> Release:
    _check_heading(document)
    try:
        head = {name: value for name, value in document.items() if name != "contributions"}
        return _release(_kind(document["kind"]), ReleaseFields.model_validate(head), document.get("contributions"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = _place(first["loc"], {"contributions": None} | document, missing=first["type"] == "missing")
        where = ".".join(map(str, place))[:120]
        raise ReleaseFormatError(f"{where}: {first['msg']}", found=short(first["input"])) from None
    except NoisewiseError as error:
        raise error.into(ReleaseFormatError) from None
    except (ArithmeticError, RecursionError, MemoryError) as error:
        raise ReleaseFormatError("computing with the numbers in the file failed", found=type(error).__name__) from None


def _place(steps: tuple[Any, ...], document: object, missing: bool) -> list[object]:
    """The steps that lead to a field of the file, or to where it is missing; other steps name types it might have had."""
    found: list[object] = []
    for step in steps:
        if isinstance(document, dict) or (isinstance(document, list) and isinstance(step, int)):
            with contextlib.suppress(LookupError):
                document = document[step]
                found.append(step)
    return [*found, steps[-1]] if missing else found


def _shown(text: str) -> str:
    """Shorten and escape a text from a file, so that no message fills the screen or controls the terminal."""
    cut = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in cut)


def encode(release: Release) -> bytes:
    """Encode a release, then decode and compare it, so that whatever is written can be read."""
    try:
        data = (render(document_of(release)) + "\n").encode("utf-8")
        if _decoded(parse(data)) == release:
            return data
    except ReleaseFormatError as error:
        raise ReleaseError("the release was not written because it could not be read back", found=_shown(str(error))) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ReleaseError("every field of a release must be plain JSON data", found=short(error)) from error
    raise ReleaseError("the release was not written because it would read back differently",
                       found="extra fields with a known name, or with values that JSON cannot represent")


def _check_heading(document: Mapping[str, object]) -> None:
    """Before anything else, check that this is our format, in a known version."""
    if document.get("format") != FORMAT:
        raise ReleaseFormatError(f'a release file must say "format": "{FORMAT}"', found=short(document.get("format")),
                                 remedy="give a release file, whose name usually ends in .nwr")
    stated = document.get("kind")
    if isinstance(stated, str):
        raise ReleaseFormatError("this file was written before noisewise 0.2, and no published version reads it",
                                 found=f"format {short(document.get('version'))} of an unpublished noisewise",
                                 remedy="ask its holder: a new release with this version spends privacy again")
    version = document.get("version")
    found = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})", version) if isinstance(version, str) else None
    if found is None:
        raise ReleaseFormatError('the format version must be text such as "1.0"', found=short(version))
    if int(found[1]) != _MAJOR:
        newer = int(found[1]) > _MAJOR
        raise ReleaseFormatError(
            f"this noisewise reads version {_MAJOR} of the release format", found=f"version {version}",
            remedy="upgrade noisewise to read this file" if newer else "no published noisewise wrote this file")
    named = stated.get("name") if isinstance(stated, dict) else stated
    if not isinstance(named, str) or named not in [kind.name for kind in kinds()]:
        raise ReleaseFormatError(f"this noisewise reads releases of kind {', '.join(kind.name for kind in kinds())}",
                                 found=f"{short(named)} in a file of version {version}",
                                 remedy="upgrade noisewise to read this file")


def _kind(stated: Mapping[str, object]) -> Kind:
    """The kind. A file must state it in full; the short forms are only for callers."""
    try:
        kind = kind_from_dict(stated)
    except NoisewiseError as error:
        raise ReleaseFormatError(f"kind: {error.rule}", found=error.found,
                                 remedy="upgrade noisewise if a newer version wrote the file") from None
    form = kind.to_dict()
    wrong = [name for name in {**form, **stated} if name not in form or name not in stated or form[name] != stated[name]]
    if wrong:
        raise ReleaseFormatError(f"kind: {short(wrong[0])} is not in the form required in a file",
                                 found=short(stated.get(wrong[0])), remedy=f"expected {short(form.get(wrong[0]))}")
    return kind


def _release(kind: Kind, fields: ReleaseFields, contributions: object) -> Release:
    schema = Schema.from_dict(known_part(fields.declared))
    columns = _columns(schema, fields.columns)
    if bool(columns) != bool(fields.model_fields_set & {"columns"}):
        raise ReleaseError("the list of columns must be left out if the release has none", found="an empty list")
    if not columns and kind.has_columns:
        raise ReleaseError("a release of this kind must state its columns", found="none")
    extra = unknown_part(fields)
    extra.pop("kind", None)
    found = contributions_of(kind, schema, columns, contributions)
    return Release(kind, schema, found, columns=columns, extra=extra, version=fields.version)


def _columns(schema: Schema, stated: Sequence[ReleasedColumnFields]) -> tuple[BasisColumn, ...]:
    """The released columns. A file spells out their factors, so reading it needs no formula parser.

    A reader in any language can rebuild the columns, old files keep their meaning when the grammar grows, and a hostile formula
    has nowhere to go.
    """
    declared = {column.name: column for column in schema.columns}
    # By text, so that 1, 1.0 and true stay different levels, as in the file.
    levels = {(column.name, repr(level)): level for column in schema.columns if isinstance(column, Categorical)
              for level in column.levels[1:]}
    columns = tuple(BasisColumn(tuple(_factor(declared, levels, factor) for factor in fields.factors)) for fields in stated)
    for column, fields in zip(columns, stated, strict=True):
        if column.name != fields.name:
            raise ReleaseError("the name of a released column must match its factors",
                               found=f"{short(fields.name)} for {short(column.name)}")
    return columns


def _factor(declared: Mapping[str, Column], levels: Mapping[tuple[str, str], Level], factor: FactorFields) -> Factor:
    name, degree, level = factor.column, factor.degree, factor.level
    column = declared.get(name)
    if column is None:
        raise ReleaseError("a factor names a column that the schema does not declare", found=short(name))
    if isinstance(column, Categorical) and not column.two_level:
        if degree is not None or (name, repr(level)) not in levels:
            raise ReleaseError(f"a factor of '{name}' must name a level after the first, and no degree",
                               found=short(level))
        return Factor(name, level=levels[name, repr(level)])
    highest = 1 if isinstance(column, Categorical) else MAX_DEGREE
    if level is not None or degree is None or not 1 <= degree <= highest:
        raise ReleaseError(f"a factor of '{name}' must be a polynomial of degree 1 to {highest}, without a level",
                           found=f"degree {degree}, level {short(level)}")
    return Factor(name, degree)


@cache
def _contributions_model(contribution: type[Contribution]) -> type[RecordFields]:
    one = create_model(f"{contribution.__name__}Fields", __base__=HolderFields, contents=(contribution.FIELDS, ...))
    return shape("Contributions", contributions=items(one))


def contributions_of(kind: Kind, schema: Schema, columns: tuple[BasisColumn, ...], stated: object) -> tuple[Contribution, ...]:
    """The contributions that a file states. Their noise must be enough for what they promise."""
    contribution = contribution_of(kind)
    fields = _contributions_model(contribution).model_validate({"contributions": stated}).contributions
    contribution.check_size(len(fields), len(columns))
    made = tuple(contribution.from_contents(
        one.contents, kind, schema, columns, rows=one.rows, **known_part(one.privacy), created=one.created, library=one.library,
        extra=unknown_part(one)) for one in fields)
    for one in made:
        one.check_promise()
    return made


def document_of(release: Release) -> dict[str, object]:
    """The fields of a release file; the contributions come last."""
    document = {
        "format": FORMAT,
        "version": release.version,
        "kind": release.kind.to_dict(),
        "schema": release.schema.to_dict(),
        "rules": release.rules(),
        **({"columns": [{"name": column.name, "factors": [
            {"column": one.column, **({"degree": one.degree} if one.level is None else {"level": one.level})}
            for one in column.factors]} for column in release.columns]} if release.columns else {}),
    }
    merged: dict[str, object] = put_back(document, dict(release.extra))
    merged["contributions"] = [put_back(one.document(), dict(one.extra)) for one in release.contributions]
    return merged
