"""Predictors over two others: what asking, teaching, checking and saving the two takes."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from river.base import Base, Classifier, Wrapper

from streamlearn.base import Agent
from streamlearn.errors import ParameterError, StateError
from streamlearn.ordered import OrderedPredictor
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key

Bits = tuple[bool, bool]
"""What the two parts say in one round."""


class PairPredictor(OrderedPredictor[Bits]):
    """Keeps two parts, ``first`` and ``second``, for a subclass that chooses between their bits.

    Both learn from the true labels alone, as soon as these come, never from what was answered.
    """

    first: Any
    second: Any
    _take_rounds: tuple[bool, bool]

    def _check_parts(self) -> None:
        """Refuse parts that are no classifiers, count rounds otherwise, or would draw alike.

        Raises
        ------
        ParameterError
            If so.
        """
        for name, part in (("first", self.first), ("second", self.second)):
            _check_part(name, part, self.max_delay)
        if self.first is self.second:
            raise ParameterError("first and second must be two objects: each label would teach one twice")
        self._take_rounds = isinstance(self.first, Predictor), isinstance(self.second, Predictor)
        if len(sources := list(_sources(self))) > len(set(sources)):
            raise ParameterError(
                "first and second must draw independently of each other and of this predictor; "
                'give each a key of its own: key.derive("first") makes one'
            )

    def _bits(self, x: Any) -> Bits:
        """Return what the parts say of the next round."""
        return bool(self.first.predict_one(x)), bool(self.second.predict_one(x))

    def _asked_bits(self, x: Any, number: int) -> Bits:
        """Ask the parts for a numbered round."""
        first, second = (
            bool(part.predict_one(x, round=number) if takes_rounds else part.predict_one(x))
            for part, takes_rounds in self._parts()
        )
        return first, second

    def _parts(self) -> Iterator[tuple[Any, bool]]:
        """Yield each part with whether it takes ``round=``."""
        yield self.first, self._take_rounds[0]
        yield self.second, self._take_rounds[1]

    def _labelled(self, x: Any, y: bool, number: int | None) -> None:
        for part, takes_rounds in self._parts():
            own = dict(x) if isinstance(x, dict) else x
            if number is not None and takes_rounds:
                part.learn_one(own, y, round=number)
            else:
                part.learn_one(own, y)

    def _given_up(self, number: int) -> None:
        for part, takes_rounds in self._parts():
            if takes_rounds:
                part.give_up(number)

    def _memo_to_plain(self, memo: Any) -> Any:
        return list(memo)

    def _memo_from_plain(self, data: Any) -> Bits:
        try:
            bits: Bits = msgspec.convert(data, Bits)
        except msgspec.ValidationError:
            raise StateError("malformed round in a saved state; give what state_dict() returned") from None
        return bits

    @property
    def parts_digest(self) -> str:
        """The digests of the two."""
        return ",".join(
            f"{part.kind}:{part.parameters_digest}" if isinstance(part, Agent) else type(part).__name__
            for part in (self.first, self.second)
        )

    def _parts_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the states of the two, or raise a StateError where one cannot be saved as JSON."""
        first, second = _savable(self.first), _savable(self.second)
        return first.state_dict(), second.state_dict()

    def _load_parts(self, saved: Iterable[dict[str, Any]]) -> None:
        """Take on the states of the two, both or neither."""
        parts = [_savable(self.first), _savable(self.second)]
        bodies = list(saved)
        for part, body in zip(copy.deepcopy(parts), bodies, strict=True):
            part.load_state_dict(body)  # on a copy: nothing may change before all is known to be right
        for part, body in zip(parts, bodies, strict=True):
            part.load_state_dict(body)

    def _guarantee_with(self, rule: Guarantee) -> Guarantee:
        """Return the sum of what the parts and a rule promise; nothing where a part promises nothing."""
        promised = [rule]
        for part in (self.first, self.second):
            given = getattr(part, "guarantee", None)
            if not isinstance(given, Guarantee) or (given.notion, given.unit) != ("joint", "event"):
                return Guarantee.none()
            promised.append(given)
        return joint([(it.epsilon, it.delta) for it in promised])

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._get_params())
        return f"{type(self).__name__}({given})"


def joint(promised: list[tuple[float, float]]) -> Guarantee:
    """Return the sum of joint guarantees, each (ε, δ) per event; none where it says nothing.

    Examples
    --------
    >>> from streamlearn.agents.pairs import joint
    >>> str(joint([(0.5, 1e-6), (0.25, 1e-6)]))
    '(0.75, 2e-06)-joint differential privacy per event'
    """
    epsilon, delta = (math.fsum(column) for column in zip(*promised, strict=True))
    return (
        Guarantee("joint", epsilon, delta, "event") if epsilon < math.inf and delta < 1 else Guarantee.none()
    )


def _check_part(name: str, part: Any, max_delay: int) -> None:
    if not _is_classifier(part):
        raise ParameterError(
            f"{name} must be a river classifier, or a pipeline that ends in one, got {type(part).__name__}"
        )
    if isinstance(part, OrderedPredictor) and part.max_delay != max_delay:
        raise ParameterError(
            f"{name} must have the max_delay of the whole, got {part.max_delay} in place of {max_delay}; "
            "both count the same rounds"
        )


def _is_classifier(part: Any) -> bool:
    if isinstance(part, Wrapper):
        return _is_classifier(part._wrapped_model)  # noqa: SLF001 - the only way river offers
    steps = getattr(part, "steps", None)
    if isinstance(part, Base) and isinstance(steps, dict) and steps:  # a river pipeline
        return _is_classifier(list(steps.values())[-1])
    return isinstance(part, Classifier)


def _sources(predictor: Any) -> Iterator[Key]:
    """Yield the keys a predictor and its parts draw from: with one key, two could draw alike."""
    key = getattr(predictor, "key", None)
    if isinstance(key, Key):
        yield key
    steps = getattr(predictor, "steps", None)
    inner = [getattr(predictor, name, None) for name in ("first", "second", "combined", "_wrapped_model")]
    for part in (*inner, *(steps.values() if isinstance(steps, dict) else ())):
        if part is not None:
            yield from _sources(part)


def _savable(part: Any) -> Agent:
    if not isinstance(part, Agent):
        raise StateError(
            f"a {type(part).__name__} cannot be saved as JSON; use parts of streamlearn, or pickle the whole"
        )
    return part
