"""TOML files of declarations: read complete ones and those with open bounds, write them, and make a template."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from noisewise.errors import DeclarationError
from noisewise.schema.columns import UNFILLED
from noisewise.schema.search_grid import Known

TEMPLATE_HEAD = f"""\
# What is public about this table. Fill in every "{UNFILLED}" from public knowledge (a questionnaire, an instrument's range,
# a regulation), never from the data: a bound read off the data is a leak. If nobody knows a bound, leave its "{UNFILLED}" and
# let `noisewise bounds` estimate it privately, which costs part of the budget. Or write bounds = "unknown", which is enough
# for releases of kind partition (answers to questions about one regression) and of kind bounds (estimates of bounds). Delete
# the columns you do not need to release: each column makes the noise larger.

adjacency = "{UNFILLED}"   # "replace-one": the number of people is public; "add-remove": it is not
unit = "row"      # or {{column = "person", max_rows = 5}} if one person can have several rows
"""
QUESTIONS = {
    "number": f'bounds = ["{UNFILLED}", "{UNFILLED}"]   # lowest and highest possible value',
    "category": f'levels = ["{UNFILLED}"]   # every possible level, the reference level first',
    "boolean": "levels = [false, true]",
    "either": f"""\
# bounds = ["{UNFILLED}", "{UNFILLED}"]   # keep this line for a number: lowest and highest possible value
# levels = ["{UNFILLED}"]        # keep this line for a category: every possible level, the reference level first""",
}
NO_SCHEMA: Final = "check the path; `noisewise schema init DATA` writes a template"


def read_toml(path: str | Path, what: str = "schema file", remedy: str = NO_SCHEMA) -> dict[str, Any]:
    """The declarations in a file. ``remedy`` is the advice if the file is missing or not text."""
    try:
        return tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise DeclarationError(f"the {what} cannot be read", found=f"{path}: {error.strerror}", remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise DeclarationError(f"the {what} must be UTF-8 text", found=str(path), remedy=remedy) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DeclarationError(f"the {what} is not valid TOML", found=f"{path}: {str(error)[:200]}",
                               remedy="fix that line") from error


@dataclass(frozen=True)
class OpenBounds:
    """The adjacency, unit and stratum that a file declares, and its columns with an open bound."""

    people: Mapping[str, object]
    columns: Mapping[str, Known]

    @classmethod
    def load(cls, path: str | Path) -> OpenBounds:
        """Read a schema file in which bounds may be "?". Everything else is checked once the file is complete."""
        declared = read_toml(path)
        columns = declared.get("columns", {})
        named = columns.items() if isinstance(columns, dict) else ()
        bounds = {name: column.get("bounds") for name, column in named if isinstance(column, dict)}
        people = {key: value for key, value in declared.items() if key in ("adjacency", "unit", "stratum")}
        return cls(people, {name: (_known(pair[0]), _known(pair[1])) for name, pair in bounds.items()
                            if isinstance(pair, list) and len(pair) == 2 and UNFILLED in pair})


def _known(bound: Any) -> float | None:
    return None if bound == UNFILLED else bound


def template(kinds: Mapping[str, Literal["number", "category", "boolean", "either"]]) -> str:
    """A schema to fill in, from the names and types of the columns only. "either" is a type that could be both.

    >>> print(template({"age": "number"}).splitlines()[-1])
    bounds = ["?", "?"]   # lowest and highest possible value
    """
    return "\n".join([TEMPLATE_HEAD, *(f"[columns.{_key(name)}]\n{QUESTIONS[kind]}\n" for name, kind in kinds.items())])


def to_toml(declared: Mapping[str, Any]) -> str:
    """Write a schema as TOML."""
    lines = [f"{key} = {_value(value)}" for key, value in declared.items() if key != "columns"]
    for name, column in declared["columns"].items():
        lines += ["", f"[columns.{_key(name)}]"]
        lines += [f"{key} = {_value(value)}" for key, value in column.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A quoted string. JSON and TOML quote alike, except that TOML also escapes DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    return repr(float(value)) if isinstance(value, float) else repr(value)  # NumPy's own floats have another repr
