"""Following the better of two predictors without showing any label (Algorithm 4).

Proof: ``combine.proof.md`` beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from streamlearn import state
from streamlearn.accounting import combining
from streamlearn.agents.pairs import Bits, PairPredictor, joint
from streamlearn.agents.soa import SOA, SubsampledSOA
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Stumps
from streamlearn.ordered import OrderedState, check_max_delay
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounding import check_epsilon
from streamlearn.rounds import edited
from streamlearn.state import register

CHOOSE = "combine/choose"
DELTA = 1e-6


class CombineState(msgspec.Struct, forbid_unknown_fields=True):
    """The whole state.

    Parameters
    ----------
    rounds
        Rounds whose labels have not taken effect.
    first_right, second_right
        c_1 and c_2: disagreements on which either part was right.
    first, second
        The states of the two.
    """

    rounds: OrderedState
    first_right: int
    second_right: int
    first: dict[str, Any]
    second: dict[str, Any]


@register("Combine")
class Combine(PairPredictor):
    """Follows the better of two predictors: at most 3·min + 2D mistakes are expected (Algorithm 4, Lemma 13).

    Where the two agree their bit is the answer. Where they differ the first is followed with probability
    (D + c_1)²/((D + c_1)² + (D + c_2)²), c_1 and c_2 being how often either was right when they differed. Both learn
    from the true labels alone, never from what was answered here.

    Parameters
    ----------
    first, second
        Any two binary river classifiers; they are trained in place. One that answers None says False.
    D
        What both counters start from, 1 <= D <= 2^50. Leave it out to have it derived from ε and δ.
    epsilon, delta
        The privacy of the whole predictor, as in Theorem 3, 0 <= ε <= ∞ and 0 < δ < 1: the rule itself gets (ε/2, δ/2)
        of it, and the parts must keep within the rest. With D only δ may be given, 1e-6 by default: :attr:`guarantee`
        then takes the smallest ε certified for the rule at δ/2.
    key
        Where the draws come from; a fresh secret by default. Parts need keys of their own.
    max_delay
        How many rounds late a label may be; where a part has such an argument it must be the same.

    Attributes
    ----------
    delay
        The D in use.
    right
        (c_1, c_2).

    Raises
    ------
    ParameterError
        If a part is no classifier, neither or both of D and ε are given, an argument is outside its bound, or two of
        the predictors would draw alike.

    Notes
    -----
    The guarantee takes for granted that when a label comes does not depend on the labels.

    A part may raise errors of its own, which come through. If nothing had changed by then, all is as before. If it
    fails in the middle of a round, when the other part may have taken it in, the two no longer agree: predict_one,
    learn_one, give_up and state_dict then raise a StateError that names the part, until a state saved before is loaded.

    Examples
    --------
    >>> from river.dummy import NoChangeClassifier, PriorClassifier
    >>> from streamlearn import Key
    >>> from streamlearn.agents import Combine
    >>> learner = Combine(NoChangeClassifier(), PriorClassifier(), D=4, key=Key.from_seed(1))
    >>> mistakes = 0
    >>> for i in range(200):
    ...     mistakes += learner.predict_one({"i": i}) != (i % 4 == 0)
    ...     learner.learn_one({"i": i}, i % 4 == 0)
    >>> mistakes <= learner.expected_bound(50), str(learner.guarantee)
    (True, 'no privacy guarantee')
    >>> Combine.smallest_delay(1.0, 1e-6)
    609
    """

    def __init__(
        self,
        first: Any,
        second: Any,
        D: int | None = None,  # noqa: N803 - the paper's name
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        key: Key | None = None,
        max_delay: int = 0,
    ) -> None:
        self.first = first
        self.second = second
        self.D = None if D is None else combining.check_delay(D)
        self.epsilon = None if epsilon is None else check_epsilon(epsilon)
        self.delta = None if delta is None else combining.check_delta(delta)
        self.max_delay = check_max_delay(combining.plain(max_delay))
        self.key = checked_key(key)
        self._check_parts()
        self.delay = self._delay()
        self.right = (0, 0)
        self._begin_rounds()

    def _delay(self) -> int:
        if self.D is not None:
            if self.epsilon is not None:
                raise ParameterError(
                    f"give either D or epsilon, got D = {self.D!r} and epsilon = {self.epsilon!r}"
                )
            return self.D
        if self.epsilon is None or self.delta is None:
            raise ParameterError(
                "give D, or both epsilon and delta; Combine.smallest_delay derives one from the other"
            )
        return self.smallest_delay(self.epsilon, self.delta, self.max_delay)

    @staticmethod
    def smallest_delay(epsilon: float, delta: float, max_delay: int = 0) -> int:
        """Return the smallest certified D for a whole predictor that is (ε, δ)-jointly private.

        Parameters
        ----------
        epsilon, delta
            Of the whole, 0 <= ε <= ∞ and 0 < δ < 1; the rule is certified at (ε/2, δ/2).
        max_delay
            How many rounds late a label may be.

        Raises
        ------
        ParameterError
            If an argument is outside its bound, or D would be too large.

        Examples
        --------
        >>> from streamlearn.agents import Combine
        >>> Combine.smallest_delay(1.0, 1e-3)
        226
        """
        return combining.smallest_delay(
            check_epsilon(epsilon) / 2, combining.check_delta(delta) / 2, max_delay
        )

    def expected_bound(self, mistakes: int) -> int:
        """Return the most mistakes that are expected where the better part makes so many: 3·mistakes + 2D + P."""
        return combining.expected_bound(mistakes, self.delay, self.max_delay)

    @property
    def rule_guarantee(self) -> Guarantee:
        """What the rule alone promises about one round's (first bit, second bit, label)."""
        if self.epsilon is not None and self.delta is not None:
            return Guarantee("joint", self.epsilon / 2, self.delta / 2, "event")
        delta = (DELTA if self.delta is None else self.delta) / 2
        return joint([(combining.rule_epsilon(self.delay, delta, self.max_delay), delta)])

    @property
    def guarantee(self) -> Guarantee:
        """The sum of what the parts and the rule promise; nothing where a part promises nothing."""
        return self._guarantee_with(self.rule_guarantee)

    def _chosen(self, bits: Bits, sequence: int) -> bool:
        """Return the bit of the part that is followed if the next round is ``sequence``."""
        if bits[0] == bits[1]:
            return bits[0]
        first_right, second_right = self.right
        first, second = (self.delay + first_right) ** 2, (self.delay + second_right) ** 2
        return bits[not self.key.bernoulli(first, first + second, CHOOSE, sequence)]

    def _answer(self, x: Any, sequence: int) -> tuple[bool, Bits]:
        bits = self._bits(x)
        return self._chosen(bits, sequence), bits

    def _open(self, x: Any, number: int, sequence: int) -> tuple[bool, Bits]:
        bits = self._asked_bits(x, number)
        return self._chosen(bits, sequence), bits

    def _asked(self, memo: Bits) -> None:
        pass  # the parts were told in _open

    def _resolve(self, x: Any, y: bool, memo: Bits) -> None:  # noqa: ARG002 - the contract's own name
        if memo[0] != memo[1]:
            first, second = self.right
            self.right = (first + (memo[0] == y), second + (memo[1] == y))

    @property
    def parameters_digest(self) -> str:
        """Those of the parts, D, the lateness and the key: with another key a restored run would draw otherwise."""
        return f"[{self.parts_digest}]/{self.delay}/{self.max_delay}/{self.key.fingerprint}"

    def state_dict(self) -> dict[str, Any]:
        """Return the counters, the pending rounds and both parts' states as plain JSON types; the key is not in it.

        Raises
        ------
        StateError
            If a part has no ``state_dict``: river's own models cannot be saved as JSON.
        """
        return state.pack(self, CombineState(self._rounds_state(), *self.right, *self._parts_state()))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state, parts included; refused as a whole unless it came from a predictor built alike."""
        body = _unpack(self, state)
        rounds = self._rounds_from(body.rounds)
        right = (body.first_right, body.second_right)
        if min(right) < 0 or sum(right) > rounds.resolved:
            raise edited(
                "first_right and second_right",
                f"counts >= 0 of the {rounds.resolved} rounds that took effect by rounds.asked and rounds.waiting",
            )
        self._load_parts((body.first, body.second), rounds)
        self._go_on_from(rounds)
        self.right = right

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        stumps = Stumps({"a": [1.5, 4.5], "b": [0.25]})
        keys = [Key.from_seed(seed) for seed in range(3)]
        noisy = [SubsampledSOA(stumps, gamma, key) for gamma, key in zip((0.5, 0.25), keys, strict=False)]
        yield {"first": noisy[0], "second": noisy[1], "D": 2, "key": keys[2], "max_delay": 16}
        privacy = {"epsilon": 2.0, "delta": 0.1}
        yield {"first": SOA(stumps), "second": noisy[1], "key": keys[2], "max_delay": 20} | privacy


def _unpack(agent: Combine, saved: dict[str, Any]) -> CombineState:
    return state.unpack(agent, saved, CombineState)
