"""The command about prediction: predict."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from streamlearn.cli import app, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.hypotheses import HypothesisClass
    from streamlearn.prediction import Predictor
    from streamlearn.replays import PredictionResult, RecordedExamples

BUNDLED = "bundled:"
LEARNED = "stumps"  # a class whose cut points are learned from the log itself

LogArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOG",
        help="CSV, JSONL (also gzipped, or - for standard input) or Parquet; "
        "or bundled:image-segments, bundled:phishing.",
    ),
]
ClassText = Annotated[
    str,
    typer.Option("--class", "-c", help="Hypothesis class, as thresholds:1000; stumps alone takes --sample."),
]


@app.command(
    epilog="Example: streamlearn predict bundled:image-segments --class stumps --sample 300 --agent soa "
    "--agent subsampled --gamma 0.05"
)
def predict(
    log: LogArgument,
    cls: ClassText,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="soa, subsampled, candidates or private. May be repeated."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Privacy ε of candidates and private; 1 by default."),
    ] = None,
    privacy_delta: Annotated[
        float | None,
        typer.Option("--delta", help="Privacy δ of candidates and private; 1e-6 by default."),
    ] = None,
    late: Annotated[
        int | None,
        typer.Option(
            "--max-delay",
            min=0,
            help="Rounds that a label may be late for candidates and private; 0 by default.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            help="Plan that plan --out saved, in place of these three; its agent is private or candidates.",
        ),
    ] = None,
    gamma: Annotated[
        list[float] | None,
        typer.Option("--gamma", "-g", help="Chance that subsampled retains an example. May be repeated."),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            "--sample", min=0, help="First events, public, that teach the cut points of stumps; not scored."
        ),
    ] = 0,
    cuts: Annotated[
        int | None, typer.Option("--cuts", min=1, help="Most cut points a feature that --sample teaches.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Column of the label; else detected.")] = None,
    positive: Annotated[
        str | None, typer.Option("--positive", help="What the label column holds where the label is 1.")
    ] = None,
    instance: Annotated[
        str | None, typer.Option("--instance", help="Column that is the instance; else a dict of features.")
    ] = None,
    features: Annotated[
        str | None, typer.Option("--features", help="Columns of that dict, as a,b,c; else all others.")
    ] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column that says when an event was.")] = None,
    labelled: Annotated[
        str | None, typer.Option("--labelled", help="Column that says when its label came.")
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            "--delay", help="How late labels come: events; with --time its unit (seconds for timestamps)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the draws, for replays.")] = 0,
    on_error: options.OnError = "strict",
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict the labels of a recorded stream, side by side with and without privacy."""
    from streamlearn.replays import replay_many  # noqa: PLC0415 - keeps --help fast

    if plot is not None:
        from streamlearn.replays.figures import check_path  # noqa: PLC0415 - as above

        check_path(plot)
    stream = _stream(
        log, label=label, positive=positive, instance=instance, features=features, time=time, labelled=labelled,
        on_error=on_error,
    )  # fmt: skip
    wait = _delay(delay, timed=time is not None)
    hypotheses, rest = _class(cls, stream, sample, cuts)
    names, planned = _planned(
        hypotheses, agent, plan, {"epsilon": epsilon, "delta": privacy_delta, "max_delay": late}
    )
    agents = build_predictors(hypotheses, names, gamma, planned, seed)
    results = replay_many(rest, agents, delay=wait, progress=True)
    if plot is not None:
        from streamlearn.replays.figures import mistake_curves  # noqa: PLC0415 - as above

        mistake_curves(plot, f"{Path(log).name}, class {cls}", results)
    _show(stream, hypotheses, sample, agents, results, as_json)


def _stream(
    log: str,
    *,
    features: str | None,
    on_error: Any,
    **columns: str | None,
) -> Any:
    """Return the stream a user named: a log, or one that river carries."""
    from streamlearn.replays import read_examples, synthetic  # noqa: PLC0415 - keeps --help fast

    if not log.startswith(BUNDLED):
        named = None if features is None else [name.strip() for name in features.split(",")]
        return read_examples(log, features=named, on_error=on_error, **cast("Any", columns))
    bundled: dict[str, Callable[[], Any]] = {
        "image-segments": synthetic.image_segments,
        "phishing": synthetic.phishing,
    }
    given = [name for name, column in {"features": features, **columns}.items() if column is not None]
    if given:
        raise ParameterError(f"--{given[0]} is for logs of your own; a bundled stream has its columns")
    name = log.removeprefix(BUNDLED)
    if name not in bundled:
        raise ParameterError(f"LOG {log!r} is not bundled; choose {BUNDLED}" + f" or {BUNDLED}".join(bundled))
    return bundled[name]()


def _delay(text: str | None, *, timed: bool) -> float | None:
    if text is None:
        return None
    try:
        delay = float(text) if timed else int(text)
    except ValueError:
        wanted = "a number, in the unit of --time" if timed else "a whole number of events (or name --time)"
        raise ParameterError(f"--delay {text!r} must be {wanted}") from None
    if not 0 <= delay < float("inf"):
        raise ParameterError(f"--delay must be >= 0 and finite, got {text}")
    return delay


def _class(text: str, stream: Any, sample: int, cuts: int | None) -> tuple[HypothesisClass, Iterable[Any]]:
    """Return the class, and the part of the stream that is scored."""
    from streamlearn.hypotheses import Stumps, notation  # noqa: PLC0415 - keeps --help fast

    if text.strip().lower() != LEARNED:
        if sample or cuts is not None:
            raise ParameterError("--sample and --cuts teach cut points; give them with --class stumps alone")
        return notation.parse(text), stream
    if not sample:
        raise ParameterError(
            "--class stumps needs cut points: name them (stumps:FEATURE=c1,c2) or learn them from the first events "
            "of the log (--sample N)"
        )
    events = iter(stream)
    first = list(itertools.islice(events, sample))
    following = next(events, None)
    if following is None:
        raise ParameterError(
            f"--sample {sample} must be less than the {len(first)} events of the log, to leave some to score"
        )
    stumps = Stumps.from_sample((x for x, _ in first), cuts)
    if not getattr(stream, "timed", False):
        return stumps, itertools.chain([following], events)
    if stream.once:
        raise ParameterError(
            "--sample with --time reads the log twice, standard input can be read once; save it to a file"
        )
    return stumps, _Later(stream, sample)


class _Later:
    """A log that knows its times, without its first events."""

    timed = True

    def __init__(self, stream: RecordedExamples, first: int) -> None:
        self._stream = stream
        self._first = first
        self.labels_timed = stream.labels_timed

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self._stream, self._first, None)

    def schedule(self, delay: Any) -> Iterator[Any]:
        return itertools.islice(self._stream.schedule(delay), self._first, None)


def _planned(
    hypotheses: HypothesisClass, names: list[str] | None, file: Path | None, asked: dict[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return the agents, with that of a saved plan, and what candidates and private are made from."""
    usual = {"epsilon": 1.0, "delta": 1e-6, "max_delay": 0}
    if file is None:
        return names or ["soa"], {
            name: usual[name] if value is None else value for name, value in asked.items()
        }
    for name, value in asked.items():
        if value is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')} must not be given with --plan: the plan has its own; leave out one of the "
                "two"
            )
    from streamlearn.planning import Plan  # noqa: PLC0415 - keeps --help fast

    plan = Plan.load(file, hypotheses)
    own, other = ("candidates", "private") if plan.combination is None else ("private", "candidates")
    chosen = names or [own]
    if other in chosen:
        raise ParameterError(
            f"--agent {other} must not be given with --plan {file}, a plan of {own}; leave it out, or name {own}"
        )
    return chosen if own in chosen else [*chosen, own], {"plan": plan, "max_delay": plan.max_delay}


def build_predictors(
    hypotheses: HypothesisClass,
    names: list[str],
    gammas: list[float] | None,
    planned: dict[str, Any],
    seed: int,
) -> dict[str, Predictor]:
    """Return the agents of those names, by what is shown of them.

    Raises
    ------
    ParameterError
        If there is no such agent, or an option is for one that was not named.
    """
    from streamlearn import Key  # noqa: PLC0415 - keeps --help fast
    from streamlearn import agents as kinds  # noqa: PLC0415 - as above

    if gammas and "subsampled" not in names:
        raise ParameterError("--gamma is for --agent subsampled; name that agent too")
    agents: dict[str, Predictor] = {}
    for name in names:
        if name == "soa":
            agents["soa"] = kinds.SOA(hypotheses)
        elif name == "subsampled":
            for gamma in gammas or [0.01]:
                agents[f"subsampled, γ = {gamma:g}"] = kinds.SubsampledSOA(
                    hypotheses, gamma, Key.from_seed(seed)
                )
        elif name == "candidates":
            agents[name] = kinds.CandidateReplacementPredictor(hypotheses, key=Key.from_seed(seed), **planned)
        elif name == "private":
            agents[name] = kinds.PrivatePredictor(hypotheses, key=Key.from_seed(seed), **planned)
        else:
            raise ParameterError(
                f"--agent {name!r} is unknown; choose soa, subsampled, candidates or private"
            )
    return agents


def _show(
    stream: Any,
    hypotheses: HypothesisClass,
    sample: int,
    agents: Mapping[str, Predictor],
    results: Mapping[str, PredictionResult],
    as_json: bool,
) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    skipped = dict(getattr(stream, "skipped", {}))
    refused = {name: int(getattr(agent, "contradictions", 0)) for name, agent in agents.items()}
    unknown = {name: int(getattr(agent, "unknown", 0)) for name, agent in agents.items()}
    if as_json:
        figures = {
            name: result.as_dict() | {"contradictions": refused[name], "unknown": unknown[name]}
            for name, result in results.items()
        }
        document = {
            "class": hypotheses.digest,
            "dimension": hypotheses.dimension,
            "sample": sample,
            "skipped_rows": skipped,
            "results": figures,
        }
        options.echo_json(document)
        return
    rows = [
        [
            name,
            str(result.mistakes),
            f"{result.score:.2%}",
            "–" if result.mistake_bound is None else f"{result.mistake_bound:g}",
            str(refused[name]),
            str(result.guarantee),
        ]
        for name, result in results.items()
    ]
    rounds = next(iter(results.values())).rounds
    title = f"{rounds} events, class of Littlestone dimension {hypotheses.dimension}"
    headings = ["agent", "mistakes", "right", "promised ≤", "contradictions", "guarantee"]
    rendering.print_table(title, headings, rows, every_row=True)
    if sample:
        typer.echo(f"cut points learned from the first {sample} events, which are public and not scored")
    if any(refused.values()):
        typer.echo(
            "no hypothesis of the class agrees with all labels that were taken in, so nothing is promised here: "
            "soa goes on by the labels before, subsampled by its public default"
        )
    if any(unknown.values()):
        typer.echo(
            f"the class does not know the instance of {max(unknown.values())} labels that were taken in, so nothing is "
            "promised of them; say which column is the instance (--instance), or which are the features (--features)"
        )
    for reason, count in skipped.items():
        typer.echo(f"left out: {count} rows ({reason})")
