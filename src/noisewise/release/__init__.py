"""The wall: only a release passes from the data holder to the analyst, and a release is data only.

A release holds the public schema, what was done to protect people, the noisy statistic and the scale of its
noise: all that an analysis needs and nothing else. It is stored as versioned JSON (``docs/format.md``), read
without running anything that is in the file, and checked completely before it is believed.
"""

from noisewise.release.adassp import AdasspPart, SmallestEigenvalue
from noisewise.release.batches import append
from noisewise.release.combine import combine
from noisewise.release.files import load
from noisewise.release.many import load_many
from noisewise.release.microdata import MicrodataRelease
from noisewise.release.model import EntryNoise, GramPart, Release
from noisewise.release.moments import BlockSums, MomentsPart
from noisewise.release.partition import PartitionRelease
from noisewise.release.single import SingleRelease

__all__ = [
    "AdasspPart", "BlockSums", "EntryNoise", "GramPart", "MicrodataRelease", "MomentsPart", "PartitionRelease", "Release",
    "SingleRelease", "SmallestEigenvalue", "append", "combine", "load", "load_many",
]
