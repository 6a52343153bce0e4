"""Fields that this version does not know: found, kept, and put back in their places when a file is written again."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


def known_part(fields: Any) -> Any:
    """Plain data, with the known fields only and only those that the file gave."""
    if isinstance(fields, BaseModel):
        return {
            name: known_part(getattr(fields, name))
            for name in type(fields).model_fields
            if name in fields.model_fields_set
        }
    if isinstance(fields, dict):
        return {name: known_part(value) for name, value in fields.items()}
    if isinstance(fields, list) and fields and isinstance(fields[0], BaseModel):
        return [known_part(item) for item in fields]
    return fields


def unknown_part(fields: Any) -> Any:
    """The fields that are not known here, each in its place; lists keep their length."""
    if isinstance(fields, BaseModel):
        known = {
            (info.alias or name): getattr(fields, name) for name, info in type(fields).model_fields.items()
        }
        return {name: kept for name, value in known.items() if (kept := unknown_part(value))} | (
            fields.model_extra or {}
        )
    if isinstance(fields, dict):
        return {name: kept for name, value in fields.items() if (kept := unknown_part(value))}
    if isinstance(fields, list) and fields and isinstance(fields[0], BaseModel):
        kept_items = [unknown_part(item) for item in fields]
        return kept_items if any(kept_items) else []
    return {}


def put_back(known: Any, unknown: Any) -> Any:
    """Put unknown fields back in their places; what is known wins."""
    if isinstance(known, dict) and isinstance(unknown, dict):
        return known | {
            name: put_back(known[name], value) if name in known else value for name, value in unknown.items()
        }
    if isinstance(known, list) and isinstance(unknown, list) and len(known) == len(unknown):
        return [put_back(one, other) for one, other in zip(known, unknown, strict=True)]
    return known
