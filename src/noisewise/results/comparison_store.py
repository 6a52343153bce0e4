"""A comparison of models in one .npz file: that of its averaged posterior, with the models beside the draws.

So `Posterior.load` reads the averaged draws of such a file, and `Comparison.load` all of it. Besides the members of a posterior's
file there are `members` (models, terms), `probabilities` and `log_bayes_factors` (models), and for methods that have bands
`without_noise` (draws, terms). Other methods have the same members, and `samples`, with a prefix: `other1_`, `other2_`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from noisewise.errors import NoisewiseError, ResultError
from noisewise.results import store
from noisewise.results.records import SIGMA

if TYPE_CHECKING:
    from noisewise.results.model_comparison import Comparison
    from noisewise.results.posterior import Posterior
    from noisewise.schema import Design

KEY: Final = "comparison"
ARRAYS: Final = ("members", "probabilities", "log_bayes_factors")


def save_comparison(found: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the file; an older one survives a failure."""
    arrays: dict[str, NDArray[Any]] = {"samples": found.samples[None].astype("<f8"), **_arrays(found)}
    for number, other in enumerate(found.others.values(), start=1):
        named = {"samples": other.samples.astype("<f8"), **_arrays(other)}
        arrays |= {f"{store.OTHER}{number}_{name}": values for name, values in named.items()}
    store.write(path, arrays, {
        "terms": [*found.design.terms, SIGMA],
        "design": found.design.to_dict(),
        "info": dataclasses.asdict(found.info),
        "prior": None,
        KEY: {
            **_words(found),
            "verdicts": [dict(row) for row in found.verdicts],
            "others": [{"name": name, "info": dataclasses.asdict(other.info), **_words(other)}
                       for name, other in found.others.items()],
        },
    })


def _arrays(found: Comparison) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "members": found.members.astype("|b1"),
        "probabilities": found.probabilities.astype("<f8"),
        "log_bayes_factors": found.log_bayes_factors.astype("<f8"),
    }
    return arrays if found.without_noise is None else {**arrays, "without_noise": found.without_noise.astype("<f8")}


def _words(found: Comparison) -> dict[str, Any]:
    return {"question": dataclasses.asdict(found.question), "complete": found.complete, "notes": list(found.notes)}


def load_result(path: str | os.PathLike[str]) -> Posterior | Comparison:
    """Whatever `Posterior.save` or `Comparison.save` wrote."""
    from noisewise.results.posterior import Posterior

    found = _read(path)
    return Posterior.load(path) if found is None else found


def load_comparison(path: str | os.PathLike[str]) -> Comparison:
    """Read what `save_comparison` wrote, or one clear ResultError."""
    found = _read(path)
    if found is None:
        raise ResultError(f"{os.fspath(path)} holds no comparison of models", found="the draws of a fit",
                          remedy="read it with Posterior.load, or save a comparison: noisewise compare --save FILE")
    return found


def _read(path: str | os.PathLike[str]) -> Comparison | None:
    arrays, document = store.read(path)
    if KEY not in document:
        return None
    _, design, _, _ = store.parts_from_document(path, document)
    try:
        return _comparison(arrays, document, design)
    except (NoisewiseError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise store.malformed(path, f"{type(error).__name__}: {error}") from error


def _comparison(arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any], design: Design) -> Comparison:
    stored = document[KEY]
    others = {str(other["name"]): _one(arrays, f"{store.OTHER}{number}_", other, other["info"], design)
              for number, other in enumerate(stored["others"], start=1)}
    first = _one({**arrays, "samples": arrays["samples"][0]}, "", stored, document["info"], design)
    return dataclasses.replace(first, others=others, verdicts=tuple(_verdict(row) for row in stored["verdicts"]))


def _one(arrays: Mapping[str, NDArray[Any]], prefix: str, words: Mapping[str, Any], info: Mapping[str, Any],
         design: Design) -> Comparison:
    from noisewise.results.model_comparison import Comparison, Question

    asked = words["question"]
    question = Question(tuple(map(str, asked["terms"])), tuple(map(str, asked["kept"])), str(asked["prior"]),
                        str(asked["model_prior"]), str(asked["method"]))
    members, probabilities, factors = (arrays[prefix + name] for name in ARRAYS)
    if (probabilities < 0).any() or probabilities.sum() > 1 + 1e-6:
        raise ValueError("probabilities of models are not negative and add up to 1 at most")
    return Comparison(design, question, members.astype(np.bool_), probabilities, factors, arrays[prefix + "samples"],
                      store.info_from_dict(info), arrays.get(prefix + "without_noise"), bool(words["complete"]),
                      tuple(map(str, words["notes"])))


def _verdict(row: Mapping[str, Any]) -> dict[str, float | str]:
    return {str(name): value if isinstance(value, str) else float(value) for name, value in row.items()}
