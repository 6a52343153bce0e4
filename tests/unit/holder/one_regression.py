"""The kinds that are about one regression: how each is asked for, and requests that are wrong."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from tests.unit.holder.asked import COLUMNS, made_table, schema_with

import noisewise as nw
from noisewise.errors import DeclarationError, FormulaError, NoisewiseError, PrivacyError
from noisewise.kinds import Kind
from noisewise.run import QUIET

UNUSED: dict[str, Any] = {**COLUMNS, "unused": {"bounds": [0, 1]}}
UNKNOWN: dict[str, Any] = {**UNUSED, "stay": {"bounds": "unknown"}, "age": {"bounds": "unknown"}}
QUESTIONS: list[dict[str, Any]] = [
    {"ask": "posterior-probability", "of": "age", "at": [0, 0.5]},
    {"ask": "posterior-quantile", "of": "age"},
    {"ask": "bayes-factor", "of": "ward"},
    {"ask": "bic", "of": ["age", "ward[T.B]"]},
]


Wrong: TypeAlias = dict[str, tuple[dict[str, Any], type[Exception]]]


def wrong_formulas(response: str) -> Wrong:
    return {
        "no formula": ({"formula": None}, DeclarationError),
        "formula that is no text": ({"formula": 5}, DeclarationError),
        "formula without response": ({"formula": "age"}, FormulaError),
        "column that was not declared": ({"formula": f"{response} ~ height"}, FormulaError),
        "text that no file can hold": ({"formula": f"{response} ~ age\x1b"}, NoisewiseError),
    }


def wrong_terms(response: str) -> Wrong:
    return {**wrong_formulas(response), "term that was not asked for": ({"formula": f"{response} ~ I(age**2)"}, FormulaError),
            "no delta": ({"delta": None}, PrivacyError)}


def start(coefficients: Any, coordinates: Any, scale: float = 1.0) -> dict[str, Any]:
    return {"start": {"coefficients": coefficients, "coordinates": np.array(coordinates).tolist(), "scale": scale}}


@dataclass(frozen=True)
class OneRegression:
    """A kind, its usual options, and what is refused, by a name: other options or another budget, and the error."""

    kind: type[Kind]
    usual: dict[str, Any]
    delta: float | None
    columns: dict[str, Any]
    wrong: Wrong

    def schema(self, adjacency: str = "replace-one", unit: Any = "row", **more: Any) -> nw.Schema:
        return schema_with(adjacency, unit, **{"columns": self.columns} | more)

    def release(self, data: Any = None, schema: nw.Schema | None = None, **changes: Any) -> nw.Release:
        """The usual release, but for these options of the kind or of `noisewise.release`."""
        own = {field.name: changes.pop(field.name) for field in fields(self.kind) if field.name in changes}  # type: ignore[arg-type]
        return nw.release(made_table() if data is None else data, schema or self.schema(), self.kind(**self.usual | own),
                          **{"epsilon": 0.9, "delta": self.delta, "run": QUIET} | changes)


ADASSP = OneRegression(nw.AdaSSP, {"formula": "stay ~ age + ward"}, 3e-6, UNUSED, {
    **wrong_terms("stay"),
    "response that is no number": ({"formula": "ward ~ age"}, FormulaError),
})
MOMENTS = OneRegression(nw.Moments, {"formula": "visits ~ age + ward"}, 3e-6, UNUSED, {
    **wrong_terms("visits"),
    "response with three levels": ({"formula": "ward ~ age"}, FormulaError),
    "response that is no count": ({"formula": "age ~ visits"}, DeclarationError),
    "no blocks": ({"blocks": {}}, DeclarationError),
    "blocks that are a list": ({"blocks": ["x"]}, DeclarationError),
    "an unknown block": ({"blocks": {"xy": 1}}, DeclarationError),
    "a block of order 7": ({"blocks": {"yxxxxxx": 1}}, DeclarationError),
    "the rows, which are public": ({"blocks": {"n": 1, "x": 1}}, DeclarationError),
    "a weight of 0": ({"blocks": {"x": 0}}, DeclarationError),
    "a weight that is no number": ({"blocks": {"x": "1"}}, DeclarationError),
    "a weight that is infinite": ({"blocks": {"x": float("inf")}}, DeclarationError),
    "a weight that is not a number": ({"blocks": {"x": float("nan")}}, DeclarationError),
    "predictors' blocks without predictors": ({"formula": "visits ~ 1"}, DeclarationError),
})
MODEL = OneRegression(nw.Model, {"formula": "stay ~ age + ward"}, 3e-6, UNUSED, {
    **wrong_terms("stay"),
    "an unknown family": ({"family": "gamma"}, DeclarationError),
    "two levels of a number": ({"family": "logistic"}, DeclarationError),
    "a number of three levels": ({"formula": "ward ~ age"}, FormulaError),
    "a count that does not start at 0": ({"formula": "age ~ stay", "family": "poisson"}, DeclarationError),
    "a number of two levels": ({"formula": "smoker ~ age"}, DeclarationError),
    "rounds below 0": ({"rounds": -1}, DeclarationError),
    "rounds that are no whole number": ({"rounds": 2.0}, DeclarationError),
    "too many rounds": ({"rounds": 9}, DeclarationError),
    "start that is none": ({"start": 5}, DeclarationError),
    "start of another formula": (start([1, 2], [[1, 0], [0, 1]]), DeclarationError),
    "start with fewer terms": (start([1], [[1, 0, 0, 0]]), DeclarationError),
    "start beyond floats": (start([1e90] * 4, np.eye(4)), DeclarationError),
    "start that tells nothing apart": (start([1] * 4, np.zeros((4, 4))), DeclarationError),
    "start with a scale beyond the bounds": (start([1] * 4, np.eye(4), 1e9), DeclarationError),
})
PARTITION = OneRegression(nw.Partition, {"formula": "stay ~ age + ward", "parts": 8, "ask": QUESTIONS}, None, UNKNOWN, {
    **wrong_formulas("stay"),
    "no parts": ({"parts": None}, DeclarationError),
    "one part": ({"parts": 1}, DeclarationError),
    "too many parts": ({"parts": 100_001}, DeclarationError),
    "parts that are no whole number": ({"parts": 8.0}, DeclarationError),
    "parts that are a boolean": ({"parts": True}, DeclarationError),
    "no questions": ({"ask": []}, DeclarationError),
    "questions that are none": ({"ask": None}, DeclarationError),
    "a question twice": ({"ask": [QUESTIONS[0], QUESTIONS[0]]}, DeclarationError),
    "a question about nothing": ({"ask": [{"ask": "bic", "of": "height"}]}, FormulaError),
    "a question that is not known": ({"ask": [{"ask": "mean", "of": "age"}]}, DeclarationError),
    "a question with other fields": ({"ask": [{"ask": "bic", "of": "age", "at": [0]}]}, DeclarationError),
    "limits the wrong way round": ({"ask": [{"ask": "bic", "of": "age", "limits": [3, -3]}]}, DeclarationError),
    "limits that are infinite": ({"ask": [{"ask": "bic", "of": "age", "limits": [-1, float("inf")]}]}, DeclarationError),
    "too many numbers": ({"ask": [{**QUESTIONS[0], "of": {"age": 1, "Intercept": weight}, "at": list(range(100))}
                                        for weight in range(1, 12)]}, NoisewiseError),
    "shares that leave nothing": ({"ask": [{"ask": "posterior-quantile", "of": "age", "centre_share": 0.6,
                                                  "width_share": 0.4}]}, PrivacyError),
    "two quantiles without bounds": ({"ask": [{"ask": "posterior-quantile", "of": of} for of in ("age", "Intercept")]},
                                     PrivacyError),
    "an unknown prior": ({"prior": "cauchy"}, DeclarationError),
    "zellner without g": ({"prior": "zellner"}, DeclarationError),
    "epsilon too small for 64 bits": ({"epsilon": 1e-13}, PrivacyError),
    "gaussian without delta": ({"mechanism": "gaussian"}, PrivacyError),
    "laplace for several numbers": ({"mechanism": "laplace"}, PrivacyError),
})
REGRESSIONS = {"adassp": ADASSP, "model": MODEL, "moments": MOMENTS, "partition": PARTITION}
