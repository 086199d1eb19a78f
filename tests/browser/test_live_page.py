"""The live page in a real browser: its figures are the run's, it says when contact is lost, it tells no secret."""

from __future__ import annotations

import contextlib
import re
import threading
from urllib.parse import urlsplit

import livestreams
import pytest
from browsing import CONTRASTS, DESK, PHONE, SMALLEST_CONTRAST, TOO_WIDE, be_read, requests

from streamlearn.errors import BrokerError
from streamlearn.live import Pump, Runner, Store, web

PATIENCE = 20.0
SECRET = "0.73519"  # noqa: S105 - somebody's value


class Source:
    """Hands out what a test puts in, and is away when told."""

    ended = shared = False

    def __init__(self):
        self.batches = []
        self.away = False
        self.news = threading.Event()

    def start(self, positions):
        pass

    def fetch(self, most, patience):  # noqa: ARG002 - the protocol's
        if self.away:
            raise BrokerError("away")
        if not self.batches:
            self.news.wait(0.02)
            return []
        return self.batches.pop(0)

    def acknowledge(self, messages):
        pass

    def lag(self):
        return 12_345

    def close(self):
        pass


class Sink:
    def publish(self, messages):
        pass

    def close(self):
        pass


@contextlib.contextmanager
def at_work(factory):
    """A pump at work in a thread of its own, and its source."""
    with Store(":memory:", run="the run's name") as store:
        source = Source()
        pump = Pump(Runner(factory, store), source, Sink(), Sink())
        thread = threading.Thread(target=pump.run)
        thread.start()
        try:
            yield pump, source
        finally:
            pump.stop()
            thread.join()


def visit(browser, server, width=DESK, scheme="light"):
    be_read(browser, width, scheme)
    browser.get(f"http://{server.address}/")


def text(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", name)


def wait(browser, **expected):
    """Wait until elements say what they should; a name's _ is a - there."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    def seen():
        return {name: text(browser, name.replace("_", "-")) for name in expected}

    with contextlib.suppress(TimeoutException):
        WebDriverWait(browser, PATIENCE, 0.05).until(lambda _: seen() == expected)
    assert seen() == expected


def spoilt(bodies):
    return [*livestreams.numbered(bodies), livestreams.message(10**6, f'{{"round": {SECRET}}}'.encode())]


GOOD = "At work, the brokers answer"


def test_a_stoppers_figures_are_those_of_the_run(browser):
    messages = spoilt(livestreams.reports(1500))
    whole = livestreams.run_whole(livestreams.stopper, messages)
    counts, ledger = whole.counters(), whole.ledger()
    assert counts["dead_letters"] == 1
    with at_work(livestreams.stopper) as (pump, source), web.serve(pump) as server:
        visit(browser, server)
        wait(browser, state=GOOD, messages="0", decisions="0", epsilon="0")
        source.batches += [messages[:1000], messages[1000:]]
        wait(
            browser,
            run="the run's name",
            state=GOOD,
            messages=f"{len(messages):,}",
            decisions=f"{counts['decisions']:,}",
            taken=f"{counts['taken']:,}",
            not_taken=f"{counts['decisions'] - counts['taken']:,}",
            lag="12,345",
            dead="1",
            answers=f"{sum(answers for *_, answers in ledger):,}",
            epsilon="1",
            guarantee=str(livestreams.STOPPER.guarantee),
        )
        rows = browser.execute_script(
            "return [...document.querySelectorAll('[data-count]')].filter(row => row.checkVisibility())"
            ".map(row => [row.dataset.count, row.lastElementChild.textContent])"
        )
        assert dict(rows) == {name: f"{count:,}" for name, count in server_counts(pump).items()}
        assert {name: int(shown.replace(",", "")) for name, shown in rows if shown != "0"} == counts
        for name in ("events-line", "rate-line"):
            line = browser.execute_script(
                "return document.getElementById(arguments[0]).getAttribute('points')", name
            )
            assert (
                min(float(y) for y in re.findall(r",(\S+)", line)) == 8.0
            )  # the highest rate reaches the top
        check_discretion(browser, server)
        browser.get("about:blank")


def server_counts(pump):
    return {"taken": 0} | {
        name: pump.runner.summary.counts.get(name, 0)
        for name in (
            "reports",
            "decisions",
            "taken",
            "after_decision",
            "early",
            "duplicates",
            "redelivered",
            "dead_letters",
            "losses",
        )
    }


def check_discretion(browser, server):
    """Nothing is asked for elsewhere, nothing complains, and no key, event id or value is anywhere on the page."""
    sent = requests(browser)
    asked = {(urlsplit(url).netloc, urlsplit(url).path) for url in sent if not url.startswith("data:")}
    assert asked == {(server.address, "/"), (server.address, "/events")}
    assert browser.get_log("browser") == []
    source = browser.page_source
    assert "Dead letters" in source
    for private in (SECRET, "job ", "site ", '/1"', "e17"):
        assert private not in source


def test_a_predictors_figures_are_those_of_the_run(browser):
    bodies = livestreams.examples(3, 60)
    bodies.append({"key": "site 0", "event_id": "e17000", "x": {"height": {SECRET: 1}}})
    messages = livestreams.numbered(bodies)
    counts = livestreams.run_whole(livestreams.predictor, messages).counters()
    assert counts["dead_letters"] == 1
    with at_work(livestreams.predictor) as (pump, source), web.serve(pump) as server:
        source.batches.append(messages)
        visit(browser, server)
        wait(
            browser,
            state=GOOD,
            messages=f"{len(messages)}",
            decisions=f"{counts['predictions']}",
            decisions_name="Predictions",
            answers=f"{counts['labels']}",
            dead="1",
            guarantee=str(livestreams.predictor("").guarantee),
        )
        assert not browser.execute_script("return document.getElementById('outcomes').checkVisibility()")
        check_discretion(browser, server)
        browser.get("about:blank")


def test_lost_brokers_and_a_lost_server_are_told_and_found_again(browser):
    with at_work(livestreams.stopper) as (pump, source):
        with web.serve(pump) as server:
            visit(browser, server)
            wait(browser, state=GOOD)
            source.away = True
            wait(browser, state="A broker cannot be reached; trying again")
            source.away = False
            wait(browser, state=GOOD)
        wait(browser, state="No contact with the run; trying again. The figures are old")
        source.batches.append(livestreams.numbered(livestreams.reports(3)))
        with web.serve(pump, server.address):
            wait(browser, state=GOOD, decisions="3")
            browser.get("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_it_can_be_read_on_any_screen(browser, scheme, width):
    with at_work(livestreams.stopper) as (pump, source), web.serve(pump) as server:
        visit(browser, server, width, scheme)
        source.batches.append(livestreams.numbered(livestreams.reports(300)))
        for away, state in ((False, GOOD), (True, "A broker cannot be reached; trying again")):
            source.away = away
            wait(browser, state=state, decisions="300")
            texts = browser.execute_script(CONTRASTS)
            assert len(texts) > 35
            assert [(ratio, said) for ratio, said, _ in texts if ratio < SMALLEST_CONTRAST] == []
            assert browser.execute_script(TOO_WIDE) == []
        assert browser.execute_script("return document.documentElement.scrollWidth") == width
        papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}
        found = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
        assert found == papers[scheme]
        browser.get("about:blank")
