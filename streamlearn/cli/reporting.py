"""The command report-html: a replay as a page that people look at."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from streamlearn.cli import app, options, stopping
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlearn.base import Stopper
    from streamlearn.priors import Prior
    from streamlearn.replays.report import Build

LEVELS: Final = ("0", "0.5", "1", "2", "3", "5", "7")

Out = Annotated[Path, typer.Option("--out", help="The page: .html or .htm.")]


@app.command(
    "report-html", epilog="Example: streamlearn report-html bids.csv --value bid -e 1 -e 2 --out bids.html"
)
def report_html(
    log: stopping.LogArgument,
    out: Out = Path("report.html"),
    epsilon: options.Epsilon = None,
    agent: options.Agents = None,
    learn: options.Learn = "0.5",
    pooled: options.Pooled = False,
    value: options.Value = None,
    episode: options.Episode = None,
    time: options.Time = None,
    horizon: options.Horizon = None,
    sort: options.Sort = False,
    on_error: options.OnError = "strict",
    prophets: Annotated[
        bool, typer.Option(help="Compute what private prophets would get: seconds a level.")
    ] = True,
) -> None:
    """Replay a log as replay does, and write tables and figures as one page that stands alone.

    It loads nothing and runs nothing. It shows no episode's id and no value but thresholds; figures by stage are the
    first agent's.
    """
    from streamlearn.agents import OptimalStopper  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.report import stopping_report  # noqa: PLC0415 - as above
    from streamlearn.replays.reportpage import check_page, write_page  # noqa: PLC0415 - as above

    check_page(out)
    agents = list(dict.fromkeys(agent or stopping.AGENTS))
    levels = _shared(options.levels(epsilon or LEVELS))
    how = options.LogOptions(value, episode, time, horizon, sort, on_error)
    report = stopping_report(
        how.read(log),
        {name: _build(name) for name in agents},
        list(levels.values()),
        reference=OptimalStopper,
        learn=options.learn_amount(learn),
        pooled=pooled,
        prophets=prophets,
        command=_command(log, out, agent, epsilon, learn, pooled, how, prophets),
        progress=True,
    )
    write_page(out, report)
    typer.echo(f"page: {out}")


def _build(name: str) -> Build:
    def build(priors: Sequence[Prior], epsilon: float) -> Stopper:
        return options.build_agent(name, priors, epsilon)

    return build


def _shared(levels: dict[str, float | list[float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, level in levels.items():
        if isinstance(level, list):
            raise ParameterError(
                f"--epsilon {text!r} is a list, and a page needs levels that everybody shares; give numbers"
            )
        found[text] = level
    return found


def _command(
    log: str,
    out: Path,
    agents: Sequence[str] | None,
    epsilons: Sequence[str] | None,
    learn: str,
    pooled: bool,
    how: options.LogOptions,
    prophets: bool,
) -> str:
    """Return the command that makes the page again, without the folders of whoever made it."""
    words = ["streamlearn", "report-html", Path(log).name, "--out", out.name, "--learn", learn]
    for level in epsilons or ():
        words += ["-e", level]
    for name in agents or ():
        words += ["-a", name]
    for option, given in (("--value", how.value), ("--episode", how.episode), ("--time", how.time)):
        words += [] if given is None else [option, given]
    words += [] if how.horizon is None else ["--horizon", str(how.horizon)]
    words += ["--pooled"] * pooled + ["--sort"] * how.sort
    words += [] if how.on_error == "strict" else ["--on-error", how.on_error]
    words += [] if prophets else ["--no-prophets"]
    return shlex.join(words)
