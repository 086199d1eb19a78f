"""The command bounds: how many mistakes privacy forces, how many suffice, and how many are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from streamlearn.cli import app, options
from streamlearn.cli.classes import ClassText, LengthText, length_of
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.hypotheses import HypothesisClass
    from streamlearn.replays.boundcurves import Curve, Setting
    from streamlearn.replays.measured import Measured

_MOST_POINTS = 1000
_MEASURED_LEVELS = (1e-4, 1e-3, 1e-2, 1e-1)  # δ of the right panel
_LEVEL_ROUNDS = 10_000  # and the streams' length there
_REPEATED = "one label repeated"


class _Findings(NamedTuple):
    """Measured mistakes: of SOA and of subsampled SOA, over lengths and over δ."""

    soa: list[Measured]
    subsampled: list[Measured]
    by_delta: list[Measured]
    rounds: int


@app.command(
    epilog="Example: streamlearn bounds --class point3 --length 1e6 --delta 0.01 --measure --plot figure.png"
)
def bounds(
    cls: ClassText,
    length: LengthText = "1e6",
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The learner's ε.")] = 0.01,
    delta: Annotated[float, typer.Option("--delta", help="The learner's δ.")] = 0.0,
    gamma: Annotated[
        list[float] | None,
        typer.Option(
            "--gamma", help="Retention probability of subsampled SOA; default δ, or 0.01. May be repeated."
        ),
    ] = None,
    curve: Annotated[
        list[str] | None,
        typer.Option(
            "--curve",
            help="Only these columns: repetition, forced, algorithm1[-paper], theorem1[-paper], theorem2-paper, soa, "
            "subsampled, theorem3, trivial; others' lwy24, gl21, lwy25, lyu26, kmm23, cln24; Algorithm 1's stages, p, "
            "leakage. May be repeated.",
        ),
    ] = None,
    points: Annotated[int, typer.Option("--points", help="Stream lengths in the table.")] = 13,
    constant: Annotated[
        float,
        typer.Option("--constant", help="Constant of others' bounds; theirs is unknown, 1 shows the shape."),
    ] = 1.0,
    candidate: Annotated[
        float | None, typer.Option("--candidate", help="B of Theorem 3's predictor.")
    ] = None,
    head_start: Annotated[
        float | None, typer.Option("--head-start", help="D of Theorem 3's predictor.")
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Also run SOA and subsampled SOA on hard streams, up to 100,000 rounds."
        ),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option("--runs", help="Runs behind each measured mean; default 16 to 100, by length."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the measured runs.")] = 0,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Print lower and upper bounds on expected mistakes over stream lengths; --plot draws the paper's Figure 1.

    Lower bounds are for private online learners, upper bounds for realisable streams. What counts on streams one can
    run is repetition; the constants of Theorems 1 and 2 are weak.
    """
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays import boundcurves  # noqa: PLC0415 - as above

    hypotheses, longest = notation.parse(cls), length_of(length)
    at = _setting(hypotheses, epsilon, delta, gamma, constant)
    at = at._replace(candidate=candidate, head_start=head_start or 0.0)
    _check_plan(candidate, head_start)
    _check(at, longest, points, runs, plot=plot, measure=measure)
    lengths = boundcurves.grid(longest, points)
    left_out: dict[str, str] = {}
    if curve:
        found = boundcurves.curves(list(dict.fromkeys(curve)), lengths, at)
    else:
        found, left_out = boundcurves.usual(lengths, at)
    measured = _measured(hypotheses, at, longest, runs, seed, by_delta=plot is not None) if measure else None
    if plot is not None:
        _plot(plot, cls, at, longest, measured)
    if as_json:
        _echo_json(cls, at, lengths, found, left_out, measured)
    else:
        _echo_table(cls, at, lengths, found, left_out, measured)


def _setting(
    cls: HypothesisClass, epsilon: float, delta: float, gammas: Sequence[float] | None, constant: float
) -> Setting:
    from streamlearn.bounds.arguments import privacy, real  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.boundcurves import Setting  # noqa: PLC0415 - as above
    from streamlearn.replays.measured import fits_algorithm1  # noqa: PLC0415 - as above

    e, level = privacy(epsilon, delta)
    for gamma in gammas or ():
        if not 0 < gamma <= 1:
            raise ParameterError(
                f"--gamma must lie in (0, 1], got {gamma:g}; it is the chance of retaining an example"
            )
    rates = list(dict.fromkeys(gammas or [level or 0.01]))
    factor = real("constant", constant, 0.0, math.inf, "1 shows the shape")
    return Setting(cls.dimension, fits_algorithm1(cls), e, level, rates, factor)


def _check(
    at: Setting, longest: int, points: int, runs: int | None, *, plot: Path | None, measure: bool
) -> None:
    """Refuse what cannot be done before any work."""
    from streamlearn.replays.boundcurves import MOST_ROUNDS  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.boundfigure import check_figure  # noqa: PLC0415 - as above

    if longest > MOST_ROUNDS:
        raise ParameterError(
            "--length must be at most 1e300 rounds, which a double can hold; shorten the stream"
        )
    if not 2 <= points <= _MOST_POINTS:
        raise ParameterError(f"--points must be 2 to {_MOST_POINTS}, got {points}")
    if runs is not None and runs < 2:
        raise ParameterError(f"--runs must be at least 2, got {runs}; one run has no error")
    if (plot is not None or measure) and at.d == 0:
        raise ParameterError(
            "--plot and --measure need a class of dimension at least 1, got 0; take a larger class"
        )
    if plot is not None:
        check_figure(plot, longest)


def _check_plan(candidate: float | None, head_start: float | None) -> None:
    if candidate is None and head_start is not None:
        raise ParameterError("--head-start needs --candidate; Theorem 3's bound is 3B + 12d + 2D")
    for option, given in (("--candidate", candidate), ("--head-start", head_start)):
        if given is not None and not 0 <= given < math.inf:
            raise ParameterError(
                f"{option} must be a number >= 0, got {given:g}; a plan for the predictor states it"
            )


def _measured(
    cls: HypothesisClass, at: Setting, longest: int, runs: int | None, seed: int, *, by_delta: bool
) -> _Findings:
    """Run both agents on hard streams; the draws depend on the seed alone."""
    from streamlearn import agents  # noqa: PLC0415 - keeps --help fast
    from streamlearn.randomness import Key  # noqa: PLC0415 - as above
    from streamlearn.replays import measured  # noqa: PLC0415 - as above

    typer.echo("measuring; this can take a minute", err=True)
    key, gamma = Key.from_seed(seed), at.gammas[0]
    lengths = [10**power for power in range(1, 6) if 10**power <= longest] or [longest]
    hard = measured.hard_streams(cls)
    streams = {_hard_name(cls): hard, _REPEATED: measured.repeated(cls)}

    def subsampled(rate: float, drawn: Key) -> Any:
        return agents.SubsampledSOA(cls, rate, drawn)

    def over_lengths(label: str, drawn_from: measured.StreamOf, agent: measured.AgentOf) -> Measured:
        return measured.over_lengths(label, drawn_from, agent, lengths, key, runs=runs)

    soa = [over_lengths(f"SOA, {_hard_name(cls)}", hard, lambda _: agents.SOA(cls))]
    over = [
        over_lengths(f"subsampled SOA, {name}", drawn_from, lambda drawn: subsampled(gamma, drawn))
        for name, drawn_from in streams.items()
    ]
    rounds = min(longest, _LEVEL_ROUNDS)
    levels = [
        measured.over_deltas(
            f"subsampled SOA, {name}", drawn_from, subsampled, _MEASURED_LEVELS, rounds, key, runs=runs
        )
        for name, drawn_from in (streams.items() if by_delta else ())
    ]
    return _Findings(soa, over, levels, rounds)


def _hard_name(cls: HypothesisClass) -> str:
    """Return the name of the streams that measured.hard_streams draws."""
    from streamlearn.replays.measured import fits_algorithm1  # noqa: PLC0415 - keeps --help fast

    if fits_algorithm1(cls):
        return "Algorithm 1's streams"
    return "Theorem 2's streams" if cls.dimension > 1 else _REPEATED


def _plot(path: Path, name: str, at: Setting, longest: int, measured: _Findings | None) -> None:
    from streamlearn.replays.boundfigure import bounds_figure, marks  # noqa: PLC0415 - keeps --help fast

    if measured is None:
        bounds_figure(path, name, at, longest)
        return
    bounds_figure(
        path,
        name,
        at,
        longest,
        over_lengths=marks(measured.soa, measured.subsampled),
        over_deltas=marks([], measured.by_delta),
        rounds=measured.rounds,
    )


def _echo_table(
    name: str,
    at: Setting,
    lengths: Sequence[int],
    curves: Sequence[Curve],
    left_out: dict[str, str],
    measured: _Findings | None,
) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays.measured import MOST_ROUNDS  # noqa: PLC0415 - as above

    rows = [
        [_rounds(T), *(_figure(float(curve.values[place])) for curve in curves)]
        for place, T in enumerate(lengths)
    ]
    who = f"{name} (Littlestone dimension {at.d}), ε = {at.epsilon:g}, δ = {at.delta:g}"
    rendering.print_table(
        f"{who}: expected mistakes in T rounds", ["T", *(curve.name for curve in curves)], rows
    )
    for curve in curves:
        factor = (
            f", times {at.constant:g}: its constant is unknown" if curve.kind.startswith("quoted") else ""
        )
        typer.echo(f"{curve.name}: {curve.kind}; {curve.source}{factor}")
    for curve_name, reason in left_out.items():
        typer.echo(f"left out: {curve_name}, {reason}")
    if measured is None:
        return
    typer.echo()
    series = [*measured.soa, *measured.subsampled]
    rows = [
        [
            _rounds(int(T)),
            *(f"{found.means[i]:.4g} ± {found.errors[i]:.2g}" for found in series),
            str(series[0].runs[i]),
        ]
        for i, T in enumerate(series[0].places)
    ]
    title = f"measured mistakes (mean ± 2 standard errors), γ = {at.gammas[0]:g}"
    rendering.print_table(title, ["T", *(found.label for found in series), "runs"], rows)
    if lengths[-1] > MOST_ROUNDS:
        typer.echo(f"streams of more than {MOST_ROUNDS:,} rounds are not run")
    if at.gammas[0] > at.delta:
        typer.echo(
            "subsampled SOA is (0, γ)-private: with γ > δ it may err less often than the lower bounds say"
        )


def _figure(value: float) -> str:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    return f"{value:,.0f}" if 1e3 <= value < 1e12 else rendering.number(value, 4)


def _rounds(T: int) -> str:  # noqa: N803 - the paper's letter
    return f"{T:,}" if T < 10**12 else f"{float(T):.4g}"


def _echo_json(
    name: str,
    at: Setting,
    lengths: Sequence[int],
    curves: Sequence[Curve],
    left_out: dict[str, str],
    measured: _Findings | None,
) -> None:

    figures: dict[str, Any] = {
        "class": name,
        "dimension": at.d,
        "epsilon": at.epsilon,
        "delta": at.delta,
        "gammas": list(at.gammas),
        "T": list(lengths),
        "curves": {
            curve.name: {"kind": curve.kind, "source": curve.source, "values": curve.values.tolist()}
            for curve in curves
        },
        "left_out": left_out,
    }
    if measured is not None:
        figures["measured"] = {
            "by_length": [_plain(found) for found in (*measured.soa, *measured.subsampled)],
            "by_delta": {"T": measured.rounds, "series": [_plain(found) for found in measured.by_delta]},
        }
    options.echo_json(figures)


def _plain(found: Measured) -> dict[str, Any]:
    return {
        "label": found.label,
        "places": found.places.tolist(),
        "means": found.means.tolist(),
        "errors": found.errors.tolist(),
        "runs": list(found.runs),
    }
