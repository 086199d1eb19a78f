"""The loop that drives predictors: predict, wait for the label, learn.

Our own loop instead of river's ``progressive_val_score``: it never touches the stream's items, lets labels overtake
each other, leaves a label that is None to the agent instead of dropping it, and costs a fraction per event.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.errors import ParameterError, StreamError
from streamlearn.replays.progress import track
from streamlearn.replays.scores import Interval

Delay: TypeAlias = Any
"""How long a label takes: None, a number of events, a duration, a feature's name, or a function of (x, y)."""
Moment: TypeAlias = str | Callable[[Any], Any] | None
"""When an event is: its number, the name of a feature, or a function of x."""


class Predicting(Protocol):
    """What the loop drives: river's classifiers have it too."""

    def predict_one(self, x: Any, /) -> Any:
        """Return the prediction."""

    def learn_one(self, x: Any, y: Any, /) -> None:
        """Take in the label."""


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

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import replay
    >>> result = replay([(x, x >= 6) for x in range(1, 8)], SOA(Thresholds(7)))
    >>> result.rounds, result.mistakes <= 3
    (7, True)
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
    prediction: Any


def replay_predictor(
    stream: Iterable[Any],
    agent: Predicting,
    delay: Delay,
    moment: Moment,
    observers: Sequence[Any],
    progress: bool,
) -> PredictionResult:
    """Drive one predictor; the arguments are those of :func:`streamlearn.replays.replay`."""
    first, items = _begun(stream)
    informative = getattr(stream, "informative", None)
    if informative is not None:
        informative = np.asarray(informative, dtype=np.int64)
    plain = delay is None and moment is None and not observers and len(first) == 2
    if plain and not progress:
        rounds, wrong = _at_once(items, agent)
    else:
        shown = track(items, size="", enabled=progress)
        rounds, wrong = _in_turn(shown, agent, delay, moment, observers)
    return PredictionResult(type(agent).__name__, rounds, wrong, informative)


def _begun(stream: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """Return the first event, and all of them."""
    items = iter(stream)
    first = next(items, None)
    if first is None:
        raise StreamError("the stream is empty; give at least one event")
    return first, itertools.chain([first], items)


def _in_turn(
    items: Iterator[Any], agent: Predicting, delay: Delay, moment: Moment, observers: Sequence[Any]
) -> tuple[int, npt.NDArray[np.int64]]:
    """Drive one predictor whose labels may be late."""
    learn = agent.learn_one
    updates = [getattr(observer, "update", observer) for observer in observers]
    wrong = array("q")
    rounds = 0
    for event, x, y, extra, predicted in _labelled(items, agent, delay, moment):
        rounds += 1
        if predicted != y:
            wrong.append(event)
        for update in updates:
            update(y, predicted)
        learn(x, y, **extra)
    return rounds, np.sort(np.frombuffer(wrong, dtype=np.int64))


def _at_once(items: Iterator[Any], agent: Predicting) -> tuple[int, npt.NDArray[np.int64]]:
    """Drive one predictor whose labels come at once: the loop that must cost nothing."""
    predict, learn = agent.predict_one, agent.learn_one
    wrong = array("q")
    event = -1
    for event, (x, y) in enumerate(items):
        if predict(x) != y:
            wrong.append(event)
        learn(x, y)
    return event + 1, np.frombuffer(wrong, dtype=np.int64)


def _labelled(items: Iterator[Any], agent: Predicting, delay: Delay, moment: Moment) -> Iterator[_Labelled]:
    """Yield events in the order their labels come; each was predicted when it arrived."""
    if moment is None and (delay is None or type(delay) is int):
        if delay is not None and delay < 0:
            raise ParameterError(f"delay must be >= 0 events, got {delay}")
        return _after_events(items, agent.predict_one, delay or 0)
    return _after_times(items, agent.predict_one, _lag(delay), _clock(moment))


def _after_events(items: Iterator[Any], predict: Callable[..., Any], delay: int) -> Iterator[_Labelled]:
    """Hold each label until ``delay`` more events arrive; it is learned before the last of these is predicted."""
    waiting: deque[_Labelled] = deque()
    for event, (x, y, *more) in enumerate(items):
        extra, asked = _keywords(more)
        waiting.append(_Labelled(event, x, y, extra, predict(x, **asked)))
        if len(waiting) >= delay:
            yield waiting.popleft()
    yield from waiting


def _keywords(more: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an event's keywords for ``learn_one`` and for ``predict_one``; a weight "w" is for learning only."""
    extra = more[0] if more else {}
    return extra, {name: given for name, given in extra.items() if name != "w"} if "w" in extra else extra


def _after_times(
    items: Iterator[Any],
    predict: Callable[..., Any],
    lag: Callable[[Any, Any], Any],
    clock: Callable[[int, Any], Any],
) -> Iterator[_Labelled]:
    """Hold each label until it is due; one that is due when an event arrives is learned before that is predicted."""
    waiting: list[tuple[Any, int, _Labelled]] = []
    for event, (x, y, *more) in enumerate(items):
        now = clock(event, x)
        while waiting and waiting[0][0] <= now:
            yield heapq.heappop(waiting)[2]
        extra, asked = _keywords(more)
        label = _Labelled(event, x, y, extra, predict(x, **asked))
        heapq.heappush(waiting, (now + lag(x, y), event, label))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _clock(moment: Moment) -> Callable[[int, Any], Any]:
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
