"""Files of one schema are the same text up to their parts: what they share is decoded and checked once.

A release file is one JSON object, in which the parts come last. If the text before them, up to the comma, is that of a file that
was read before, and what follows is, after an opening brace, an object with the single key ``parts``, then the whole is an object
with the known fields and these parts: exactly what reading all of it would give. Anything else, and whatever is wrong, is left
to the reader of whole files, so that there is one judge and one set of messages.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic import ValidationError, create_model

from noisewise.errors import NoisewiseError, ReleaseFormatError
from noisewise.release.fields import Fields, ReleaseFields
from noisewise.release.files import decoded, read
from noisewise.release.format import FIELDS, parts_of
from noisewise.release.json_text import parse
from noisewise.release.model import Release
from noisewise.release.single import SingleRelease

BEFORE_PARTS: Final = b'\n  "parts": ['
MOST_HEADS: Final = 64
"""Of files that differ in more than their parts, so many different texts are kept."""


@dataclass(frozen=True)
class Head:
    """A release that a file began with, and the kind that the file states."""

    release: Release
    kind: str


class Reader:
    """Reads release files one after the other; equal to `noisewise.load` of each, and faster if they are of one schema."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def read(self, path: str | os.PathLike[str]) -> Release | SingleRelease:
        data = read(path)
        place = data.find(BEFORE_PARTS)
        known = self._heads.get(data[:place]) if place > 0 else None
        if known is not None:
            try:
                return self._with_parts(known, data[place:])
            except (NoisewiseError, ValidationError, ArithmeticError, RecursionError, MemoryError):
                pass  # the reader of whole files says what is wrong
        found = decoded(data, path)
        if known is None and place > 0 and isinstance(found, Release) and len(self._heads) < MOST_HEADS:
            self._keep(found, data[:place], data[place:])
        return found

    def number(self, release: Release) -> int | None:
        """The number of the declarations that this release shares with other files, None if it is not known to share them."""
        return next((place for place, head in enumerate(self._heads.values()) if head.release.columns is release.columns), None)

    @staticmethod
    def _with_parts(head: Head, text: bytes) -> Release:
        document = parse(b"{" + text)
        if document.keys() != {"parts"}:
            raise ReleaseFormatError("the parts come last")
        fields: Any = _part_fields(head.kind).model_validate(document)
        return head.release.with_parts(parts_of(fields.parts, head.kind, head.release.version, len(head.release.columns)))

    def _keep(self, found: Release, before: bytes, after: bytes) -> None:
        """Remember the text before the parts, if it is one: members of an object, up to a comma."""
        if not before.endswith(b","):
            return
        try:
            head, rest = parse(before[:-1] + b"}"), parse(b"{" + after)
        except ReleaseFormatError:
            return
        if "parts" not in head and rest.keys() == {"parts"}:
            self._heads[before] = Head(found, head["kind"])


@cache
def _part_fields(kind: str) -> type[Fields]:
    """The fields of a file of this kind, of which there are only the parts."""
    parts = FIELDS.get(kind, ReleaseFields).model_fields["parts"]
    return create_model("PartsFields", __base__=Fields, parts=(parts.rebuild_annotation(), ...))
