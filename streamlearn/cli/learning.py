"""The command about what a log teaches: priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import numpy as np
import typer

from streamlearn.cli import app, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.priors.base import Floats
    from streamlearn.replays.drift import Drift, DriftCheck, PlanChange
    from streamlearn.replays.enough import Build, LearningCurve
    from streamlearn.replays.ldplearning import SurveyedValue
    from streamlearn.replays.learning import Groups, Split
    from streamlearn.replays.tails import Tails

MOST_SCORED = 10_000
"""Later episodes that plans are scored on: thousands of plans are."""
OUTSIDE = 0.01
"""A larger share of the values outside the range of a survey is called out."""
NOISY = 0.005
"""With a larger standard error, shares cannot be told to 1 %."""
FEW = 30
"""Fewer episodes to learn from do not tell what more would give."""
POINTS = (0.5, 0.9, 0.99)


class Found(NamedTuple):
    """What a log teaches, and how far that can be trusted."""

    enough: LearningCurve
    tails: Tails
    drift: Drift
    change: PlanChange
    ldp: SurveyedValue | None


@app.command(epilog="Example: streamlearn priors bids.csv --groups 1-3,4-10 -e 1 --ldp 1 --range 0,100")
def priors(
    log: Annotated[
        str,
        typer.Argument(help="CSV, JSONL (also gzipped, or - for standard input) or Parquet.", metavar="LOG"),
    ],
    epsilon: Annotated[
        str,
        typer.Option("--epsilon", "-e", help="Privacy level to decide at; or one per person, as 1,0.5,2."),
    ] = "1",
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="optimal, static, single-threshold[:RULE].")
    ] = "optimal",
    learn: options.Learn = "0.5",
    pooled: options.Pooled = False,
    groups: options.Groups = None,
    ldp: Annotated[
        float | None,
        typer.Option(
            "--ldp", help="Also: what a prior learned under LDP would be worth, at this ε a person."
        ),
    ] = None,
    between: Annotated[
        str | None,
        typer.Option("--range", help="LOW,HIGH that values are publicly known to lie in; for --ldp."),
    ] = None,
    thresholds: Annotated[
        int, typer.Option("--thresholds", help="Questions that --ldp shares out, one a person.")
    ] = 32,
    value: options.Value = None,
    episode: options.Episode = None,
    time: options.Time = None,
    horizon: options.Horizon = None,
    sort: options.Sort = False,
    on_error: options.OnError = "strict",
    as_json: options.AsJson = False,
) -> None:
    """Show what the earlier part of a log teaches: the laws, how many episodes are enough, tails and drift."""
    from streamlearn.replays.enough import learning_curve  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.learning import split  # noqa: PLC0415 - as above
    from streamlearn.replays.tails import tails  # noqa: PLC0415 - as above

    shared = options.groups(groups)
    level = options.levels([epsilon])[epsilon]
    survey = _survey(ldp, between, thresholds)
    how = options.LogOptions(value, episode, time, horizon, sort, on_error)
    parts = split(how.read(log), options.learn_amount(learn))

    def build(laws: Sequence[Any]) -> Any:
        return options.build_agent(agent, laws, level)

    laws = _law_rows(parts.learned, pooled, shared)
    check, later = _later(parts)
    found = Found(
        enough=learning_curve(parts.learned, later, build, pooled=pooled, groups=shared),
        tails=tails(parts.learned, build, pooled=pooled, groups=shared),
        drift=check.result(),
        change=check.plan_change(build, pooled, shared),
        ldp=None if survey is None else _surveyed(survey, parts.learned, later, build, pooled, shared),
    )
    if as_json:
        _echo_json(laws, found)
    else:
        _print(laws, found)
    typer.echo("note: points of a law are values of the log, and thresholds can be", err=True)
    options.warn(
        [_rough(found.enough), *found.tails.warnings, found.drift.warning, _outside(survey, parts.learned)]
    )


def _law_rows(learned: Floats, pooled: bool, groups: Groups | None) -> list[dict[str, Any]]:
    """Return a short account of each law."""
    from streamlearn.replays.learning import partition  # noqa: PLC0415 - keeps --help fast

    rows = []
    for group in partition(learned.shape[1], pooled, groups):
        values = learned[:, group].ravel()
        points = np.quantile(values, POINTS, method="inverted_cdf").tolist()
        rows.append({
            "stages": _runs([column + 1 for column in group]),
            "values": len(values),
            "mean": float(values.mean()),
            "sd": float(values.std()),
            **{f"{point:.0%}": at for point, at in zip(POINTS, points, strict=True)},
        })  # fmt: skip
    return rows


def _runs(stages: Sequence[int]) -> str:
    """Return stages as ``--groups`` takes them."""
    ordered = sorted(stages)
    breaks = [i for i in range(1, len(ordered)) if ordered[i] != ordered[i - 1] + 1]
    runs = [ordered[i:j] for i, j in zip([0, *breaks], [*breaks, len(ordered)], strict=True)]
    return "+".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _later(parts: Split) -> tuple[DriftCheck, Floats]:
    """Return the drift check over all later episodes, and the first of them to score plans on."""
    from streamlearn.replays.drift import DriftCheck  # noqa: PLC0415 - keeps --help fast

    check = DriftCheck(parts.learned)
    kept: list[Floats] = []
    missing = MOST_SCORED
    for batch in check.watching(parts.later):
        kept.append(batch.values[:missing])
        missing -= len(kept[-1])
    return check, np.concatenate(kept)


def _survey(ldp: float | None, between: str | None, thresholds: int) -> Any:
    """Return the survey that was asked for; None if none was."""
    from streamlearn.surveys import Survey  # noqa: PLC0415 - keeps --help fast

    if ldp is None:
        if between is not None:
            raise ParameterError("--range is for --ldp; give its ε as well")
        return None
    if between is None:
        raise ParameterError(
            "--ldp needs --range LOW,HIGH: what values may be, known beforehand and not taken from the log"
        )
    try:
        low, high = (float(end) for end in between.split(","))
    except ValueError:
        raise ParameterError(f"--range {between!r} must be two numbers, as 0,100") from None
    return Survey(low, high, ldp, thresholds)


def _surveyed(
    survey: Any, learned: Floats, later: Floats, build: Build, pooled: bool, groups: Groups | None
) -> SurveyedValue:
    from streamlearn.replays.enough import most_drawn  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.ldplearning import surveyed_value  # noqa: PLC0415 - as above

    people = learned[: most_drawn(learned)]
    return surveyed_value(people, later, build, survey, pooled=pooled, groups=groups)


def _rough(curve: LearningCurve) -> str | None:
    """Say why the number of episodes that are enough is not to be trusted."""
    rough = "how many are enough is a rough guide"
    if curve.episodes < FEW:
        return f"only {curve.episodes} episodes to learn from: {rough}"
    if curve.noise > NOISY:
        return f"{curve.scored} later episodes know a share to ±{curve.noise:.1%} only: {rough}"
    return None


def _outside(survey: Any, learned: Floats) -> str | None:
    if survey is None:
        return None
    share = float(np.mean((learned < survey.low) | (learned > survey.high)))
    if share <= OUTSIDE:
        return None
    return (
        f"{share:.0%} of the values lie outside --range and count as its nearer end; a survey would not know"
    )


def _echo_json(laws: list[dict[str, Any]], found: Found) -> None:

    plain: dict[str, Any] = {name: msgspec.to_builtins(part) for name, part in found._asdict().items()}
    plain["enough"]["least"] = found.enough.least
    plain["tails"]["warnings"] = list(found.tails.warnings)
    plain["drift"] |= {"found": found.drift.found, "warning": found.drift.warning}
    options.echo_json({"priors": laws} | plain)


def _print(laws: list[dict[str, Any]], found: Found) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    curve, change, tail = found.enough, found.change, found.tails
    cells = [
        [cell if isinstance(cell, str) else rendering.number(cell) for cell in row.values()] for row in laws
    ]
    rendering.print_table(f"laws learned from {curve.episodes} earlier episodes", list(laws[0]), cells)
    shares = [
        [str(size), f"{share.mean:.4f}", f"{share.low:.4f}", f"{share.high:.4f}"]
        for size, share in zip(curve.sizes, curve.shares, strict=True)
    ]
    rendering.print_table(
        f"learned from N episodes only: held-out value as a share of all {curve.episodes} episodes'",
        ["N", "mean", "5 %", "95 %"],
        shares,
    )
    typer.echo(f"expected reward: {curve.held_out:.6g} an episode, held out on {curve.scored} later ones")
    typer.echo(f"plug-in value: {curve.plug_in:.6g} (biased up)")
    enough = "no number of episodes tried keeps" if curve.least is None else f"{curve.least} episodes keep"
    typer.echo(
        f"enough: {enough} 99 % of that in 19 draws of 20 "
        f"(a share's standard error on {curve.scored} later episodes: {curve.noise:.2%})"
    )
    typer.echo(
        f"tail: the 5 largest values carry {_percent(tail.value_share)} of the plug-in value and "
        f"{_percent(tail.maximum_share)} of the mean maximum; tail index {rendering.number(tail.tail_index, 2)}"
    )
    typer.echo(_drift_line(found.drift))
    typer.echo(
        f"learned from the later part instead: plug-in value {change.later_value:.6g}, not {change.value:.6g}; the "
        f"threshold of stage {change.stage} moves most, from {change.threshold:.6g} to {change.later_threshold:.6g}"
    )
    if found.ldp is not None:
        taught, kept = found.ldp, found.ldp.shares
        typer.echo(
            f"learned under LDP: {taught.people} people, one bit each at ε = {taught.epsilon:g}, keep {kept.mean:.4f} "
            f"[{kept.low:.4f}, {kept.high:.4f}] of what their raw values give ({taught.plug_in:.6g}); "
            "who answered must not arrive again, or both ε add up"
        )


def _drift_line(drift: Drift) -> str:
    if drift.blind:
        return f"drift: {drift.learned} and {drift.later} episodes are too few to find any"
    most = drift.clearest
    where = f"stage {most.stage}" if most.stage else "all stages together"
    return (
        f"drift: {'found' if drift.found else 'none found'} in {drift.later} later episodes; the clearest is {where}, "
        f"distance {most.distance:.3f} of {most.allowed:.3f} allowed (false alarms: {drift.rate:g})"
    )


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"
