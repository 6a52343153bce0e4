"""Between a `Release` and the bytes of a file; imported only when a file is read or written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from pydantic import ValidationError

from noisewise.errors import NoisewiseError, ReleaseError, ReleaseFormatError
from noisewise.release.adassp import AdasspPart, SmallestEigenvalue
from noisewise.release.adassp_fields import AdasspPartFields, AdasspReleaseFields
from noisewise.release.checks import FloatMatrix
from noisewise.release.columns import FactorReader, columns_to_list
from noisewise.release.fields import GramPartFields, ReleasedColumnFields, ReleaseFields
from noisewise.release.json_text import Triangle, parse, render, short
from noisewise.release.kinds import SINGLE
from noisewise.release.model import (
    AVERAGED_KIND,
    FORMAT_VERSION,
    KIND_VERSIONS,
    NOISE_VERSIONS,
    EntryNoise,
    GramPart,
    Release,
)
from noisewise.release.moments import BlockSums, MomentsPart, check_matrices
from noisewise.release.moments_fields import MomentsPartFields, MomentsReleaseFields
from noisewise.release.single import FORMAT, SingleRelease
from noisewise.release.unknown_fields import known_part, put_back, unknown_part
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema

AnyRelease: TypeAlias = ReleaseFields | AdasspReleaseFields | MomentsReleaseFields

LONGEST_TEXT: Final = 600
FIELDS: Final[dict[str, type[AnyRelease]]] = {"adassp": AdasspReleaseFields, "moments": MomentsReleaseFields}
_MAJOR: Final = int(FORMAT_VERSION.split(".")[0])


def decode(data: bytes) -> Release | SingleRelease:
    """The release in these bytes, or one `ReleaseFormatError`."""
    document = parse(data)
    _check_heading(document)
    try:
        if document["kind"] in SINGLE:
            kind, fields = SINGLE[document["kind"]]
            return kind.from_fields(fields.model_validate(document))
        return _release(FIELDS.get(document["kind"], ReleaseFields).model_validate(document))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))[:120]
        raise ReleaseFormatError(f"{where}: {first['msg']}", found=short(first["input"])) from None
    except NoisewiseError as error:
        found, remedy = (text and _cut(text) for text in (error.found, error.remedy))
        raise ReleaseFormatError(_cut(error.rule), found=found, remedy=remedy) from None
    except (ArithmeticError, RecursionError, MemoryError) as error:
        raise ReleaseFormatError(
            "the numbers in the file cannot be computed with", found=type(error).__name__
        ) from None


def _cut(text: str) -> str:
    """No file makes a message longer than a screen."""
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"


def encode(release: Release | SingleRelease) -> bytes:
    """The bytes of a release file; they have been read back and compared, so what is written can be read."""
    try:
        document = release.document() if isinstance(release, SingleRelease) else document_of(release)
        data = (render(document) + "\n").encode("utf-8")
        if decode(data) == release:
            return data
    except ReleaseFormatError as error:
        raise ReleaseError("a release that cannot be read back is not written", found=str(error)) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ReleaseError("every field of a release must be plain JSON data", found=short(error)) from error
    raise ReleaseError(
        "a release that reads back differently is not written",
        found="extra fields with a known name, or with values that JSON does not have",
    )


def _check_heading(document: dict[str, Any]) -> None:
    """Before anything else: is it ours, and is it a version and kind that is known here?"""
    if document.get("format") != FORMAT:
        raise ReleaseFormatError(
            f'a release file says "format": "{FORMAT}"', found=short(document.get("format")),
            remedy="synthetic yes-or-no rows are for `noisewise estimate` and `noisewise synthesize`"
            if document.get("format") == "noisewise-binary" else None,
        )
    version = document.get("version")
    found = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})", version) if isinstance(version, str) else None
    if found is None:
        raise ReleaseFormatError('the version of the format is a text like "1.0"', found=short(version))
    if int(found[1]) != _MAJOR:
        newer = int(found[1]) > _MAJOR
        raise ReleaseFormatError(
            f"this noisewise reads version {_MAJOR} of the release format",
            found=f"version {version}",
            remedy="upgrade noisewise to read this file"
            if newer
            else "the file was not written by any released noisewise",
        )
    if document.get("kind") not in tuple(KIND_VERSIONS):
        raise ReleaseFormatError(
            f"this noisewise knows releases of kind {', '.join(KIND_VERSIONS)}",
            found=f"{short(document.get('kind'))} in a file of version {version}",
            remedy="upgrade noisewise to read this file",
        )
    first = KIND_VERSIONS[document["kind"]]
    if int(found[2]) < int(first.split(".")[1]):
        raise ReleaseFormatError(f"releases of kind {document['kind']} came with version {first} of the format",
                                 found=f"version {version}")


def _release(fields: AnyRelease) -> Release:
    schema = Schema.from_dict(known_part(fields.declared))
    reader = FactorReader(schema)
    columns = tuple(_column(reader, column) for column in fields.columns)
    if not columns:
        raise ReleaseError("a release has columns", found="none")
    extra = unknown_part(fields)
    extra.pop("parts", None)  # each part keeps its own
    return Release(
        kind="gram" if fields.kind == AVERAGED_KIND else fields.kind,
        schema=schema,
        terms=fields.terms,
        parts=parts_of(fields.parts, fields.kind, fields.version, len(columns)),
        extra=extra,
        version=fields.version,
        columns=columns,
        formula=None if isinstance(fields, ReleaseFields) else fields.formula,
    )


def _column(reader: FactorReader, fields: ReleasedColumnFields) -> BasisColumn:
    column = BasisColumn(
        tuple(reader.factor(factor.column, factor.degree, factor.level) for factor in fields.factors)
    )
    if column.name != fields.name:
        raise ReleaseError(
            "the name of a released column must fit its factors",
            found=f"{short(fields.name)} for {short(column.name)}",
        )
    return column


def parts_of(fields: Sequence[GramPartFields | MomentsPartFields], kind: str, version: str, columns: int) -> tuple[GramPart, ...]:
    """The parts of a file that states this kind and version of the format."""
    if kind == "moments":
        check_matrices(len(fields), columns)
    else:
        grams = [part for part in fields if isinstance(part, GramPartFields)]
        for part in grams:
            _check_noise_version(version, part.noise.distribution)
        _check_averages(kind, [part.average for part in grams if part.average is not None])
    return tuple(_part(part, columns) for part in fields)


def _part(fields: GramPartFields | MomentsPartFields, columns: int) -> GramPart:
    shared: dict[str, Any] = {
        "rows": fields.rows,
        **known_part(fields.privacy),
        "created": fields.created,
        "library": fields.library,
        "extra": unknown_part(fields),
    }
    if isinstance(fields, MomentsPartFields):
        blocks = {name: BlockSums(**known_part(block)) for name, block in fields.blocks.items()}
        return MomentsPart(predictors=max(columns - 2, 0), blocks=blocks, **shared)  # beside the constant and the response
    noise = fields.noise
    shared |= {
        "noise": EntryNoise(
            noise.distribution, noise.diagonal, noise.off_diagonal, noise.corner, noise.degrees_of_freedom, noise.scale
        ),
        "average": 1 if fields.average is None else fields.average,
    }
    if not isinstance(fields, AdasspPartFields):
        return GramPart(matrix=_matrix(fields.statistic, columns), **shared)
    return AdasspPart(
        matrix=_matrix(fields.statistic, columns - 1),  # the last column is the response
        moments=np.array(fields.moments),
        smallest_eigenvalue=SmallestEigenvalue(**known_part(fields.smallest_eigenvalue)),
        **shared,
    )


def _check_noise_version(version: str, distribution: str) -> None:
    first = NOISE_VERSIONS.get(distribution, "1.0")
    if int(version.split(".")[1]) < int(first.split(".")[1]):
        raise ReleaseError(f"{distribution} noise came with version {first} of the format", found=f"version {version}")


def _check_averages(kind: str, averages: list[int]) -> None:
    if bool(averages) != (kind == AVERAGED_KIND) or any(average < 2 for average in averages):
        raise ReleaseError(
            f"parts state an average, of 2 or more, if and only if the kind is {AVERAGED_KIND}",
            found=f"kind {kind}, averages {averages[:3]}",
        )


def _matrix(triangle: list[float], size: int) -> FloatMatrix:
    expected = size * (size + 1) // 2
    if len(triangle) != expected:
        raise ReleaseError(
            f"the upper triangle of {size} columns has {expected} numbers", found=str(len(triangle))
        )
    rows, columns = np.triu_indices(size)
    matrix = np.empty((size, size))
    matrix[rows, columns] = triangle
    matrix[columns, rows] = triangle
    return matrix


def document_of(release: Release) -> dict[str, Any]:
    """The fields of the file of a release."""
    document = {
        "format": FORMAT,
        "version": release.version,
        "kind": release.kind_in_file,
        "schema": release.schema.to_dict(),
        "terms": release.terms,
        **({} if release.formula is None else {"formula": release.formula}),
        "rules": _rules(release),
        "columns": columns_to_list(release.columns),
    }
    merged: dict[str, Any] = put_back(document, dict(release.extra))
    merged["parts"] = [put_back(_part_document(part), dict(part.extra)) for part in release.parts]
    return merged


def _part_document(part: GramPart) -> dict[str, Any]:
    return {
        **({} if part.rows is None else {"rows": part.rows}),
        **({} if part.average == 1 else {"average": part.average}),
        "privacy": {
            "epsilon": part.epsilon,
            "delta": part.delta,
            "mechanism": part.mechanism,
            "sensitivity": part.sensitivity,
            "statement": part.statement,
        },
        **({} if isinstance(part, MomentsPart) else {"noise": _noise_document(part.noise)}),
        "library": part.library,
        "created": part.created,
        **(_adassp_document(part) if isinstance(part, AdasspPart) else {}),
        **_statistic_document(part),
    }


def _noise_document(noise: EntryNoise) -> dict[str, Any]:
    return {
        "distribution": noise.distribution,
        "diagonal": noise.diagonal,
        "off_diagonal": noise.off_diagonal,
        "corner": noise.corner,
        **({} if noise.degrees is None else {"degrees_of_freedom": noise.degrees, "scale": noise.scale}),
    }


def _statistic_document(part: GramPart) -> dict[str, Any]:
    if isinstance(part, MomentsPart):
        return {"blocks": {name: block.to_plain() for name, block in part.blocks.items()}}
    return {"statistic": Triangle(part.matrix[np.triu_indices(part.size)].tolist(), part.size)}


def _adassp_document(part: AdasspPart) -> dict[str, Any]:
    return {"smallest_eigenvalue": dataclasses.asdict(part.smallest_eigenvalue), "moments": part.moments.tolist()}


def _rules(release: Release) -> list[str]:
    """What was done to cells and rows that do not fit: for people; a reader derives it from the schema."""
    rules = release.schema.rules()
    if release.clipped_norm is not None:
        what = "predictors" if release.kind == "moments" else "columns"
        rules.append(f"every row: the scaled {what} are shortened to the norm {release.clipped_norm}")
    if not release.schema.unit.is_row:
        rules.append(
            f"every {release.schema.unit.column}: at most {release.schema.unit.max_rows} rows are used"
        )
    return rules
