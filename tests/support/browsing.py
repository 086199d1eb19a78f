"""A real browser without a window: how it is started, what reads a page in it, and what the page asked for."""

from __future__ import annotations

import contextlib
import json
import shutil

import pytest

PHONE, DESK = 375, 1280
SMALLEST_CONTRAST = 4.5  # WCAG 2.2, success criterion 1.4.3, for text of any size

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

# [contrast, text, whether it is drawn] of every text that shows.
CONTRASTS = """
const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = text => {
  context.clearRect(0, 0, 1, 1); context.fillStyle = text; context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
};
const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
const light = colour => {
  const [r, g, b] = colour.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  if (!element) return [255, 255, 255];
  const own = rgba(getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own.slice(0, 3) : over(own, behind(element.parentElement));
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement, style = getComputedStyle(element);
  if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
  const paper = behind(element), drawn = element instanceof SVGElement;
  const ink = over(rgba(drawn ? style.fill : style.color), paper);
  const [low, high] = [light(ink), light(paper)].sort((a, b) => a - b);
  found.push([(high + 0.05) / (low + 0.05), walker.currentNode.data.trim(), drawn]);
}
return found;
"""

# Names of elements that reach beyond the page's width and do not scroll by themselves.
TOO_WIDE = """
const inside = element => element.closest('.scroll, pre, svg');
return [...document.body.querySelectorAll('*')].filter(element => !inside(element) || element.matches('.scroll, svg'))
  .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map(element => element.tagName);
"""


@contextlib.contextmanager
def chromium(profile):
    """Debian's chromium, with the logs of what it asks for and of its console."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium, of the extra test")
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if None in programs.values():
        pytest.skip("needs Debian's chromium and chromium-driver; .ci/run system installs them")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(programs["chromedriver"])
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def be_read(browser, width=DESK, scheme="light", media=""):
    """Let the next page be read by such a reader; what was logged so far is forgotten."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features, "media": media})
    for log in ("performance", "browser"):
        browser.get_log(log)


def requests(browser):
    """The URLs asked for since the last look."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
