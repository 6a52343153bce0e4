"""Every example of the documentation runs: the README and each page, from top to bottom, in a folder of its own.

What is run is said in `docs/examples.py`. Privacy noise has no seed, so what a block prints is not compared with the page. Where
all methods are compared, only some are: each of the others is compiled for many seconds, and
`test_every_method_fits_or_says_why_not` has them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from docs.examples import PRINTED, Block, blocks, commands, rewrite, run
from tests.only_methods import only_methods

from noisewise.posterior.methods import METHODS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "gallery").glob("*.md"))]
GALLERY = [page for page in PAGES if page.parent.name == "gallery" and page.stem != "index"]
COMPARED = ("conditional", "laplace", "fast")

SLOW = {
    "04-eight-cities": "a fit of sites that differ",
    "03-doctor-visits": "two more Poisson regressions to compile; tutorial-glm has the same calls",
    "07-published-rows": "a sampler of rows to compile; test_rows_fit.py has the same calls",
    "11-too-little": "samples the predictors' moments; no call that other pages do not have",
    "rows": "a sampler of rows to compile; test_rows_fit.py has the same calls",
    "moments": "one more Poisson regression to compile; test_moments_fit.py has the same calls",
}
"""Pages that are left to `make slow`, and why: compiling takes many seconds of one core."""


def marked(page: Path) -> Any:
    marks = [pytest.mark.slow] if page.stem in SLOW else [pytest.mark.inner] if page.stem == "README" else []
    return pytest.param(page, id=page.stem, marks=marks)


@contextmanager
def few_methods(block: Block) -> Iterator[None]:
    """Where the block compares all methods, compare some."""
    if block.language == "console" and any("--compare-methods" in words for words in commands(block)):
        with only_methods({name: METHODS[name] for name in COMPARED}):
            yield
    else:
        yield


# With noise that differs in every run, a short example may now and then be told to take more draws. That is no failure.
@pytest.mark.filterwarnings("default::noisewise.errors.ConvergenceWarning")
@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_examples_of_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page.read_text(encoding="utf-8")):
        with few_methods(block):
            run(block, page.name, names)


def test_blocks_are_found_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner sees indented blocks and shares names, and it does fail on a wrong example."""
    monkeypatch.chdir(tmp_path)
    page = '```python\na = 1\n```\n\n- item\n\n    ```python\n    b = a + 1\n    ```\n\n```toml title="x.toml"\nk = 1\n```\n'
    found = list(blocks(page))
    names: dict[str, Any] = {}
    for block in found:
        run(block, "page", names)
    assert names["b"] == 2 and Path("x.toml").read_text() == "k = 1\n" and [block.line for block in found] == [2, 8, 12]
    with pytest.raises(AssertionError, match="no-such-command"):
        run(Block("console", None, "$ noisewise no-such-command\n", 1), "page", {})
    with pytest.raises(ZeroDivisionError):
        run(Block("python", None, "1 / 0", 1), "page", {})


def test_a_page_is_rewritten_with_what_it_prints_and_draws(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    page = tmp_path / "page.md"
    draw = "from matplotlib.figure import Figure\nFigure().savefig('seen.png'); Figure().savefig('unseen.png')"
    page.write_text(f"```python\nprint(1 + 1)\n{draw}\n```\n\n```text\nold\n```\n\n```text\nstays\n```\n![](images/seen.png)\n")
    rewrite(page)
    assert "```text\n2\n```\n\n```text\nstays\n```" in page.read_text()
    assert [picture.name for picture in (tmp_path / "images").iterdir()] == ["seen.png"]


@pytest.mark.parametrize("page", GALLERY, ids=lambda page: page.stem)
def test_an_example_of_the_gallery_is_complete(page: Path) -> None:
    """It was run, says how it ends at the top, shows a picture that its own code draws, and is in the index."""
    text = page.read_text(encoding="utf-8")
    pictures = re.findall(r"\]\(images/([\w-]+\.png)\)", text)
    code = "".join(block.text for block in blocks(text))
    assert len(pictures) == 1 and f"{pictures[0]}" in code and (page.parent / "images" / pictures[0]).stat().st_size < 100_000
    assert all(place["text"].strip() for place in PRINTED.finditer(text)), "run it: python -m docs.examples PAGE"
    words = ("**Shows:**", "**Data:**", "**Verdict:**", "## The holder", "analyst", "statsmodels", "**Next:**")
    assert [word for word in words if word not in text] == []
    assert f"]({page.name})" in (page.parent / "index.md").read_text(encoding="utf-8")


def test_slow_pages_exist() -> None:
    assert set(SLOW) <= {page.stem for page in PAGES}


def test_readme_names_both_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text and "make test" in text
