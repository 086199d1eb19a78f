"""The rule that lets one predictor take over from another without showing when (Definition 10, linear delays).

Proof: ``replacement.proof.md`` beside this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from streamlearn.randomness import Key
from streamlearn.rounding import OUT_OF

ACCEPT = "replacement/accept"
SWITCH = "replacement/switch"


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
