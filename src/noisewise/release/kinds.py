"""The kinds of release that are no matrices, and the fields of their files; imported only when a file is read or written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from noisewise.release.microdata import MicrodataRelease
from noisewise.release.microdata_fields import MicrodataFields
from noisewise.release.partition import PartitionRelease
from noisewise.release.partition_fields import PartitionFields
from noisewise.release.single import SingleRelease
from noisewise.release.single_fields import SingleFields

SINGLE: Final[Mapping[str, tuple[type[SingleRelease], type[SingleFields]]]] = {
    "partition": (PartitionRelease, PartitionFields),
    "microdata": (MicrodataRelease, MicrodataFields),
}
