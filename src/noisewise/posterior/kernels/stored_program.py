"""Programs for JAX that outlive the process which traced them.

JAX's own cache spares a second process the compilation, but the program must be traced first to find it there, and for NUTS that
takes longer than everything after it. So what was traced is stored too, in the portable form of ``jax.export``, under a name that
is a digest of all it depends on: the source of the rooms that sample, the versions of JAX and BlackJAX, the kind of device, the
shapes of the arguments. A file that does not match its checksum is not looked into, and a folder that cannot be written is done
without.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noisewise.posterior.kernels.jax_setup import cache_folder
from noisewise.version import __version__
from noisewise.whole_file import whole_file

CHECKSUM_BYTES = 32
PACKAGE = Path(__file__).parents[2]
ROOMS = ("posterior", "literature")

_loaded: dict[str, Any] = {}


def _origin() -> tuple[str, ...]:
    """What a traced program depends on besides its arguments."""
    sources = hashlib.sha256()
    for room in ROOMS:
        for path in sorted(PACKAGE.joinpath(room).rglob("*.py")):
            sources.update(path.read_bytes())
    packages = (importlib.metadata.version(package) for package in ("jax", "jaxlib", "blackjax"))
    return sources.hexdigest(), __version__, *packages


ORIGIN = _origin()
"""Of the sources as they are imported: if they are edited later, what this process traces still goes by its true name."""


def stored_program(name: str, build: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
    """The function that ``build`` gives, ready for arguments like these; ``build`` is called only if it was never stored.

    ``name`` says which function of these rooms it is. Arguments are arrays in tuples and dictionaries.
    """
    import jax

    shapes = [(leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arguments)]
    origin = name, jax.default_backend(), str(jax.tree.structure(arguments)), str(shapes), *ORIGIN
    key = hashlib.sha256("\n".join(origin).encode()).hexdigest()
    if key not in _loaded:
        _loaded[key] = _load_or_build(key, build, arguments)
    return _loaded[key]


def program_of(function: Callable[..., Any], purpose: str, build: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
    """What ``build`` compiles ``function`` to: from the store where it is of the rooms whose source the store knows."""
    module = function.__module__
    if not module.startswith(tuple(f"noisewise.{room}." for room in ROOMS)):
        return build()
    return stored_program(f"{purpose} of {module}.{function.__qualname__}", build, arguments)


def _load_or_build(key: str, build: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
    import jax
    import jax.export

    if importlib.util.find_spec("flatbuffers") is None:  # jax.export writes with it
        return build()
    path = Path(cache_folder(), "programs", key)
    exported = _read(path)
    if exported is None:
        exported = jax.export.export(build())(*arguments)
        _write(path, bytes(exported.serialize()))
    return jax.jit(exported.call)


def _read(path: Path) -> Any:
    """The stored program, or None: no file, a damaged one, or one that this JAX does not understand."""
    import jax.export

    with contextlib.suppress(Exception):  # whatever is wrong with a cache, it can be made anew
        content = path.read_bytes()
        checksum, program = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
        if hashlib.sha256(program).digest() == checksum:
            return jax.export.deserialize(bytearray(program))
    return None


def _write(path: Path, program: bytes) -> None:
    """Whole or not at all: another process may be reading or writing the same file."""
    with contextlib.suppress(OSError):  # no cache is no harm
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(hashlib.sha256(program).digest() + program)
