"""Requests: one frozen record for each kind of release, with all its options.

`registry` lists the kinds, and finds the files of each in the other rooms.
"""

from noisewise.kinds.adassp import AdaSSP
from noisewise.kinds.binary import Binary
from noisewise.kinds.bounds import Bounds
from noisewise.kinds.gram import Gram
from noisewise.kinds.kind import Kind
from noisewise.kinds.model import Model
from noisewise.kinds.moments import Moments
from noisewise.kinds.partition import Partition
from noisewise.kinds.registry import kind_from_dict, kind_named, kinds, register
from noisewise.kinds.rows import Rows

for _kind in (Gram, Model, Moments, Partition, Rows, Bounds, Binary, AdaSSP):
    register(_kind)

__all__ = ["AdaSSP", "Binary", "Bounds", "Gram", "Kind", "Model", "Moments", "Partition", "Rows", "kind_from_dict",
           "kind_named", "kinds", "register"]
