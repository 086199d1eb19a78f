"""The command demo: both kinds of decision on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamlearn.cli import app, options, predicting, stopping

LEVELS = ("0", "0.5", "1", "2", "3", "4", "5", "7")
RATES = (0.5, 0.1, 0.02)
TAUGHT = 300


@app.command(epilog="Example: streamlearn demo --out demo-output")
def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the log and the figures are written.")] = Path(
        "demo-output"
    ),
) -> None:
    """Hire by one-bit reports, and predict labels privately, on real data; print tables, write figures."""
    _stop(out)
    _predict(out)


def _stop(out: Path) -> None:
    from streamlearn.replays.demo import write_earnings_log  # noqa: PLC0415 - keeps --help fast

    typer.echo(
        "Hiring with one-bit reports. Real hourly earnings of 11,130 workers (US Current Population Survey,\n"
        "1992-1998) stand for what a candidate is worth. The workers never applied for anything: we cut the survey\n"
        "into episodes of ten candidates, learn what to expect from 1992-1996, and hire on 1998 by their bits."
    )
    log = write_earnings_log(out)
    how = options.LogOptions(None, None, None, None, sort=False, on_error="strict")
    figure = out / "demo.png"
    stopping.replay_log(
        str(log.path), how, stopping.AGENTS, LEVELS, str(log.learn), pooled=True, plot=figure, as_json=False
    )
    typer.echo(f"log: {log.path}\nfigure: {figure}\n")


def _predict(out: Path) -> None:
    typer.echo(
        "Predicting privately. 2,310 segments of outdoor images (bundled with river): which show sky? The first\n"
        f"{TAUGHT} are public and give the cut points of decision stumps; the others are predicted one by one. What\n"
        "other people see changes little if anyone's labelled example is replaced; with γ = 0.02 it changes in total\n"
        "variation by 0.02 at most, and that many mistakes are its price."
    )
    figure = out / "demo-predict.png"
    predicting.predict(
        "bundled:image-segments",
        "stumps",
        agent=["soa", "subsampled"],
        gamma=list(RATES),
        sample=TAUGHT,
        plot=figure,
    )
    typer.echo(f"figure: {figure}")
