"""The rule that lets one predictor take over from another without showing when (Definition 10, linear delays).

Proof: ``replacement.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from streamlearn import state as states
from streamlearn.accounting import acceptance
from streamlearn.accounting.combining import LARGEST_DELAY, plain
from streamlearn.agents.mirror import Mirror
from streamlearn.agents.pairs import Bits, PairPredictor
from streamlearn.agents.soa import SubsampledSOA
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import Stumps
from streamlearn.ordered import OrderedState, Round, check_max_delay
from streamlearn.planning.arguments import one_of
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounding import OUT_OF, as_float
from streamlearn.rounds import edited
from streamlearn.state import register

ACCEPT = "replacement/accept"
SWITCH = "replacement/switch"

_LEAST_EPSILON, _MOST_EPSILON, _LEAST_DELTA = 2e-6, 1e3, 2.0**-59
"""What halves of may be asked of a ramp."""


class Rule(NamedTuple):
    """When the second predictor's bit is shown on rounds where the two disagree.

    Parameters
    ----------
    batch
        K: a good second predictor makes fewer mistakes.
    delay
        D: the disagreements whose labels decide whether it is accepted.
    acceptance
        g_0 = 0 < ... < g_w = 2^64: chances of acceptance out of 2^64, by how often it was right.
    ramp
        Chances, out of 2^64, that an accepted predictor is followed on the disagreements after the first
        ``delay + max_delay``; after these it always is.
    max_delay
        P: labels come at most so many rounds late.
    """

    batch: int
    delay: int
    acceptance: Sequence[int]
    ramp: Sequence[int]
    max_delay: int = 0

    @property
    def width(self) -> int:
        """w: over how many counts the chance of acceptance rises."""
        return len(self.acceptance) - 1

    @property
    def certain(self) -> int:
        """The disagreements after which an accepted predictor is always followed: D + P + L."""
        return self.delay + self.max_delay + len(self.ramp)

    def chance(self, right: int) -> int:
        """Return the chance of acceptance, out of 2^64, after so many right ones of the first D disagreements."""
        least = self.delay - (self.batch + self.max_delay) + 1 - self.width
        return self.acceptance[min(max(right - least, 0), self.width)]

    def accepts(self, right: int, key: Key, number: int) -> bool:
        """Draw whether the second predictor is accepted; the same answer whenever asked."""
        return key.bernoulli(self.chance(right), OUT_OF, ACCEPT, number)

    def follows(self, index: int, key: Key, number: int) -> bool:
        """Draw whether an accepted predictor is followed on the ``index``-th disagreement, counted from 1."""
        step = index - self.delay - self.max_delay
        if step <= 0:
            return False
        return step > len(self.ramp) or key.bernoulli(
            self.ramp[step - 1], OUT_OF, SWITCH, f"{number}/{index}"
        )


class LinkState(msgspec.Struct, forbid_unknown_fields=True):
    """What one replacement has seen, as it is saved.

    Parameters
    ----------
    number
        Which replacement it is, counted from 1.
    asked
        Disagreements so far.
    resolved
        Those among the first D whose labels have taken effect.
    right
        On how many of these the second predictor was right.
    accepted
        Whether it was accepted; None while undecided.
    """

    number: int
    asked: int = 0
    resolved: int = 0
    right: int = 0
    accepted: bool | None = None


def check_counts(link: LinkState, delay: int, pending: int, rounds: int) -> None:
    """Raise a StateError for counts that cannot be, with so many disagreements pending and rounds that took effect."""
    known = link.asked - pending
    if not 0 <= known <= rounds:
        raise edited(
            "link.asked", f"the {pending} disagreements of rounds.waiting, and at most {rounds} before"
        )
    if link.resolved != min(known, delay):
        raise edited("link.resolved", f"{min(known, delay)}, by link.asked and rounds.waiting")
    if not 0 <= link.right <= link.resolved:
        raise edited("link.right", f"at most the {link.resolved} of link.resolved, and no less than 0")
    if (link.accepted is None) is not (link.resolved < delay):
        raise edited("link.accepted", f"null until link.resolved is {delay}, and a decision from then on")


class Link:
    """One replacement in progress.

    Parameters
    ----------
    rule
        When to follow.
    key
        Where the draws come from.
    state
        What was seen so far.
    """

    __slots__ = ("key", "rule", "state")

    def __init__(self, rule: Rule, key: Key, state: LinkState) -> None:
        self.rule = rule
        self.key = key
        self.state = state
        self.decide()

    def follows(self) -> bool:
        """Return whether the second predictor's bit is shown if the next round is a disagreement."""
        state = self.state
        return state.accepted is True and self.rule.follows(state.asked + 1, self.key, state.number)

    def disagreed(self) -> int:
        """Take note of a disagreement, and return its number."""
        self.state.asked += 1
        return self.state.asked

    def resolve(self, index: int, right: bool) -> None:
        """Take in the label of a disagreement; they come in order."""
        state = self.state
        if index <= self.rule.delay and state.accepted is None:
            state.resolved += 1
            state.right += right
            self.decide()

    def decide(self) -> None:
        """Accept or reject as soon as the labels of the first D disagreements are known."""
        state = self.state
        if state.accepted is None and state.resolved >= self.rule.delay:
            state.accepted = self.rule.accepts(state.right, self.key, state.number)

    @property
    def rejected(self) -> bool:
        """Whether the second predictor will never be followed."""
        return self.state.accepted is False

    @property
    def settled(self) -> bool:
        """Whether the second predictor is followed from now on, whatever comes."""
        return self.state.accepted is True and self.state.asked >= self.rule.certain


class ReplacementState(msgspec.Struct, forbid_unknown_fields=True):
    """The whole state.

    Parameters
    ----------
    rounds
        Rounds whose labels have not taken effect.
    link
        What the replacement has seen.
    first, second
        The states of the two parts.
    """

    rounds: OrderedState
    link: LinkState
    first: dict[str, Any]
    second: dict[str, Any]


@register("Replacement")
class Replacement(PairPredictor):
    """Follows the first of two predictors until the second has proved better, and hides when it changes over.

    For every value of the randomness: if the second makes fewer than ``batch`` mistakes, this makes at most
    ``batch - 1 + delay + L``; while the first made few mistakes, this says what the first says (Definition 10, with a
    ramp in place of truncated noise and, by default, linear delays).

    Parameters
    ----------
    first, second
        Any two binary river classifiers; they are trained in place. One that answers None says False.
    batch
        K: a second predictor that makes fewer mistakes is accepted for certain. 1 <= K <= 2^50.
    epsilon, delta
        The privacy of the rule itself, 2e-6 <= ε <= 1000 and 2^-59 <= δ < 1; half of each is for acceptance, half for
        the change-over.
    position
        j: of several replacements in a row, the how manieth this is; later ones wait longer. 1 <= j <= 2^50.
    schedule
        ``"linear"``: the shortest delays that are proved to do, D_j = j(2K'-2+w) + (j-1)(L+P), K' = K+P.
        ``"paper"``: D_j = 9^j·D_0 with D_0 = max(4K+1, (4/ε)² ln²(8/δ)), the paper's constant C taken as 1.
    key
        Where the draws come from; a fresh secret by default. Parts need keys of their own.
    max_delay
        P: how many rounds late a label may be; where a part has such an argument it must be the same.

    Attributes
    ----------
    rule
        The :class:`Rule` it follows.

    Raises
    ------
    ParameterError
        If a part is no classifier, an argument is outside its bound, two of the predictors would draw alike, or the
        delay would be above 2^50.
    SizeError
        If a ramp for so small an ε would be too long.

    Examples
    --------
    >>> from river.dummy import NoChangeClassifier, PriorClassifier
    >>> from streamlearn import Key
    >>> from streamlearn.agents import Replacement
    >>> learner = Replacement(
    ...     NoChangeClassifier(), PriorClassifier(), 20, epsilon=4.0, delta=1e-3, key=Key.from_seed(1)
    ... )
    >>> late = 0
    >>> for i in range(3000):
    ...     late += learner.predict_one({"i": i}) != (i % 5 > 0) and i >= 2000
    ...     learner.learn_one({"i": i}, i % 5 > 0)
    >>> late, learner.accepted  # of the last 1000 the first gets 400 wrong, the second 200
    (200, True)
    """

    def __init__(
        self,
        first: Any,
        second: Any,
        batch: int,
        *,
        epsilon: float,
        delta: float,
        position: int = 1,
        schedule: Literal["linear", "paper"] = "linear",
        key: Key | None = None,
        max_delay: int = 0,
    ) -> None:
        self.first = first
        self.second = second
        self.batch = _whole("batch", batch, "a good predictor makes fewer mistakes")
        self.epsilon, self.delta = _target(epsilon, delta)
        self.position = _whole("position", position, "1 is the first replacement")
        one_of("schedule", schedule, ("linear", "paper"), "'linear' waits less")
        self.schedule = schedule
        self.max_delay = check_max_delay(plain(max_delay))
        self.key = checked_key(key)
        self._check_parts()
        self.rule = self._rule()
        self._link = Link(self.rule, self.key, LinkState(self.position))
        self._begin_rounds()

    def _rule(self) -> Rule:
        ramp = Mirror(self.epsilon / 2, self.delta / 2, 0).thresholds
        chances = acceptance.ramp(self.epsilon / 2, self.delta / 2)
        width = len(chances) - 1
        needed = 2 * (self.batch + self.max_delay) - 2 + width
        if self.schedule == "linear":
            delay = self.position * needed + (self.position - 1) * (len(ramp) + self.max_delay)
        else:
            least = (4.0 / self.epsilon * math.log(8.0 / self.delta)) ** 2
            # 9^17 alone is above the limit: larger powers are not worked out.
            delay = max(needed, 9 ** min(self.position, 17) * max(4 * self.batch + 1, math.ceil(least)))
        if delay > LARGEST_DELAY:
            raise ParameterError(
                f"position = {self.position} and batch = {self.batch} need a delay above {LARGEST_DELAY}; take smaller "
                'ones, or schedule="linear"'
            )
        return Rule(self.batch, delay, chances, ramp, self.max_delay)

    @property
    def accepted(self) -> bool | None:
        """Whether the second predictor was accepted; None while that is undecided."""
        return self._link.state.accepted

    @property
    def guarantee(self) -> Guarantee:
        """The sum of what the parts and the rule promise; nothing where a part promises nothing."""
        return self._guarantee_with(Guarantee("joint", self.epsilon, self.delta, "event"))

    def _chosen(self, bits: Bits) -> bool:
        return bits[bits[0] != bits[1] and self._link.follows()]

    def _answer(self, x: Any, sequence: int) -> tuple[bool, Bits]:  # noqa: ARG002 - draws go by disagreement
        bits = self._bits(x)
        return self._chosen(bits), bits

    def _open(self, x: Any, number: int, sequence: int) -> tuple[bool, Bits]:  # noqa: ARG002 - the contract
        bits = self._asked_bits(x, number)
        answer = self._chosen(bits)
        self._asked(bits)
        return answer, bits

    def _asked(self, memo: Bits) -> None:
        if memo[0] != memo[1]:
            self._link.disagreed()

    def _presumed(self, late: Round[Bits]) -> bool:  # noqa: ARG002 - the contract
        """Return False: the proof needs labels that no answer has a part in."""
        return False

    def _resolve(self, x: Any, y: bool, memo: Bits) -> None:  # noqa: ARG002 - the contract's own names
        if memo[0] != memo[1]:
            self._link.resolve(self._link.state.resolved + 1, memo[1] is y)

    @property
    def parameters_digest(self) -> str:
        """Those of the parts, the rule's parameters and the key."""
        return (
            f"[{self.parts_digest}]/{self.batch}/{float(self.epsilon).hex()}/{float(self.delta).hex()}/{self.position}/"
            f"{self.schedule}/{self.max_delay}/{self.key.fingerprint}"
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, the pending rounds and both parts' states as plain JSON types; the key is not in it.

        Raises
        ------
        StateError
            If a part has no ``state_dict``: river's own models cannot be saved as JSON.
        """
        body = ReplacementState(self._rounds_state(), self._link.state, *self._parts_state())
        return states.pack(self, body)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state, parts included; refused as a whole unless it came from a predictor built alike."""
        body = states.unpack(self, state, ReplacementState)
        rounds = self._rounds_from(body.rounds)
        if body.link.number != self.position:
            raise edited("link.number", f"{self.position}, the position")
        pending = sum(waiting.memo[0] != waiting.memo[1] for waiting in rounds.waiting)
        check_counts(body.link, self.rule.delay, pending, rounds.resolved)
        self._load_parts((body.first, body.second), rounds)
        self._go_on_from(rounds)
        self._link = Link(self.rule, self.key, body.link)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        stumps = Stumps({"a": [1.5, 4.5], "b": [0.25]})
        noisy = [SubsampledSOA(stumps, gamma, Key.from_seed(seed)) for seed, gamma in enumerate((0.5, 0.25))]
        shape = {"batch": 2, "epsilon": 8.0, "delta": 0.1, "key": Key.from_seed(2), "max_delay": 16}
        yield {"first": noisy[0], "second": noisy[1]} | shape


def _whole(name: str, value: object, meaning: str) -> int:
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= LARGEST_DELAY:
        raise ParameterError(
            f"{name} must be a whole number >= 1 and <= {LARGEST_DELAY}, got {value!r}; {meaning}"
        )
    return number


def _target(epsilon: object, delta: object) -> tuple[float, float]:
    level, least = as_float(epsilon), as_float(delta)
    if level is None or not _LEAST_EPSILON <= level <= _MOST_EPSILON:
        raise ParameterError(
            f"epsilon must be a number in [{_LEAST_EPSILON:g}, {_MOST_EPSILON:g}], got {epsilon!r}; try 1.0"
        )
    if least is None or not _LEAST_DELTA <= least < 1.0:
        raise ParameterError(f"delta must be a number in [2^-59, 1), got {delta!r}; try 1e-6")
    return level, least
