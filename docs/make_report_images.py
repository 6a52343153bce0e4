"""The picture of the reports' page: ``python docs/make_report_images.py``; needs Chromium and playwright.

The table is made up. The privacy noise is real, so it is new each time.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import image
from playwright.sync_api import sync_playwright

import noisewise as nw

TARGET = Path(__file__).parent / "images" / "report.png"
SCHEMA = nw.Schema.from_dict({
    "adjacency": "replace-one",
    "columns": {"stay": {"bounds": [0, 40]}, "age": {"bounds": [18, 98]}, "ward": {"levels": ["A", "B", "C"]}},
})
HEIGHT, GAP = 860, 24


def patients(rows: int) -> dict[str, Any]:
    random = np.random.default_rng(1)
    age, ward = random.integers(18, 99, rows), random.choice(["A", "B", "C"], rows)
    return {"age": age, "ward": ward, "stay": 2 + 0.1 * age + 3 * (ward == "B") + random.gamma(2, 2, rows)}


def pictures(page: Path) -> list[np.ndarray[Any, Any]]:
    """The top of the page on a screen, the coefficients in the dark, and the same on a phone."""
    views = [(1000, "light", "header"), (560, "dark", "#fit-1 .controls"), (360, "light", "#fit-1 .controls")]
    found = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for width, scheme, top in views:
            shown = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce")
            shown.goto(page.as_uri())
            if scheme == "dark":
                shown.locator("#fit-1 .pick-densities").check()
            shown.locator(top).evaluate("one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 12)")
            found.append(image.imread(io.BytesIO(shown.screenshot())))
        browser.close()
    return found


def main() -> None:
    release = nw.release(patients(20_000), SCHEMA, epsilon=1, delta=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        release.save(Path(folder) / "patients.nwr")
        fit = nw.fit("stay ~ age + ward", release, method="conditional", seed=1)
        nw.report(Path(folder) / "patients.nwr", fits=fit, path=page, title="Length of stay")
        parts = pictures(page)
    gap = np.ones((HEIGHT, GAP, parts[0].shape[2]), dtype=parts[0].dtype)
    image.imsave(TARGET, np.hstack([parts[0], gap, parts[1], gap, parts[2]]))


if __name__ == "__main__":
    main()
