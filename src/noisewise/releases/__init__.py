"""The wall: only a release passes from the data holder to the analyst, and a release is data only.

A release holds the public schema, the kind that was asked for, what was done to protect people, the noisy numbers and the scale
of their noise: all that an analysis needs and nothing else. It is stored as versioned JSON (``docs/format.md``), read without
running anything that is in the file, and checked completely before it is believed. ``contents`` has a file for each kind.
"""

from noisewise.releases.batches import append
from noisewise.releases.combine import combine
from noisewise.releases.contribution import Contribution
from noisewise.releases.files import load
from noisewise.releases.many import load_many
from noisewise.releases.release import Release

__all__ = ["Contribution", "Release", "append", "combine", "load", "load_many"]
