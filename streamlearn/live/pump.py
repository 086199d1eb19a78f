"""Moves messages from a source through a runner to a sink, and outlives its brokers."""

from __future__ import annotations

import bisect
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Self, TypeVar

from streamlearn import telemetry
from streamlearn.errors import BrokerError, LostError, ParameterError
from streamlearn.live.messages import Message
from streamlearn.live.ports import Sink, Source
from streamlearn.live.runner import Runner
from streamlearn.live.sessions import Notes
from streamlearn.randomness import Key

BATCH: Final = 1_000
PATIENCE: Final = 0.2
"""Seconds to wait for the first message of a batch."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
"""Seconds between two attempts to reach a broker: doubled each time, and jittered."""
SOURCE: Final = "source"
SINKS: Final = "sinks"
LETTERS: Final = {"decision": "decisions", "dead": "dead letters"}
T = TypeVar("T")


class Durations(NamedTuple):
    """How long batches took, as a histogram. It never changes, a later one takes its place: any thread may read it.

    Parameters
    ----------
    counts
        How many took at most as long as each of :attr:`bounds`, and more than the one before; the last are longer.
    total
        Seconds of all together.

    Examples
    --------
    >>> from streamlearn.live.pump import Durations
    >>> took = Durations().plus(0.003).plus(0.005).plus(60.0)
    >>> took.counts, took.total
    ((0, 2, 0, 0, 0, 0, 0, 0, 0, 1), 60.008)
    """

    counts: tuple[int, ...] = (0,) * 10
    total: float = 0.0

    @property
    def bounds(self) -> tuple[float, ...]:
        """Upper bounds in seconds, of all counts but the last."""
        return (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0, 10.0)

    def plus(self, seconds: float) -> Self:
        """Return the histogram after one more batch."""
        place = bisect.bisect_left(self.bounds, seconds)
        counts = (*self.counts[:place], self.counts[place] + 1, *self.counts[place + 1 :])
        return self._replace(counts=counts, total=self.total + seconds)


class Pump:
    r"""Runs until it is told to stop, or its source ends.

    Parameters
    ----------
    runner
        What decides.
    source, sink
        Where messages come from and decisions go.
    dead
        Where letters about messages that could not be used go.
    batch
        Most messages a transaction. Nothing is fetched while a batch is at work or unpublished: that is all the
        back-pressure there is, and all the memory that messages take.
    skip_lost
        Go on without messages that are gone unread, where the source can tell: each time is counted as ``losses``
        and told. Otherwise the run ends with :class:`~streamlearn.errors.LostError`.

    Attributes
    ----------
    running
        Whether :meth:`run` is at work: it is over once the store fails.
    begun
        Whether the source was ever started. Until then nothing was read, and the run may as well be killed.
    connected
        Whether the source is started and the last call of a broker went well.
    known
        Messages that the broker had already when they were published for the first time, where it can tell: then
        another run of the same name publishes there, or this one did before its store was put back.
    lag
        Messages known to wait in the source; None where that is unknown.
    started, last_batch
        When the run and its last batch began, in seconds of ``time.time``.
    turned
        When the loop last turned, in seconds of ``time.monotonic``.
    messages
        Messages taken in since the start, whatever became of them.
    took
        How long its batches took, from the first message to the commit.

    Examples
    --------
    >>> import io
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.live import Pump, Runner, Store
    >>> from streamlearn.live.brokers import pipe
    >>> stopper = LDPOptimalStopper([1.0, 0.5], epsilon=1.0)
    >>> runner = Runner(lambda key: stopper.clone(), Store(":memory:", run="example"))
    >>> reports, decisions, dead = io.BytesIO(b'{"key":"job 1","round":1,"bit":1}\n'), io.BytesIO(), io.BytesIO()
    >>> Pump(runner, pipe.Source(reports), pipe.Sink(decisions), pipe.Sink(dead)).run()
    >>> decisions.getvalue()
    b'{"id":"...","key":"job 1","take":true,"round":1,"event_id":null}\n'
    """

    def __init__(
        self,
        runner: Runner,
        source: Source,
        sink: Sink,
        dead: Sink,
        batch: int = BATCH,
        *,
        skip_lost: bool = False,
    ) -> None:
        self.runner = runner
        self.source = source
        self.sinks = {"decision": sink, "dead": dead}
        self.batch = batch
        self.skip_lost = skip_lost
        self.running = self.begun = self.connected = False
        self.lag: int | None = None
        self.started = self.last_batch = time.time()
        self.turned = time.monotonic()
        self.messages = self.known = 0
        self.took = Durations()
        self._stop = threading.Event()
        self._jitter = Key.generate()
        self._attempts = self._tried = 0
        self._broken = True  # until it is started
        self._told = False  # that a broker is away
        self._doubtful: set[str] = set()  # whose connections an outage may have broken that is over

    def stop(self) -> None:
        """Let :meth:`run` end after the batch it is at; safe in a signal handler or another thread."""
        self._stop.set()

    def run(self) -> None:
        """Work until the source ends or :meth:`stop` is called; then everything decided is published.

        Raises
        ------
        LostError
            If messages are gone unread and are not to be skipped. What was committed stays.
        StreamlearnError
            If the store cannot be written, or a broker refuses for good. So too.
        """
        telemetry.emit(telemetry.LIVE_STARTED, run=self.runner.store.run, kind=self.runner.kind)
        self.running = True
        try:
            self._tried = self.runner.store.newest()
            self._reach(self._publish, SINKS)  # what a run before this one could not
            while not (self._stop.is_set() or self.source.ended):
                self._round()
        finally:
            self.running = False
            self.source.close()
            for sink in self.sinks.values():
                sink.close()
            telemetry.emit(telemetry.LIVE_STOPPED, run=self.runner.store.run, **self.runner.summary.counts)

    def _round(self) -> None:
        """One batch: fetch, process, publish, acknowledge."""
        messages = self._reach(lambda: self._spared(self._fetch), SOURCE)
        if messages:
            self.last_batch = time.time()
            self._process(messages)
            self._reach(self._publish, SINKS)
            self._reach(lambda: self._acknowledge(messages), SOURCE)
            self._reach(self._ask_lag, SOURCE)
        elif messages is not None:
            if self.source.shared:  # what another process has committed and could not publish any more
                self._reach(self._publish, SINKS)
            self.runner.store.flush()  # or whoever goes on after a kill, much later, would publish it again

    def _process(self, messages: list[Message]) -> None:
        began = time.perf_counter()
        self.runner.process(messages)
        self.took = self.took.plus(time.perf_counter() - began)
        self.messages += len(messages)

    def _fetch(self) -> list[Message]:
        if self._broken:
            store = self.runner.store
            store.begin(self.source.start(store.positions()) or {})  # before anything is read
            self._broken = False
            if not self.begun:
                self._refuse_loops()
            self.begun = True
        try:
            return self.source.fetch(self.batch, PATIENCE)
        except BrokerError:
            self._broken = True
            raise

    def _refuse_loops(self) -> None:
        """Refuse to read what this run publishes, where the source can tell by what its broker says."""
        feeds_on = getattr(self.source, "feeds_on", None)
        for channel, sink in self.sinks.items():
            with contextlib.suppress(BrokerError):  # that of the sink may be away
                if feeds_on is not None and feeds_on(sink):
                    raise ParameterError(
                        f"the {LETTERS[channel]} go to where the source reads: the run would feed itself, without end; "
                        "name another place for one of them"
                    )

    def _spared(self, call: Callable[[], T]) -> T | None:
        """Ask the source; go on without what it has lost, if that was allowed."""
        try:
            return call()
        except LostError as error:
            if not self.skip_lost:
                raise
            self._skip(error)
            return None

    def _skip(self, error: LostError) -> None:
        """Move on to where the source can go on, and count and tell it."""
        notes = Notes()
        notes.counts["losses"] = 1
        store = self.runner.store
        with store.transaction():
            store.advance(error.positions)
            store.count(notes.counts)
        self.runner.summary = self.runner.summary.plus(notes)
        self._broken = True  # it is started again from there
        telemetry.emit(telemetry.LIVE_MESSAGES_LOST, reason=error.what)

    def _publish(self) -> bool | None:
        """Publish what waits; None if nothing did, or another process sees to it."""
        store, done = self.runner.store, None
        with store.publishing() as allowed:
            while allowed and (waiting := store.unpublished(self.batch)):
                tried, self._tried = self._tried, max(self._tried, waiting[-1].number)
                for channel, sink in self.sinks.items():
                    part = [message for message in waiting if message.channel == channel]
                    if part:
                        self._note_known(sink.publish(part), part[0].number > tried)
                store.published(waiting[-1].number)
                done = True
                if self.source.shared:  # the next to publish must not find these
                    store.flush()
        return done

    def _note_known(self, known: int | None, first: bool) -> None:
        """Tell, once, of what was there before it was ever published; in a group another process may have done it."""
        if known and first and not self.source.shared:
            if not self.known:
                telemetry.emit(telemetry.LIVE_ALREADY_THERE, run=self.runner.store.run)
            self.known += known

    def _acknowledge(self, messages: list[Message]) -> bool | None:
        if not self.source.shared:
            return None  # nobody is asked
        self.runner.store.acknowledged(self.source.acknowledge(messages) or {})
        return True

    def _ask_lag(self) -> None:
        self.lag = self._spared(self.source.lag)  # most know it without asking: no sign that a broker is back

    def _reach(self, call: Callable[[], T], whom: str) -> T | None:
        """Call a broker until it answers; None if :meth:`stop` was called first, or if that is the answer of nobody."""
        while True:
            self.turned = time.monotonic()
            try:
                answer = call()
            except BrokerError as error:
                self._lost(error, whom)
                if self._stop.wait(self._pause()):
                    return None
            else:
                if answer is not None:
                    self._back(whom)
                return answer

    def _lost(self, error: BrokerError, whom: str) -> None:
        """Tell that a broker is away, once; a connection that broke in an outage that is over is made anew first."""
        if not self._told and whom not in self._doubtful:
            telemetry.emit(telemetry.LIVE_BROKER_LOST, reason=str(error))
            self._told = True
        self._doubtful.discard(whom)
        self.connected = False

    def _back(self, whom: str) -> None:
        if self._told:
            telemetry.emit(telemetry.LIVE_BROKER_BACK, attempts=self._attempts)
            self._doubtful = {SOURCE, SINKS}
        self._doubtful.discard(whom)
        self._told = False
        self.connected = not self._broken
        self._attempts = 0

    def _pause(self) -> float:
        """Return how long to wait: between half and all of a time that doubles with each attempt."""
        self._attempts += 1
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._attempts - 1, 20))
        return longest * (0.5 + 0.5 * self._jitter.uniform64("jitter", self._attempts) / 2**64)
