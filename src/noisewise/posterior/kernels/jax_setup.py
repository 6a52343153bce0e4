"""JAX as noisewise uses it: double precision for our own calls only, and a compilation cache that outlives the process."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _configure() -> None:
    import jax
    from platformdirs import user_cache_dir

    if jax.config.jax_compilation_cache_dir is None:  # a user's own choice of folder is left alone
        folder = os.environ.get("NOISEWISE_CACHE_DIR") or user_cache_dir("noisewise")
        jax.config.update("jax_compilation_cache_dir", os.path.join(folder, "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def double_precision() -> AbstractContextManager[Any]:
    """A context in which JAX computes in 64 bits, without changing what the rest of the process does."""
    import jax

    _configure()
    context: AbstractContextManager[Any] = jax.enable_x64(True)
    return context
