"""The parts of a page that stands alone: tables, figures with their words, and the document around them.

Nothing is loaded and nothing runs: the Content-Security-Policy allows one style sheet, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Final

from streamlearn.replays.drawings import Drawing, Row
from streamlearn.replays.inlinesvg import inline_svg
from streamlearn.replays.rendering import MOST_ROWS, number

DIGITS: Final = 4
"""Of every figure on a page: more would be noise, and say more about single people."""

STYLE: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--muted:#4a525b;--line:#c9ced4;--shade:#f3f5f7;--link:#0b57a4}
@media (prefers-color-scheme:dark){
:root{--paper:#14171c;--ink:#e7e9ec;--muted:#b3bac3;--line:#4a525b;--shade:#20252c;--link:#8cc4ff}}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--muted:#333;--line:#999;--shade:#fff;--link:#000}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
body{margin:0 auto;padding:1rem;max-width:74rem;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.2rem 0 .5rem;padding-top:.8rem;border-top:1px solid var(--line)}
p,ul{max-width:46rem}
a{color:var(--link)}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;padding:0;list-style:none;max-width:none}
.note{color:var(--muted)}
.warning{border-left:.3rem solid #d55e00;padding:.2rem 0 .2rem .8rem}
figure{margin:1rem 0}
figcaption{max-width:46rem}
.panels{display:flex;flex-wrap:wrap;gap:1rem}
.panels svg{flex:1 1 22rem;min-width:0;width:100%;max-width:31rem;height:auto}
svg *{stroke-linejoin:round;stroke-linecap:butt}
svg text{font-family:"DejaVu Sans",Verdana,sans-serif}
.scroll{overflow-x:auto;max-width:100%;margin:.8rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .55rem;border-bottom:1px solid var(--line);text-align:right}
td{white-space:nowrap}
thead th:not(:first-child){min-width:4.5rem}
thead th{vertical-align:bottom}
th:first-child,td:first-child{text-align:left}
thead th{background:var(--shade)}
summary{cursor:pointer;color:var(--link)}
pre{background:var(--shade);padding:.8rem;overflow-x:auto;max-width:100%}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media print{nav{display:none}body{max-width:none}tr,.panels{break-inside:avoid}h2{break-after:avoid}
.scroll,pre{overflow:visible}pre{white-space:pre-wrap}td{white-space:normal}details::details-content{content-visibility:visible;block-size:auto}}
"""


def document(title: str, body: str) -> str:
    """Return a whole page.

    Parameters
    ----------
    title
        Its title, as text.
    body
        What it says, as HTML.

    Examples
    --------
    >>> from streamlearn.replays.pageparts import document
    >>> document("a < b", "<p>so</p>").count("a &lt; b")
    1
    """
    allowed = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}
</body>
</html>
"""


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section that a link can lead to; its parts are HTML.

    Examples
    --------
    >>> from streamlearn.replays.pageparts import section
    >>> print(section("left-out", "Left out", "<p>nothing</p>"))
    <section id="left-out" aria-labelledby="left-out-heading">
    <h2 id="left-out-heading">Left out</h2>
    <p>nothing</p>
    </section>
    """
    head = f'<section id="{name}" aria-labelledby="{name}-heading">\n<h2 id="{name}-heading">{escape(heading)}</h2>'
    return "\n".join([head, *parts, "</section>"])


def together(text: str) -> str:
    """Return text as HTML in which no line ends inside "ε = 1".

    Examples
    --------
    >>> from streamlearn.replays.pageparts import together
    >>> together("ε = 1 < 2")
    'ε&nbsp;=&nbsp;1 &lt; 2'
    """
    return escape(text).replace("ε = ", "ε&nbsp;=&nbsp;")


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of text, not of HTML."""
    return f'<p class="{kind}">{together(text)}</p>' if kind else f"<p>{together(text)}</p>"


def listed(items: Sequence[str]) -> str:
    """Return a list of texts."""
    return "<ul>\n" + "\n".join(f"<li>{together(item)}</li>" for item in items) + "\n</ul>"


def table(caption: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table that scrolls by itself where it is wider than the page; a long one shows its ends.

    Parameters
    ----------
    caption
        What it shows.
    columns
        Headings.
    rows
        Cells: text, or figures. The first is the row's heading.

    Examples
    --------
    >>> from streamlearn.replays.pageparts import table
    >>> "<td>0.6219</td>" in table("rewards", ["agent", "reward"], [["optimal", 0.62189775]])
    True
    """
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    shown = list(rows)
    if len(shown) > MOST_ROWS:
        half = MOST_ROWS // 2
        shown = [*shown[:half], ["…"] * len(columns), *shown[-half:]]
    body = "\n".join(_row(row) for row in shown)
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">\n'
        f"<table>\n<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _row(cells: Row) -> str:
    first, *rest = (cell if isinstance(cell, str) else number(float(cell), DIGITS) for cell in cells)
    cells_after = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
    return f'<tr><th scope="row">{escape(first)}</th>{cells_after}</tr>'


def figure(name: str, drawing: Drawing) -> str:
    """Return a drawing to look at, with its words below and its table to unfold.

    Parameters
    ----------
    name
        Begins every id in it.
    drawing
        What to show.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from streamlearn.replays.drawings import Drawing
    >>> from streamlearn.replays.pageparts import figure
    >>> line = Drawing("a line", [lambda axes: axes.plot([1, 2], [3, 4])], "It rises to 4.", ["x"], [[1.0]])
    >>> figure("f", line).count('role="img"')
    1
    """
    parts = list(drawing.figures())
    words = f"{name}-words"
    panels = "\n".join(
        inline_svg(
            part,
            f"{name}-{place}",
            drawing.title if len(parts) == 1 else f"{drawing.title}, part {place} of {len(parts)}",
            words,
        )
        for place, part in enumerate(parts, start=1)
    )
    data = table(f"{drawing.title}: the figures", drawing.columns, drawing.rows)
    return (
        f'<figure>\n<div class="panels">\n{panels}\n</div>\n'
        f'<figcaption id="{words}"><strong>{escape(drawing.title)}.</strong> {together(drawing.words)}</figcaption>\n'
        f"<details><summary>The same as a table</summary>\n{data}\n</details>\n</figure>"
    )
