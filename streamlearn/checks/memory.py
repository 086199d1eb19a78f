"""Checks of memory. A predictor meets a few instances over and over; what it holds must stop growing.

The events are doubled until neither the saved state nor the object has grown by more than ``ROOM`` over one
doubling. What grows by a unit in sixteen events or more grows over each of them; what fills up, or is capped,
does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from streamlearn import state
from streamlearn.checks.sizes import deep_size
from streamlearn.checks.trial import Trial, Unmet, own

FIRST = 2**10
LAST = 2**18
"""The most events: more than twice the rounds that may await their label at once."""

ROOM = 64
"""Room for counters: each may gain a digit, or a machine word, where the events are doubled."""

_NUMBERS_FROM = 10**9
"""Rounds of as many digits, and held in as many bytes, as all that follow."""

_DELAY = 10


def _require_bounded(
    trial: Trial, advance: Callable[[Any, int], None], what: str, last: int | None = None
) -> None:
    """Refuse an agent that grows over each doubling; ``advance(agent, i)`` is the i-th event, ``last`` the most."""
    last = LAST if last is None else last
    agent = trial.fresh()
    events = itertools.count()

    def run(count: int) -> tuple[int, int]:
        for i in itertools.islice(events, count):
            advance(agent, i)
        return len(state.dumps(agent)), deep_size(agent)

    count = FIRST
    sizes = run(count)
    while count < last:
        larger = run(count)
        count *= 2
        if all(now <= before + ROOM for before, now in zip(sizes, larger, strict=True)):
            return
        sizes = larger
    raise Unmet(
        f"memory that stops growing over {what}",
        f"{sizes[0]} bytes of saved state and {sizes[1]} units held after {count} events, more than after half of them",
        "forget what no later answer needs; leave rounds to streamlearn.prediction.Predictor, which caps them",
    )


def check_long_streams_fill_no_memory(trial: Trial) -> None:
    """Require that a stream that repeats itself, labels prompt and without numbers, ends to need more memory."""
    events = trial.events

    def advance(agent: Any, i: int) -> None:
        x, y = events[i % len(events)]
        agent.predict_one(own(x))
        agent.learn_one(own(x), y)

    _require_bounded(trial, advance, "a stream that repeats itself")


def check_late_labels_fill_no_memory(trial: Trial) -> None:
    """Require that rounds asked by number and labelled ten rounds later, or as late as may be, are forgotten."""
    events = trial.events
    delay = trial.at_once(_DELAY + 1) - 1

    def advance(agent: Any, i: int) -> None:
        agent.predict_one(own(events[i % len(events)][0]), round=_NUMBERS_FROM + i)
        if i >= delay:
            x, y = events[(i - delay) % len(events)]
            agent.learn_one(own(x), y, round=_NUMBERS_FROM + i - delay)

    _require_bounded(trial, advance, "rounds that are labelled late")


def check_missing_labels_fill_no_memory(trial: Trial) -> None:
    """Require that rounds whose label never comes are given up in the end, and need no memory without a number."""
    events = trial.events

    def numbered(agent: Any, i: int) -> None:
        agent.predict_one(own(events[i % len(events)][0]), round=_NUMBERS_FROM + i)

    def unnumbered(agent: Any, i: int) -> None:
        agent.predict_one(own(events[i % len(events)][0]))

    _require_bounded(trial, unnumbered, "predictions without labels")
    _require_bounded(trial, numbered, "rounds whose label never comes", _most_missing(trial))


def _most_missing(trial: Trial) -> int:
    """Return by when what is held must have stopped growing: soon after ``max_delay`` rounds, where there is one."""
    if not hasattr(trial.agent, "max_delay"):
        return LAST
    return min(LAST, max(4 * FIRST, 4 * trial.at_once(LAST)))


CHECKS: list[Callable[[Trial], None]] = [
    check_long_streams_fill_no_memory,
    check_late_labels_fill_no_memory,
    check_missing_labels_fill_no_memory,
]
