"""JAX programs that outlive the process that traced them.

JAX's own cache spares a second process the compilation, but finding a program there takes tracing it first, and for NUTS tracing
takes longer than everything after it. So the traced program is stored too, in the portable form of ``jax.export``. Its file name
is a digest of all it depends on: the sources of its modules and of the modules they import, the versions of noisewise, JAX and
BlackJAX, the kind of device, and the shapes of the arguments. A file that does not match its checksum is ignored, and so is a
folder that cannot be written.

Imports are followed within the rooms that hold traced code, ``posterior`` and ``literature``. What those import from elsewhere
(schemas, errors, progress) takes no part in a trace.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from noisewise.posterior.kernels.jax_setup import Program, cache_folder
from noisewise.version import __version__
from noisewise.whole_file import whole_file

if TYPE_CHECKING:
    from jax.export import Exported
    from jax.stages import Wrapped

CHECKSUM_BYTES = 32
PACKAGE = Path(__file__).parents[2]
ROOMS = ("posterior", "literature")
IMPORTED = time.time()
"""Sources changed later may differ from the code that this process runs."""

Build: TypeAlias = "Callable[[], Wrapped]"
Arguments: TypeAlias = tuple[object, ...]

_loaded: dict[str, Program] = {}


def stored_program(name: str, build: Build, arguments: Arguments, module: str | None = None) -> Program:
    """Return the function that ``build`` makes, for arguments shaped like these; call ``build`` only if it is not stored.

    Args:
        name: Which function of its modules this is.
        build: Makes the compiled function. The program depends on the module that defines ``build``.
        arguments: Arrays in tuples and dictionaries.
        module: Another module that the program depends on.
    """
    import jax

    modules = {build.__module__, module or build.__module__}
    sources = source_digest(frozenset(each for each in modules if _in_rooms(each)))
    if sources is None:  # what runs may not be what the files say
        return build()
    shapes = [(leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(arguments)]
    origin = name, jax.default_backend(), str(jax.tree.structure(arguments)), str(shapes), sources, *_versions()
    key = hashlib.sha256("\n".join(origin).encode()).hexdigest()
    if key not in _loaded:
        _loaded[key] = _load_or_build(key, build, arguments)
    return _loaded[key]


def program_of(function: Callable[..., object], purpose: str, build: Build, arguments: Arguments) -> Program:
    """Return the program that ``build`` makes of ``function``, from the store if the function belongs to these rooms."""
    module = function.__module__
    if not _in_rooms(module):
        return build()
    return stored_program(f"{purpose} of {module}.{function.__qualname__}", build, arguments, module)


@cache
def _versions() -> tuple[str, ...]:
    return __version__, *(importlib.metadata.version(package) for package in ("jax", "jaxlib", "blackjax"))


@cache
def source_digest(modules: frozenset[str]) -> str | None:
    """Digest the sources of these modules and of all they import; None if one is missing or was changed after the import."""
    found: dict[str, _Source] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            source = _source(module)
            if source is None or source.changed > IMPORTED:
                return None
            found[module] = source
            waiting += source.imports
    return hashlib.sha256("\n".join(f"{module} {found[module].digest}" for module in sorted(found)).encode()).hexdigest()


class _Source:
    """The digest of a module's file, and the modules of these rooms that it imports."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        status = path.stat()
        self.changed = max(status.st_mtime, status.st_ctime)  # a copy may keep the time of modification
        self.digest = hashlib.sha256(content).hexdigest()
        self.imports = sorted({name for name in _imported(ast.parse(content)) if _in_rooms(name) and _path(name) is not None})


@cache
def _source(module: str) -> _Source | None:
    path = _path(module)
    return None if path is None else _Source(path)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Names of imported modules, also in functions; a name imported from a package may be a module too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not _only_for_types(node):
            yield from _imported(node)  # expressions import nothing


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _in_rooms(module: str) -> bool:
    return module.startswith(tuple(f"noisewise.{room}." for room in ROOMS))


def _path(module: str) -> Path | None:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()), None)


def _load_or_build(key: str, build: Build, arguments: Arguments) -> Program:
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


def _read(path: Path) -> Exported | None:
    """Return the stored program, or None if the file is missing or damaged, or this JAX cannot read it."""
    import jax.export

    with contextlib.suppress(Exception):  # whatever is wrong with a cached file, it can be made again
        content = path.read_bytes()
        checksum, program = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
        if hashlib.sha256(program).digest() == checksum:
            return jax.export.deserialize(bytearray(program))
    return None


def _write(path: Path, program: bytes) -> None:
    """Write all or nothing: another process may be reading or writing the same file."""
    with contextlib.suppress(OSError):  # the cache is optional
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(hashlib.sha256(program).digest() + program)
