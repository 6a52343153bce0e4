"""What can be asked for: how many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noisewise.errors import DeclarationError
from noisewise.kinds import Kind
from noisewise.schema import Schema


@dataclass(frozen=True)
class TinyKind(Kind):
    """The number of rows, with Laplace noise. ``what`` says what a row is."""

    name: ClassVar[str] = "tiny-count"
    purpose: ClassVar[str] = "the number of rows"
    use: ClassVar[str] = "see how many there are: noisewise.answer(release)"

    what: str = "rows"

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what:
            raise DeclarationError("what is counted is a text", found=repr(self.what)[:80], remedy='for example "patients"')

    def title(self, schema: Schema) -> str:
        return self.what
