"""The loop that drives predictors: predict, wait for the label, learn.

Our own loop instead of river's ``progressive_val_score``: it never touches the stream's items, gives late labels their own
heap, keeps a label that is None an error instead of a silence, and costs a fraction per event.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.errors import ParameterError, StreamError
from streamlearn.replays.scores import Interval

Delay = Any
"""How long a label takes: None, a number of events, a duration, a feature's name, or a function of (x, y)."""


class PredictionResult(msgspec.Struct, frozen=True):
    """How one predictor fared on a stream.

    Parameters
    ----------
    agent
        Its name.
    rounds
        Events predicted.
    wrong
        The events, counted from 0, on which the prediction was wrong; increasing.
    informative
        The stream's informative events, if it says which they are.
    """

    agent: str
    rounds: int
    wrong: npt.NDArray[np.int64]
    informative: npt.NDArray[np.int64] | None = None

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions."""
        return len(self.wrong)

    @property
    def score(self) -> float:
        """The share of right predictions."""
        return 1.0 - self.mistakes / self.rounds

    @property
    def informative_mistakes(self) -> int | None:
        """The wrong predictions on informative events; None where the stream does not say which they are."""
        return None if self.informative is None else int(np.isin(self.wrong, self.informative).sum())

    @property
    def interval(self) -> Interval:
        """A 95 % interval of :attr:`score` if events were independent (Wilson); streams often are not."""
        z2, n, p = 1.959963984540054**2, self.rounds, self.score
        centre = (p + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return Interval(float(centre - half), float(centre + half))

    def curve(self, points: int = 200) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return event counts and the mistakes made by then: two arrays of at most ``points`` entries."""
        counts = np.unique(np.linspace(1, self.rounds, min(points, self.rounds)).astype(np.int64))
        return counts, np.searchsorted(self.wrong, counts, side="left")

    def summary(self) -> str:
        """Return the figures as a few lines of text."""
        lines = [f"{self.agent}: {self.mistakes} mistakes in {self.rounds} rounds ({self.score:.2%} right)"]
        if self.informative is not None:
            lines.append(f"  on the {len(self.informative)} informative rounds: {self.informative_mistakes}")
        return "\n".join(lines)


class _Labelled(NamedTuple):
    """An event whose label has come."""

    event: int
    x: Any
    y: Any
    extra: dict[str, Any]
    predictions: list[Any]


def drive(
    stream: Iterable[Any],
    agents: Sequence[Any],
    *,
    delay: Delay = None,
    moment: str | Callable[[Any], Any] | None = None,
    observers: Sequence[Any] = (),
) -> tuple[int, list[npt.NDArray[np.int64]]]:
    """Drive predictors over a stream; return the number of events and who was wrong when.

    Parameters
    ----------
    stream
        Pairs (x, y), or triples with a dict of keywords for ``predict_one`` and ``learn_one``.
    agents
        Anything with ``predict_one`` and ``learn_one``.
    delay, moment, observers
        As for :func:`streamlearn.replays.replay`.
    """
    items = iter(stream)
    first = next(items, None)
    if first is None:
        raise StreamError("the stream is empty; give at least one event")
    items = itertools.chain([first], items)
    if len(agents) == 1 and delay is None and moment is None and not observers and len(first) == 2:  # noqa: PLR2004
        return _at_once(items, agents[0])
    wrong = [array("q") for _ in agents]
    rounds = 0
    for label in _labelled(items, agents, delay, moment):
        rounds += 1
        for agent, mistakes, predicted in zip(agents, wrong, label.predictions, strict=True):
            if predicted != label.y:
                mistakes.append(label.event)
            agent.learn_one(label.x, label.y, **label.extra)
        for observer in observers:
            observer(label.y, label.predictions)
    return rounds, [np.sort(np.frombuffer(mistakes, dtype=np.int64)) for mistakes in wrong]


def _at_once(items: Iterator[Any], agent: Any) -> tuple[int, list[npt.NDArray[np.int64]]]:
    """Drive one predictor whose labels come at once: the loop that must cost nothing."""
    predict, learn = agent.predict_one, agent.learn_one
    wrong = array("q")
    event = -1
    for event, (x, y) in enumerate(items):
        if predict(x) != y:
            wrong.append(event)
        learn(x, y)
    return event + 1, [np.frombuffer(wrong, dtype=np.int64)]


def _labelled(
    items: Iterator[Any], agents: Sequence[Any], delay: Delay, moment: str | Callable[[Any], Any] | None
) -> Iterator[_Labelled]:
    """Yield events in the order their labels come; each was predicted when it arrived."""
    predicts = [agent.predict_one for agent in agents]
    if moment is None and (delay is None or type(delay) is int):
        if delay is not None and delay < 0:
            raise ParameterError(f"delay must be >= 0 events, got {delay}")
        return _after_events(items, predicts, delay or 0)
    return _after_times(items, predicts, _lag(delay), _clock(moment))


def _after_events(items: Iterator[Any], predicts: Sequence[Any], delay: int) -> Iterator[_Labelled]:
    """Hold each label until ``delay`` more events arrive; it is learned before the last of these is predicted."""
    waiting: deque[_Labelled] = deque()
    for event, (x, y, *more) in enumerate(items):
        extra = more[0] if more else {}
        waiting.append(_Labelled(event, x, y, extra, [predict(x, **extra) for predict in predicts]))
        if len(waiting) >= delay:
            yield waiting.popleft()
    yield from waiting


def _after_times(
    items: Iterator[Any],
    predicts: Sequence[Any],
    lag: Callable[[Any, Any], Any],
    clock: Callable[[int, Any], Any],
) -> Iterator[_Labelled]:
    """Hold each label until it is due; one that is due when an event arrives is learned before that is predicted."""
    waiting: list[tuple[Any, int, _Labelled]] = []
    for event, (x, y, *more) in enumerate(items):
        now = clock(event, x)
        while waiting and waiting[0][0] <= now:
            yield heapq.heappop(waiting)[2]
        extra = more[0] if more else {}
        label = _Labelled(event, x, y, extra, [predict(x, **extra) for predict in predicts])
        heapq.heappush(waiting, (now + lag(x, y), event, label))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _clock(moment: str | Callable[[Any], Any] | None) -> Callable[[int, Any], Any]:
    """Return what tells an event's moment: its number, a feature, or a function of x."""
    if moment is None:
        return lambda event, _: event
    if isinstance(moment, str):
        return lambda _, x: x[moment]
    return lambda _, x: moment(x)


def _lag(delay: Delay) -> Callable[[Any, Any], Any]:
    """Return what tells how long a label takes: a constant, a feature, or a function of (x, y)."""
    if isinstance(delay, str):
        return lambda x, _: x[delay]
    if callable(delay):
        lag: Callable[[Any, Any], Any] = delay
        return lag
    if delay is None:
        raise ParameterError("moment needs a delay: a duration, a feature's name or a function of (x, y)")
    return lambda _, __: delay
