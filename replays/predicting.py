"""The loop that drives predictors: predict, wait for the label, learn.

Our own loop instead of river's ``progressive_val_score``: it never touches the stream's items, lets labels overtake
each other, leaves a label that is None to the agent instead of dropping it, and costs a fraction per event. A
prediction of None (a model that abstains) is not shown to observers, as river does not; here it counts as wrong.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from streamlearn.errors import ParameterError, StreamError
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.replays.predictions import PredictionResult
from streamlearn.replays.progress import track
from streamlearn.replays.schedules import Delay, Event, Moment, events_to_wait, scheduled

Observers: TypeAlias = Sequence[Any]
Item: TypeAlias = Sequence[Any]
"""An event: (x, y), perhaps with a dict of keywords."""
_PAIR = 2


@runtime_checkable
class Predicting(Protocol):
    """What the loop drives: river's classifiers have it too."""

    def predict_one(self, x: Any, /) -> Any:
        """Return the prediction."""

    def learn_one(self, x: Any, y: Any, /) -> None:
        """Take in the label."""


def replay_predictors(
    stream: Iterable[Any],
    agents: Mapping[str, Predicting],
    delay: Delay,
    moment: Moment,
    observers: Mapping[str, Observers],
    progress: bool,
) -> dict[str, PredictionResult]:
    """Drive predictors side by side; the arguments are those of :func:`streamlearn.replays.replay_many`."""
    _check(agents, observers)
    wait = events_to_wait(stream, delay, moment)
    late = wait is None or wait > 1
    sides = [_Side(name, agent, observers.get(name, ()), late) for name, agent in agents.items()]
    if wait is None:
        _, events = _begun(scheduled(stream, delay, moment))
        rounds = _after_times(_shown(events, progress), _Panel(sides))
    else:
        first, items = _begun(_items(stream))
        rounds = _in_order(_shown(items, progress), sides, wait, simple=len(first) == _PAIR)
    informative = getattr(stream, "informative", None)
    return {side.name: side.result(rounds, informative) for side in sides}


def _check(agents: Mapping[str, Any], observers: Mapping[str, Any]) -> None:
    for name, agent in agents.items():
        if not isinstance(agent, Predicting):
            raise ParameterError(
                f"agent {name!r} must have predict_one and learn_one, and {type(agent).__name__} has not; give an "
                "agent, or a model of river's"
            )
    for name, given in observers.items():
        if not isinstance(given, Iterable):
            raise ParameterError(
                f"observers of {name!r} must be a list, got {type(given).__name__}; put a single one in a list"
            )


def _items(stream: Any) -> Iterator[Any]:
    if not isinstance(stream, Iterable):
        raise StreamError(f"the stream must be iterable, got {type(stream).__name__}; give pairs (x, y)")
    return iter(stream)


def _begun(items: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """Return the first event, and all of them."""
    first = next(items, None)
    if first is None:
        raise StreamError("the stream is empty; give at least one event")
    if not isinstance(first, Sequence) or isinstance(first, str) or len(first) < _PAIR:
        raise StreamError(f"event 0 must be a pair (x, y), got {type(first).__name__}")
    return first, itertools.chain([first], items)


def _shown(items: Iterator[Any], progress: bool) -> Iterator[Any]:
    return track(items, size="", enabled=True) if progress else items


class _Side:
    """One of the predictors of a pass, and what it has got wrong."""

    def __init__(self, name: str, agent: Predicting, observers: Observers, late: bool) -> None:
        self.name = name
        self.agent = agent
        self.wrong = array("q")
        # Late labels may overtake each other, so an agent that takes numbers is told which round they are for.
        self.numbered = late and isinstance(getattr(agent, "agent", agent), Predictor)
        # A bound counts on every label coming before the next prediction, or as late as the agent says it may.
        paid = getattr(getattr(agent, "agent", agent), "max_delay", 0) > 0
        self.mistake_bound = getattr(agent, "mistake_bound", None) if paid or not late else None
        self.predict: Callable[..., Any] = agent.predict_one
        self.learn: Callable[..., None] = agent.learn_one
        self.updates = [_update(observer) for observer in observers]

    def result(self, rounds: int, informative: Any) -> PredictionResult:
        return PredictionResult(
            agent=self.name,
            rounds=rounds,
            wrong=np.sort(np.frombuffer(self.wrong, dtype=np.int64)),
            informative=None if informative is None else np.asarray(informative, dtype=np.int64),
            guarantee=getattr(self.agent, "guarantee", Guarantee.none()),
            mistake_bound=self.mistake_bound,
        )


def _update(observer: Any) -> Callable[[Any, Any], Any]:
    """Return what shows a river metric, or any function, a label and its prediction."""
    found: Callable[[Any, Any], Any] = getattr(observer, "update", observer)
    return found


def _in_order(items: Iterator[Item], sides: Sequence[_Side], wait: int, *, simple: bool) -> int:
    """Drive predictors whose labels all come ``wait`` events later; return how many events there were."""
    if len(sides) > 1 or not simple:
        return _after_events(items, _Panel(sides), wait)
    return _late(items, sides[0], wait) if wait > 1 else _at_once(items, sides[0])


def _at_once(items: Iterator[Item], side: _Side) -> int:
    """Drive one predictor whose labels come before the next event: the loop that must cost nothing."""
    predict, learn, updates, wrong = side.predict, side.learn, side.updates, side.wrong
    event = -1
    for event, item in enumerate(items):
        x, y = item if len(item) == _PAIR else _uneven(event)
        predicted = predict(x)
        if predicted != y:
            wrong.append(event)
        if predicted is not None:
            for update in updates:
                update(y, predicted)
        learn(x, y)
    return event + 1


def _late(items: Iterator[Item], side: _Side, wait: int) -> int:
    """Drive one predictor whose labels all come ``wait`` > 1 events later, before the last of these is predicted."""
    (predict, learn), updates, wrong = _numbered(side), side.updates, side.wrong
    waiting: deque[tuple[Any, Any, Any]] = deque()
    push, pop = waiting.append, waiting.popleft
    event = -wait
    # After the last event as many turns follow as there are labels still to come.
    for event, item in enumerate(itertools.chain(items, itertools.repeat(None, wait - 1)), start=1 - wait):
        if item is not None:
            x, y = item if len(item) == _PAIR else _uneven(event + wait - 1)
            push((x, y, predict(x)))
        if event >= 0:
            x, y, predicted = pop()
            if predicted != y:
                wrong.append(event)
            if predicted is not None:
                for update in updates:
                    update(y, predicted)
            learn(x, y)
    return event + 1


def _numbered(side: _Side) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Return what asks and teaches a predictor whose labels are late but in order."""
    predict, learn = side.predict, side.learn
    if not side.numbered:
        return predict, learn
    asked, answered = itertools.count(1), itertools.count(1)
    return lambda x: predict(x, round=next(asked)), lambda x, y: learn(x, y, round=next(answered))


def _uneven(event: int) -> tuple[Any, Any]:
    raise StreamError(
        f"event {event} must be a pair (x, y), as the first one is; give keywords with every event or with none"
    )


class _Panel:
    """Predictors that are asked and taught together."""

    def __init__(self, sides: Sequence[_Side]) -> None:
        self._sides = sides

    def ask(self, event: int, item: Item) -> list[Any]:
        """Return what each predicts; a weight "w" among the keywords is for learning only."""
        x, given = item[0], _keywords(item)
        asked = {name: value for name, value in given.items() if name != "w"} if given else given
        said = []
        for side in self._sides:
            # The k-th event is round k, as it is for an agent that is not told numbers.
            keywords = {**asked, "round": event + 1} if side.numbered else asked
            said.append(side.predict(x, **keywords) if keywords else side.predict(x))
        return said

    def answer(self, event: int, item: Item, said: Sequence[Any]) -> None:
        """Give each the label, and note who was wrong."""
        x, y, given = item[0], item[1], _keywords(item)
        for side, predicted in zip(self._sides, said, strict=True):
            if predicted != y:
                side.wrong.append(event)
            for update in side.updates if predicted is not None else ():
                update(y, predicted)
            keywords = {**given, "round": event + 1} if side.numbered else given
            if keywords:
                side.learn(x, y, **keywords)
            else:
                side.learn(x, y)


def _keywords(item: Item) -> dict[str, Any]:
    return item[_PAIR] if len(item) > _PAIR else {}


def _after_events(items: Iterator[Item], panel: _Panel, wait: int) -> int:
    """Hold each label until ``wait`` more events arrive; it is learned before the last of these is predicted."""
    waiting: deque[tuple[int, Item, list[Any]]] = deque()
    event = -1
    for event, item in enumerate(items):
        waiting.append((event, item, panel.ask(event, item)))
        if len(waiting) >= wait:
            panel.answer(*waiting.popleft())
    for label in waiting:
        panel.answer(*label)
    return event + 1


def _after_times(events: Iterator[Event], panel: _Panel) -> int:
    """Hold each label until it is due; one that is due when an event arrives is learned before that is predicted."""
    waiting: list[tuple[Any, int, Item, list[Any]]] = []
    event = -1
    for event, (now, due, item) in enumerate(events):
        while waiting and waiting[0][0] <= now:
            panel.answer(*heapq.heappop(waiting)[1:])
        heapq.heappush(waiting, (due, event, item, panel.ask(event, item)))
    while waiting:
        panel.answer(*heapq.heappop(waiting)[1:])
    return event + 1
