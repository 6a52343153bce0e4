"""What is in the file: a number, and the scale of its noise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tests.unit.kinds.tiny_kind.kind import TinyKind

from noisewise.errors import ReleaseError
from noisewise.releases.contribution import Contribution
from noisewise.releases.fields import Fields
from noisewise.releases.promises import check_pure
from noisewise.schema.basis import BasisColumn
from noisewise.schema.schema import Schema


class TinyFields(Fields):
    number: float
    scale: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TinyContribution(Contribution):
    FIELDS: ClassVar[type[Fields]] = TinyFields

    number: float
    scale: float

    def check(self, kind: TinyKind, schema: Schema, columns: Sequence[BasisColumn]) -> None:
        if self.scale <= 0:
            raise ReleaseError("a count has noise", found=repr(self.scale))

    def check_promise(self) -> None:
        check_pure(self.sensitivity / self.scale, self.epsilon, self.delta)

    def fingerprint(self) -> bytes:
        return hashlib.sha256(repr((self.number, self.scale)).encode()).digest()

    def count(self) -> int:
        return 1

    def contents(self) -> dict[str, Any]:
        return {"number": self.number, "scale": self.scale}

    @classmethod
    def from_contents(cls, contents: Any, kind: TinyKind, schema: Schema, columns: Sequence[BasisColumn], **head: Any) -> Self:
        return cls(number=contents.number, scale=contents.scale, **head)

    def lines(self, kind: TinyKind, schema: Schema) -> list[tuple[str, str]]:
        return [("counted", f"{self.number:.1f} {kind.what}, with Laplace noise of scale {self.scale:.3g}")]

    def own_facts(self) -> dict[str, Any]:
        return {"scale": self.scale}


CONTRIBUTION = TinyContribution
