"""The source of a result: one short text that tells which release, or which releases together, it was made from.

It is the SHA-256 digest of the sorted fingerprints of all parts, in hexadecimal digits. So it is as long for ten thousand holders
as for one, and it depends neither on the order in which releases are given nor on whether they were put into one file before.
Fingerprints are of noisy numbers: those of two releases differ, also if both are of the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol


class Fingerprinted(Protocol):
    """What a result can be made from: a release of any kind, of one holder or of several."""

    def fingerprints(self) -> Iterable[bytes]: ...


def source_of(release: Fingerprinted) -> str:
    """The digest that a result of this release records.

    >>> class Two:
    ...     def fingerprints(self): return [b"one holder's", b"another's"]
    >>> source_of(Two()) == digest_of([b"another's", b"one holder's"])
    True
    """
    return digest_of(release.fingerprints())


def digest_of(fingerprints: Iterable[bytes]) -> str:
    """The digest of these fingerprints, whatever their order."""
    return hashlib.sha256(b"".join(sorted(fingerprints))).hexdigest()
