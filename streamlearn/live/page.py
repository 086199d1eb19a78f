"""The live page: one document with its own style and script, allowed by their hashes; it loads nothing else.

It shows counts and promises, never a key or an event id: a key is whatever the senders made it, and may name a person.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Final

from streamlearn.live.metrics import COUNTERS

STYLE: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--muted:#4a525b;--line:#c9ced4;--shade:#f3f5f7;--draw:#0b57a4;
--good:#0a6b3d;--bad:#a32a00}
@media (prefers-color-scheme:dark){:root{--paper:#14171c;--ink:#e7e9ec;--muted:#b3bac3;--line:#4a525b;--shade:#20252c;
--draw:#8cc4ff;--good:#6fd6a0;--bad:#ffab8a}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
body{margin:0 auto;padding:1rem;max-width:60rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0}
h2{font-size:1.1rem;margin:1.8rem 0 .5rem}
p{margin:.3rem 0;max-width:46rem}
.note{color:var(--muted)}
#state{border-left:.3rem solid var(--muted);background:var(--shade);padding:.5rem .8rem;margin:.8rem 0;
font-weight:600;max-width:none}
#state.good{border-color:var(--good);color:var(--good)}
#state.bad{border-color:var(--bad);color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;margin:1rem 0}
.tiles div{background:var(--shade);border-radius:.4rem;padding:.6rem .8rem}
.tiles dt{color:var(--muted)}
.tiles dd{margin:0;font-size:1.5rem;font-weight:600;line-height:1.3}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.2rem}
figure{margin:0}
figcaption{display:flex;justify-content:space-between;gap:1rem}
svg{display:block;width:100%;height:6.5rem;background:var(--shade);border-radius:.4rem}
polyline{fill:none;stroke:var(--draw);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.axis{display:flex;justify-content:space-between;color:var(--muted);font-size:.85rem}
table{border-collapse:collapse;width:100%;max-width:38rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .4rem;border-bottom:1px solid var(--line);text-align:left;font-weight:400}
td{text-align:right;white-space:nowrap}
footer{margin-top:1.5rem}
[hidden]{display:none}
"""

SCRIPT: Final = """
"use strict";
const MOST = 300, LEAST = 60, RECENT = 10, SILENT = 5000, AGAIN = 2000;
const whole = new Intl.NumberFormat("en"), rough = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});
const at = id => document.getElementById(id);
const put = (id, text) => { at(id).textContent = text; };
const clock = seconds => new Date(seconds * 1000).toLocaleTimeString();
let points = [], heard = 0, source = null;

function say(kind, text) {
  if (at("state").textContent !== text) { at("state").className = kind; put("state", text); }
}

function rates(column) {
  const found = [];
  for (let i = 1; i < points.length; i++) {
    const passed = points[i][0] - points[i - 1][0];
    if (passed > 0) found.push([points[i][0], (points[i][column] - points[i - 1][column]) / passed]);
  }
  return found;
}

function draw(name, column, end) {
  const line = rates(column), top = Math.max(...line.map(it => it[1]), 0);
  const span = Math.max(LEAST, end - points[0][0]);
  const drawn = line.map(([time, rate]) =>
    `${(300 * (1 - (end - time) / span)).toFixed(2)},${(98 - 90 * (top ? rate / top : 0)).toFixed(2)}`);
  at(name + "-line").setAttribute("points", drawn.join(" "));
  const last = points[points.length - 1], first = points[Math.max(0, points.length - 1 - RECENT)];
  const now = last[0] > first[0] ? (last[column] - first[column]) / (last[0] - first[0]) : 0;
  put(name + "-span", `${whole.format(Math.round(span))} s ago`);
  put(name + "-now", `${rough.format(now)} now`);
  put(name + "-most", `most ${rough.format(top)}`);
}

function show(now) {
  heard = performance.now();
  const stopper = now.kind === "stopper", what = stopper ? "Decisions" : "Predictions";
  document.title = `${now.run}: streamlearn`;
  put("run", now.run);
  put("kind", `${now.kind}, at work since ${new Date(now.started * 1000).toLocaleString()}`);
  if (!now.running) say("bad", "The run is not at work");
  else if (!now.connected) say("bad", "A broker cannot be reached; trying again");
  else say("good", "At work, the brokers answer");
  put("messages", whole.format(now.messages));
  put("decisions", whole.format(now.decisions));
  put("decisions-name", what);
  put("rate-name", `${what} a second`);
  put("lag", now.lag === null ? "unknown" : whole.format(now.lag));
  put("dead", whole.format(now.counts.dead_letters));
  for (const row of document.querySelectorAll("[data-count]")) {
    const count = now.counts[row.dataset.count];
    row.hidden = count === undefined;
    if (!row.hidden) row.lastElementChild.textContent = whole.format(count);
  }
  at("outcomes").hidden = !stopper;
  if (stopper) {
    put("taken", whole.format(now.counts.taken));
    put("not-taken", whole.format(now.counts.decisions - now.counts.taken));
  }
  put("answers", whole.format(Object.values(now.answers).reduce((sum, count) => sum + count, 0)));
  put("epsilon", now.epsilon === "inf" ? "\\u221e" : rough.format(now.epsilon));
  put("guarantee", now.guarantee);
  put("as-of", `As of ${clock(now.time)}.`);
  points.push([now.time, now.messages, now.decisions]);
  while (points.length > MOST) points.shift();
  draw("events", 1, now.time);
  draw("rate", 2, now.time);
}

function lost() { say("bad", "No contact with the run; trying again. The figures are old"); }

function connect() {
  source = new EventSource("events");
  source.addEventListener("history", event => { points = JSON.parse(event.data); });
  source.onmessage = event => show(JSON.parse(event.data));
  source.onerror = () => {
    lost();
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
  };
}

setInterval(() => { if (heard && performance.now() - heard > SILENT) lost(); }, 1000);
connect();
"""


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _tile(name: str, label: str, label_id: str = "") -> str:
    named = f' id="{label_id}"' if label_id else ""
    return f'<div><dt{named}>{label}</dt><dd id="{name}">–</dd></div>'


def _chart(name: str, label: str) -> str:
    return f"""<figure>
<figcaption id="{name}-words"><span id="{name}-name">{label} a second</span><b id="{name}-now">–</b></figcaption>
<svg role="img" aria-label="{label} a second, over the last minutes" aria-describedby="{name}-words {name}-most"
 viewBox="0 0 300 100" preserveAspectRatio="none"><polyline id="{name}-line" points=""/></svg>
<div class="axis"><span id="{name}-span"></span><span id="{name}-most"></span><span>now</span></div>
</figure>"""


def _rows() -> str:
    return "\n".join(
        f'<tr data-count="{name}" hidden><th scope="row">{escape(words)}</th><td>–</td></tr>'
        for name, (_, words) in COUNTERS.items()
    )


POLICY: Final = (
    f"default-src 'none'; style-src {_hashed(STYLE)}; script-src {_hashed(SCRIPT)}; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy under which it is served."""

PAGE: Final = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>streamlearn</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1 id="run">A live run</h1>
<p id="kind" class="note"></p>
<p id="state" role="status">Waiting for the run</p>
<noscript><p>This page needs JavaScript; /metrics has the same figures as text.</p></noscript>
</header>
<main>
<dl class="tiles">
{_tile("messages", "Messages since the start")}
{_tile("decisions", "Decisions", "decisions-name")}
{_tile("lag", "Waiting in the source")}
{_tile("dead", "Dead letters")}
</dl>
<div class="charts">
{_chart("events", "Messages")}
{_chart("rate", "Decisions")}
</div>
<section id="outcomes" hidden>
<h2>How problems ended</h2>
<dl class="tiles">
{_tile("taken", "Somebody taken")}
{_tile("not-taken", "Nobody taken")}
</dl>
</section>
<section>
<h2>Privacy</h2>
<dl class="tiles">
{_tile("answers", "Answers that spent privacy")}
{_tile("epsilon", "Most ε of one answer")}
</dl>
<p>Promised: <span id="guarantee">–</span>.</p>
</section>
<section>
<h2>What became of the messages</h2>
<table>
<tbody>
{_rows()}
</tbody>
</table>
</section>
</main>
<footer><p class="note"><span id="as-of"></span> Counts only: no key, event id, value or label is shown here. Totals are
of the whole run; messages and rates are of this process.</p></footer>
<script>{SCRIPT}</script>
</body>
</html>
""".encode()
