"""Commands about hypothesis classes: dimension, adversary."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from streamlearn.cli import app, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.hypotheses import HypothesisClass
    from streamlearn.randomness import Key
    from streamlearn.replays.synthetic import AdversarialStream

_SHOWN = 20  # essential hypotheses, and instances of one, that are printed; --json has all
_PATH_SHOWN = 6
_MOST_EXACT = 12  # the dimension up to which subsampled SOA's law is summed exactly, over 2^d sets
_MOST_JUDGED = 5_000  # rounds where judging a learner takes many passes over the stream

ClassText = Annotated[
    str,
    typer.Option(
        "--class",
        "-c",
        help="point3, points[:M], thresholds:M, intervals:M, singletons-or-empty[:M], conjunctions:a,b,c:K, "
        "stumps:FEATURE=c1,c2;OTHER=c3, finite:FILE (.npy or .csv, one row a hypothesis).",
    ),
]
LengthText = Annotated[str, typer.Option("--length", "-T", help="Rounds, as 1000, 1e6 or 3^12.")]


def length_of(text: str) -> int:
    """Return a number of rounds.

    Raises
    ------
    ParameterError
        If it is no whole number >= 1.
    """
    from streamlearn.hypotheses.notation import whole_number  # noqa: PLC0415 - keeps --help fast

    try:
        rounds = whole_number(text)
    except ParameterError as error:
        raise ParameterError(f"--length: {error}") from None
    if rounds < 1:
        raise ParameterError("--length must be at least 1 round, got 0")
    return rounds


@app.command(epilog="Example: streamlearn dimension --class thresholds:1000 --tree")
def dimension(
    cls: ClassText,
    tree: Annotated[
        bool,
        typer.Option("--tree", help="Draw a shattered tree; a deep one is cut, and what is left counted."),
    ] = False,
    p: Annotated[
        int | None,
        typer.Option("--p", help="Also the decomposition dimension ρ_p and the essential hypotheses C_p."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the Littlestone dimension of a hypothesis class: the most mistakes SOA makes, and the least possible."""
    from streamlearn.hypotheses import (  # noqa: PLC0415 - keeps --help fast
        decomposition_dimension,
        essential_hypotheses,
        littlestone_dimension,
        notation,
        shattered_tree,
    )

    hypotheses = notation.parse(cls)
    figures: dict[str, Any] = {"class": cls, "dimension": littlestone_dimension(hypotheses)}
    if p is not None:
        figures["p"] = p
        figures["decomposition_dimension"] = decomposition_dimension(hypotheses, p)
        found = essential_hypotheses(hypotheses, p)
        figures["essential"] = sorted(
            (_ones(hypotheses, one) for one in found), key=lambda ones: (len(ones), str(ones))
        )
    if tree:
        figures["tree"] = str(shattered_tree(hypotheses))
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    typer.echo(f"Littlestone dimension of {cls}: {figures['dimension']}")
    if p is not None:
        _echo_decomposition(p, figures["decomposition_dimension"], figures["essential"])
    if tree:
        typer.echo(f"a shattered tree:\n{figures['tree']}")


def _ones(cls: HypothesisClass, labelling: Callable[[Any], bool]) -> list[Any]:
    """Return the instances where an essential hypothesis is 1."""
    from streamlearn.hypotheses import Labelling  # noqa: PLC0415 - keeps --help fast

    if labelling == Labelling(()):  # all there is of a class too large for a table
        return []
    return [x for x in cls.as_finite().domain if labelling(x)]


def _echo_decomposition(p: int, rank: int, essential: list[list[Any]]) -> None:
    typer.echo(f"decomposition dimension ρ_{p}: {rank}")
    typer.echo(f"essential hypotheses C_{p}: {len(essential)}")
    for ones in essential[:_SHOWN]:
        listed = ", ".join(map(str, ones[:_SHOWN])) + (
            f", … {len(ones) - _SHOWN} more" if len(ones) > _SHOWN else ""
        )
        typer.echo(f"  1 at {listed}" if ones else "  1 nowhere")
    if len(essential) > _SHOWN:
        typer.echo(f"  … {len(essential) - _SHOWN} more; --json lists all")


# --- adversary


class _Learner(NamedTuple):
    """Whom a stream is drawn for: its privacy, and its law where the stream is chosen against it."""

    epsilon: float
    delta: float
    against: Any


@app.command(
    epilog="Example: streamlearn adversary --class point3 --length 1000 --p 0.5 --seed 7 --out stream.jsonl"
)
def adversary(
    cls: ClassText,
    length: LengthText,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="Where to write: .jsonl, .csv, or - for JSON Lines to standard output."
        ),
    ],
    p: Annotated[
        float | None,
        typer.Option("--p", help="Chance of an informative round, in (0, 1]; by default the paper's choice."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same stream again; by default a fresh one.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", help="Choose labels and places against soa or subsampled:GAMMA, not by chance."
        ),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="Privacy of the learners to trouble, for p and the bound."),
    ] = 0.01,
    delta: Annotated[float, typer.Option("--delta", help="Their δ.")] = 0.0,
) -> None:
    """Write a stream on which private learners must err: Algorithm 1 for points, Theorem 2's tree for other classes.

    A line is {"x": ..., "y": 0 or 1}; the features of an instance stand beside y. The stream is fixed before any
    learner runs, and some hypothesis of the class agrees with all of it.
    """
    from streamlearn.hypotheses import notation  # noqa: PLC0415 - keeps --help fast
    from streamlearn.randomness import Key  # noqa: PLC0415 - as above

    hypotheses, rounds = notation.parse(cls), length_of(length)
    if p is not None and not 0 < p <= 1:
        raise ParameterError(f"--p must lie in (0, 1], got {p:g}; leave it out for the paper's choice")
    learner = _Learner(epsilon, delta, None if against is None else _law(against, hypotheses, rounds))
    key = Key.generate() if seed is None else Key.from_seed(seed)
    stream, account = _drawn(hypotheses, rounds, p, learner, key)
    _write(stream, out)
    to_standard_error = out == "-"
    typer.echo(f"{cls}: {rounds} rounds, {len(stream.informative)} informative", err=to_standard_error)
    typer.echo(f"path: {_path(stream)}; labels {_chosen(stream, against)}", err=to_standard_error)
    for line in account:
        typer.echo(line, err=to_standard_error)


def _drawn(
    cls: HypothesisClass, rounds: int, p: float | None, learner: _Learner, key: Key
) -> tuple[AdversarialStream, list[str]]:
    """Return the stream, and what it costs whom."""
    from streamlearn import bounds  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays import synthetic  # noqa: PLC0415 - as above
    from streamlearn.replays.measured import fits_algorithm1  # noqa: PLC0415 - as above

    e, d = learner.epsilon, learner.delta
    algorithm1 = fits_algorithm1(cls) and learner.against is None
    phases = 1 if algorithm1 else min(max(1, cls.dimension - 1), rounds)
    if p is None:
        p = float(bounds.paper_probability(rounds // phases, epsilon=e, delta=d))
    if algorithm1:
        stream = synthetic.point3_adversary(rounds, p, key=key)
    else:
        stream = synthetic.littlestone_adversary(cls, rounds, learner=learner.against, p=p, key=key)
    if learner.against is not None:
        return stream, [
            f"that learner's expected mistakes on informative rounds: {stream.expected_mistakes:.6g}"
        ]
    if algorithm1 or cls.dimension > 1:
        forced = phases * float(bounds.algorithm1_lower(rounds // phases, p, epsilon=e, delta=d))
        which = f"Algorithm 1, p = {p:.6g}" + (f", {phases} phases" if phases > 1 else "")
    else:
        forced = float(bounds.repetition_lower(rounds, epsilon=e, delta=d))
        which = "one example all the time"
    who = f"online learners of privacy ε = {e:g}, δ = {d:g}"
    return stream, [f"{who} err at least {forced:.6g} times, on average over the draws ({which})"]


def _law(against: str, cls: HypothesisClass, rounds: int) -> Any:
    """Return the law of the learner to choose a stream against, or the learner where its law would not end."""
    from streamlearn import agents  # noqa: PLC0415 - keeps --help fast
    from streamlearn.replays import synthetic  # noqa: PLC0415 - as above

    kind, colon, text = against.strip().partition(":")
    law: Any
    if kind == "soa" and not colon:
        law, passes = _soa_law(cls), cls.dimension == 1
    elif kind == "subsampled" and colon:
        gamma = _gamma(text)
        exact = cls.dimension <= _MOST_EXACT
        law = synthetic.subsampled_soa_law(cls, gamma) if exact else agents.SubsampledSOA(cls, gamma)
        passes = not exact or cls.dimension == 1
    else:
        raise ParameterError(
            f"--against {against!r} is unknown; choose soa or subsampled:GAMMA, as subsampled:0.01"
        )
    if passes and rounds > _MOST_JUDGED:
        raise ParameterError(
            f"--length must be at most {_MOST_JUDGED} with --against {against} at dimension {cls.dimension}, "
            f"got {rounds}: the learner is played many times over; shorten the stream or leave out --against"
        )
    return law


def _gamma(text: str) -> float:
    try:
        gamma = float(text)
    except ValueError:
        gamma = math.nan
    if not 0 < gamma <= 1:
        raise ParameterError(f"--against: GAMMA must be a number in (0, 1], got {text!r}; as subsampled:0.01")
    return gamma


def _soa_law(cls: HypothesisClass) -> Callable[[Any, Any], float]:
    """Return the law of SOA: it depends on which examples were seen, not on how often."""

    def law(runs: Any, x: Any) -> float:
        space = cls.version_space()
        for (seen, y), shown in runs:
            if shown:
                kept = space.restrict(seen, y)
                space = space if kept is None else kept
        return float(space.predict(x))

    return law


def _write(stream: AdversarialStream, out: str) -> None:
    """Write a stream round by round: it is never held."""
    from streamlearn.replays import writing  # noqa: PLC0415 - keeps --help fast

    if out == "-":
        writing.write_jsonl(sys.stdout, writing.records(stream))
    else:
        writing.write(stream, out)


def _path(stream: AdversarialStream) -> str:
    shown = ", ".join(f"{x} → {int(y)}" for x, y in stream.path[:_PATH_SHOWN])
    more = len(stream.path) - _PATH_SHOWN
    return f"{shown}, … {more} more" if more > 0 else shown


def _chosen(stream: AdversarialStream, against: str | None) -> str:
    return stream.chosen if against is None else f"chosen {stream.chosen} ({against.strip()})"
