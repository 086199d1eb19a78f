"""Moves messages from a source through a runner to a sink, and outlives its brokers."""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Self, TypeVar

from streamlearn import telemetry
from streamlearn.errors import BrokerError, LostError
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
    connected
        Whether the source is started and the last call of a broker went well.
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
        self.running = self.connected = False
        self.lag: int | None = None
        self.started = self.last_batch = time.time()
        self.turned = time.monotonic()
        self.messages = 0
        self.took = Durations()
        self._stop = threading.Event()
        self._jitter = Key.generate()
        self._attempts = 0
        self._broken = True  # until it is started

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
            self._reach(self._publish)  # what a run before this one could not
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
        messages = self._reach(lambda: self._spared(self._fetch))
        if not messages:
            if self.source.shared:  # what another process has committed and could not publish any more
                self._reach(self._publish)
        else:
            self.last_batch = time.time()
            self._process(messages)
            self._reach(self._publish)
            self._reach(lambda: self._acknowledge(messages))
            self.lag = self._reach(lambda: self._spared(self.source.lag))

    def _process(self, messages: list[Message]) -> None:
        began = time.perf_counter()
        self.runner.process(messages)
        self.took = self.took.plus(time.perf_counter() - began)
        self.messages += len(messages)

    def _fetch(self) -> list[Message]:
        if self._broken:
            self.source.start(self.runner.store.positions())
            self._broken = False
        try:
            return self.source.fetch(self.batch, PATIENCE)
        except BrokerError:
            self._broken = True
            raise

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

    def _publish(self) -> None:
        store = self.runner.store
        with store.publishing() as allowed:
            while allowed and (waiting := store.unpublished(self.batch)):
                for channel, sink in self.sinks.items():
                    part = [message for message in waiting if message.channel == channel]
                    if part:
                        sink.publish(part)
                store.published(waiting[-1].number)
                if self.source.shared:  # the next to publish must not find these
                    store.flush()

    def _acknowledge(self, messages: list[Message]) -> None:
        if self.source.shared:
            self.runner.store.acknowledged(self.source.acknowledge(messages) or {})

    def _reach(self, call: Callable[[], T]) -> T | None:
        """Call a broker until it answers; None if :meth:`stop` was called first."""
        while True:
            self.turned = time.monotonic()
            try:
                answer = call()
            except BrokerError as error:
                self._lost(error)
                if self._stop.wait(self._pause()):
                    return None
            else:
                self._back()
                return answer

    def _lost(self, error: BrokerError) -> None:
        if self.connected or not self._attempts:
            telemetry.emit(telemetry.LIVE_BROKER_LOST, reason=str(error))
        self.connected = False

    def _back(self) -> None:
        if self._attempts:
            telemetry.emit(telemetry.LIVE_BROKER_BACK, attempts=self._attempts)
        self.connected = not self._broken
        self._attempts = 0

    def _pause(self) -> float:
        """Return how long to wait: between half and all of a time that doubles with each attempt."""
        self._attempts += 1
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._attempts - 1, 20))
        return longest * (0.5 + 0.5 * self._jitter.uniform64("jitter", self._attempts) / 2**64)
