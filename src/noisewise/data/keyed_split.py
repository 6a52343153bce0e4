"""Which part a row belongs to, decided on many machines by one secret key.

A machine that fails is replaced by another, which reads its rows again. Were parts drawn anew then, some of its rows could end up
in two parts. So a key is drawn once, where noise is drawn, and parts follow from it by a cryptographic function: for whoever does
not know the key they are as good as independent random draws. The key is forgotten with the release.

Rows are told apart by the piece of the table that they are in and their position there, units by their identifier. No two rows
(units) have the same label, and labels are all that the function sees; so, whatever the table, each row (unit) has a part of its
own, independently of all others, and P1 of privacy/sensitivity/partition.md holds. A number modulo the number of parts is not
exactly uniform, but it has the same law for everyone, which is all that the coupling of P1 uses.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from noisewise.data.split import Parts
from noisewise.data.units import encode_units

if TYPE_CHECKING:
    import pyarrow as pa

KEY_BYTES: Final = 32
_NUMBER: Final = np.dtype("<u8")


class KeyedRowSplit:
    """Each row on its own, by its piece of the table, its batch and its place in the batch."""

    def __init__(self, key: bytes, piece: int, parts: int) -> None:
        self._secret = key + piece.to_bytes(8, "little")
        self._count = parts
        self._batch = 0

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        label = self._secret + self._batch.to_bytes(8, "little")
        self._batch += 1
        return _modulo(hashlib.shake_256(label).digest(_NUMBER.itemsize * rows), self._count)

    def finish(self) -> None:
        """Any number of rows will do."""


class KeyedUnitSplit:
    """All rows of one unit in one part, wherever they are; rows without an identifier are one unit together."""

    def __init__(self, key: bytes, parts: int) -> None:
        self._key = key
        self._count = parts

    def parts_of(self, rows: int, units: pa.Array | None) -> Parts:
        assert units is not None
        codes, names = encode_units(units)
        # Identifiers of one column have one type, in which different ones are written differently.
        drawn = b"".join(hashlib.blake2b(repr(name).encode(), key=self._key, digest_size=_NUMBER.itemsize).digest()
                         for name in names)
        return _modulo(drawn, self._count)[codes]

    def finish(self) -> None:
        """Any number of rows will do."""


def _modulo(drawn: bytes, parts: int) -> Parts:
    return (np.frombuffer(drawn, _NUMBER) % np.uint64(parts)).astype(np.int64)
