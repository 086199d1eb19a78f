"""What candidate replacement keeps of the past: counts and first times by distinct instance, never the stream.

Proof that it is enough: ``candidate_replacement.proof.md`` beside this file.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections.abc import Callable, Hashable, Iterator
from types import NoneType
from typing import Any

import msgspec

from streamlearn.errors import StateError
from streamlearn.hypotheses import HypothesisClass
from streamlearn.ordered import instance_from_plain, instance_to_plain
from streamlearn.rounds import edited
from streamlearn.selection import Mistake


class SeenState(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of one instance, as it is saved.

    Parameters
    ----------
    x, counts, first
        As in :class:`Seen`, in plain JSON types.
    """

    x: Any
    counts: list[int]
    first: list[list[int]]


class PastState(msgspec.Struct, forbid_unknown_fields=True):
    """The past as it is saved.

    Parameters
    ----------
    seen
        One entry an instance.
    """

    seen: list[SeenState]


class Seen:
    """What is known of one instance.

    Parameters
    ----------
    x
        The instance.

    Attributes
    ----------
    counts
        Rounds by answer and label: entry 2·answer + label.
    first
        For each label the first rounds that had it, at most K.
    """

    __slots__ = ("counts", "first", "x")

    def __init__(self, x: Any) -> None:
        self.x = x
        self.counts = [0, 0, 0, 0]
        self.first = (array("q"), array("q"))


class View:
    """What an instance is to the candidates; worked out once for each instance.

    Parameters
    ----------
    identity
        That of the instance; None where the class does not know it.
    bits
        What each candidate so far says, in order.
    """

    __slots__ = ("bits", "identity")

    def __init__(self, identity: Hashable, bits: list[bool]) -> None:
        self.identity = identity
        self.bits = bits


def own(x: Any) -> Any:
    """Return an instance that its giver cannot change: a copy of a dict, anything else as it is.

    Examples
    --------
    >>> from streamlearn.agents.past import own
    >>> own({"a": 1}), own((1, 2))
    ({'a': 1}, (1, 2))
    """
    return dict(x) if isinstance(x, dict) else x


def lasting(x: Any, hypotheses: HypothesisClass) -> Any:
    """Return an instance to be kept: without features that JSON cannot carry, if the class takes it for the same.

    Examples
    --------
    >>> from streamlearn.agents.past import lasting
    >>> from streamlearn.hypotheses import Stumps
    >>> lasting({"a": 1.0, "image": object()}, Stumps({"a": [0.5]}))
    {'a': 1.0}
    """
    if not isinstance(x, dict):
        return x
    kept = {name: value for name, value in x.items() if _savable({name: value})}
    same = (
        len(kept) < len(x) and hypotheses.knows(kept) and hypotheses.identity(kept) == hypotheses.identity(x)
    )
    return kept if same else dict(x)


def typed(x: Any) -> Hashable:
    """Return what only instances share that are equal with all their parts of the same types.

    What is equal need not be known alike: 1 is a number to a stump, Decimal(1) is none. Were the two mistaken for each
    other, whoever came first would decide how the other is answered.

    Examples
    --------
    >>> from streamlearn.agents.past import typed
    >>> typed({"a": 1, "b": 2.0}) == typed({"b": 2.0, "a": 1})
    True
    >>> typed({"a": 1, "b": 2.0}) == typed({"b": 1, "a": 2.0}), typed((1, 2)) == typed((1, 2.0))
    (False, False)
    """
    if isinstance(x, dict):
        return type(x), frozenset((typed(name), typed(value)) for name, value in x.items())
    if isinstance(x, tuple):
        return type(x), *map(typed, x)
    return type(x), x


def safe(identity: Hashable) -> bool:
    """Return whether an identity is made of Python's own plain types, which can always be looked up.

    Examples
    --------
    >>> from streamlearn.agents.past import safe
    >>> safe(5), safe((1, "a", frozenset({2.0}))), safe(object())
    (True, True, False)
    """
    if type(identity) in {tuple, frozenset}:
        return all(map(safe, identity))  # type: ignore[call-overload]  # its type was asked for
    return type(identity) in {int, bool, float, str, bytes, NoneType}


class Past:
    """The rounds whose labels have taken effect, by distinct instance.

    Parameters
    ----------
    batch
        K: times kept of each instance and label.
    """

    __slots__ = ("_batch", "_seen")

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._seen: dict[Hashable, Seen] = {}

    def add(
        self,
        identity: Hashable,
        x: Any,
        *,
        answer: bool,
        label: bool,
        sequence: int,
        keep: Callable[[Any], Any] = own,
    ) -> Any:
        """Take note of a round, and return the instance kept of its identity: what ``keep`` made of the first one."""
        seen = self._seen.get(identity)
        if seen is None:
            seen = self._seen[identity] = Seen(keep(x))
        seen.counts[2 * answer + label] += 1
        first = seen.first[label]
        if len(first) < self._batch:
            first.append(sequence)
        return seen.x

    def disagreements(self, h: Callable[[Any], bool]) -> tuple[int, int]:
        """Return on how many rounds a function differs from what was answered, and on how many of them it is right."""
        differing = right = 0
        for seen in self._seen.values():
            bit = bool(h(seen.x))
            other = 2 * (not bit)
            differing += seen.counts[other] + seen.counts[other + 1]
            right += seen.counts[other + bit]
        return differing, right

    def mistakes(self, h: Callable[[Any], bool]) -> list[Mistake]:
        """Return the first K rounds on which a function is wrong, in order; fewer if there are fewer."""
        streams = [self._wrong(seen, not h(seen.x)) for seen in self._seen.values()]
        return list(
            itertools.islice(heapq.merge(*streams, key=lambda mistake: mistake.sequence), self._batch)
        )

    @staticmethod
    def _wrong(seen: Seen, label: bool) -> Iterator[Mistake]:
        return (Mistake(sequence, seen.x, label) for sequence in seen.first[label])

    def clear(self) -> None:
        """Forget everything: no further candidate will ask."""
        self._seen.clear()

    def state(self) -> PastState:
        """Return what must survive a restart."""
        return PastState(
            [
                SeenState(
                    instance_to_plain(seen.x),
                    list(seen.counts),
                    [first.tolist() for first in seen.first],
                )
                for seen in self._seen.values()
            ]
        )

    @classmethod
    def restored(cls, batch: int, state: PastState, hypotheses: HypothesisClass) -> Past:
        """Return the past that :meth:`state` described.

        Raises
        ------
        StateError
            If it is not possible.
        """
        past = cls(batch)
        for saved in state.seen:
            _check_seen(saved, batch)
            x = instance_from_plain(saved.x)
            identity = hypotheses.identity(x) if hypotheses.knows(x) else None
            if identity is None or identity in past._seen:
                raise edited("past.x", "instances that the class knows, each once")
            seen = past._seen[identity] = Seen(x)
            seen.counts = list(saved.counts)
            seen.first = (array("q", saved.first[0]), array("q", saved.first[1]))
        times = [time for seen in past._seen.values() for first in seen.first for time in first]
        if len({*times}) < len(times):
            raise edited("past.first", "each time once")
        return past

    @property
    def rounds(self) -> int:
        """How many rounds were noted."""
        return sum(sum(seen.counts) for seen in self._seen.values())

    def __len__(self) -> int:
        return len(self._seen)


def _savable(x: Any) -> bool:
    try:
        instance_to_plain(x)
    except StateError:
        return False
    return True


def _check_seen(saved: SeenState, batch: int) -> None:
    if [len(saved.counts), len(saved.first)] != [4, 2] or min(saved.counts) < 0:
        raise edited("past.counts", "four counts >= 0, and past.first two lists")
    for label, first in enumerate(saved.first):
        if len(first) != min(batch, saved.counts[label] + saved.counts[2 + label]):
            raise edited("past.first", f"as many times as past.counts says, at most {batch} a label")
        if first != sorted(first) or (first and not 0 < first[0] <= first[-1] < 1 << 63):
            raise edited("past.first", "times in order")
