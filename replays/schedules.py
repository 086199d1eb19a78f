"""When a predictor's labels come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, runtime_checkable

from streamlearn.errors import ParameterError, StreamError

Delay: TypeAlias = Any
"""How long a label takes: None, a number of events, a duration, a feature's name, or a function of (x, y)."""
Moment: TypeAlias = str | Callable[[Any], Any] | None
"""When an event is: its number, the name of a feature, or a function of x."""
Event: TypeAlias = tuple[Any, Any, tuple[Any, ...]]
"""An event's moment, that of its label, and the item of the stream: (x, y), perhaps with a dict of keywords."""


@runtime_checkable
class Timed(Protocol):
    """A stream that knows when its events and labels came."""

    @property
    def timed(self) -> bool:
        """Whether it knows when its events were; else they are told apart by number."""

    @property
    def labels_timed(self) -> bool:
        """Whether it knows when their labels came."""

    def schedule(self, delay: Any) -> Iterator[Event]:
        """Yield the events; each label comes when it did, or ``delay`` after its event."""


def events_to_wait(stream: Iterable[Any], delay: Delay, moment: Moment) -> int | None:
    """Return how many events later every label comes; None where time tells.

    Raises
    ------
    ParameterError
        If that number is negative, or both the stream and the call say when events are.
    """
    if isinstance(stream, Timed):
        if moment is not None:
            raise ParameterError(
                "moment is for streams of your own; name the log's column with time= (--time)"
            )
        if stream.timed and (delay is not None or stream.labels_timed):
            return None
    if isinstance(delay, bool):
        raise ParameterError(
            f"delay must be a number of events, a duration, a name or a function, got {delay}"
        )
    if moment is not None or not (delay is None or type(delay) is int):
        return None
    if delay is not None and delay < 0:
        raise ParameterError(f"delay must be >= 0 events, got {delay}")
    return delay or 0


def scheduled(stream: Iterable[Any], delay: Delay, moment: Moment) -> Iterator[Event]:
    """Yield the events with their moments and those of their labels."""
    if isinstance(stream, Timed) and stream.timed:
        return stream.schedule(delay)
    return _scheduled(stream, _clock(moment), _lag(delay))


def _scheduled(
    stream: Iterable[Any], clock: Callable[[int, Any], Any], lag: Callable[[Any, Any], Any]
) -> Iterator[Event]:
    for event, item in enumerate(stream):
        x = item[0]
        try:
            now = clock(event, x)
            due = now + lag(x, item[1])
            in_time = due >= now
        except KeyError as error:
            raise StreamError(
                f"event {event} has no feature {error.args[0]!r}, which tells its time or delay"
            ) from None
        except TypeError:
            raise StreamError(
                f"event {event}: a delay must go with the moment: numbers, or a timedelta with times (moment=)"
            ) from None
        if not in_time:
            raise StreamError(f"event {event}: the label's delay must be >= 0, and not NaN")
        yield now, due, item


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
