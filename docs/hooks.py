"""What mkdocs does beside its own work: the proofs that stand next to the code, and the changelog, become pages.

The proofs hold formulas in TeX. They are turned into MathML when the site is built, which every browser shows by itself: the
pages load no script from another server.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent

PAGES = {
    "proofs/gram.md": "src/noisewise/privacy/sensitivity/gram.md",
    "proofs/averaged.md": "src/noisewise/privacy/sensitivity/averaged.md",
    "proofs/adassp.md": "src/noisewise/privacy/sensitivity/adassp.md",
    "proofs/bounds.md": "src/noisewise/privacy/sensitivity/bounds.md",
    "proofs/partition.md": "src/noisewise/privacy/sensitivity/partition.md",
    "proofs/moments.md": "src/noisewise/privacy/sensitivity/moments.md",
    "proofs/rows.md": "src/noisewise/privacy/sensitivity/rows.md",
    "proofs/database.md": "src/noisewise/data/sources/database.md",
    "proofs/wishart.md": "src/noisewise/privacy/mechanisms/wishart.md",
    "proofs/binary.md": "src/noisewise/privacy/mechanisms/binary.md",
    "proofs/calibration.md": "src/noisewise/privacy/calibration.md",
    "changelog.md": "CHANGELOG.md",
}

FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>.+?)\$", re.DOTALL)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if not page.file.src_uri.startswith("proofs/"):
        return markdown
    return FORMULA.sub(_mathml, markdown)


def _mathml(found: re.Match[str]) -> str:
    if found["block"]:
        return f"\n\n<div>{_upright(convert(found['block'].strip(), display='block'))}</div>\n\n"
    # In a span, because Markdown takes <math> at the beginning of a line for a paragraph of its own.
    return f"<span>{_upright(convert(found['inline']))}</span>"


def _upright(mathml: str) -> str:
    """Bars of norms and absolute values in the size of the text: browsers would stretch them."""
    return re.sub(r"<mo>(&#x0?2016;|&#x0*7C;)</mo>", r'<mo stretchy="false">\1</mo>', mathml)
