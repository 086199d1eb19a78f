"""The command of the person's side: report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamlearn.cli import app, options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.reporters import Reporter

DEFAULT_LIMIT = 1.0


@app.command(epilog="Example: echo 0.7 | streamlearn report --plan plan.json --round 3")
def report(
    plan: Annotated[Path, typer.Option("--plan", help="The published plan.")],
    number: Annotated[int, typer.Option("--round", min=1, help="The round this person answers.")],
    max_epsilon: Annotated[
        float | None, typer.Option("--max-epsilon", help="The most one value may spend; 1 for a new memory.")
    ] = None,
    total_epsilon: Annotated[
        float | None,
        typer.Option("--total-epsilon", help="The most all values may spend; unlimited for a new memory."),
    ] = None,
    set_limit: Annotated[
        bool,
        typer.Option("--set-limit", help="Let the given limits replace those that the memory was made with."),
    ] = False,
    event_id: Annotated[
        str,
        typer.Option(
            "--event-id", help="Your name for this private value. All answers about one value add up."
        ),
    ] = "value",
    memory: Annotated[
        Path | None,
        typer.Option("--memory", help="The client's key and ledger; default: the user's state directory."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer one round of a plan: reads the private value from standard input, prints one bit.

    The client's key, limits and answers are kept in a file: asked again it gives the same bit and spends nothing,
    and a plan that asks for more than the limit is refused.
    """
    from streamlearn.files import exclusive  # noqa: PLC0415 - keeps --help fast
    from streamlearn.reporters import ReportingPlan  # noqa: PLC0415 - as above

    channel = ReportingPlan.load(plan)[number]
    private = options.private_value() if channel.case == "ask" else None
    file = memory if memory is not None else options.default_memory()
    with exclusive(file):
        reporter = _client(file, {"max_epsilon": max_epsilon, "total_epsilon": total_epsilon}, set_limit)
        before = len(reporter.ledger.entries)
        answer = reporter.report(value=private, channel=channel, event_id=event_id)
        if channel.case == "ask" and len(reporter.ledger.entries) == before:
            typer.echo(
                f"note: {event_id!r} was asked this before; the same bit again, nothing spent", err=True
            )
        # Before the bit leaves: a crash in between repeats the same bit, and spends nothing twice.
        reporter.save(file)
    if as_json:
        options.echo_json({"round": answer.round, "bit": answer.bit, "event_id": answer.event_id})
    else:
        typer.echo(answer.bit)


def _client(file: Path, limits: dict[str, float | None], set_limit: bool) -> Reporter:
    """Return the client whose memory ``file`` is; its limits change only where that was asked for."""
    from streamlearn.reporters import Reporter  # noqa: PLC0415 - keeps --help fast

    given = {name: limit for name, limit in limits.items() if limit is not None}
    if not file.exists():
        return Reporter(
            given.get("max_epsilon", DEFAULT_LIMIT), total_epsilon=given.get("total_epsilon", math.inf)
        )
    reporter = Reporter.load(file)
    for name, limit in given.items():
        option = f"--{name.replace('_', '-')}"
        if limit != getattr(reporter, name) and not set_limit:
            raise ParameterError(
                f"{option} is {limit:g} and {file} was made with {getattr(reporter, name):g}; leave {option} out, "
                "or add --set-limit to change it for good"
            )
        setattr(reporter, name, limit)
    return reporter
