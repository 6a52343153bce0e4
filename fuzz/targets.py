"""The readers under attack, each with the one kind of error that it may raise."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from noisewise.data import gram_sum
from noisewise.errors import DataError, DeclarationError, FormulaError, ReleaseError, ReleaseFormatError, ResultError
from noisewise.kinds import kind_from_dict
from noisewise.releases.contents.rows import RowsFile
from noisewise.releases.format import decode, encode
from noisewise.results import Posterior
from noisewise.run import ALONE
from noisewise.schema import Basis, Design, Schema
from noisewise.schema.questions import question_from_dict

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
ROWS = "rows-1.0.rows.parquet"
FOLDER = Path(tempfile.mkdtemp(prefix="noisewise-fuzz-"))

SCHEMA = Schema.from_dict({"adjacency": "add-remove", "columns": {
    "stay": {"bounds": [0, 60]}, "age": {"bounds": [18, 98], "missing": "drop"}, "ward": {"levels": ["A", "B", "C"]}}})
BASIS = Basis.of(SCHEMA, "I(age**2) + age:ward")


@dataclass(frozen=True)
class Target:
    """A reader, the errors it may raise, and files to begin from."""

    read: Callable[[bytes], object]
    refusal: type[Exception]
    seeds: Callable[[], list[bytes]]


def release(data: bytes) -> None:
    """A release file: accepted ones can be shown and written again, to the same effect."""
    found = decode(data)
    assert found.describe() and json.dumps(found.facts())
    assert decode(encode(found)) == found


def document(data: bytes) -> None:
    """A release file that is valid JSON of nearly the right shape: the bytes decide which values go where."""
    choices = Choices(data)
    found: Any = json.loads(choices.one_of(_golden()))
    for _ in range(1 + choices.below(4)):
        outer, inner, key = found, found, None
        while isinstance(inner, (dict, list)) and inner and (key is None or choices.below(4)):
            if key is not None:
                inner = inner[key]
                if not isinstance(inner, (dict, list)) or not inner:
                    break
            outer, key = inner, choices.one_of(list(inner) if isinstance(inner, dict) else range(len(inner)))
        if choices.below(5):
            outer[key] = choices.value()
        else:
            del outer[key]
    release(json.dumps(found).encode())


class Choices:
    """Decisions read from bytes; when these are used up, always the first choice."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def below(self, limit: int) -> int:
        taken = self.data[self.place:self.place + 2]
        self.place += 2
        return int.from_bytes(taken, "big") % limit

    def one_of(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def value(self) -> Any:
        plain = (None, True, False, 0, 1, -1, 2**53, 2**63, 10**400, -0.0, 1e308, 5e-324, float("nan"), float("inf"), "", "?",
                 "drop", "row", "\ud800", "gaussian", "wishart", "add-remove", "replace-one", "1.0", "=1+1", "\x00", [],
                 {}, [0.0] * 50, [[]], {"": 0}, "x" * 5000)
        kind = self.below(4)
        if kind == 0:
            return self.below(2**16) / 256 - 100
        if kind == 1:
            return self.data[self.place:self.place + 8].decode("latin-1")
        return self.one_of(plain)


def published(data: bytes) -> None:
    """A file of published rows whose size and digest are right: accepted ones have all rows, of finite numbers."""
    (FOLDER / ROWS).write_bytes(data)
    one = decode((GOLDEN / ROWS.replace(".rows.parquet", ".nwr")).read_bytes()).contents
    found = replace(one, file=RowsFile(ROWS, len(data), hashlib.sha256(data).hexdigest()), folder=FOLDER)
    assert np.isfinite(found.scaled().numbers).all()


def kind(data: bytes) -> None:
    """A kind with its options, as in a file or a ledger: an accepted one reads back unchanged."""
    try:
        given = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        given = {"name": "gram", "terms": data.decode("utf-8", errors="replace")}
    found = kind_from_dict(given)
    again = kind_from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found and again.digest() == found.digest() and hash(again) == hash(found)


def formula(data: bytes) -> None:
    """A formula against a release: nothing in it is ever evaluated as Python."""
    text = data.decode("utf-8", errors="replace")
    design = Design.of(text, BASIS)
    assert np.isfinite(design.features).all()
    assert len(design.terms) == design.features.shape[1]


def question(data: bytes) -> None:
    """A question of a partition release, as in a file or on a command line: an accepted one reads back unchanged."""
    try:
        given = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        given = {"ask": "bic", "of": data.decode("utf-8", errors="replace")}
    found = question_from_dict(given)
    assert question_from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert all(name and (limits is None or limits[0] < limits[1]) for name, limits in found.numbers())


def schema(data: bytes) -> None:
    """A schema file."""
    path = FOLDER / "schema.toml"
    path.write_bytes(data)
    found = Schema.load(path)
    assert Schema.from_dict(found.to_dict()) == found


def rows(data: bytes) -> None:
    """A confidential CSV file: whatever the cells hold, the sum is finite and its size is bounded by the number of lines."""
    path = FOLDER / "rows.csv"
    path.write_bytes(b"stay,age,ward\n" + data)
    total = gram_sum(path, SCHEMA, BASIS, run=ALONE).to_grid()
    count = total[0, 0] / 2**16
    assert 0 <= count <= data.count(b"\n") + data.count(b"\r") + 1
    assert (np.abs(total) <= (count + 1) * 2**16).all()


def posterior(data: bytes) -> None:
    """A saved posterior: a zip archive of plain arrays."""
    path = FOLDER / "posterior.npz"
    path.write_bytes(data)
    Posterior.load(path).summary()


def _golden() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*.nwr"))]


def _kinds() -> list[bytes]:
    return [json.dumps(json.loads(data)["kind"]).encode() for data in _golden()]


def _formulas() -> list[bytes]:
    return [text.encode() for text in ("stay ~ age + ward", "stay ~ I(age**2) + C(ward)", "stay ~ 0 + age:ward", "`stay` ~ 1",
                                       "~ age", "stay ~ __import__('os').system('true')", "stay ~ I(age**99999)",
                                       "stay ~ ((((age))))")]


def _questions() -> list[bytes]:
    declared = json.loads((GOLDEN / "partition-1.0.nwr").read_bytes())["kind"]["ask"]
    return [*(json.dumps(one).encode() for one in declared), b"age - 2*weight + `a b`", b'{"ask": "bic", "of": ["a", "b - c"]}']


def _schemas() -> list[bytes]:
    other = b'adjacency = "replace-one"\nunit = {column = "who", max_rows = 3}\n[columns.a]\nbounds = [0, 1e308]\n'
    return [SCHEMA.to_toml().encode(), other]


def _rows() -> list[bytes]:
    return [b"1,20,A\n2,30,B\n", b'"1",NaN,"C"\n,,\n', b"inf,-inf,\x00\n", b'"a\nb",1,2\n1e400,0x1,A,B,C\n']


def _posteriors() -> list[bytes]:
    from noisewise.results import FitInfo

    design = Design.of("stay ~ age", BASIS)
    info = FitInfo(method="conditional", family="gaussian", formula="stay ~ age", seed=1, chains=2, draws=4)
    path = FOLDER / "seed.npz"
    Posterior(np.ones((2, 4, 3)), (*design.terms, "sigma"), design, info).save(path)
    return [path.read_bytes()]


TARGETS = {
    "release": Target(release, ReleaseFormatError, _golden),
    "document": Target(document, ReleaseFormatError, lambda: [bytes(range(64)), bytes(reversed(range(200)))]),
    "published": Target(published, ReleaseError, lambda: [(GOLDEN / ROWS).read_bytes()]),
    "kind": Target(kind, DeclarationError, _kinds),
    "formula": Target(formula, FormulaError, _formulas),
    "question": Target(question, DeclarationError, _questions),
    "schema": Target(schema, DeclarationError, _schemas),
    "rows": Target(rows, DataError, _rows),
    "posterior": Target(posterior, ResultError, _posteriors),
}


def attack(name: str, data: bytes) -> bool:
    """Let a target read: True if it accepts, False if it refuses as promised. Anything else is a finding and is raised."""
    target = TARGETS[name]
    try:
        target.read(data)
    except target.refusal as error:
        assert 0 < len(str(error)) < 5000
        return False
    return True
