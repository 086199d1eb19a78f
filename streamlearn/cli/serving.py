"""Commands about live streams: serve, inspect."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from streamlearn.cli import app, liveruns, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.base import Agent
    from streamlearn.cli.liveagents import Choice
    from streamlearn.live import Sink, Source, Store
    from streamlearn.live.messages import Position

MOST_BATCH = 100_000
"""So many lines the file sink reads back to know what was written."""
IDLE = 1.0
"""Seconds without a message after which a dry run ends."""

PriorsArgument = Annotated[
    str | None,
    typer.Argument(help="For stoppers, laws of persons 1..n, as '10*uniform(0,1)'."),
]
Address = "-, file:PATH, nats://host:port/SUBJECT, redis://host:port/DB/STREAM or kafka://host:port/TOPIC"


@app.command(
    epilog="Example: streamlearn serve '10*uniform(0,1)' --source nats://127.0.0.1:4222/reports "
    "--sink nats://127.0.0.1:4222/decisions --store run.db --epsilon 1"
)
def serve(
    store: Annotated[
        Path, typer.Option("--store", help="The run's memory: a file, made where there is none.")
    ],
    priors: PriorsArgument = None,
    source: Annotated[str, typer.Option("--source", help=f"Where messages come from: {Address}.")] = "-",
    sink: Annotated[str, typer.Option("--sink", help="Where decisions go; an address as above.")] = "-",
    dead: Annotated[
        str | None,
        typer.Option("--dead", help="Where it is said which messages are unusable; default: standard error."),
    ] = None,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="A stopper: optimal, static, single-threshold[:RULE]; or a predictor: soa, subsampled, candidates, "
            "private.",
        ),
    ] = "optimal",
    laws: Annotated[str | None, typer.Option("--priors", help="Same as PRIORS.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon", "-e", help="Privacy level, 1 by default; for stoppers also one per person, as 1,0.5."
        ),
    ] = None,
    cls: Annotated[
        str | None, typer.Option("--class", "-c", help="For predictors, the class, as thresholds:1000.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Privacy δ of candidates and private; default 1e-6.")
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option("--gamma", "-g", help="Chance that subsampled retains an example; default 0.01."),
    ] = None,
    max_delay: Annotated[
        int | None,
        typer.Option(
            "--max-delay", min=0, help="Rounds that a label may be late for candidates and private."
        ),
    ] = None,
    key: Annotated[
        str, typer.Option("--key", help="Field that names the problem or stream: each has its own agent.")
    ] = "key",
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", help="Where a new run begins: beginning (default), end, or a position of the source."
        ),
    ] = None,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=MOST_BATCH, help="Most messages a transaction.")
    ] = 1_000,
    most_agents: Annotated[
        int, typer.Option("--most-agents", min=1, help="Agents in memory; the others rest in the store.")
    ] = 10_000,
    most_open: Annotated[
        int, typer.Option("--most-open", min=1, help="Events of a key that may await their labels.")
    ] = 1_000,
    remember: Annotated[
        int, typer.Option("--remember", min=1, help="Ended events remembered, to know duplicates of them.")
    ] = 1_000_000,
    run: Annotated[
        str | None, typer.Option("--run", help="The run's name; a store keeps its own. Default: random.")
    ] = None,
    durability: Annotated[
        Literal["full", "normal"],
        typer.Option("--durability", help="Whether a power cut loses nothing, or the last batches, whole."),
    ] = "full",
    group: Annotated[
        str | None, typer.Option("--group", help="Consumer group, where processes share streams of Redis.")
    ] = None,
    consumer: Annotated[
        str | None, typer.Option("--consumer", help="This process's name in the group.")
    ] = None,
    publish_plan: Annotated[
        str | None,
        typer.Option("--publish-plan", help="For stoppers, where the plan goes at the start; an address."),
    ] = None,
    http: Annotated[
        str | None, typer.Option("--http", help="Serve health, metrics and a page, as on 127.0.0.1:8080.")
    ] = None,
    until_idle: Annotated[
        float | None, typer.Option("--until-idle", min=0.0, help="End after so many seconds of silence.")
    ] = None,
    skip_lost: Annotated[
        bool,
        typer.Option(
            "--skip-lost",
            help="Go on without messages that the broker dropped before they were read; count that.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print what would be decided of what is there, on a copy of the store: nothing is kept or published.",
        ),
    ] = False,
    log: Annotated[
        Literal["console", "json", "off"] | None,
        typer.Option("--log", help="Events on standard error; default: console on a terminal, else json."),
    ] = None,
) -> None:
    """Decide on a live stream: one agent a key, each message counted once, through crashes and restarts.

    Messages are JSON. Stoppers read {"key", "round", "bit", "event_id"}; predictors read {"key", "event_id", "x"}, and
    "y" once the label is known. The same command again goes on where it was left, also after kill -9; SIGTERM or
    Ctrl-C ends it after the batch it is at.
    """
    from streamlearn.cli.liveagents import Choice  # noqa: PLC0415 - keeps --help fast

    if priors is not None and laws is not None:
        raise ParameterError("give PRIORS or --priors, not both")
    choice = Choice(agent, priors if laws is None else laws, cls, epsilon, delta, gamma, max_delay)
    choice.check()
    if publish_plan is not None and not choice.stops:
        raise ParameterError(
            f"--publish-plan is for stoppers, and --agent {agent} has no plan that clients follow"
        )
    if dry_run and group is not None:
        raise ParameterError("--dry-run takes no message from a group; leave --group out")
    limits = {"key_field": key, "most_agents": most_agents, "most_open": most_open, "remember": remember}
    places = _Places(source, sink, dead, publish_plan, begin, group, consumer)
    liveruns.configure_log(log)
    ending = liveruns.Ending()
    with ending.at_work(), contextlib.ExitStack() as stack:
        places.check(store, http)
        opened = _dry_sinks() if dry_run else _sinks(places)
        for each in opened.values():
            stack.callback(each.close)
        kept = stack.enter_context(_store(store, run, durability, dry_run))
        ending.run = kept.run
        if group is None:  # whose other members may have opened it since
            stack.enter_context(liveruns.unless_it_fails(kept))
        if source == "-" and kept.path != ":memory:":
            stack.enter_context(liveruns.only_pipe(store))
        origin = _source(places, kept, store)
        stack.callback(origin.close)
        silence = until_idle if until_idle is not None else IDLE if dry_run else None
        if silence is not None:
            origin = liveruns.UntilIdle(origin, silence)
        job = _Job(kept, origin, opened, batch, skip_lost, ending)
        job.work(choice, limits, None if dry_run else http)


class _Places(NamedTuple):
    """Where messages come from and go."""

    source: str
    sink: str
    dead: str | None
    plan: str | None
    begin: str | None
    group: str | None
    consumer: str | None

    def check(self, store: Path, http: str | None) -> None:
        """Refuse what cannot be, a run that would feed itself, and one that would write into its own store."""
        from streamlearn.live import web  # noqa: PLC0415 - keeps --help fast
        from streamlearn.live.brokers.loops import comes_back, overwrites  # noqa: PLC0415 - as above

        sinks = {"--sink": self.sink, "--dead": self.dead, "--publish-plan": self.plan}
        for option, place in {"--source": self.source, **sinks}.items():
            with liveruns.named(option):
                if place is not None and overwrites(place, store, 0 if option == "--source" else 1):
                    raise ParameterError(
                        f"this is the store {store}, or a file beside it; name another place"
                    )
        for option, place in sinks.items():
            if place is not None and comes_back(place, self.source):
                raise ParameterError(
                    f"{option} writes to where --source reads: the run would feed itself, without end; "
                    "name another place for one of them"
                )
        self.open_source("beginning" if self.begin is None else self.begin).close()
        if http is not None:
            with liveruns.named(address="--http"):
                web.parse(http)

    def open_source(self, begin: str) -> Source:
        from streamlearn.live.brokers.addresses import open_source  # noqa: PLC0415 - keeps --help fast

        with liveruns.named(
            "--source", begin="--from", url="--source", group="--group", consumer="--consumer"
        ):
            return open_source(self.source, begin=begin, group=self.group, consumer=self.consumer)


class _Job(NamedTuple):
    """A run with all that it needs."""

    store: Store
    source: Source
    sinks: Mapping[str, Sink]
    batch: int
    skip_lost: bool
    ending: liveruns.Ending

    def work(self, choice: Choice, limits: dict[str, Any], http: str | None) -> None:
        """Work until the source ends or a signal comes; then say what was done."""
        from streamlearn.live import Pump, Runner  # noqa: PLC0415 - keeps --help fast

        factory: Callable[[str], Agent]
        plan = None
        if choice.stops:
            stopper = choice.stopper()
            factory, plan = (lambda _: stopper.clone()), stopper.plan
        else:
            factory = choice.predictor(self.store)
        with liveruns.named(key_field="--key"):
            runner = Runner(factory, self.store, **limits)
        decided, dead = self.sinks["decision"], self.sinks["dead"]
        pump = Pump(runner, self.source, decided, dead, self.batch, skip_lost=self.skip_lost)
        with liveruns.operations(pump, http, plan):
            if plan is not None and "plan" in self.sinks:
                liveruns.announce(self.sinks["plan"], self.store.run, plan.to_json())
            self.ending.pump = pump
            pump.run()
        if pump.known:
            typer.echo(
                f"note: {pump.known} messages were there already when this run first published them: another run named "
                f"{self.store.run} publishes there, or this store is an older copy; give each run a name of its own",
                err=True,
            )
        totals = ", ".join(f"{count} {name}" for name, count in sorted(runner.summary.counts.items()))
        typer.echo(f"run {self.store.run}: {totals or 'nothing came'}", err=True)


# --- what is opened


def _store(path: Path, run: str | None, durability: Literal["full", "normal"], dry: bool) -> Store:
    from streamlearn.live import Store  # noqa: PLC0415 - keeps --help fast

    with liveruns.named(run="--run"):
        return Store.copied(path, run=run) if dry else Store(path, run=run, durability=durability)


def _sinks(places: _Places) -> dict[str, Sink]:
    from streamlearn.live.brokers.addresses import open_sink  # noqa: PLC0415 - keeps --help fast

    with liveruns.named("--sink", url="--sink"):
        sinks = {"decision": open_sink(places.sink)}
    with liveruns.named("--dead", url="--dead"):
        sinks["dead"] = _standard_error() if places.dead is None else open_sink(places.dead)
    if places.plan is not None:
        with liveruns.named("--publish-plan", url="--publish-plan"):
            sinks["plan"] = open_sink(places.plan)
    return sinks


def _dry_sinks() -> dict[str, Sink]:
    from streamlearn.live.brokers import pipe  # noqa: PLC0415 - keeps --help fast

    return {"decision": pipe.Sink(), "dead": _standard_error()}


def _standard_error() -> Sink:
    from streamlearn.live.brokers import pipe  # noqa: PLC0415 - keeps --help fast

    return pipe.Sink(sys.stderr.buffer)


def _source(places: _Places, store: Store, path: Path) -> Source:
    """Open the source where the run begins; a run that has begun goes on from its positions."""
    from streamlearn.live.database import damaged  # noqa: PLC0415 - keeps --help fast

    given, kept, positions = places.begin, store.kept("begin"), store.positions()
    if positions and given not in {None, kept}:
        stored = ", ".join(f"{name} at {_place(place)}" for name, place in sorted(positions.items())[:3])
        raise ParameterError(
            f"--from is for a new run, and {path} goes on after {stored}; leave --from out, or name another store"
        )
    begin = next(it for it in (given, kept, "beginning") if it is not None)
    try:
        source = places.open_source("beginning" if positions else begin)
    except ParameterError:
        if given is None:
            raise damaged(path) from None
        raise
    if begin != kept:
        with store.transaction():
            store.keep("begin", begin)
    return source


def _place(position: Position) -> str:
    return "-".join(map(str, position)) or "its beginning"


# --- inspect


@app.command(epilog="Example: streamlearn inspect run.db --key 'job 1'")
def inspect(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The file that serve --store names.")],
    key: Annotated[str | None, typer.Option("--key", help="Also say where the agent of this key is.")] = None,
    every_row: Annotated[bool, typer.Option("--all", help="Print every row of a long ledger.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show a live run's positions, counters and privacy ledger. Changes nothing; serve may run meanwhile."""
    from streamlearn.live import inspection  # noqa: PLC0415 - keeps --help fast

    found = inspection.inspect(store, key)
    if as_json:
        options.echo_json(found)
        return
    typer.echo(f"run: {found['run']}\nagent: {found['agent'] or 'none yet'}\nformat: {found['format']}")
    for partition, position in found["positions"].items():
        typer.echo(f"position: {partition} at {_place(position)}")
    typer.echo(f"keys: {found['keys']}")
    _echo_counts("counters", found["counters"])
    _echo_counts("events", found["events"])
    typer.echo(f"outbox: {found['outbox']}\nunacknowledged: {found['unacknowledged']}")
    _show_ledger(found["ledger"], every_row)
    if key is not None:
        typer.echo(", ".join(f"{name} {value}" for name, value in found["key"].items()))


def _echo_counts(title: str, counts: Mapping[str, int]) -> None:
    typer.echo(f"{title}: " + (", ".join(f"{count} {name}" for name, count in counts.items()) or "none"))


def _show_ledger(ledger: Mapping[str, Any], every_row: bool) -> None:
    from streamlearn.replays import rendering  # noqa: PLC0415 - keeps --help fast

    entries: Sequence[Mapping[str, Any]] = ledger["entries"]
    typer.echo(
        f"ledger: {ledger['answers']} answers, of at most ε = {rendering.number(ledger['most_epsilon'])} each"
    )
    if entries:
        rows = [
            [it["mechanism"], str(it["round"]), rendering.number(it["epsilon"]), str(it["answers"])]
            for it in entries
        ]
        rendering.print_table("", ["mechanism", "round", "ε of one answer", "answers"], rows, every_row)
