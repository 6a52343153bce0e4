"""The array types that every room uses."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import jax

Array: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Values: TypeAlias = npt.NDArray[Any]
"""An array with elements of any type."""
Vector: TypeAlias = Array
"""An array with one axis. Type checkers ignore shapes: the name is for the reader."""
Matrix: TypeAlias = Array
"""An array with two axes."""
Traced: TypeAlias = "jax.Array | Array"
"""A number or array in code written for both JAX and NumPy."""
Namespace: TypeAlias = ModuleType
"""The module such code computes with: ``numpy`` or ``jax.numpy``."""
