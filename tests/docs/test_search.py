"""Search in the site, in a real browser: type a word, see results, open one. From a web server, and from disk.

The site is built from a copy of the repository, so that `site/` stays as it is. Whatever is asked of another host is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
pytest.importorskip("zensical", reason="zensical is not installed: pip install '.[docs]'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium, as root, or another way")

TIMEOUT = 60_000
"""Milliseconds; only to end a hung test."""


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repository")
    for folder in ("docs", "src"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / file, place)
    done = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=place, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(place)})
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "site"


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site))) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.fixture
def page() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(TIMEOUT)
        yield opened
        browser.close()


@pytest.mark.parametrize("opened_from", ["server", "disk"])
def test_a_word_is_found_and_a_result_opens(opened_from: str, site: Path, server: str, page: Any) -> None:
    base = server if opened_from == "server" else site.as_uri()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{base}/index.html")
    page.get_by_role("button", name="Search").first.click()
    page.get_by_role("combobox", name="Search").press_sequentially("wishart")
    result = page.locator("a", has_text="Wishart noise: proofs").filter(has_text="computes the degrees of freedom").first
    result.click()
    page.wait_for_url(f"{base}/proofs/wishart.html**")
    assert page.locator("h1").first.inner_text().startswith("Wishart noise: proofs")
    assert page.locator("math").count() > 50
    assert [url for url in requests if not url.startswith((base, "data:", "blob:"))] == [] and complaints == []


def test_no_page_names_a_script_or_style_of_another_host(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>", text)
        assert loaded == [], file
