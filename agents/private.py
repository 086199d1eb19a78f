"""The private predictor of Theorem 3: candidate replacement and subsampled SOA, whichever does better.

Proof: ``private.proof.md`` beside this file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from streamlearn import state as states
from streamlearn.accounting.combining import plain
from streamlearn.agents.candidate_replacement import CandidateReplacementPredictor, planned
from streamlearn.agents.combine import Combine
from streamlearn.agents.soa import SubsampledSOA
from streamlearn.errors import PlanError
from streamlearn.hypotheses import HypothesisClass, Point3
from streamlearn.ordered import check_max_delay
from streamlearn.planning import Plan, private_plan
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounds import Tally
from streamlearn.state import register


class PrivateState(msgspec.Struct, forbid_unknown_fields=True):
    """The whole state.

    Parameters
    ----------
    combined
        That of the combined predictor.
    """

    combined: dict[str, Any]


@register("PrivatePredictor")
class PrivatePredictor(Predictor):
    """Predicts with mistakes that do not grow with the stream, jointly private in anyone's record (Theorem 3).

    It is :class:`Combine` over a :class:`CandidateReplacementPredictor`, whose mistakes are bounded with high
    probability, and a :class:`SubsampledSOA`, which limits what the failures cost.

    Parameters
    ----------
    hypotheses
        The class, of finite Littlestone dimension.
    epsilon, delta
        The privacy of the whole, 0.001 <= ε <= 20 and 1e-15 <= δ < 1/10.
    plan
        A plan of :func:`streamlearn.planning.private_plan` to follow instead; its privacy is then what is kept.
    key
        Where the draws come from; a fresh secret by default.
    max_delay
        How many rounds late a label may be; the plan pays for it.

    Attributes
    ----------
    plan
        What it does and promises, computed beforehand: ``print(predictor.plan.explain())``.
    combined
        The combined predictor; its ``first`` is candidate replacement, its ``second`` subsampled SOA.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or neither (ε, δ) nor a plan is given, or they differ.
    PlanError
        If the plan is for another class or another predictor, or does not keep what it promises.
    SizeError
        If no plan keeps the privacy, or the plan is the paper's own, which cannot run.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import PrivatePredictor
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays import replay
    >>> predictor = PrivatePredictor(Point3(), epsilon=1.0, delta=1e-6, key=Key.from_seed(1))
    >>> str(predictor.guarantee), predictor.plan.expected_mistakes < 11_103
    ('(1, 1e-06)-joint differential privacy per event', True)
    >>> result = replay([(1, True)] * 20_000, predictor)
    >>> result.mistakes < predictor.plan.expected_mistakes
    True
    """

    def __init__(
        self,
        hypotheses: HypothesisClass,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        plan: Plan | None = None,
        key: Key | None = None,
        max_delay: int = 0,
    ) -> None:
        self.hypotheses = hypotheses
        self.max_delay = check_max_delay(plain(max_delay))
        self.key = checked_key(key)
        self.plan = planned(private_plan, hypotheses, epsilon, delta, plan, self.max_delay)
        self.epsilon = self.plan.epsilon
        self.delta = self.plan.delta
        self.combined = self._combined()

    def _combined(self) -> Combine:
        parts = self.plan.combination
        if parts is None:
            raise PlanError(
                "the plan has no combination, so it is for candidate replacement alone; make one with private_plan, or "
                "give this one to CandidateReplacementPredictor"
            )
        alone = dataclasses.replace(
            self.plan, epsilon=parts.epsilon, delta=parts.delta, combination=None, crossover=None
        )
        candidates = CandidateReplacementPredictor(
            self.hypotheses, plan=alone, key=self.key.derive("candidates"), max_delay=self.max_delay
        )
        subsampled = SubsampledSOA(self.hypotheses, parts.gamma, self.key.derive("subsampled"))
        rule = self.key.derive("rule")
        share = 2.0 * parts.rule_delta  # half of what Combine is given is the rule's
        combined = Combine(
            candidates, subsampled, parts.head_start, delta=share, key=rule, max_delay=self.max_delay
        )
        combined._alone = True  # noqa: SLF001 - nobody else ever asked or taught these parts
        return combined

    def _predict(self, x: Any) -> bool:
        return self.combined.predict_one(x)

    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002, ARG002 - the combined one counts
        self.combined.learn_one(x, y)

    def predict_one(self, x: Any, *, round: int | None = None, **kwargs: Any) -> bool:  # noqa: A002, ARG002 - the contract's
        """Return the predicted bit for ``x``; as :meth:`Combine.predict_one`."""
        return self.combined.predict_one(x, round=round)

    def learn_one(self, x: Any, y: Any = None, *, round: int | None = None, **kwargs: Any) -> None:  # noqa: A002, ARG002 - the contract's
        """Take in the label of an instance; as :meth:`Combine.learn_one`."""
        self.combined.learn_one(x, y, round=round)

    def give_up(self, round: int) -> None:  # noqa: A002 - the contract's name
        """Await no label for a round any more; as :meth:`Combine.give_up`."""
        self.combined.give_up(round)

    def _tally(self) -> Tally:
        return self.combined._tally()  # noqa: SLF001 - a Predictor's, as this is one

    @property
    def mistake_bound(self) -> float | None:
        """The most expected mistakes on any realisable stream; None where the plan promises none."""
        return self.plan.expected_mistakes

    @property
    def guarantee(self) -> Guarantee:
        """(ε, δ)-joint differential privacy of the other people's view, in any one labelled example."""
        return self.plan.guarantee

    @property
    def parameters_digest(self) -> str:
        """That of the combined predictor."""
        return self.combined.parameters_digest

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON types. The key is not part of it."""
        return states.pack(self, PrivateState(self.combined.state_dict()))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state; refused unless it came from a predictor built alike."""
        self.combined.load_state_dict(states.unpack(self, state, PrivateState).combined)

    def __repr__(self) -> str:
        return (
            f"PrivatePredictor({self.hypotheses!r}, epsilon={self.epsilon!r}, delta={self.delta!r}, "
            f"max_delay={self.max_delay})"
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {
            "hypotheses": Point3(),
            "epsilon": 1.0,
            "delta": 1e-3,
            "key": Key.from_seed(1),
            "max_delay": 16,
        }
