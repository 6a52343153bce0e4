"""The content of ``gram-1.2.nwr``: a part with Wishart noise beside one with Gaussian noise, in made-up numbers.

The file was written once and is not to be written again; ``python tests/golden/make_gram_1_2.py FILE`` shows what the present
code would write.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from tests.golden.make_gram_1_0 import SCHEMA, TERMS, matrix
from tests.golden.make_gram_1_0 import expected as plain

from noisewise.release import EntryNoise, Release
from noisewise.schema import Schema

DEGREES, SCALE = 74, 4.0625


def expected() -> Release:
    """What every version must find in ``gram-1.2.nwr``."""
    ordinary = plain().parts[0]
    wishart = replace(
        ordinary,
        rows=1201,
        matrix=matrix(1201, -12.25),
        noise=EntryNoise("wishart", (2 * DEGREES) ** 0.5 * SCALE, DEGREES**0.5 * SCALE, 0.0, degrees=DEGREES, scale=SCALE),
        mechanism="wishart",
        sensitivity=SCALE,
    )
    return Release("gram", Schema.from_dict(SCHEMA), TERMS, (wishart, ordinary))


if __name__ == "__main__":
    expected().save(sys.argv[1])
