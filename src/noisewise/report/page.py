"""Templates, style sheet and script become one file that loads nothing.

The policy in its head forbids everything but this style sheet and this script, told by their digests: even if a text from a
release were taken for markup by a browser, it could neither run nor call anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any, Final

from noisewise.report.texts import Whole, shown

FOLDER: Final = Path(__file__).parent / "templates"


def render(**values: Any) -> str:
    """The page. Every value is made visible, cut where it is far too long, and escaped, wherever a template has it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True, finalize=finalize)
    environment.filters["whole"] = Whole
    style, script = ((FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    return environment.get_template("page.html.j2").render(
        policy=policy(style, script), style=Markup(style), script=Markup(script), **values)


def policy(style: str, script: str) -> str:
    """Nothing but this style sheet and this script."""
    return (f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
            "form-action 'none'")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
