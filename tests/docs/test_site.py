"""The site is complete: every page can be reached, and every public name is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import noisewise

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation() -> None:
    navigation = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    generated = {page for page in navigation if page.startswith("proofs/")} | {"changelog.md"}
    assert pages == navigation - generated


def test_every_public_name_is_in_the_reference() -> None:
    described = set(re.findall(r"^::: [\w.]+\.(\w+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.MULTILINE))
    inside_errors = {"NoisewiseError"}  # the module of errors is there as a whole
    assert set(noisewise.__all__) - {"__version__"} - inside_errors - described == set()


def test_nothing_is_loaded_from_another_server() -> None:
    """Links may lead elsewhere; pictures, styles and scripts may not."""
    for page in (*DOCS.rglob("*.md"), DOCS / "style.css", ROOT / "mkdocs.yml"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"!\[[^\]]*\]\(https?:|src=[\"']https?:|url\([\"']?https?:|@import", text), page
