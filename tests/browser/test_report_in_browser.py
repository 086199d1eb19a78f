"""The report's page in a real browser: what is asked for, shown, told and drawn there.

Each check is first shown a page that breaks it, so that none can pass by seeing nothing.
"""

from __future__ import annotations

import functools
import http.server
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest
from browsing import CONTRASTS, DESK, PHONE, SMALLEST_CONTRAST, TOO_WIDE, be_read, requests

from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.replays import read_stream
from streamlearn.replays.report import stopping_report
from streamlearn.replays.reportpage import write_page

BAD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>bad</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>html{background:#fff;color:#fff}p{color:#999}</style></head><body>
<p>pale</p><div style="width:900px">wide</div><svg viewBox="0 0 10 10"><text y="9">drawn</text></svg>
<img src="elsewhere.png"><script>console.error("a fault")</script></body></html>"""

UNNAMED = """
const told = id => id && document.getElementById(id) && document.getElementById(id).textContent.trim();
return [...document.querySelectorAll('svg, img, canvas')].filter(image =>
  !(image.getAttribute('role') === 'img' && (image.getAttribute('aria-label') || '').trim()
    && told(image.getAttribute('aria-describedby')))).length;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A served folder with the page of a replay, and a bad one."""
    folder = tmp_path_factory.mktemp("served")
    values = np.random.default_rng(3).exponential(30.0, size=(60, 6)).round(2)
    rows = [f"{k},{value!r}" for k, episode in enumerate(values.tolist()) for value in episode]
    (folder / "bids.csv").write_text("auction,bid\n" + "\n".join(rows) + "\n")
    agents = {"optimal": LDPOptimalStopper, "static": StaticStopper, "single": SingleThresholdStopper}
    levels = (0.0, 0.5, 1.0, 3.0)
    report = stopping_report(read_stream(folder / "bids.csv"), agents, levels, reference=OptimalStopper)
    write_page(folder / "page.html", report)
    (folder / "bad.html").write_text(BAD)
    return folder


class Handler(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - of all requests together

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()


@pytest.fixture(scope="module")
def server(folder):
    """The address of a server on loopback, and the paths it was asked for."""
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}", Handler.asked
        serving.shutdown()
        thread.join()


@pytest.fixture
def visit(browser, server):
    """Open a page as some reader would; returns what it asked for and what the console says."""
    address, asked = server

    def go(name, width=DESK, scheme="light", media=""):
        be_read(browser, width, scheme, media)
        asked.clear()
        browser.get(f"{address}/{name}")
        return requests(browser), list(asked), browser.get_log("browser")

    return go


# --- what it asks for


def test_the_page_asks_for_nothing_but_itself_and_the_console_is_empty(visit, server):
    sent, served, said = visit("bad.html")
    assert {urlsplit(url).path for url in sent} >= {"/bad.html", "/elsewhere.png"}
    assert "/elsewhere.png" in served
    assert any("a fault" in entry["message"] for entry in said)

    sent, served, said = visit("page.html")
    assert sent == [f"{server[0]}/page.html"]
    assert served == ["/page.html"]
    assert said == []


def test_the_page_opens_from_a_file(browser, folder):
    browser.get_log("browser")
    browser.get((folder / "page.html").as_uri())
    assert browser.get_log("browser") == []
    assert browser.title == "bids.csv: choosing by private bits"


def test_scripts_and_styles_that_get_in_are_not_run(browser, visit):
    visit("page.html")
    browser.execute_script("""
        const script = document.createElement('script');
        script.textContent = 'window.injected = 1';
        document.body.append(script);
        const style = document.createElement('style');
        style.textContent = 'body{display:none}';
        document.head.append(style);
    """)
    assert browser.execute_script("return window.injected") is None
    assert browser.execute_script("return getComputedStyle(document.body).display") == "block"
    assert {"script-src", "style-src"} <= {
        word for entry in browser.get_log("browser") for word in entry["message"].replace("'", " ").split()
    }


# --- who can read it


def test_every_figure_is_told_in_words(browser, visit):
    visit("bad.html")
    assert browser.execute_script(UNNAMED) == 2
    visit("page.html")
    assert browser.execute_script("return document.querySelectorAll('svg').length") == 10
    assert browser.execute_script(UNNAMED) == 0


def test_figures_are_images_with_names_in_the_accessibility_tree(browser, visit):
    visit("page.html")
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    images = [
        node
        for node in nodes
        if node.get("role", {}).get("value") in {"image", "img"} and not node["ignored"]
    ]
    assert len(images) == 10
    for image in images:
        assert image["name"]["value"].strip()
        assert len(image["description"]["value"]) > 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_text_stands_out_from_its_paper(browser, visit, scheme, width):
    visit("bad.html", width, scheme)
    assert min(browser.execute_script(CONTRASTS))[0] < SMALLEST_CONTRAST

    visit("page.html", width, scheme)
    browser.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
    found = browser.execute_script(CONTRASTS)
    assert len(found) > 500
    assert sum(drawn for _, _, drawn in found) > 100
    assert [(ratio, text) for ratio, text, _ in found if ratio < SMALLEST_CONTRAST] == []


def test_dark_screens_get_dark_paper_and_printers_white(browser, visit):
    def paper(**how):
        visit("page.html", **how)
        return browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")

    assert paper() == "rgb(255, 255, 255)"
    assert paper(scheme="dark") == "rgb(20, 23, 28)"
    assert paper(scheme="dark", media="print") == "rgb(255, 255, 255)"


# --- where it fits


def test_a_phone_shows_it_without_sideways_scrolling(browser, visit):
    visit("bad.html", PHONE)
    assert "DIV" in browser.execute_script(TOO_WIDE)
    assert browser.execute_script("return document.documentElement.scrollWidth") > PHONE

    visit("page.html", PHONE)
    browser.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.execute_script("return document.documentElement.clientWidth") == PHONE
    assert browser.execute_script("return document.documentElement.scrollWidth") == PHONE
    assert browser.execute_script(TOO_WIDE) == []
    wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
    assert browser.execute_script(f"return {wide}.length") > 0  # such tables scroll by themselves


def test_figures_use_a_phone_s_width_and_their_letters_stay_readable(browser, visit):
    visit("page.html", PHONE)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(image => image.getBoundingClientRect().width)"
    )
    assert all(width > 0.9 * PHONE for width in boxes)
    heights = browser.execute_script(
        "return [...document.querySelectorAll('svg text')].map(text => {"
        "const matrix = text.getScreenCTM();"
        "return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(matrix.a, matrix.b)})"
    )
    assert min(heights) >= 8  # pixels of a phone's screen


def test_letters_of_a_figure_stay_within_it(browser, visit):
    for width in (PHONE, DESK):
        visit("page.html", width)
        outside = browser.execute_script("""
            return [...document.querySelectorAll('svg text')].filter(text => {
              const box = text.getBoundingClientRect(), paper = text.closest('svg').getBoundingClientRect();
              return box.left < paper.left - 1 || box.right > paper.right + 1
                || box.top < paper.top - 1 || box.bottom > paper.bottom + 1;
            }).map(text => text.textContent);
        """)
        assert outside == []


def test_paper_shows_the_tables_of_all_figures(browser, visit):
    tables = "[...document.querySelectorAll('details table')].filter(table => table.checkVisibility())"
    visit("page.html")
    assert browser.execute_script(f"return {tables}.length") == 0
    visit("page.html", media="print")
    assert browser.execute_script(f"return {tables}.length") == 5
