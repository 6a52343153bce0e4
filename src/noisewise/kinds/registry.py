"""Which kinds there are, and where each room keeps its file of a kind.

A kind has one stem, and every room that must know something about it has a file of that stem (CONTRIBUTING.md says what is in
each). A room asks for its own file by `module_of`, when it first needs it. Nothing else connects a kind with its files: a kind
is added by adding files and one `register`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from noisewise.errors import DeclarationError
from noisewise.kinds.kind import Kind, require

ROOMS: Final[Mapping[str, str]] = {
    "holder": "noisewise.holder.{}",
    "contents": "noisewise.releases.contents.{}",
    "audit": "noisewise.audits.{}",
    "posterior": "noisewise.posterior.kinds.{}",
    "answers": "noisewise.answers.{}",
    "report": "noisewise.reports.kinds.{}",
    "command": "noisewise.cli.release.{}",
}
"""Where a room keeps its files, by stem."""


NOWHERE: Final = "noisewise.kinds.nowhere"
_KINDS: dict[str, tuple[type[Kind], Mapping[str, str]]] = {}
"""Each with the modules of its rooms where they are not those of its stem."""


def register(kind: type[Kind], **elsewhere: str) -> type[Kind]:
    """Make a kind known. ``elsewhere`` names its modules in other packages: ``holder="my_package.holder"``."""
    unknown = set(elsewhere) - set(ROOMS)
    if unknown:
        raise DeclarationError("these rooms have no files of a kind", found=", ".join(sorted(unknown)), known=ROOMS)
    require(kind.name not in _KINDS or _KINDS[kind.name][0] is kind, "there is another kind of that name", kind.name,
            "choose another name")
    _KINDS[kind.name] = (kind, elsewhere)
    return kind


def forget(kind: type[Kind]) -> None:
    """Make a registered kind unknown again."""
    _KINDS.pop(kind.name, None)


def kinds() -> tuple[type[Kind], ...]:
    """All kinds, in the order in which they were registered."""
    return tuple(kind for kind, _ in _KINDS.values())


def kind_named(name: object) -> type[Kind]:
    """The kind of that name."""
    if not isinstance(name, str) or name not in _KINDS:
        raise DeclarationError("this kind of release is not known", argument="kind", found=repr(name)[:80], known=_KINDS)
    return _KINDS[name][0]


def kind_from_dict(declared: Any) -> Kind:
    """The kind that `Kind.to_dict` wrote."""
    require(isinstance(declared, Mapping) and all(isinstance(key, str) for key in declared), "a kind is a name and its options",
            repr(declared)[:80], 'for example {"name": "gram", "terms": "age:ward"}')
    return kind_named(declared.get("name")).from_options({key: value for key, value in declared.items() if key != "name"})


def has_room(kind: Kind | type[Kind], room: str) -> bool:
    """Whether a room has a file of this kind."""
    try:
        return importlib.util.find_spec(_module_name(kind, room)) is not None
    except ModuleNotFoundError:
        return False


def module_of(kind: Kind | type[Kind], room: str) -> ModuleType:
    """What a room knows of a kind; a `DeclarationError` if it knows nothing."""
    require(has_room(kind, room), f"a release of kind {kind.name} has no part in the room {room}", kind.name,
            "it is for: " + kind.purpose)
    return importlib.import_module(_module_name(kind, room))


def _module_name(kind: Kind | type[Kind], room: str) -> str:
    """Where a room keeps what it knows of a kind; nowhere if it is not registered, or has its files in other rooms only."""
    elsewhere = _KINDS[kind.name][1] if kind.name in _KINDS else {room: NOWHERE}
    return elsewhere.get(room, NOWHERE) if elsewhere else ROOMS[room].format(kind.name)
