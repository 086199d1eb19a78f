"""The report on a replay and its page: what it says is what the replay found, and it says nothing of single people."""

from __future__ import annotations

import base64
import collections
import hashlib
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from streamlearn.agents import LDPOptimalStopper, OptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.errors import MissingExtraError, ParameterError, StreamError
from streamlearn.replays import benchmarks, read_stream, replay_many, reportpage
from streamlearn.replays.learning import split
from streamlearn.replays.pageparts import document, section, table
from streamlearn.replays.rendering import MOST_ROWS, estimate, number
from streamlearn.replays.report import FEWEST, drawings, stopping_report, warnings_of
from streamlearn.replays.reportpage import check_page, page, write_page

AGENTS = {"optimal": LDPOptimalStopper, "static": StaticStopper}
LEVELS = (1.0, 0.5, 3.0)
EPISODES, PEOPLE = 80, 4
VALUES = np.random.default_rng(7).exponential(30.0, size=(EPISODES, PEOPLE)).round(6)
ID = "zq{:04d}x"


def write_log(path, values=VALUES, extra=""):
    rows = [f"{ID.format(k)},{value!r}" for k, episode in enumerate(values.tolist()) for value in episode]
    path.write_text("auction,bid\n" + "\n".join(rows) + "\n" + extra)
    return path


def report_of(path, agents=AGENTS, epsilons=LEVELS, on_error="strict", *, prophets=False, **how):
    stream = read_stream(path, on_error=on_error)
    return stopping_report(stream, agents, epsilons, reference=OptimalStopper, prophets=prophets, **how)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("log") / "bids.csv")


@pytest.fixture(scope="module")
def report(log):
    return report_of(log, command="streamlearn report-html bids.csv", prophets=True)


@pytest.fixture(scope="module")
def html(report):
    return page(report)


class Page(HTMLParser):
    """What is on a page: its elements in order, its text, and its tables by their captions."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text, self.tables = [], [], [], {}
        self._rows, self._cell, self._caption = None, None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "path", "use", "rect"}:
            self.open.append(tag)
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in {"td", "th", "caption"}:
            self._cell = []

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in {"td", "th"}:
            self._rows[-1].append("".join(self._cell))
            self._cell = None
        elif tag == "caption":
            self._caption = "".join(self._cell)
            self._cell = None
        elif tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if self._cell is not None:
            self._cell.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).replace("\xa0", " ").split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def parsed(html):
    return Page(html)


# --- the report


def test_a_report_is_what_a_replay_of_the_same_log_finds(log, report):
    parts = split(read_stream(log), 0.5)
    laws = parts.priors()
    stoppers = {
        (name, level): build(laws, level) for name, build in AGENTS.items() for level in sorted(LEVELS)
    }
    ideal = OptimalStopper(laws)
    named = {str(key): stopper for key, stopper in stoppers.items()} | {"ideal": ideal}
    *expected, best = replay_many(parts.later, named, reference=ideal).values()
    assert [(row.agent, row.epsilon) for row in report.rows] == list(stoppers)
    for row, result in zip(report.rows, expected, strict=True):
        assert row.result.reward == result.reward
        assert row.result.of_reference == result.of_reference
        assert row.result.asked == result.asked
    assert report.reference.reward == best.reward
    assert (report.learned, report.scored, report.horizon) == (EPISODES // 2, EPISODES // 2, PEOPLE)
    for plan, level in zip(report.plans, sorted(LEVELS), strict=True):
        assert plan.thresholds.tolist() == stoppers["optimal", level].thresholds.tolist()
        assert tuple(plan.asked) == stoppers_asked(report, level)
    assert report.gap.ldp_online.tolist() == [stoppers["optimal", level].value for level in sorted(LEVELS)]
    assert report.gap.online == ideal.value


def stoppers_asked(report, level):
    (result,) = (row.result for row in report.rows if (row.agent, row.epsilon) == ("optimal", level))
    return result.asked


def test_prophets_are_those_of_the_benchmarks_and_never_below_the_stopper(log, report):
    laws = split(read_stream(log), 0.5).priors()
    gap = report.gap
    assert gap.prophet == benchmarks.prophet(laws)
    for name, found in (("private", gap.private), ("binary", gap.binary)):
        exact = [getattr(benchmarks, f"{name}_prophet")(laws, level) for level in sorted(LEVELS)]
        values = [max(prophet.value, w) for prophet, w in zip(exact, gap.ldp_online, strict=True)]
        assert found.value == pytest.approx(values, rel=1e-12)
        uppers = [max(prophet.upper_bound, low) for prophet, low in zip(exact, values, strict=True)]
        assert found.upper == pytest.approx(uppers, rel=1e-12)
        assert found.certified.tolist() == [prophet.certified for prophet in exact]
        assert (found.value >= gap.ldp_online).all()
    assert gap.interactive.tolist() == [
        benchmarks.interactive_prophet(laws, level) for level in sorted(LEVELS)
    ]
    assert gap.static.tolist() == [benchmarks.static(laws, level) for level in sorted(LEVELS)]
    assert gap.cells == 16  # 40 values a stage
    assert "rounded to 16 cells" in drawings(report)["prophets"].words


def test_prophets_can_be_left_out(log):
    gap = report_of(log, epsilons=[1.0]).gap
    assert gap.private is gap.binary is gap.interactive is gap.cells is None
    assert len(gap.static) == 1


def test_pooled_priors_are_one_for_all(log):
    assert report_of(log, pooled=True).plans[0].thresholds.tolist() == pytest.approx(
        LDPOptimalStopper(split(read_stream(log), 0.5).priors(pooled=True), 0.5).thresholds.tolist()
    )


def test_a_log_of_zeros_makes_a_page_without_shares(tmp_path):
    found = report_of(write_log(tmp_path / "zeros.csv", np.zeros((EPISODES, PEOPLE))), prophets=True)
    assert "nan" not in Page(page(found)).words.lower().split()


def test_few_episodes_are_refused(tmp_path):
    few = write_log(tmp_path / "few.csv", VALUES[: 2 * FEWEST])
    assert report_of(few).scored == FEWEST
    with pytest.raises(StreamError, match=f"{FEWEST - 1} episodes to learn from"):
        report_of(few, learn=FEWEST - 1)
    with pytest.raises(StreamError, match=f"{FEWEST - 1} episodes to score on"):
        report_of(few, learn=FEWEST + 1)


@pytest.mark.parametrize("levels", [[], [1.0, float("inf")], [float("nan")], [-1.0]])
def test_levels_are_finite_and_at_least_one(log, levels):
    with pytest.raises(ParameterError):
        report_of(log, epsilons=levels)


def test_a_report_needs_an_agent(log):
    with pytest.raises(ParameterError, match="at least one agent"):
        report_of(log, agents={})


# --- the page: its form


def test_the_page_allows_its_own_style_sheet_and_nothing_else(parsed, html):
    (policy,) = [meta["content"] for meta in parsed.all("meta") if "Policy" in meta.get("http-equiv", "")]
    (style,) = re.findall(r"<style>(.*?)</style>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    for name in (
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "image",
        "audio",
        "video",
    ):
        assert parsed.all(name) == []
    for tag, attributes in parsed.elements:
        for name, value in attributes.items():
            assert name not in {"style", "src", "srcset", "action", "background"}, tag
            assert not name.startswith("on"), tag
            assert name != "href" or value.startswith("#"), tag
    assert "url(" not in style
    assert "@import" not in style
    assert not re.findall(r"https?:|//", html)


def test_all_elements_are_closed_and_all_references_lead_somewhere(parsed):
    assert parsed.open == []
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert [name for name, count in collections.Counter(ids).items() if count > 1] == []
    wanted = set()
    for _, attributes in parsed.elements:
        for name, value in attributes.items():
            if name == "href":
                wanted.add(value.removeprefix("#"))
            elif name in {"aria-describedby", "aria-labelledby"}:
                wanted.update(value.split())
            elif found := re.fullmatch(r"url\(#(.*)\)", value or ""):
                wanted.add(found[1])
    assert len(wanted) > 20
    assert wanted <= set(ids)


def test_every_figure_has_words_a_table_and_a_name(parsed, report):
    drawn = drawings(report)
    images = parsed.all("svg")
    assert len(images) == sum(len(drawing.panels) for drawing in drawn.values()) == 10
    for image in images:
        assert image["role"] == "img"
        assert image["aria-label"].strip()
        assert image["aria-describedby"].endswith("-words")
    assert (
        len(parsed.all("figure")) == len(parsed.all("figcaption")) == len(parsed.all("details")) == len(drawn)
    )
    for drawing in drawn.values():
        assert f"{drawing.title}. {drawing.words}" in parsed.words
        head, *rows = parsed.tables[f"{drawing.title}: the figures"]
        assert head == list(drawing.columns)
        assert rows == [
            [cell if isinstance(cell, str) else number(float(cell), 4) for cell in row]
            for row in drawing.rows
        ]


def test_the_page_is_for_phones_dark_screens_and_paper(parsed, html):
    names = {meta.get("name"): meta.get("content") for meta in parsed.all("meta")}
    assert names["viewport"] == "width=device-width, initial-scale=1"
    assert names["color-scheme"] == "light dark"
    assert parsed.all("html") == [{"lang": "en"}]
    assert "prefers-color-scheme:dark" in html
    assert "@media print" in html
    assert len(parsed.all("h1")) == len(parsed.all("title")) == len(parsed.all("main")) == 1
    for box in [
        attributes for tag, attributes in parsed.elements if tag == "div" and "aria-label" in attributes
    ]:
        assert (box["class"], box["role"], box["tabindex"]) == ("scroll", "region", "0")


def test_names_from_the_log_are_text_on_the_page(tmp_path):
    odd = tmp_path / "<b>&'\"$x$.csv"
    odd.write_text("auction,<i>bid\n" + "".join(f"{k // 2},{k % 7}\n" for k in range(80)))
    text = page(stopping_report(
        read_stream(odd, value="<i>bid"), {"<u>": LDPOptimalStopper}, [1.0], reference=OptimalStopper, prophets=False,
        command="</pre>&",
    ))  # fmt: skip
    found = Page(text)
    assert [tag for tag, _ in found.elements if tag in {"b", "i", "u"}] == []
    for name in ("<b>&'\"$x$.csv", "<i>bid", "<u>", "</pre>&"):
        assert name in found.words


# --- the page: what it says


def test_the_results_are_the_replay_s(parsed, report):
    head, *rows = parsed.tables[f"{report.scored} held-out episodes"]
    assert head[2] == "mean value taken (bid)"
    assert [row[:2] for row in rows] == [
        *([row.agent, number(row.epsilon)] for row in report.rows), ["without privacy", "∞"],
    ]  # fmt: skip
    results = [*(row.result for row in report.rows), report.reference]
    for row, result in zip(rows, results, strict=True):
        assert row[2:5] == [
            estimate(result.reward),
            estimate(result.of_reference),
            estimate(result.of_maximum),
        ]
        assert row[5:] == [f"{result.nobody:.1%}", number(result.mean_asked, 3), number(result.epsilon, 4)]


def test_it_says_what_it_learned_from_what_is_promised_and_what_is_not(parsed, report):
    facts = dict(parsed.tables["The log"])
    assert facts["log"] == "bids.csv"
    assert facts["column of the value"] == "bid"
    assert facts["column of the time"] == "none"
    assert facts["episodes learned from (the earlier ones)"] == str(report.learned)
    assert facts["priors"] == "one for each stage"
    levels = parsed.tables["What one bit can tell"][1:]
    assert levels == [["0.5", "1.649", "62.2%"], ["1", "2.718", "73.1%"], ["3", "20.09", "95.3%"]]
    assert "3-local differential privacy per report" in parsed.words
    for promise in (
        "no privacy from whoever",
        "no private release",
        "must not arrive again",
        "single values of the log",
    ):
        assert promise in parsed.words
    assert "streamlearn report-html bids.csv" in parsed.words
    assert "every row of the log was used" in parsed.words


def test_it_says_what_was_left_out(tmp_path):
    path = write_log(tmp_path / "holes.csv", extra="zq9999x,\nzq9999x,1\nzq9999x,2\nzq9999x,3\n")
    report = report_of(path, epsilons=[1.0], on_error="skip")
    assert report.left_out == {
        "rows whose value is empty": 1, "episodes with such a row, or of another length": 1,
    }  # fmt: skip
    assert Page(reportpage._left_out(report)).tables["Left out"][1:] == [
        [what, "1"] for what in report.left_out
    ]


def test_the_same_log_gives_the_same_page(log, report, html):
    assert page(report_of(log, command=report.command, prophets=True)) == html


def test_a_long_table_shows_its_ends():
    rows = Page(table("long", ["stage"], [[str(i)] for i in range(100)])).tables["long"][1:]
    assert len(rows) == MOST_ROWS + 1
    assert rows[MOST_ROWS // 2] == ["…"]
    assert rows[-1] == ["99"]


def test_parts_escape_what_they_are_given():
    assert "<x>" not in document("<x>", section("s", "<x>", table("<x>", ["<x>"], [["<x>"]])))


# --- nothing of single people


def telling_values():
    """Values that a page might show by mistake: each stage's extremes and median in either part, both end episodes."""
    halves = VALUES[: EPISODES // 2], VALUES[EPISODES // 2 :]
    of_stages = [
        [half.min(axis=0), half.max(axis=0), np.sort(half, axis=0)[len(half) // 2]] for half in halves
    ]
    return np.concatenate([*map(np.ravel, of_stages), VALUES[0], VALUES[-1]]).tolist()


def test_no_value_of_the_log_but_thresholds_and_no_episode_is_on_the_page(report, html, parsed):
    assert not re.search(r"zq\d{4}x", html)
    assert not [value for value in VALUES.ravel().tolist() if repr(value) in html]
    said = set(re.findall(r"[\d.]+", parsed.words))
    published = {number(float(threshold), 4) for plan in report.plans for threshold in plan.thresholds}
    assert len(said & published) > 3
    assert said & {number(value, 4) for value in telling_values()} - published == set()


def test_the_planted_value_of_a_reward_that_rules_the_mean_stays_hidden(tmp_path):
    values = VALUES.copy()
    values[-1, :] = 7654.0  # whoever is taken in the last episode carries most of all reward
    report = report_of(write_log(tmp_path / "tail.csv", values), epsilons=[1.0])
    (warning,) = warnings_of(report)
    share = report.reference.largest_share
    assert share > 0.5
    assert "one episode carries more than 5% of all reward" in warning
    words = Page(reportpage._results(report)).words
    assert warning in words
    assert f"{share:.0%}" not in words
    assert "7654" not in words


def test_a_page_shows_a_single_threshold_that_is_a_value_of_the_log_and_says_so(log):
    report = report_of(log, agents={"single": SingleThresholdStopper}, epsilons=[1.0])
    found = Page(page(report))
    assert number(float(report.plans[0].thresholds[0]), 4) in found.words
    assert "thresholds can be single values of the log" in found.words
    assert "break-even" not in found.tables["Where the privacy goes: single: the figures"][0]


# --- writing it


def test_a_page_is_written_whole(tmp_path, report, html):
    write_page(tmp_path / "p.html", report)
    assert (tmp_path / "p.html").read_text() == html
    assert [file.name for file in tmp_path.iterdir()] == ["p.html"]


def test_a_page_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"must end in \.html"):
        check_page(tmp_path / "bids.csv")  # a log given by mistake
    with pytest.raises(ParameterError, match="does not exist"):
        check_page(tmp_path / "no" / "p.html")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plot"):
        check_page(tmp_path / "p.html")
