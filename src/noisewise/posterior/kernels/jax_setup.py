"""JAX as noisewise uses it: double precision for our own calls only, and a compilation cache that outlives the process."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def cache_folder() -> str:
    """Where compiled programs are kept: NOISEWISE_CACHE_DIR, or the user's cache folder."""
    from platformdirs import user_cache_dir

    return os.environ.get("NOISEWISE_CACHE_DIR") or user_cache_dir("noisewise")


@cache
def _configure() -> None:
    import jax

    config: Any = jax.config  # its flags are not typed
    if config.jax_compilation_cache_dir is None:  # a user's own choice of folder is left alone
        config.update("jax_compilation_cache_dir", os.path.join(cache_folder(), "jax"))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def double_precision() -> AbstractContextManager[Any]:
    """A context in which JAX computes in 64 bits, without changing what the rest of the process does."""
    import jax

    _configure()
    context: AbstractContextManager[Any] = jax.enable_x64(True)
    return context


def on_accelerator() -> bool:
    """Whether JAX computes on a GPU or the like."""
    import jax

    return bool(jax.default_backend() != "cpu")


def as_numpy(tree: Any) -> Any:
    """Arrays as NumPy's again: given back to a compiled function, those that lie on a device would have it compiled anew."""
    import jax
    import numpy as np

    return jax.tree.map(np.asarray, tree)
