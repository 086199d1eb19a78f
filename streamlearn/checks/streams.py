"""What a predictor under check is fed: instances it knows, with labels some hypothesis agrees with."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from typing import Any

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses.base import HypothesisClass

Event = tuple[Any, Any]

LENGTH = 64
"""Events of a run."""

_MOST_INSTANCES = 12


def class_of(agent: Any) -> HypothesisClass | None:
    """Return the hypothesis class an agent says it predicts with."""
    hypotheses = getattr(agent, "hypotheses", None)
    return hypotheses if isinstance(hypotheses, HypothesisClass) else None


def events_for(agent: Any, stream: Iterable[Any] | None) -> list[Event]:
    """Return ``LENGTH`` labelled instances: the given ones over and over, those the agent's class knows, or dicts.

    Raises
    ------
    ParameterError
        If the stream is empty or does not consist of pairs with binary labels, or nothing is known to the class.
    """
    if stream is not None:
        given = list(itertools.islice(stream, LENGTH))
        if not given or not all(map(_is_event, given)):
            raise ParameterError(
                "stream must yield pairs (x, y), at least one, with y 0 or 1; give labelled instances"
            )
        return [(x, y) for x, y in itertools.islice(itertools.cycle(given), LENGTH)]
    hypotheses = class_of(agent)
    return _synthetic() if hypotheses is None else _realisable(hypotheses)


def _is_event(event: Any) -> bool:
    if not isinstance(event, (tuple, list)) or len(event) != 2:
        return False
    return isinstance(event[1], Hashable) and event[1] in {0, 1}


def _synthetic() -> list[Event]:
    points = [{"a": i * 7 % 11, "b": i * 5 % 3 / 2} for i in range(_MOST_INSTANCES)]
    return [(dict(points[i % _MOST_INSTANCES]), points[i % _MOST_INSTANCES]["a"] >= 5) for i in range(LENGTH)]


def _realisable(hypotheses: HypothesisClass) -> list[Event]:
    """Return events of one hypothesis, and a last eighth that may contradict it."""
    instances = known_instances(hypotheses)
    space = hypotheses.version_space()
    events: list[Event] = []
    for i in range(LENGTH):
        x = instances[i * i % len(instances) if i % 2 else i * 5 % len(instances)]
        y = i % 3 == 0
        if i < LENGTH * 7 // 8:
            kept = space.restrict(x, y)
            if kept is None:
                y = not y
                kept = space.restrict(x, y)
            space = kept or space
        events.append((x, y))
    return events


def known_instances(hypotheses: HypothesisClass) -> list[Any]:
    """Return a few instances of a class: small whole numbers, or columns of its table.

    Raises
    ------
    ParameterError
        If neither are known to it.
    """
    found = [x for x in range(_MOST_INSTANCES + 1) if hypotheses.knows(x)]
    if not found:
        try:
            found = list(itertools.islice(hypotheses.as_finite().domain, _MOST_INSTANCES))
        except SizeError:
            found = []
    if not found:
        raise ParameterError(
            f"no instance of {type(hypotheses).__name__} is known here; pass stream=, pairs (x, y) it knows"
        )
    return found
