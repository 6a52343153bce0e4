"""The kinds, and where each room keeps its file for a kind.

A kind has one stem, and every room that needs code for it has a file with that stem (CONTRIBUTING.md says what is in each). A
room gets its own file from `module_of` when it first needs it. Nothing else connects a kind to its files: to add a kind, add
files and one call of `register`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from noisewise.errors import DeclarationError
from noisewise.kinds.kind import Kind, require

ROOMS: Final[Mapping[str, str]] = {
    "holder": "noisewise.holder.{}",
    "contents": "noisewise.releases.contents.{}",
    "audit": "noisewise.audits.{}",
    "posterior": "noisewise.posterior.kinds.{}",
    "selection": "noisewise.selection.kinds.{}",
    "check": "noisewise.results.kinds.{}",
    "answers": "noisewise.answers.{}",
    "report": "noisewise.reports.kinds.{}",
    "command": "noisewise.cli.release.{}",
}
"""The module of each room, given the stem."""


NOWHERE: Final = "noisewise.kinds.nowhere"
_KINDS: dict[str, tuple[type[Kind], Mapping[str, str]]] = {}
"""The registered kinds by name, each with its modules outside the rooms, if any."""


def register(kind: type[Kind], **elsewhere: str) -> type[Kind]:
    """Register a kind. ``elsewhere`` names its modules if they are in another package: ``holder="my_package.holder"``."""
    unknown = set(elsewhere) - set(ROOMS)
    if unknown:
        raise DeclarationError("unknown room", found=", ".join(sorted(unknown)), known=ROOMS)
    require(kind.name not in _KINDS or _KINDS[kind.name][0] is kind, "another kind already has this name", kind.name,
            "choose another name")
    _KINDS[kind.name] = (kind, elsewhere)
    return kind


def forget(kind: type[Kind]) -> None:
    """Unregister a kind."""
    _KINDS.pop(kind.name, None)


def kinds() -> tuple[type[Kind], ...]:
    """All kinds, in order of registration."""
    return tuple(kind for kind, _ in _KINDS.values())


def kind_named(name: object) -> type[Kind]:
    """The kind with this name."""
    if not isinstance(name, str) or name not in _KINDS:
        raise DeclarationError("unknown kind of release", argument="kind", found=repr(name)[:80], known=_KINDS)
    return _KINDS[name][0]


def kind_from_dict(declared: object) -> Kind:
    """The kind with the name and options in a dictionary, as `Kind.to_dict` writes them."""
    form = declared if isinstance(declared, Mapping) and all(isinstance(key, str) for key in declared) else None
    require(form is not None, "a kind must be a dictionary of its name and options", repr(declared)[:80],
            'for example {"name": "gram", "terms": "age:ward"}')
    assert form is not None
    return kind_named(form.get("name")).from_options({key: value for key, value in form.items() if key != "name"})


def has_room(kind: Kind | type[Kind], room: str) -> bool:
    """True if a room has a file for this kind."""
    try:
        return importlib.util.find_spec(_module_name(kind, room)) is not None
    except ModuleNotFoundError:
        return False


def module_of(kind: Kind | type[Kind], room: str) -> ModuleType:
    """The module of a kind in a room, or a `DeclarationError` if it has none."""
    require(has_room(kind, room), f"kind {kind.name} has no file in the room {room}", kind.name, "it is for: " + kind.purpose)
    return importlib.import_module(_module_name(kind, room))


def _module_name(kind: Kind | type[Kind], room: str) -> str:
    """The name of a kind's module in a room; `NOWHERE` if it is not registered or has modules only for other rooms."""
    elsewhere = _KINDS[kind.name][1] if kind.name in _KINDS else {room: NOWHERE}
    return elsewhere.get(room, NOWHERE) if elsewhere else ROOMS[room].format(kind.name)
