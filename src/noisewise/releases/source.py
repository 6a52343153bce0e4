"""The source of a result: a short text that identifies the release or releases it was made from.

It is the SHA-256 digest of the sorted fingerprints of all contributions, in hexadecimal digits. It is as long for ten thousand
holders as for one, and it depends neither on the order of the releases nor on whether they were combined into one file before.
Fingerprints are of noisy numbers, so even two releases of the same rows usually differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from noisewise.releases.release import Release


def source_of(release: Release) -> str:
    """The digest that a result of this release records."""
    return digest_of(release.fingerprints())


def digest_of(fingerprints: Iterable[bytes]) -> str:
    """The digest of these fingerprints, independent of their order.

    >>> digest_of([b"one holder's", b"another's"]) == digest_of([b"another's", b"one holder's"])
    True
    """
    return hashlib.sha256(b"".join(sorted(fingerprints))).hexdigest()
