"""Pages in a real browser: a headless Chromium, which `make test` installs where it can.

One browser serves all tests of this file. Pages are opened from their file; whatever else they ask for is a failure.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from tests.report.made_for_reports import made_comparison, made_fit, made_release, real_release, rows, whole_report
from tests.report.test_strangers import hostile_html

import noisewise
from noisewise.reports.write import report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
pytestmark = [
    pytest.mark.outer,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium, as root, or another way"),
]

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}


@dataclass
class Opened:
    """A page, and everything that went wrong or over a wire while it was open."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages: with everything, of several holders and a logistic regression, and a hostile one."""
    place = tmp_path_factory.mktemp("pages")
    whole_report(path=place / "whole.html")
    releases = [made_release(rows(seed, 3000 + seed)) for seed in range(1, 5)]
    together = noisewise.combine(releases)
    fits = [made_fit(together), made_fit(together, "sick ~ age + ward", family="logistic")]
    report([*releases, real_release("rows", place)], fits=fits, comparisons=made_comparison(together), path=place / "sites.html")
    (place / "hostile.html").write_text(hostile_html(), encoding="utf-8")
    return place


@pytest.fixture
def show(browser: Any, folder: Path) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opened(name: str = "whole", viewport: dict[str, int] = DESK, **options: Any) -> Opened:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("console", lambda message: found.complaints.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("dialog", lambda dialog: (found.complaints.append(dialog.message), dialog.dismiss()))
        found.page.goto((folder / f"{name}.html").as_uri())
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("name", ["whole", "sites", "hostile"])
def test_a_page_loads_nothing_complains_of_nothing_and_fits_its_window(show: Callable[..., Opened], name: str,
                                                                       viewport: dict[str, int]) -> None:
    found = show(name, viewport)
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert found.page.evaluate(width) <= 0
    found.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert found.page.evaluate(width) <= 0
    outside = found.page.evaluate("""() => [...document.querySelectorAll('body *')].filter(one =>
        !one.closest('.scroll, pre, svg, .skip') && one.getBoundingClientRect().right > innerWidth + 1
    ).map(one => one.outerHTML.slice(0, 90))""")
    assert outside == []
    assert [url.rsplit("/", 1)[-1] for url in found.requests] == [f"{name}.html"] and found.complaints == []


def test_nothing_else_may_run_or_be_loaded(show: Callable[..., Opened]) -> None:
    found, failures = show(), []
    found.page.on("requestfailed", lambda request: failures.append(request.failure))
    ran = found.page.evaluate("""() => {
        const script = document.createElement('script'); script.textContent = 'window.ran = 1'; document.head.append(script);
        const image = document.createElement('img'); image.src = 'https://example.org/x.png'; document.body.append(image);
        return window.ran === 1;
    }""")
    found.page.wait_for_timeout(100)
    assert not ran and failures == ["csp"]  # refused by the page itself, before anything went out
    assert sum("Content Security Policy" in words for words in found.complaints) >= 2


FOCUSED = """() => {
    const one = document.activeElement;
    if (one === document.body) return null;
    const every = [...document.querySelectorAll('*')];
    const ring = getComputedStyle(one.closest('.plot') || one);
    return {place: every.indexOf(one), name: one.name || '', ring: ring.outlineStyle + ' ' + ring.outlineWidth};
}"""
REACHABLE = """() => {
    const every = [...document.querySelectorAll('*')];
    return [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter(one =>
        !(one.closest('details:not([open])') && one.tagName !== 'SUMMARY')
    ).map(one => ({place: every.indexOf(one), name: one.type === 'radio' ? one.name : ''}));
}"""


def test_the_tab_key_reaches_everything_in_order_and_shows_where_it_is(show: Callable[..., Opened]) -> None:
    page = show().page
    expected = page.evaluate(REACHABLE)
    reached: list[dict[str, Any]] = []
    for _ in range(len(expected) + 5):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None:
            break
        reached.append(at)
    groups = {one["name"] for one in expected if one["name"]}
    single = [one["place"] for one in expected if not one["name"]]
    assert len(single) > 20 and len(groups) >= 4
    assert [one["place"] for one in reached if one["name"] not in groups] == single  # in the order of the page, none left out
    assert [one["name"] for one in reached if one["name"] in groups] == list(dict.fromkeys(
        one["name"] for one in expected if one["name"]))
    assert all(one["ring"] == "solid 3px" for one in reached), reached


def test_everything_can_be_worked_by_keyboard(show: Callable[..., Opened]) -> None:
    page = show().page
    fit = page.locator("#fit-1")
    intervals, densities = fit.locator(".v-intervals").first, fit.locator(".v-densities").first
    assert intervals.is_visible() and not densities.is_visible()
    fit.locator(".pick-intervals").focus()
    page.keyboard.press("ArrowRight")
    assert densities.is_visible() and not intervals.is_visible()
    level = fit.locator(".card .value .level:visible").first
    wide = level.inner_text()
    assert "(95 %)" in wide
    fit.locator(".pick-k2").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "(50 %)" in level.inner_text() and level.inner_text() != wide
    prior = fit.locator(".legend .prior")
    assert prior.is_visible()
    fit.locator(".pick-prior").focus()
    page.keyboard.press("Space")
    assert not prior.is_visible()
    folded = fit.locator("details").first
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.locator("table").is_visible()
    page.keyboard.press("Enter")
    assert not folded.locator("table").is_visible()
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_probabilities_are_read_out_by_keys_and_by_pointer(show: Callable[..., Opened]) -> None:
    page = show().page
    card = page.locator('#fit-1 .card[data-term="age"]')
    readout, slider = card.locator(".readout"), card.locator("input[type=range]")
    draws = made_fit(made_release()).draws("age")
    assert readout.inner_text() == "Above 0 with probability above 99.9 %"
    slider.focus()
    read = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        words = readout.inner_text()
        assert slider.get_attribute("aria-valuetext") == f"age: {words}"
        value, share = float(words.split()[1]), float(words.split()[4])
        assert share == pytest.approx(100 * float((draws > value).mean()), abs=1.5)
        read.append(share)
    assert read == sorted(read, reverse=True) and card.locator(".cursor.on").count() == 1
    slider.evaluate("one => one.blur()")
    assert readout.inner_text() == "Above 0 with probability above 99.9 %"
    card.locator(".plot").hover(position={"x": 4, "y": 20})
    assert "Above 0 " not in readout.inner_text() and float(readout.inner_text().split()[-2]) > 99
    card.locator(".plot").hover(position={"x": card.locator(".plot").bounding_box()["width"] - 4, "y": 20})
    assert float(readout.inner_text().split()[-2]) < 1
    page.mouse.move(1, 1)
    assert readout.inner_text() == "Above 0 with probability above 99.9 %"


CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    function rgb(colour) {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    }
    function light(colour) {
        const [r, g, b] = colour.map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    }
    function behind(one) {
        for (let at = one; at; at = at.parentElement) {
            const found = rgb(getComputedStyle(at).backgroundColor);
            if (found[3] === 255) return found;
        }
        return rgb('white');
    }
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const one = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || one.closest('script, style') || !one.checkVisibility()) continue;
        const style = getComputedStyle(one);
        const [a, b] = [light(rgb(one.closest('svg') ? style.fill : style.color)), light(behind(one))];
        found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walker.currentNode.textContent.trim().slice(0, 40)]);
    }
    return found.sort((a, b) => a[0] - b[0]);
}"""


@pytest.mark.parametrize("options", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"media": "print"}], ids=str)
def test_text_stands_out_from_what_is_behind_it(show: Callable[..., Opened], options: dict[str, str]) -> None:
    for name in ("whole", "sites"):
        page = show(name, color_scheme=options.get("color_scheme", "dark")).page
        page.emulate_media(**options)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        found = page.evaluate(CONTRAST)
        assert len(found) > 200 and found[0][0] >= 4.5, found[:5]


def shades(page: Any, scrolled: float) -> tuple[float, float]:
    """How far the left and the right edge of the first table differ from what is behind it; 0 is not at all, 1 black on white."""
    table = page.locator(".scroll").first
    table.evaluate("(one, share) => { one.scrollLeft = share * (one.scrollWidth - one.clientWidth); }", scrolled)
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    colour = table.evaluate("one => getComputedStyle(one).backgroundColor")
    behind = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]])

    def at(x: float) -> float:
        picture = page.screenshot(clip={"x": round(x), "y": round(box["y"]) + 10, "width": 2, "height": 2})
        return float(np.abs(imread(io.BytesIO(picture))[..., :3] - behind / 255).max())  # beside the caption: no text is there

    return at(box["x"] + 2), at(box["x"] + box["width"] - 4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_shows_it_at_that_edge(show: Callable[..., Opened], scheme: str) -> None:
    page = show(viewport=PHONE, color_scheme=scheme).page
    for scrolled, more in ((0.0, (False, True)), (0.7, (True, True)), (1.0, (True, False))):
        assert tuple(shade > 0.08 for shade in shades(page, scrolled)) == more, scrolled
    page.set_viewport_size(DESK)
    assert max(shades(page, 0.0)) < 0.02
    page.set_viewport_size(PHONE)
    page.emulate_media(media="print")
    assert page.evaluate("[...document.querySelectorAll('.scroll, pre')].every(one => "
                         "getComputedStyle(one).backgroundImage === 'none')")


def test_what_scrolls_can_be_reached_and_has_a_name(show: Callable[..., Opened]) -> None:
    page = show(viewport=PHONE).page
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    wide = page.evaluate("""() => [...document.querySelectorAll('body *')].filter(one =>
        one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'auto'
    ).map(one => [one.tabIndex, one.getAttribute('role'), Boolean(one.ariaLabel)])""")
    assert len(wide) > 5 and all(one == [0, "region", True] for one in wide), wide


def test_dark_is_dark_and_print_is_light(show: Callable[..., Opened]) -> None:
    page = show(color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(18, 22, 29)"
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_print_shows_everything_and_no_controls(show: Callable[..., Opened]) -> None:
    page = show(viewport={"width": 794, "height": 1123}).page
    page.emulate_media(media="print")
    folded = page.locator("details").count()
    assert folded >= 6
    for place in range(folded):
        assert page.locator("details").nth(place).evaluate("one => one.lastElementChild.getBoundingClientRect().height") > 20
    for hidden in (".controls", "nav", ".skip", ".plot input", ".js-only"):
        assert page.locator(hidden).first.is_hidden(), hidden
    assert page.locator(".v-densities").first.is_visible()
    cut = page.evaluate("[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1).length")
    assert cut == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.inner
def test_everything_is_there_without_a_script(show: Callable[..., Opened]) -> None:
    page = show(java_script_enabled=False).page
    fit = page.locator("#fit-1")
    assert page.locator(".js-only").first.is_hidden() and page.locator("input[type=range]").count() == 0
    fit.locator(".pick-densities").check()
    assert fit.locator(".v-densities").first.is_visible() and not fit.locator(".v-intervals").first.is_visible()
    assert "Above 0 with probability" in fit.locator(".readout").nth(1).inner_text()


def test_motion_is_left_out_where_it_is_not_wanted(show: Callable[..., Opened]) -> None:
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    assert show().page.evaluate(behaviour) == "smooth" and show(reduced_motion="reduce").page.evaluate(behaviour) == "auto"


def test_a_browser_sees_the_outline_that_the_markup_means(show: Callable[..., Opened]) -> None:
    """Landmarks, names of regions and of controls, as an aid for blind readers gets them."""
    page = show().page
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == page.get_by_role("contentinfo").count() == 1
    assert page.get_by_role("navigation", name="Contents").count() == 1
    assert page.get_by_role("heading", level=2).count() == page.locator("section").count()
    assert page.get_by_role("slider", name="Read probabilities of age").count() == 2
    assert page.get_by_role("group", name="Interval").count() == 3
    assert page.get_by_role("radio", name="95 %", checked=True).count() == 3
    assert page.get_by_role("img").count() > 10
    unnamed = page.evaluate("[...document.querySelectorAll('[role=region], [role=img]')].filter(one => !one.ariaLabel).length")
    assert unnamed == 0
