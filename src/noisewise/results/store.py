"""Store a result in one .npz file: draws as arrays, everything else as JSON, no pickle and no code.

The file is an uncompressed zip archive of `.npy` members that any NumPy can open: `samples` (chains, draws, terms), `metadata`
(UTF-8 JSON as bytes) and, if present, `diverging` (chains, draws), `site_deviations` (chains, draws, varying terms) and
`site_coefficients` (sites, draws, terms). Before it allocates anything, the reader checks the size in each header against the
bytes in the file. The metadata's `info` has a `source`, the digest of what was fitted (`noisewise.releases.source`); files of
earlier versions lack it.

The file of a comparison is the file of its averaged posterior, so `Posterior.load` reads the averaged draws, plus the models:
`members` (models, terms), `probabilities` and `log_bayes_factors` (models), and `without_noise` (draws, terms) for methods with
bands. Other methods have the same members, and `samples`, with the prefix `other1_`, `other2_`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from noisewise.arrays import Values
from noisewise.errors import NoisewiseError, ResultError
from noisewise.results.fit_info import FitInfo, PriorSummary
from noisewise.results.sites import SiteEffects
from noisewise.whole_file import whole_file
from noisewise.words import either

if TYPE_CHECKING:
    from noisewise.results.comparison import Comparison
    from noisewise.results.posterior import Posterior
    from noisewise.schema import Design

Arrays = Mapping[str, Values]
Document = Mapping[str, Any]
"""Parsed JSON."""
Place = str | os.PathLike[str]

FORMAT: Final = "noisewise-posterior"
VERSION: Final = 1
LARGEST_HEADER: Final = 4096
MODELS: Final = {"members": "|b1", "probabilities": "<f8", "log_bayes_factors": "<f8", "without_noise": "<f8"}
MEMBERS: Final = {"samples": "<f8", "metadata": "|u1", "diverging": "|b1", "site_deviations": "<f8", "site_coefficients": "<f8"}
OTHER: Final = "other"
COMPARISON: Final = "comparison"


def save_posterior(found: Posterior, path: Place) -> None:
    """Write the file. If writing fails, an existing file is kept."""
    arrays: dict[str, Values] = {"samples": found.samples}
    if found.diverging is not None:
        arrays["diverging"] = found.diverging
    if found.sites is not None:
        arrays |= {"site_deviations": found.sites.between, "site_coefficients": found.sites.own}
    prior = None if found.prior is None else {**vars(found.prior), "mean": dict(found.prior.mean), "sd": dict(found.prior.sd)}
    sites = {} if found.sites is None else {"sites": {"varying": list(found.sites.varying)}}
    _write(path, arrays, {"terms": list(found.terms), "design": found.design.to_dict(), "info": dataclasses.asdict(found.info),
                          "prior": prior, **sites})


def save_comparison(found: Comparison, path: Place) -> None:
    """Write the file. If writing fails, an existing file is kept."""
    arrays = {"samples": found.samples[None], **_models(found)}
    for number, other in enumerate(found.others.values(), start=1):
        named = {"samples": other.samples, **_models(other)}
        arrays |= {f"{OTHER}{number}_{name}": values for name, values in named.items()}
    others = [{"name": name, "info": dataclasses.asdict(other.info), **_words(other)} for name, other in found.others.items()]
    _write(path, arrays, {
        "terms": list(found.columns), "design": found.design.to_dict(), "info": dataclasses.asdict(found.info),
        "prior": None,
        COMPARISON: {**_words(found), "verdicts": [dict(row) for row in found.verdicts], "others": others},
    })


def _models(found: Comparison) -> dict[str, Values]:
    return {name: values for name in MODELS if (values := getattr(found, name)) is not None}


def _words(found: Comparison) -> Document:
    return {"question": dataclasses.asdict(found.question), "complete": found.complete, "notes": list(found.notes)}


def _write(path: Place, arrays: Arrays, metadata: Document) -> None:
    """Write a temporary file next to the target and move it there."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **metadata}, allow_nan=False, ensure_ascii=False).encode()
    members: dict[str, Any] = {name: values.astype(_type_of(f"{name}.npy"), copy=False) for name, values in arrays.items()}
    try:
        with whole_file(path) as file:
            np.savez(file, metadata=np.frombuffer(text, dtype=np.uint8), **members)
    except OSError as error:
        raise ResultError(f"cannot write to {os.fspath(path)}; a file that was there before is unchanged",
                          found=error.strerror or str(error)) from error


def load_posterior(path: Place) -> Posterior:
    """Read the draws of a fit, or the model-averaged draws of a comparison."""
    return _posterior(path, *_read(path))


def load_comparison(path: Place) -> Comparison:
    """Read what `save_comparison` wrote, or raise one clear ResultError."""
    arrays, document = _read(path)
    if COMPARISON not in document:
        raise ResultError(f"{os.fspath(path)} does not hold a comparison", found="the draws of a fit",
                          remedy="read it with Posterior.load, or save a comparison: "
                          + either("comparison.save(path)", "noisewise compare --save FILE"))
    return _comparison(path, arrays, document)


def load_result(path: Place) -> Posterior | Comparison:
    """Read what `Posterior.save` or `Comparison.save` wrote."""
    arrays, document = _read(path)
    return (_comparison if COMPARISON in document else _posterior)(path, arrays, document)


def malformed(path: Place, found: object) -> ResultError:
    """Return the error for a file that is damaged or not a saved result."""
    words = f"{type(found).__name__}: {found}" if isinstance(found, Exception) else str(found)
    return ResultError(f"{path} is not a posterior saved by noisewise, or it is damaged", found=words[:200],
                       remedy="fit again, or restore the file")


def _read(path: Place) -> tuple[Arrays, Document]:
    """Read a file's arrays and metadata, or raise one clear ResultError."""
    try:
        arrays = _read_members(path)
        document = json.loads(arrays.pop("metadata").tobytes().decode("utf-8"))
    except ResultError:
        raise
    except FileNotFoundError as error:
        raise ResultError("no such file", found=str(path), remedy="check the path") from error
    except (OSError, ValueError, KeyError, EOFError, MemoryError, RecursionError) as error:
        raise malformed(path, error) from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise malformed(path, str(error)) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise malformed(path, "no noisewise metadata")
    if document.get("version") != VERSION:
        raise ResultError(f"only posterior files of version {VERSION} can be read",
                          found=f"version {document.get('version')!r} in {path}", remedy="update noisewise")
    return arrays, document


def _read_members(path: Place) -> dict[str, Values]:
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        known = all(_type_of(name) is not None for name in names)
        if len(set(names)) != len(names) or not known or not {"samples.npy", "metadata.npy"} <= set(names):
            raise malformed(path, f"members {', '.join(names[:5])}")
        for entry in entries:
            # Uncompressed members cannot expand, so reading takes no more memory than the file's size.
            if entry.compress_type != zipfile.ZIP_STORED:
                raise malformed(path, f"compressed member {entry.filename}")
            with archive.open(entry) as member:
                arrays[entry.filename.removesuffix(".npy")] = _read_array(member, entry, path)
    return arrays


def _type_of(member: str) -> str | None:
    """Return the number type of a member of the archive, or None if it does not belong there."""
    name = member.removesuffix(".npy")
    own = re.sub(rf"^{OTHER}[0-9]{{1,3}}_", "", name)
    known = {**MODELS, **MEMBERS} if own == name else {**MODELS, "samples": MEMBERS["samples"]}
    return known.get(own) if member.endswith(".npy") else None


def _read_array(member: IO[bytes], entry: zipfile.ZipInfo, path: Place) -> Values:
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise malformed(path, f"array format {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=LARGEST_HEADER)
    expected = np.dtype(_type_of(entry.filename))
    if dtype != expected or fortran or any(length < 0 for length in shape):
        raise malformed(path, f"{entry.filename} with type {dtype}")
    content = member.read()
    if len(content) != math.prod(shape) * expected.itemsize:
        raise malformed(path, f"{entry.filename} claims shape {shape} but holds {len(content)} bytes")
    return np.frombuffer(content, dtype=expected).reshape(shape)


def _posterior(path: Place, arrays: Arrays, document: Document) -> Posterior:
    from noisewise.results.posterior import Posterior

    terms, design, info, prior = _head(path, document)
    return Posterior(arrays["samples"], terms, design, info, prior, arrays.get("diverging"),
                     _sites(path, arrays, document.get("sites"), terms))


def _head(path: Place, document: Document) -> tuple[tuple[str, ...], Design, FitInfo, PriorSummary | None]:
    """Read terms, design, info and prior, or raise one ResultError that names the file."""
    from noisewise.schema import Design

    try:
        terms = tuple(str(term) for term in document["terms"])
        design, info, prior = Design.from_dict(document["design"]), _info(document["info"]), document["prior"]
        if prior is not None:
            mean, sd = ({str(name): float(value) for name, value in prior[key].items()} for key in ("mean", "sd"))
            prior = PriorSummary(mean, sd, None if prior["sigma_scale"] is None else float(prior["sigma_scale"]))
        return terms, design, info, prior
    except (NoisewiseError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise malformed(path, error) from error


def _info(document: Document) -> FitInfo:
    """Read a FitInfo from JSON; ignore fields added by later versions."""
    known = {field.name for field in dataclasses.fields(FitInfo)}
    values = {name: value for name, value in document.items() if name in known}
    values["doubts"] = tuple(str(doubt) for doubt in values.get("doubts", ()))
    for name in ("method", "family", "formula"):
        if not isinstance(values.get(name), str):
            raise ValueError(f"info.{name} must be text")
    for name in ("chains", "draws", "divergences", "holders"):
        if type(values.get(name)) is not int:
            raise ValueError(f"info.{name} must be a whole number")
    source = values.get("source", "")  # not recorded by earlier versions
    if not isinstance(source, str) or not re.fullmatch("([0-9a-f]{64})?", source):
        raise ValueError("info.source must be empty or 64 hexadecimal digits")
    return FitInfo(**values)


def _sites(path: Place, arrays: Arrays, found: object, terms: tuple[str, ...]) -> SiteEffects | None:
    """Read the random effects by site, if the file has them; it must have all or none."""
    members = {"site_deviations", "site_coefficients"} & set(arrays)
    if found is None and not members:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("varying"), list) or len(members) != 2:
        raise malformed(path, "incomplete random effects by site")
    varying = tuple(str(term) for term in found["varying"])
    return SiteEffects(terms, varying, arrays["site_deviations"], arrays["site_coefficients"])


def _comparison(path: Place, arrays: Arrays, document: Document) -> Comparison:
    _, design, _, _ = _head(path, document)
    try:
        stored = document[COMPARISON]
        others = {str(other["name"]): _compared(arrays, f"{OTHER}{number}_", other, other["info"], design)
                  for number, other in enumerate(stored["others"], start=1)}
        first = _compared({**arrays, "samples": arrays["samples"][0]}, "", stored, document["info"], design)
        verdicts = tuple({str(name): value if isinstance(value, str) else float(value) for name, value in row.items()}
                         for row in stored["verdicts"])
        return dataclasses.replace(first, others=others, verdicts=verdicts)
    except (NoisewiseError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise malformed(path, error) from error


def _compared(arrays: Arrays, prefix: str, words: Document, info: Document, design: Design) -> Comparison:
    from noisewise.results.comparison import Comparison, Question

    asked = words["question"]
    question = Question(tuple(map(str, asked["terms"])), tuple(map(str, asked["kept"])), str(asked["prior"]),
                        str(asked["model_prior"]), str(asked["method"]))
    probabilities = arrays[prefix + "probabilities"]
    if (probabilities < 0).any() or probabilities.sum() > 1 + 1e-6:
        raise ValueError("model probabilities must be >= 0 and add up to at most 1")
    return Comparison(design, question, arrays[prefix + "members"].astype(np.bool_), probabilities,
                      arrays[prefix + "log_bayes_factors"], arrays[prefix + "samples"], _info(info),
                      arrays.get(prefix + "without_noise"), bool(words["complete"]), tuple(map(str, words["notes"])))
