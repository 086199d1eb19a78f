"""Commands about stopping: solve, replay, sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from streamlearn.cli import app, options, references
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.priors import Prior
    from streamlearn.replays import Estimate, RecordedStream, StoppingResult
    from streamlearn.replays.learning import Groups

GRID = ("0", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "5", "7", "10")
AGENTS = ("optimal", "static", "single-threshold")

PriorsText = Annotated[
    str | None,
    typer.Argument(
        help="Laws of persons 1..n, as '10*uniform(0,1)' or 'exponential(1); 0.7; discrete(0:0.9,5:0.1)'."
    ),
]
Log = Annotated[
    str | None,
    typer.Option(
        "--log", help="Learn the priors from a log: CSV, JSONL (also gzipped, - for standard input), Parquet."
    ),
]
LogArgument = Annotated[
    str, typer.Argument(help="CSV, JSONL (also gzipped, or - for standard input) or Parquet.", metavar="LOG")
]


@app.command(epilog="Example: streamlearn solve '10*uniform(0,1)' --epsilon 1 --plan plan.json")
def solve(
    priors: PriorsText = None,
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Privacy level; or one per person, as 1,0.5,2.")
    ] = "1",
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="optimal, static, single-threshold[:RULE].")
    ] = "optimal",
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Write the plan that clients follow, as JSON.")
    ] = None,
    log: Log = None,
    pooled: options.Pooled = False,
    groups: options.Groups = None,
    value: options.Value = None,
    episode: options.Episode = None,
    time: options.Time = None,
    horizon: options.Horizon = None,
    sort: options.Sort = False,
    on_error: options.OnError = "strict",
    compare: Annotated[
        bool, typer.Option("--benchmarks", help="Print what prophets and other stoppers would get.")
    ] = False,
    every_row: Annotated[bool, typer.Option("--all", help="Print every stage of a long table.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Turn priors into thresholds, cases, the expected value, and the plan that clients follow."""
    from streamlearn.replays import benchmarks, rendering  # noqa: PLC0415 - keeps --help fast

    how = options.LogOptions(value, episode, time, horizon, sort, on_error)
    laws = _laws(priors, log, how, pooled, options.groups(groups))
    level = options.levels([epsilon])[epsilon]
    stopper = options.build_agent(agent, laws, level)
    figures: dict[str, Any] = {
        "value": stopper.value,
        "online": benchmarks.online(laws),
        "prophet": benchmarks.prophet(laws),
    }
    stages = rendering.stage_rows(stopper, laws)
    if plan is not None:
        stopper.plan.save(plan)
        if log is not None:
            typer.echo(
                "note: a plan learned from a log publishes thresholds that can be single values of it",
                err=True,
            )
    compared = references.figures(laws, level) if compare else None
    if as_json:
        figures |= {"guarantee": str(stopper.guarantee), "stages": stages}
        options.echo_json(figures | ({"benchmarks": compared} if compared else {}))
        return
    cells = [
        [cell if isinstance(cell, str) else rendering.number(cell) for cell in row.values()] for row in stages
    ]
    rendering.print_table(f"{agent}, {stopper.horizon} stages", list(stages[0]), cells, every_row)
    what = "expected reward" if log is None else "plug-in value (biased up; replay scores it)"
    typer.echo(f"{what}: {stopper.value:.10g}")
    typer.echo(f"without privacy: {figures['online']:.10g}")
    typer.echo(f"E[maximum]: {figures['prophet']:.10g}")
    typer.echo(f"guarantee: {stopper.guarantee}")
    if compared:
        references.show(compared)


@app.command(
    epilog="Example: streamlearn replay bids.csv --value bid --episode auction --learn 0.5 -e 0.5 -e 1 -e 2"
)
def replay(
    log: LogArgument,
    epsilon: options.Epsilon = None,
    agent: options.Agents = None,
    learn: options.Learn = "0.5",
    pooled: options.Pooled = False,
    groups: options.Groups = None,
    value: options.Value = None,
    episode: options.Episode = None,
    time: options.Time = None,
    horizon: options.Horizon = None,
    sort: options.Sort = False,
    on_error: options.OnError = "strict",
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Learn priors from the earlier part of a log, and score agents on the later part."""
    how = options.LogOptions(value, episode, time, horizon, sort, on_error)
    shared = options.groups(groups)
    replay_log(log, how, agent or AGENTS, epsilon or ["1"], learn, pooled, plot, as_json, shared)


@app.command(epilog="Example: streamlearn sweep '10*exponential(1)' --plot sweep.png")
def sweep(
    priors: PriorsText = None,
    epsilon: options.Epsilon = None,
    agent: options.Agents = None,
    log: Log = None,
    learn: options.Learn = "0.5",
    pooled: options.Pooled = False,
    groups: options.Groups = None,
    value: options.Value = None,
    episode: options.Episode = None,
    time: options.Time = None,
    horizon: options.Horizon = None,
    sort: options.Sort = False,
    on_error: options.OnError = "strict",
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what privacy costs over a grid of levels: exactly under priors, or held out on a log."""
    how = options.LogOptions(value, episode, time, horizon, sort, on_error)
    shared = options.groups(groups)
    if log is not None:
        if priors is not None:
            raise ParameterError("give priors or --log, not both")
        replay_log(log, how, agent or AGENTS, epsilon or GRID, learn, pooled, plot, as_json, shared)
        return
    _sweep_priors(_laws(priors, None, how, pooled, shared), agent or AGENTS, epsilon or GRID, plot, as_json)


def _laws(
    text: str | None, log: str | None, how: options.LogOptions, pooled: bool, groups: Groups | None
) -> Sequence[Prior]:
    """Return the priors a user wrote, or those of a whole log."""
    from streamlearn import priors  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.learning import stage_priors  # noqa: PLC0415 - as above

    if (text is None) == (log is None):
        raise ParameterError(
            "give the priors, such as '10*uniform(0,1)', or --log to learn them from; one of the two"
        )
    if text is not None:
        if pooled or groups:
            raise ParameterError(
                "--pooled and --groups are for priors learned from a log; write equal laws as 10*uniform(0,1)"
            )
        return priors.parse(text)
    return stage_priors(how.read(str(log)), pooled, groups)


def replay_log(
    log: str,
    how: options.LogOptions,
    agents: Sequence[str],
    epsilons: Sequence[str],
    learn: str,
    pooled: bool,
    plot: Path | None,
    as_json: bool,
    groups: Groups | None = None,
) -> None:
    """Learn from the earlier part of a log, score stoppers on the later one, print a table and draw a figure."""
    from streamlearn.agents import OptimalStopper  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays import replay_many  # noqa: PLC0415 - as above
    from streamlearn.replays.drift import DriftCheck  # noqa: PLC0415 - as above
    from streamlearn.replays.learning import split  # noqa: PLC0415 - as above
    from streamlearn.replays.tails import tails  # noqa: PLC0415 - as above

    agents = list(dict.fromkeys(agents))
    levels = options.levels(epsilons)
    if plot is not None:
        _check_plot(plot, levels)
    stream = how.read(log)
    parts = split(stream, options.learn_amount(learn))
    laws = parts.priors(pooled, groups)
    stoppers = {
        f"{name}, ε = {text}": options.build_agent(name, laws, epsilon)
        for name in agents
        for text, epsilon in levels.items()
    }
    reference = OptimalStopper(laws)
    stoppers["without privacy"] = reference
    check = DriftCheck(parts.learned)
    results = replay_many(check.watching(parts.later), stoppers, reference=reference, progress=True)
    if plot is not None:
        *scored, ideal = results.values()
        rows = [_flat(result.reward) + _flat(result.of_reference) for result in scored]
        title = f"{Path(log).name}: {ideal.episodes} held-out episodes, 95 % intervals over episodes"
        _plot(plot, title, agents, levels, rows, ideal.score, ideal.score / ideal.of_maximum.value, len(laws))
    _show_results(stream, len(parts.learned), results, as_json)
    resting = tails(parts.learned, OptimalStopper, pooled=pooled, groups=groups)
    options.warn([*resting.warnings, check.result().warning])


def _flat(figure: Estimate | None) -> list[float]:
    return [math.nan] * 3 if figure is None else [figure.value, *figure.interval]


def _show_results(
    stream: RecordedStream, taught: int, results: dict[str, StoppingResult], as_json: bool
) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    left_out = {
        "skipped_rows": stream.skipped,
        "skipped_episodes": stream.skipped_episodes,
        "leftover_rows": stream.leftover_rows,
    }
    if as_json:
        figures = {name: result.as_dict() for name, result in results.items()}
        options.echo_json({"learned_from": taught, "left_out": left_out, "results": figures})
        return
    scored = results["without privacy"].episodes
    rendering.print_results(f"priors from {taught} earlier episodes, scored on {scored} later ones", results)
    typer.echo(f"memory: {stream.memory}")
    for reason, count in stream.skipped.items():
        typer.echo(f"left out: {count} rows whose {reason}")
    for what in ("skipped_episodes", "leftover_rows"):
        if left_out[what]:
            typer.echo(f"left out: {left_out[what]} {what.replace('_', ' ')}")


def _sweep_priors(
    laws: Sequence[Prior], agents: Sequence[str], epsilons: Sequence[str], plot: Path | None, as_json: bool
) -> None:
    from streamlearn.replays import benchmarks, evaluate_policy, rendering  # noqa: PLC0415 - keeps --help fast

    agents = list(dict.fromkeys(agents))
    levels = options.levels(epsilons)
    if plot is not None:
        _check_plot(plot, levels)
    online, prophet = benchmarks.online(laws), benchmarks.prophet(laws)
    rows: list[dict[str, Any]] = []
    for name in agents:
        for text, epsilon in levels.items():
            stopper = options.build_agent(name, laws, epsilon)
            exact = evaluate_policy(stopper, laws)
            rows.append({
                "agent": name,
                "ε": text,
                "expected reward": exact.mean,
                "of optimum": exact.mean / online if online else math.nan,
                "of maximum": exact.mean / prophet if prophet else math.nan,
                "nobody": float(exact.stop_law[-1]),
                "asked": exact.mean_asked,
            })  # fmt: skip
    if plot is not None:
        exact_rows = [[row["expected reward"]] * 3 + [row["of optimum"]] * 3 for row in rows]
        _plot(
            plot, "expected reward under the priors", agents, levels, exact_rows, online, prophet, len(laws)
        )
    if as_json:
        options.echo_json({"online": online, "prophet": prophet, "rows": rows})
        return
    cells = [
        [cell if isinstance(cell, str) else rendering.number(cell) for cell in row.values()] for row in rows
    ]
    rendering.print_table("exact under the priors", list(rows[0]), cells, every_row=True)
    typer.echo(f"without privacy: {online:.10g}")
    typer.echo(f"E[maximum]: {prophet:.10g}")


def _plot(
    path: Path,
    title: str,
    agents: Sequence[str],
    levels: dict[str, float | list[float]],
    rows: Sequence[Sequence[float]],
    optimum: float,
    maximum: float,
    horizon: int,
) -> None:
    """Draw rows (mean, low, high of the reward, then of its share), agent by agent and level by level."""
    from streamlearn.replays.figures import Band, Curve, price_of_privacy  # noqa: PLC0415 - keeps --help fast

    epsilons = np.array(list(levels.values()), dtype=float)
    order = np.argsort(epsilons)
    figures = np.array(rows).reshape(len(agents), len(levels), 6)[:, order].transpose(0, 2, 1)
    curves = [
        Curve(name, epsilons[order], Band(*figure[:3]), Band(*figure[3:]))
        for name, figure in zip(agents, figures, strict=True)
    ]
    price_of_privacy(path, title, curves, optimum=optimum, maximum=maximum, horizon=horizon)


def _check_plot(path: Path, levels: dict[str, float | list[float]]) -> None:
    """Refuse a figure that cannot be drawn or written before the work, not after it."""
    from streamlearn.replays.figures import check_path  # noqa: PLC0415 - keeps --help fast

    check_path(path)
    if any(isinstance(level, list) or math.isinf(level) for level in levels.values()):
        raise ParameterError(
            "--plot needs finite privacy levels that everybody shares; leave out lists and inf"
        )
