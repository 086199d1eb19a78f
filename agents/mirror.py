"""Mirror: says yes for good after a number of rounds nobody can count exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from streamlearn.accounting import ramps
from streamlearn.errors import ParameterError
from streamlearn.hypotheses.parameters import check_list, check_whole
from streamlearn.priors.base import Floats
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key
from streamlearn.rounding import OUT_OF, as_float, check_epsilon


class Mirror:
    """Says no on the first active rounds, yes from some later one on, and hides by one where that changes (Fact 4).

    On its j-th active round it says yes (top) with probability 0 for j <= D, p_{j-D} on the ramp of L
    rounds, and 1 after it, independently. Whoever sees its answers learns next to nothing of whether
    one round was active.

    Parameters
    ----------
    epsilon, delta
        The privacy promised, 1e-6 <= ε <= 500 and 2^-60 <= δ < 1. The ramp is the shortest one certified.
    delay
        D, how many active rounds are answered no for certain; whole, >= 0.

    Raises
    ------
    ParameterError
        If a parameter is outside its bound.
    SizeError
        If the ramp would be longer than a million rounds.

    Attributes
    ----------
    ramp
        p_1..p_L as floats, shape (L,); read-only.
    thresholds
        The same as integers out of 2^64, which is what is drawn and certified.
    delay
        D.

    Notes
    -----
    Proof: ``mirror.proof.md`` beside this file. Nothing changes in it: who calls it counts the active rounds.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents.mirror import Mirror
    >>> mirror = Mirror(1.0, 1e-3, delay=10)
    >>> mirror
    Mirror(epsilon=1, delta=0.001, delay=10, length=80)
    >>> key = Key.from_seed(1)
    >>> [mirror.answer(index, key, "mirror", 7) for index in (10, 91)]
    [False, True]
    >>> print(mirror.guarantee)
    (1, 0.001)-joint differential privacy per event
    """

    __slots__ = ("_promise", "delay", "ramp", "thresholds")

    delay: int
    ramp: Floats
    thresholds: tuple[int, ...]
    _promise: tuple[float, float | None]

    def __init__(self, epsilon: float, delta: float, delay: int) -> None:
        ramps.check_target(epsilon, delta)
        self._set(ramps.shortest(float(epsilon), float(delta)), delay, (float(epsilon), float(delta)))

    @classmethod
    def from_ramp(cls, ramp: Sequence[float] | Floats, delay: int, epsilon: float = 0.0) -> Self:
        """Return the Mirror of a given ramp.

        Parameters
        ----------
        ramp
            p_1 < ... < p_L, all in (0, 1); at least one, of any shape.
        delay
            D, whole, >= 0.
        epsilon
            Where :attr:`guarantee` is stated, ε >= 0; its δ is :meth:`exact_delta` there.

        Raises
        ------
        ParameterError
            If the ramp does not rise, leaves (0, 1) or is empty, or another parameter is outside its bound.

        Examples
        --------
        >>> from streamlearn.agents.mirror import Mirror
        >>> round(Mirror.from_ramp([0.1, 0.2, 0.5, 0.9], delay=0).exact_delta(0.5), 9)
        0.407453577
        """
        values = [as_float(value) for value in check_list("ramp", ramp, "probabilities")]
        if not values:
            raise ParameterError(
                "ramp must hold at least one probability, got none; [0.5] is the shortest of use"
            )
        for place, value in enumerate(values):
            if value is None or not 0.0 < value < 1.0:
                raise ParameterError(
                    f"ramp[{place}] must be a number in (0, 1), got {value!r}; leave out 0 and 1"
                )
            if place and value <= (values[place - 1] or 0.0):
                raise ParameterError(
                    f"ramp must rise, and ramp[{place}] is not above the one before; sort it"
                )
        made = cls.__new__(cls)
        made._set(np.array(values, dtype=np.float64), delay, (check_epsilon(epsilon), None))  # noqa: SLF001 - of its class
        return made

    def _set(self, ramp: Sequence[float] | Floats, delay: int, promise: tuple[float, float | None]) -> None:
        values = np.array(ramp, dtype=np.float64)
        values.setflags(write=False)
        object.__setattr__(self, "ramp", values)
        object.__setattr__(self, "thresholds", ramps.thresholds(values))
        object.__setattr__(self, "delay", check_whole("delay", delay, 0))
        object.__setattr__(self, "_promise", promise)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Mirror cannot be changed; make another one to set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Mirror cannot be changed; make another one without {name}")

    @property
    def length(self) -> int:
        """L: on how many active rounds the answer is drawn."""
        return len(self.thresholds)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about one event: whether its round was active."""
        epsilon, delta = self._promise
        return Guarantee("joint", epsilon, self.exact_delta(epsilon) if delta is None else delta, "event")

    def exact_delta(self, epsilon: float) -> float:
        """Return a certified δ at ε: exact to 1e-9 up to L = 18, the grid's upper bound for longer ramps.

        Streams that reach it exist for D >= 1; with no delay the truth is a little less.

        Parameters
        ----------
        epsilon
            ε >= 0.

        Raises
        ------
        ParameterError
            If ε is no privacy level.

        Examples
        --------
        >>> from streamlearn.agents.mirror import Mirror
        >>> 0.9e-6 < Mirror(1.0, 1e-6, delay=0).exact_delta(1.0) <= 1e-6
        True
        """
        return ramps.certified_delta(self.thresholds, check_epsilon(epsilon))

    def below(self, index: int) -> int:
        """Return 2^64 times the probability of yes on the active round ``index``, 1, 2, ...; a whole number.

        Raises
        ------
        ParameterError
            If ``index`` is no whole number >= 1.

        Examples
        --------
        >>> from streamlearn.agents.mirror import Mirror
        >>> mirror = Mirror.from_ramp([0.25, 0.75], delay=1)
        >>> [mirror.below(index) / 2**64 for index in (1, 2, 3, 4)]
        [0.0, 0.25, 0.75, 1.0]
        """
        place = check_whole("index", index, 1) - self.delay
        if place <= 0:
            return 0
        return self.thresholds[place - 1] if place <= len(self.thresholds) else OUT_OF

    def answer(self, index: int, key: Key, purpose: str, sequence: int) -> bool:
        """Return yes (True) or no on an active round.

        Parameters
        ----------
        index
            Which active round it is: 1, 2, ...
        key, purpose, sequence
            The draw. The sequence number is the round's among *all* rounds, so that the draw of a later round does not
            depend on how many active ones came before.

        Raises
        ------
        ParameterError
            If ``index`` is no whole number >= 1, ``sequence`` none >= 0, or another is of the wrong type.

        Examples
        --------
        >>> from streamlearn import Key
        >>> from streamlearn.agents.mirror import Mirror
        >>> mirror = Mirror.from_ramp([0.5], delay=0)
        >>> sum(mirror.answer(1, Key.from_seed(1), "mirror", round) for round in range(1000))
        509
        """
        below = self.below(index)
        check_whole("sequence", sequence, 0)
        for name, value, kind in (("key", key, Key), ("purpose", purpose, str)):
            if not isinstance(value, kind):
                raise ParameterError(
                    f"{name} must be a {kind.__name__}, got {type(value).__name__}; "
                    'answer(1, Key.generate(), "mirror", 1) draws'
                )
        if below in {0, OUT_OF}:
            return below == OUT_OF
        return key.uniform64(purpose, sequence) < below

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mirror) and (self.delay, self.thresholds, self._promise) == (
            other.delay,
            other.thresholds,
            other._promise,
        )

    def __hash__(self) -> int:
        return hash((self.delay, self.thresholds, self._promise))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _restored, (self.ramp.tolist(), self.delay, self._promise)

    def __repr__(self) -> str:
        epsilon, delta = self._promise
        if delta is None:
            return f"Mirror.from_ramp(<{self.length} probabilities>, delay={self.delay}, epsilon={epsilon:g})"
        return f"Mirror(epsilon={epsilon:g}, delta={delta:g}, delay={self.delay}, length={self.length})"


def _restored(ramp: list[float], delay: int, promise: tuple[float, float | None]) -> Mirror:
    made = Mirror.__new__(Mirror)
    made._set(ramp, delay, promise)  # noqa: SLF001 - its own class
    return made
