"""A posterior in one .npz file: draws as arrays, everything else as JSON, no pickle and no code.

The file is an uncompressed zip archive of `.npy` members, which any NumPy can open: `samples` (chains, draws,
terms), `metadata` (UTF-8 JSON as bytes) and, if known, `diverging` (chains, draws), `site_deviations` (chains, draws,
terms that vary) and `site_coefficients` (sites, draws, terms); `comparison_store` adds members of its own. Reading checks the
size that each header announces against the bytes that are there before anything is allocated. The metadata's `info` has a
`source`, the digest of what the fit was made from (`noisewise.release.source`), which files of earlier versions lack.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import NoisewiseError, ResultError
from noisewise.results.records import FitInfo, PriorSummary
from noisewise.results.sites import SiteEffects
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    from noisewise.schema import Design

FORMAT = "noisewise-posterior"
VERSION = 1
LARGEST_HEADER = 4096
MEMBERS = {"samples.npy": "<f8", "metadata.npy": "|u1", "diverging.npy": "|b1", "site_deviations.npy": "<f8",
           "site_coefficients.npy": "<f8"}
OTHER = "other"
"""Before the number of another method's members in a file of `comparison_store`."""
MODEL_MEMBERS = {"members.npy": "|b1", "probabilities.npy": "<f8", "log_bayes_factors.npy": "<f8", "without_noise.npy": "<f8"}


def write(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
    """Write the file beside its place and move it there, so that an older file survives a failure."""
    target = Path(path)
    document = {"format": FORMAT, "version": VERSION, **metadata}
    text = json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
    try:
        with whole_file(target) as file:
            np.savez(file, allow_pickle=False, metadata=np.frombuffer(text, dtype=np.uint8), **arrays)
    except OSError as error:
        raise ResultError(
            f"the posterior could not be written to {target}; a file that was there before is unchanged",
            found=error.strerror or str(error),
        ) from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a file, or one clear ResultError."""
    try:
        arrays = _read_members(path)
        document = json.loads(arrays.pop("metadata").tobytes().decode("utf-8"))
    except ResultError:
        raise
    except FileNotFoundError as error:
        raise ResultError("there is no such file", found=str(path), remedy="check the path") from error
    except (OSError, ValueError, KeyError, EOFError, MemoryError, RecursionError) as error:
        raise malformed(path, f"{type(error).__name__}: {error}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise malformed(path, str(error)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise malformed(path, "no noisewise metadata")
    version = document.get("version")
    if version != VERSION:
        raise ResultError(
            f"a posterior file of version {VERSION} can be read",
            found=f"version {version!r} in {path}",
            remedy="update noisewise",
        )
    return arrays, document


def malformed(path: str | os.PathLike[str], found: str) -> ResultError:
    """The one error for a file that is not what it should be."""
    return ResultError(
        f"{path} is not a posterior saved by noisewise, or it is damaged",
        found=found[:200],
        remedy="fit again, or restore the file",
    )


def _read_members(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        known = all(_type_of(name) is not None for name in names)
        if len(set(names)) != len(names) or not known or not {"samples.npy", "metadata.npy"} <= set(names):
            raise malformed(path, f"members {', '.join(names[:5])}")
        for entry in entries:
            # Stored members cannot expand: no more memory is used than the file is long.
            if entry.compress_type != zipfile.ZIP_STORED:
                raise malformed(path, f"compressed member {entry.filename}")
            with archive.open(entry) as member:
                arrays[entry.filename.removesuffix(".npy")] = _read_array(member, entry, path)
    return arrays


def _type_of(member: str) -> str | None:
    """The type of the numbers in a member of the archive; None for one that does not belong there."""
    own = re.sub(rf"^{OTHER}[0-9]{{1,3}}_", "", member)
    known = {**MODEL_MEMBERS, **MEMBERS} if own == member else {**MODEL_MEMBERS, "samples.npy": MEMBERS["samples.npy"]}
    return known.get(own)


def _read_array(member: IO[bytes], entry: zipfile.ZipInfo, path: str | os.PathLike[str]) -> NDArray[Any]:
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise malformed(path, f"array format {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=LARGEST_HEADER)
    expected = np.dtype(_type_of(entry.filename))
    if dtype != expected or fortran or any(length < 0 for length in shape):
        raise malformed(path, f"{entry.filename} with type {dtype}")
    content = member.read()
    if len(content) != math.prod(shape) * expected.itemsize:
        raise malformed(path, f"{entry.filename} announces the shape {shape} and holds {len(content)} bytes")
    return np.frombuffer(content, dtype=expected).reshape(shape)


def info_from_dict(document: Mapping[str, Any]) -> FitInfo:
    """A FitInfo from JSON; fields that a later version added are ignored."""
    known = {field.name for field in dataclasses.fields(FitInfo)}
    values = {name: value for name, value in document.items() if name in known}
    values["doubts"] = tuple(str(doubt) for doubt in values.get("doubts", ()))
    for name in ("method", "family", "formula"):
        if not isinstance(values.get(name), str):
            raise ValueError(f"info.{name} is not text")
    for name in ("chains", "draws", "divergences", "holders"):
        if type(values.get(name)) is not int:
            raise ValueError(f"info.{name} is not a whole number")
    source = values.get("source", "")  # which earlier versions did not record
    if not isinstance(source, str) or not re.fullmatch("([0-9a-f]{64})?", source):
        raise ValueError("info.source is neither empty nor 64 hexadecimal digits")
    return FitInfo(**values)


def prior_from_dict(document: Mapping[str, Any] | None) -> PriorSummary | None:
    """A PriorSummary from JSON."""
    if document is None:
        return None
    mean = {str(name): float(value) for name, value in document["mean"].items()}
    sd = {str(name): float(value) for name, value in document["sd"].items()}
    scale = document["sigma_scale"]
    return PriorSummary(mean=mean, sd=sd, sigma_scale=None if scale is None else float(scale))


def parts_from_document(
    path: str | os.PathLike[str], document: Mapping[str, Any]
) -> tuple[tuple[str, ...], Design, FitInfo, PriorSummary | None]:
    """Terms, design, info and prior, or one ResultError that names the file."""
    from noisewise.schema import Design

    try:
        terms = tuple(str(term) for term in document["terms"])
        design = Design.from_dict(document["design"])
        return terms, design, info_from_dict(document["info"]), prior_from_dict(document["prior"])
    except (NoisewiseError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise malformed(path, f"{type(error).__name__}: {error}") from error


def sites_from_document(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]],
                        terms: tuple[str, ...]) -> SiteEffects | None:
    """The random effects by site, if the file has them; all of them or none."""
    found = document.get("sites")
    members = {"site_deviations", "site_coefficients"} & set(arrays)
    if found is None and not members:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("varying"), list) or len(members) != 2:
        raise malformed(path, "incomplete random effects by site")
    varying = tuple(str(term) for term in found["varying"])
    return SiteEffects(terms, varying, arrays["site_deviations"], arrays["site_coefficients"])
