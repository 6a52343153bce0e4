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
    assert pages == navigation


def test_every_proof_is_a_page() -> None:
    """A page of a proof includes the text beside the code."""
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "proofs").glob("*.md")]
    included = {found for page in pages for found in re.findall('--8<-- "(.+)"', page)}
    assert included == {str(proof.relative_to(ROOT)) for proof in (ROOT / "src").rglob("*.md")}


def test_formulas_are_marked() -> None:
    for page in (DOCS / "proofs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        (source,) = re.findall('--8<-- "(.+)"', text)
        assert ("<!-- formulas in TeX -->" in text) == ("$" in (ROOT / source).read_text(encoding="utf-8")), page


def test_every_picture_and_file_that_a_page_names_is_there() -> None:
    """`zensical build --strict` checks links to pages, and nothing else."""
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(<?([^)\s>]+)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text):
            if not re.match(r"https?:|mailto:|#", link):
                assert (page.parent / link.split("#")[0]).is_file(), (page, link)


def test_every_public_name_is_in_the_reference() -> None:
    described = set(re.findall(r"^::: [\w.]+\.(\w+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), re.MULTILINE))
    inside_errors = {"NoisewiseError"}  # the module of errors is there as a whole
    assert set(noisewise.__all__) - {"__version__"} - inside_errors - described == set()


def test_nothing_is_loaded_from_another_server() -> None:
    """Links may lead elsewhere; pictures, styles and scripts may not."""
    for page in (*DOCS.rglob("*.md"), DOCS / "style.css", ROOT / "mkdocs.yml"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"!\[[^\]]*\]\(https?:|src=[\"']https?:|url\([\"']?https?:|@import", text), page


MEASURED = {
    "`normal-x`": "`normal-x`", "`normal-x-nuts`": "`normal-x-nuts`", "`fixed-s`": "`fixed-s`", "`fast`": "`fast`",
    "`clt-gibbs`": "`clt-gibbs`", "`simex`": "`simex`", "`gibbs`": "`fit_sum`, `gibbs`",
    "*default* of `nw.fit`": "`conditional` (default)", "*default* of `nw.fit`, releases of kind `rows`":
    "`rows` (default), one to three predictors", "*default* of `nw.fit_sum`": "`fit_sum`, `exact` (default)",
    "`naive` of `nw.fit`, releases of kind `rows`": "`naive`", "`naive` of `nw.fit_sum`": "`fit_sum`, `naive`",
    "– of `nw.fit_binary`, releases of kind `binary`": "`fit_binary`",
}
"""Lines of the page on the papers' methods, and those of the summary of calibrations that they repeat."""


def test_the_page_of_the_literature_has_the_figures_that_were_measured() -> None:
    measured = (DOCS / "calibration-summary.md").read_text(encoding="utf-8")
    summary = {found[1]: (float(found[2]), float(found[3])) for found in re.finditer(
        r"^\| \[(.+?)\]\([^)]*\) \| ([\d.]+) to [\d.]+ \| ([\d.]+) ±", measured, re.MULTILINE)}
    call, shown = "", {}
    for line in (DOCS / "literature.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        figures = re.fullmatch(r"\*?([\d.]+) % \(([\d.]+) %\)\*?", cells[3]) if len(cells) == 5 else None
        call = cells[0] or call if len(cells) == 5 else call
        if figures:
            name = f"{cells[1]} of {call}" if cells[1] in ("*default*", "`naive`", "–") else cells[1]
            shown[name] = (float(figures[2]), float(figures[1]))
    assert set(shown) == set(MEASURED)
    for name, (lowest, pooled) in shown.items():
        expected = summary[MEASURED[name]]
        assert abs(lowest - expected[0]) < 0.06 and abs(pooled - expected[1]) < 0.06, (name, expected)
