"""The content of ``averaged-gram-1.1.nwr``: a part with averaged rows beside one without, in made-up numbers.

The file was written once and is not to be written again; ``python tests/golden/make_averaged_gram_1_1.py FILE`` shows what the
present code would write.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from tests.golden.make_gram_1_0 import SCHEMA, TERMS, matrix
from tests.golden.make_gram_1_0 import expected as plain

from noisewise.release import Release
from noisewise.schema import Schema


def expected() -> Release:
    """What every version must find in ``averaged-gram-1.1.nwr``."""
    ordinary = plain().parts[0]
    averaged = replace(ordinary, rows=1201, matrix=matrix(1201, -12.25), sensitivity=9.125, average=10)
    return Release("gram", Schema.from_dict(SCHEMA), TERMS, (averaged, ordinary))


if __name__ == "__main__":
    expected().save(sys.argv[1])
