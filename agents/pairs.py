"""Predictors over two others: what asking, teaching, checking and saving the two takes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from river.base import Base, Classifier, Wrapper

from streamlearn.agents.past import own
from streamlearn.base import Agent
from streamlearn.errors import InstanceError, LabelError, ParameterError, RoundError, StateError
from streamlearn.ordered import OrderedPredictor, OrderedRounds, OrderedState
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key
from streamlearn.rounds import Tally, closed_before, edited

Bits = tuple[bool, bool]
"""What the two parts say in one round."""

T = TypeVar("T")

_REFUSALS = InstanceError, LabelError, RoundError, StateError
"""After these a part of streamlearn's kind is as it was; after others it may have noted the round before it failed."""


class PairPredictor(OrderedPredictor[Bits]):
    """Keeps two parts, ``first`` and ``second``, for a subclass that chooses between their bits.

    Both learn from the true labels alone, as soon as these come, never from what was answered. Where one raises after
    the other has taken a round in, its error comes through, and from then on everything but ``load_state_dict`` is
    refused: answers of parts that saw different streams are covered by no proof.
    """

    first: Any
    second: Any
    _alone = False
    """Whether the parts see no rounds but those of the whole; others' may have seen some before."""
    _failing: int | None = None
    """The place of the part at work on a change, or that failed at it."""
    _take_rounds: tuple[bool, bool]  # which of them are of streamlearn's kind
    _strange: bool  # whether there is another
    _ours: list[int]  # the places of these
    _order: list[int]  # strangers come first: they may raise anything, and then nothing has happened yet

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
        self._failing = None
        self._strange = not all(self._take_rounds)
        self._ours = [place for place in (0, 1) if self._take_rounds[place]]
        self._order = sorted((0, 1), key=self._take_rounds.__getitem__)
        if len(sources := list(_sources(self))) > len(set(sources)):
            raise ParameterError(
                "first and second must draw independently of each other and of this predictor; "
                'give each a key of its own: key.derive("first") makes one'
            )

    def _bits(self, x: Any) -> Bits:
        """Return what the parts say of the next round."""
        return bool(self.first.predict_one(x)), bool(self.second.predict_one(x))

    def _strangers_bits(self, x: Any) -> list[bool]:
        """Return what the strangers say, who may raise anything before anything has happened; False for the others."""
        if self._strange:
            return [
                not ours and bool(part.predict_one(x))
                for part, ours in zip((self.first, self.second), self._take_rounds, strict=True)
            ]
        return [False, False]

    def _asked_bits(self, x: Any, number: int) -> Bits:
        """Ask the parts for a numbered round."""
        bits = self._strangers_bits(x)
        for place in () if self._alone else self._ours[1:]:
            if (self.second if place else self.first)._closed_before(number):  # noqa: SLF001 - a Predictor's
                raise closed_before(number)  # before the other takes it in
        for place, bit in self._each(lambda part, _: bool(part.predict_one(x, round=number)), self._ours):
            bits[place] = bit
        return bits[0], bits[1]

    def _each(self, does: Callable[[Any, bool], T], places: Iterable[int]) -> list[tuple[int, T]]:
        """Do what changes parts, with each and whether it is of streamlearn's kind; return by place what comes of it.

        Once one of them has changed, an error leaves two that no longer agree; this predictor then goes on no more.
        """
        found: list[tuple[int, T]] = []
        before = self._failing
        for place in places:
            ours = self._take_rounds[place]
            self._failing = place  # until it is done, whatever interrupts
            try:
                found.append((place, does(self.second if place else self.first, ours)))
            except Exception as error:
                if not found and (not ours or isinstance(error, _REFUSALS)):
                    self._failing = before  # it took nothing in, and nor did the other
                raise
        self._failing = before
        return found

    def _disagreement(self, failing: int) -> StateError:
        """Return the error of a predictor one of whose parts failed in the middle of a round."""
        name, kind = ("first", "second")[failing], type((self.first, self.second)[failing]).__name__
        return StateError(
            f"{name}, a {kind}, failed in the middle of a round, so the two parts no longer saw the same; load the "
            f"last state of this {type(self).__name__} that was saved, or go on from a pickle or a new one"
        )

    def predict_one(self, x: Any, *, round: int | None = None, **kwargs: Any) -> bool:  # noqa: A002, ARG002 - the contract's own names
        """Return the predicted bit for ``x``.

        Raises
        ------
        InstanceError, RoundError
            As :meth:`Predictor.predict_one`.
        StateError
            If a part failed in the middle of a round before.
        """
        if self._failing is not None:
            raise self._disagreement(self._failing)
        return super().predict_one(x, round=round)

    def learn_one(self, x: Any, y: Any = None, *, round: int | None = None, **kwargs: Any) -> None:  # noqa: A002, ARG002 - the contract's own names
        """Take in the label of an instance, in the order of rounds.

        Raises
        ------
        LabelError, RoundError, InstanceError
            As :meth:`Predictor.learn_one`.
        StateError
            If a part failed in the middle of a round before.
        """
        if self._failing is not None:
            raise self._disagreement(self._failing)
        super().learn_one(x, y, round=round)

    def give_up(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Await no label for a round any more.

        Raises
        ------
        RoundError
            As :meth:`Predictor.give_up`.
        StateError
            If a part failed in the middle of a round before.
        """
        if self._failing is not None:
            raise self._disagreement(self._failing)
        super().give_up(round)

    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002, ARG002 - the contract's own name
        bits = self._strangers_bits(x)
        for place, bit in self._each(lambda part, ours: _taught(part, own(x), y, ours=ours), self._order):
            bits[place] |= bit
        self._passed(x, y, (bits[0], bits[1]))

    def _taught(self, x: Any, y: bool) -> bool:
        return super(OrderedPredictor, self)._taught(x, y)  # asked, then taught: the parts learn too

    def _foresee(self, x: Any) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, Predictor):
                part.predict_one(x)

    def _labelled(self, x: Any, y: bool, number: int) -> None:
        self._each(
            lambda part, ours: part.learn_one(own(x), y, **({"round": number} if ours else {})), self._order
        )

    def _closed_before(self, round: int) -> bool:  # noqa: A002 - the field's own word
        parts = (self.first, self.second)
        return super()._closed_before(round) or any(
            parts[place]._closed_before(round)  # noqa: SLF001 - a Predictor's, as this is one
            for place in self._ours
        )

    def _given_up(self, number: int) -> None:
        self._each(lambda part, _: part.give_up(number), self._ours)

    def _rounds_state(self) -> OrderedState:
        if self._failing is not None:
            raise self._disagreement(self._failing)
        return super()._rounds_state()

    def _go_on_from(self, rounds: OrderedRounds[Bits]) -> None:
        super()._go_on_from(rounds)
        self._failing = None

    def _memo_to_plain(self, memo: Any) -> Any:
        return list(memo)

    def _memo_from_plain(self, data: Any) -> Bits:
        try:
            bits: Bits = msgspec.convert(data, Bits)
        except (ValueError, RecursionError):  # also half a character
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

    def _load_parts(self, saved: Iterable[dict[str, Any]], rounds: OrderedRounds[Bits]) -> None:
        """Take on the states of the two, both or neither; ``rounds`` are the saved ones of the whole."""
        parts = [_savable(self.first), _savable(self.second)]
        bodies = list(saved)
        for name, part, body in zip(("first", "second"), copy.deepcopy(parts), bodies, strict=True):
            part.load_state_dict(body)  # on a copy: nothing may change before all is known to be right
            if isinstance(part, Predictor):
                self._check_rounds(name, part._tally(), rounds.tally())  # noqa: SLF001 - as this has one
        self._each(lambda part, _: part.load_state_dict(bodies[part is self.second]), (0, 1))

    def _check_rounds(self, name: str, part: Tally, whole: Tally) -> None:
        """Refuse a part that has not seen the rounds of the whole, or more than these where it is known to have not."""
        field = whole.behind(part) or (part.behind(whole) if self._alone else None)
        if field is not None:
            raise edited(field, f"the rounds that the {field} of {name} holds")

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


def _taught(part: Any, x: Any, y: bool, *, ours: bool) -> bool:
    """Teach a part, and return what it said before; False of a stranger, who was asked before."""
    if ours:
        return part._taught(x, y)  # type: ignore[no-any-return]  # noqa: SLF001 - a Predictor's, as the whole is one
    part.learn_one(x, y)
    return False


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
