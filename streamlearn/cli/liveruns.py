"""How a command runs a live stream: until silence or a signal, with a log on standard error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from streamlearn import telemetry
from streamlearn.errors import BrokerError, ParameterError, StateError, StreamlearnError

if TYPE_CHECKING:
    from pathlib import Path

    from streamlearn.live import Message, Pump, Sink, Source, Store
    from streamlearn.live.messages import Position
    from streamlearn.plans import ReportingPlan

RETRY = 1.0
"""Seconds between two attempts to publish the plan."""


class UntilIdle:
    """A source that ends when nothing has come for a while."""

    def __init__(self, source: Source, silence: float) -> None:
        self._source = source
        self._silence = silence
        self._last = time.monotonic()
        self.ended = False
        self.shared = source.shared
        self.acknowledge = source.acknowledge
        self.feeds_on = getattr(source, "feeds_on", lambda _: False)
        self.lag = source.lag
        self.close = source.close

    def start(self, positions: Mapping[str, Position]) -> Mapping[str, Position] | None:
        """Start the source; the silence begins."""
        begun = self._source.start(positions)
        self._last = time.monotonic()
        return begun

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Fetch from the source, and look how long it has been silent."""
        messages = self._source.fetch(most, patience)
        now = time.monotonic()
        self.ended = self._source.ended or (not messages and now - self._last >= self._silence)
        if messages:
            self._last = now
        return messages


@contextlib.contextmanager
def only_pipe(store: Path) -> Iterator[None]:
    """Be the only process that reads a pipe into this store.

    The lines of a pipe are numbered by whoever reads it: of two at once, one would take the other's for its own.

    Raises
    ------
    StateError
        If another process does.
    """
    import fcntl  # noqa: PLC0415 - POSIX only

    with contextlib.ExitStack() as stack:
        try:
            # Not the store itself: closing it here would give up the locks that sqlite has on it.
            lock = os.open(f"{store}-pipe", os.O_CREAT | os.O_RDWR, 0o600)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(
                f"{store}: another process reads a pipe into this store; wait for its end, or name another store"
            ) from None
        except OSError as error:
            raise StreamlearnError(
                f"{store}-pipe: cannot be opened ({error}); choose a writable place"
            ) from None
        yield


class Ended(KeyboardInterrupt):
    """The run was told to end before it has read anything: whatever it is at is dropped, as safe as a kill."""


class Ending:
    """What SIGTERM and Ctrl-C do: the first ends the run after its batch, the second at once.

    Attributes
    ----------
    run
        The run's name, once it is known.
    pump
        What is told to stop, once there is one.
    """

    def __init__(self) -> None:
        self.run: str | None = None
        self.pump: Pump | None = None

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Heed signals; one that comes while the run is still starting ends it quietly."""
        before = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        except Ended:
            if self.pump is None:  # else it has said so
                telemetry.emit(telemetry.LIVE_STOPPED, run=self.run)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        if self.pump is None or not self.pump.begun:
            raise Ended
        self.pump.stop()


@contextlib.contextmanager
def unless_it_fails(store: Store) -> Iterator[None]:
    """Take a store away again that was made in vain: what was asked for is refused before anything is committed."""
    from streamlearn.live import database  # noqa: PLC0415 - keeps --help fast

    try:
        yield
    except Exception:
        if store.made and store.empty("positions", "counters", "outbox"):
            store.close()
            database.remove(store.path)
        raise


@contextlib.contextmanager
def named(option: str = "", **options: str) -> Iterator[None]:
    """Let an error name the option that is at fault: one that stands for the argument it begins with, or this one."""
    try:
        yield
    except StreamlearnError as error:
        if type(error) not in {ParameterError, StateError, StreamlearnError}:
            raise
        word, _, rest = str(error).partition(" ")
        if word in options:
            raise type(error)(f"{options[word]} {rest}") from None
        if option and type(error) is ParameterError:
            raise ParameterError(f"{option}: {error}") from None
        raise


def announce(sink: Sink, run: str, plan: str) -> None:
    """Publish the plan, on one line; try until it is out."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from streamlearn.live import Outgoing  # noqa: PLC0415 - as above
    from streamlearn.live.messages import message_id  # noqa: PLC0415 - as above

    line = msgspec.json.format(plan.encode(), indent=-1)
    message = Outgoing(1, "decision", message_id(run, "plan", plan), run, line)
    while True:
        try:
            sink.publish([message])
        except BrokerError as error:
            typer.echo(f"note: the plan is not published yet: {error}", err=True)
            time.sleep(RETRY)
        else:
            return


@contextlib.contextmanager
def operations(pump: Pump, address: str | None, plan: ReportingPlan | None) -> Iterator[None]:
    """Serve health, metrics and a page meanwhile, where an address is given for it."""
    if address is None:
        yield
        return
    from streamlearn.live import web  # noqa: PLC0415 - only where it is asked for

    with contextlib.ExitStack() as stack:
        with named(address="--http"):
            server = stack.enter_context(web.serve(pump, address, plan=plan))
        typer.echo(f"health, metrics and a page: http://{server.address}/", err=True)
        yield


def configure_log(form: str | None) -> None:
    """Send the library's events to standard error. Here alone: the library itself never configures logging."""
    if form == "off":
        return
    import structlog  # noqa: PLC0415 - keeps --help fast

    console = form == "console" or (form is None and sys.stderr.isatty())
    render: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if console
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso"), render],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
