"""The wall: only a release passes from the data holder to the analyst, and a release is data only.

A release holds the public schema, the kind that was asked for, how people were protected, the noisy numbers and the scale of
their noise: everything an analysis needs and nothing else. It is stored as versioned JSON (``docs/format.md``), read without
running anything in the file, and fully checked before it is used. ``contents`` has a file for each kind.
"""

from noisewise.releases.batches import append
from noisewise.releases.combine import combine
from noisewise.releases.contribution import Contribution
from noisewise.releases.files import load
from noisewise.releases.many import load_many
from noisewise.releases.release import Release

__all__ = ["Contribution", "Release", "append", "combine", "load", "load_many"]
