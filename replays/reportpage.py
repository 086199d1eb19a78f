"""A report on a replay as one HTML page that stands alone: for any screen, for paper, and for those who listen.

Needs matplotlib, the extra ``plot``.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Final

from streamlearn import __version__
from streamlearn.errors import ParameterError
from streamlearn.files import write_atomically
from streamlearn.recursion import truth_probability
from streamlearn.replays.drawings import Row, new_figure
from streamlearn.replays.levelplans import spread
from streamlearn.replays.pageparts import DIGITS, document, figure, listed, paragraph, section, table
from streamlearn.replays.rendering import estimate, number
from streamlearn.replays.report import Scored, StoppingReport, drawings, warnings_of
from streamlearn.replays.results import StoppingResult

ENDINGS: Final = {".html", ".htm"}

_EXPLAINED: Final = {
    "price": (
        "The price of privacy",
        (
            "Each agent was given the same later episodes. Rewards are exact expectations over the random bits; the "
            "bands are 95 % bootstrap intervals over episodes. The grey curve is the worst that could happen to the "
            "optimal stopper under any priors."
        ),
    ),
    "thresholds": (
        "Thresholds and cases, stage by stage",
        (
            "Whoever is asked sends one random bit about “is your value at least the threshold?”. Where a constant "
            "answer is worth as much, nobody is asked and no privacy is spent. Thresholds are published with the plan; "
            "since they were learned from a log, they can be single values of it."
        ),
    ),
    "asked": (
        "Where the privacy goes",
        (
            "People after the one who is taken are never asked. The break-even level says from which ε on asking a "
            "person begins to help; the marginal price says what a little more ε from that person would add to the "
            "expected value."
        ),
    ),
    "stopping": (
        "When it stops",
        "The probability that the person of each stage is taken, if later values follow the learned priors.",
    ),
    "prophets": (
        "The gap to prophets",
        (
            "What others would get if values followed the learned priors. These figures are plug-in values, biased up: "
            "only the held-out results above score a plan."
        ),
    ),
}


def page(report: StoppingReport) -> str:
    r"""Return the page as HTML.

    Parameters
    ----------
    report
        What it says, by :func:`streamlearn.replays.report.stopping_report`.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.agents import LDPOptimalStopper, OptimalStopper
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.report import stopping_report
    >>> from streamlearn.replays.reportpage import page
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("bid\n" + "\n".join(str(i % 7) for i in range(80)))
    >>> stream, agents = read_stream(log, horizon=2), {"optimal": LDPOptimalStopper}
    >>> html = page(stopping_report(stream, agents, [0.5, 1.0], reference=OptimalStopper))
    >>> html.count("<h1>"), html.count("<script"), html.count("<figure>")
    (1, 0, 5)
    """
    drawn = drawings(report)
    sections = {
        "learned": ("What was learned from", _learned(report)),
        "results": ("Held-out results", _results(report)),
        **{
            name: (heading, paragraph(text) + "\n" + figure(name, drawn[name]))
            for name, (heading, text) in _EXPLAINED.items()
        },
        "guarantee": ("The guarantee", _guarantee(report)),
        "not-promised": ("What is not promised", listed(_not_promised(report))),
        "left-out": ("Data left out", _left_out(report)),
        "again": ("How to make this page again", _again(report)),
    }
    links = "\n".join(
        f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, (heading, _) in sections.items()
    )
    body = [
        "<header>",
        f"<h1>Choosing by private bits: {escape(report.log)}</h1>",
        paragraph(
            f"Priors from {report.learned} earlier episodes, scored on {report.scored} later ones, {report.horizon} "
            f"people each. Made with streamlearn {__version__}.",
            "note",
        ),
        listed(_in_short(report)),
        f'<nav aria-label="Sections">\n<ul>\n{links}\n</ul>\n</nav>',
        "</header>",
        "<main>",
        *(section(name, heading, content) for name, (heading, content) in sections.items()),
        "</main>",
    ]
    return document(f"{report.log}: choosing by private bits", "\n".join(body))


def check_page(path: str | Path) -> None:
    """Refuse a page that cannot be written, before any work.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the name has another ending than a page's, or its folder is missing.

    Examples
    --------
    >>> from streamlearn.replays.reportpage import check_page
    >>> check_page("page.html")
    """
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:  # a log given by mistake must survive
        raise ParameterError(f"{file}: a page's name must end in .html or .htm")
    if not file.parent.is_dir():
        raise ParameterError(f"{file}: its folder does not exist; make it first")
    new_figure("")


def write_page(path: str | Path, report: StoppingReport) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    MissingExtraError, ParameterError
        As :func:`check_page`.
    StreamlearnError
        If the file cannot be written.
    """
    check_page(path)
    write_atomically(path, page(report))


def _in_short(report: StoppingReport) -> list[str]:
    first = [row for row in report.rows if row.agent == report.agents[0]]
    few = {plan.label for plan in spread(report.plans)}
    return [_said(row) for row in first if f"ε = {number(row.epsilon)}" in few]


def _said(row: Scored) -> str:
    share = row.result.of_reference
    kept = "" if share is None or math.isnan(share.value) else (
        f": {share.value:.1%} [{share.interval.low:.1%}, {share.interval.high:.1%}] of what the best stopper without "
        "privacy takes"
    )  # fmt: skip
    return (
        f"At ε = {number(row.epsilon)}, {row.agent} takes {estimate(row.result.reward)} an episode{kept}. It asks "
        f"{number(row.result.mean_asked, 3)} people an episode."
    )


def _learned(report: StoppingReport) -> str:
    rows: list[Row] = [
        ["log", report.log],
        *([f"column of the {role}", name or "none"] for role, name in report.columns.items()),
        ["people an episode", str(report.horizon)],
        ["priors", "one for all stages" if report.pooled else "one for each stage"],
        ["episodes learned from (the earlier ones)", str(report.learned)],
        ["episodes scored on (the later ones)", str(report.scored)],
    ]
    return table("The log", ["what", "here"], rows)


def _results(report: StoppingReport) -> str:
    rows = [[row.agent, number(row.epsilon), *_figures(row.result)] for row in report.rows]
    rows.append(["without privacy", "∞", *_figures(report.reference)])
    unit = f" ({report.unit})" if report.unit else ""
    columns = [
        "agent", "ε", f"mean value taken{unit}", "of the best without privacy", "of the maximum", "nobody taken",
        "asked an episode", "spends at most ε",
    ]  # fmt: skip
    return "\n".join([
        paragraph(
            "Figures in brackets are 95 % bootstrap intervals over episodes. Taking nobody counts as 0."
        ),
        *(paragraph(f"Warning: {warning}.", "warning") for warning in warnings_of(report)),
        table(f"{report.scored} held-out episodes", columns, rows),
    ])  # fmt: skip


def _figures(result: StoppingResult) -> list[str]:
    return [
        estimate(result.reward),
        estimate(result.of_reference),
        estimate(result.of_maximum),
        f"{result.nobody:.1%}",
        number(result.mean_asked, 3),
        number(result.epsilon, DIGITS),
    ]


def _guarantee(report: StoppingReport) -> str:
    promise = max((row.result for row in report.rows), key=lambda result: result.epsilon).guarantee
    rows: list[Row] = [
        [number(level), f"{math.exp(min(level, 700.0)):.4g}", f"{truth_probability(level):.1%}"]
        for level in report.levels
    ]
    return "\n".join([
        paragraph(
            "Everybody who is asked sends one bit, randomised on their own side before it leaves, and it promises "
            "ε-local differential privacy: whatever two values a person may have, either bit is at most e^ε times "
            "likelier under one than under the other. Whoever decides need not be trusted with the value; whoever is "
            "not asked sends nothing and spends nothing."
        ),
        paragraph(f"At the largest level here: {promise} (it protects {promise.neighbours})."),
        table(
            "What one bit can tell",
            ["ε", "a bit is at most this many times likelier", "best guess between two equally likely values is right"],
            rows,
        ),
    ])  # fmt: skip


def _not_promised(report: StoppingReport) -> list[str]:
    return [
        (
            f"The people of the {report.learned} episodes that taught the priors have no privacy from whoever made "
            "this page. A plan published from them can show their values: thresholds can be single values of the log."
        ),
        (
            "This page is no private release: its means, shares and thresholds were computed from raw values, without "
            "noise. It shows no episode's id and no value but thresholds."
        ),
        (
            "Those who taught the priors must not arrive again, and nobody must arrive twice with one value: what is "
            "spent then adds up."
        ),
        "That somebody was taken is seen by all: the one taken sent a 1 or was not asked.",
        (
            "Held-out results are of this log. Other people, or other times, may differ; intervals take episodes for "
            "independent."
        ),
        "The optimal stopper is optimal for the learned priors, not for the true ones.",
    ]


def _left_out(report: StoppingReport) -> str:
    if not report.left_out:
        return paragraph("Nothing: every row of the log was used.")
    return table(
        "Left out", ["what", "how many"], [[what, str(count)] for what, count in report.left_out.items()]
    )


def _again(report: StoppingReport) -> str:
    how = (
        report.command
        or "streamlearn.replays.reportpage.page(streamlearn.replays.report.stopping_report(...))"
    )
    return "\n".join([
        f"<pre><code>{escape(how)}</code></pre>",
        paragraph(
            f"With streamlearn {__version__} and the same log. The random bits are averaged exactly and the resamples "
            "of the intervals are fixed, so the figures come out the same.",
            "note",
        ),
    ])  # fmt: skip
