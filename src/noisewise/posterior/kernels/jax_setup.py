"""JAX as noisewise uses it: double precision for its own calls only, and a compilation cache that outlives the process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

Program: TypeAlias = Callable[..., Any]
"""A compiled function: arrays in tuples and dictionaries in, the like out."""
Tree: TypeAlias = Any
"""Arrays in tuples and dictionaries, or a state of BlackJAX, which has no types."""


MAPS: Final = Path("/proc/self/maps")
MOST_MAPS: Final = Path("/proc/sys/vm/max_map_count")

_looked = float("-inf")


def cache_folder() -> str:
    """The folder for compiled programs: NOISEWISE_CACHE_DIR, or the user's cache folder."""
    from platformdirs import user_cache_dir

    return os.environ.get("NOISEWISE_CACHE_DIR") or user_cache_dir("noisewise")


@cache
def _configure() -> None:
    import jax

    config: Any = jax.config  # its flags are not typed
    if config.jax_compilation_cache_dir is None:  # keep the user's folder, if one is set
        config.update("jax_compilation_cache_dir", os.path.join(cache_folder(), "jax"))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@cache
def many_maps() -> float:
    """A third of the memory maps that Linux allows a process, 65,530 by default."""
    try:
        return int(MOST_MAPS.read_text()) / 3
    except (OSError, ValueError):  # another system
        return float("inf")


def make_room() -> None:
    """Forget compiled programs if they take many memory maps, hundreds each: a process that runs out of maps is aborted.

    It looks once a second at most: counting takes milliseconds, and a second compiles few programs.
    """
    global _looked
    import jax

    now = time.monotonic()
    if many_maps() == float("inf") or now < _looked + 1.0:
        return
    _looked = now
    if MAPS.read_bytes().count(b"\n") > many_maps():
        jax.clear_caches()
        gc.collect()


def double_precision() -> AbstractContextManager[object]:
    """Make JAX compute in 64 bits within this context, and nowhere else in the process."""
    import jax

    _configure()
    make_room()
    place: Any = jax
    if not hasattr(jax, "enable_x64"):  # JAX before 0.8
        import jax.experimental as place
    context: AbstractContextManager[object] = place.enable_x64(True)
    return context


def on_accelerator() -> bool:
    """True if JAX runs on a GPU or another accelerator."""
    import jax

    return bool(jax.default_backend() != "cpu")


def as_numpy(tree: Tree) -> Tree:
    """Convert JAX arrays to NumPy: passing arrays on a device back to a compiled function would compile it again."""
    import jax
    import numpy as np

    return jax.tree.map(np.asarray, tree)
