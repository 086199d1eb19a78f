"""Candidate replacement (Algorithm 3): predictors that take over from each other, privately, as mistakes add up.

Proof: ``candidate_replacement.proof.md`` beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import msgspec

from streamlearn import state as states
from streamlearn.accounting.combining import plain
from streamlearn.agents.candidate_state import (
    CandidateReplacementState,
    Memo,
    MistakeState,
    check_memo,
    check_past,
    check_possible,
)
from streamlearn.agents.past import Past, View, lasting, safe, typed
from streamlearn.agents.replacement import Link, LinkState, Rule
from streamlearn.errors import ParameterError, StateError
from streamlearn.hypotheses import HypothesisClass, Point3
from streamlearn.ordered import (
    OrderedPredictor,
    Round,
    check_max_delay,
    instance_from_plain,
    instance_to_plain,
)
from streamlearn.planning import PaperPlan, Plan, candidate_plan
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounding import as_float
from streamlearn.rounds import edited
from streamlearn.selection import Candidate, Mistake, Scheme, Selector, scheme
from streamlearn.state import register

MOST_VIEWS = 100_000
"""Instances whose candidates' bits are remembered; beyond, all are forgotten and worked out anew."""


@register("CandidateReplacementPredictor")
class CandidateReplacementPredictor(OrderedPredictor[Memo | None]):
    """Predicts with one of a few candidates; each takes over from the one before without showing when (Algorithm 3).

    The candidates are chosen privately: the next one from the first K mistakes of the last, by
    :mod:`streamlearn.selection`. Replacement is random in time, so that nobody else's answers show who made
    the mistakes. On a realisable stream it makes at most ``plan.mistake_bound`` mistakes, however long the
    stream, with probability at least 1 - ``plan.beta``.

    Parameters
    ----------
    hypotheses
        The class.
    epsilon, delta
        The privacy it keeps, 0.001 <= ε <= 20 and 1e-15 <= δ < 1/10.
    plan
        A plan to follow instead; its privacy is then what is kept.
    key
        Where the draws come from; a fresh secret by default.
    max_delay
        How many rounds late a label may be; the plan pays for it.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or neither (ε, δ) nor a plan is given, or they differ.
    PlanError
        If the plan is for another class, or does not keep what it promises.
    SizeError
        If no plan keeps the privacy, or the plan is the paper's own, which cannot run.

    Notes
    -----
    Memory grows with the number of distinct instances, never with the stream: counts for each instance, and at most
    K times for each instance and label. When no further candidate can come, these are dropped too.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import CandidateReplacementPredictor
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays import replay
    >>> predictor = CandidateReplacementPredictor(Point3(), epsilon=1.0, delta=1e-6, key=Key.from_seed(1))
    >>> result = replay([(1, True)] * 5000, predictor)
    >>> result.mistakes <= predictor.plan.mistake_bound
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
        self.plan = planned(candidate_plan, hypotheses, epsilon, delta, plan, self.max_delay)
        self.epsilon = self.plan.epsilon
        self.delta = self.plan.delta
        self._scheme: Scheme = scheme(hypotheses, self.plan.mode)
        self._begin()

    def _begin(self) -> None:
        self._begin_rounds()
        self._selector: Selector = self._scheme.start(self.plan.eta, self.plan.batch)
        self._resolved = 0
        self._base = 0
        self._links: dict[int, Link] = {}
        self._views: dict[Hashable, View] = {}
        self._batch: list[Mistake] = []
        self._past = Past(self.plan.batch)
        self._chosen = 0

    def _answer(self, x: Any, sequence: int) -> tuple[bool, Memo | None]:  # noqa: ARG002 - draws go by disagreement
        view = self._view(x)
        if view.identity is None:
            return self.hypotheses.default(x), None
        bits = view.bits
        answer = bits[self._base]
        disagreements = []
        for number, link in self._links.items():
            other = bits[number]
            if other is not answer:
                disagreements.append([number, link.state.asked + 1, int(other)])
                if link.follows():
                    answer = other
        return answer, Memo(answer, disagreements)

    def _view(self, x: Any) -> View:
        """Return what the candidates so far say of an instance."""
        try:
            token = typed(x)
            view = self._views.get(token)
        except Exception:  # noqa: BLE001 - a list has no hash, and a stranger's own or its equality may raise
            return self._unremembered(x)
        if view is None:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            view = self._views[token] = self._viewed(x)
        return view

    def _unremembered(self, x: Any) -> View:
        """Return the view of an instance that no table can hold: the class may know it by its other features."""
        try:
            view = self._viewed(x)
        except Exception:  # noqa: BLE001 - a stranger's own: no class knows such an instance
            return View(None, [])
        return view if safe(view.identity) else View(None, [])

    def _viewed(self, x: Any) -> View:
        if not self.hypotheses.knows(x):
            return View(None, [])
        return View(self.hypotheses.identity(x), [bool(says(x)) for says in self._selector.candidates])

    def _asked(self, memo: Memo | None) -> None:
        if memo is None:
            return
        for number, _, _ in memo.disagreements:
            self._links[number].disagreed()

    def _resolve(self, x: Any, y: bool, memo: Memo | None) -> None:
        if memo is None:
            return
        self._resolved += 1
        for number, index, other in memo.disagreements:
            if number in self._links:
                self._links[number].resolve(index, bool(other) is y)
        if memo.disagreements:
            self._settle_links()
        if self._chosen == self.plan.candidates or self._selector.exhausted:
            return
        view = self._view(x)
        kept = self._past.add(
            view.identity, x, answer=memo.answer, label=y, sequence=self._resolved, keep=self._lasting
        )
        if view.bits[-1] is not y:
            self._batch.append(Mistake(self._resolved, kept, y))
            self._choose()

    def _lasting(self, x: Any) -> Any:
        return lasting(x, self.hypotheses)

    def _presumed(self, late: Round[Memo | None]) -> bool:
        """Return the public default's bit: the proof needs labels that no answer has a part in."""
        return self.hypotheses.default(late.x)

    def _choose(self) -> None:
        """Choose the next candidates, as long as the newest one's batch is full."""
        while len(self._batch) >= self.plan.batch:
            self._selector.advance(self._batch, self.key)
            self._views.clear()  # they lack the new candidate
            self._chosen += 1
            says = self._selector.candidate()
            self._adopt(self._chosen, says)
            if self._chosen == self.plan.candidates or self._selector.exhausted:
                self._past.clear()
                self._batch = []
                return
            self._batch = self._past.mistakes(says)

    def _adopt(self, number: int, says: Candidate) -> None:
        """Begin a replacement as if it had run from the start: the counts of the past are all it needs."""
        rule = self._rule(number)
        differing, right = self._past.disagreements(says)
        if differing > rule.delay:
            return  # rejected for certain
        link = Link(rule, self.key, LinkState(number, differing, differing, right))
        if link.rejected:
            return
        self._links[number] = link
        for waiting in self._waiting:
            memo = waiting.memo
            if memo is not None:
                other = self._view(waiting.x).bits[number]
                if other is not memo.answer:
                    memo.disagreements.append([number, link.disagreed(), int(other)])

    def _settle_links(self) -> None:
        """Drop replacements that were rejected, and all before one whose second predictor is followed from now on."""
        for number, link in list(self._links.items()):
            if link.rejected:
                del self._links[number]
            elif link.settled:
                self._base = number
        self._links = {number: link for number, link in self._links.items() if number > self._base}

    def _rule(self, number: int) -> Rule:
        plan = self.plan
        return Rule(plan.batch, plan.delays[number - 1], plan.acceptance, plan.ramp, self.max_delay)

    @property
    def mistake_bound(self) -> int | None:
        """The most mistakes on a realisable stream, with probability at least 1 - β; None where none is promised."""
        return self.plan.mistake_bound

    @property
    def guarantee(self) -> Guarantee:
        """Joint differential privacy of the other people's view, in any one labelled example."""
        return self.plan.guarantee

    @property
    def parameters_digest(self) -> str:
        """The digests of the class, the plan and the key."""
        return f"{self.hypotheses.digest}/{self.plan.digest}/{self.key.fingerprint}"

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON types. The key is not part of it."""
        body = CandidateReplacementState(
            self._rounds_state(),
            self._resolved,
            self._base,
            [link.state for link in self._links.values()],
            [MistakeState(m.sequence, instance_to_plain(m.x), m.y) for m in self._batch],
            self._past.state(),
            self._selector.to_plain(),
        )
        return states.pack(self, body)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state; refused unless it came from a predictor built alike."""
        body = states.unpack(self, state, CandidateReplacementState)
        selector = self._scheme.from_plain(body.selector, self.plan.eta, self.plan.batch)
        chosen = len(selector.candidates) - 1
        rounds = self._rounds_from(body.rounds)
        for waiting in rounds.waiting:
            self._check_known(waiting)
        check_possible(body, self.plan, chosen, [waiting.memo for waiting in rounds.waiting])
        past = Past.restored(self.plan.batch, body.past, self.hypotheses)
        batch = [Mistake(m.sequence, instance_from_plain(m.x), m.y) for m in body.batch]
        final = chosen == self.plan.candidates or selector.exhausted
        check_past(past, batch, body.resolved, None if final else selector.candidate(), self.hypotheses)
        self._go_on_from(rounds)
        self._resolved = body.resolved
        self._selector, self._past, self._chosen = selector, past, chosen
        self._base, self._views = body.base, {}
        self._links = {link.number: Link(self._rule(link.number), self.key, link) for link in body.links}
        self._batch = batch

    def _check_known(self, waiting: Round[Memo | None]) -> None:
        """Refuse a saved round of an unknown instance that is remembered as of a known one, or the other way round."""
        if (waiting.memo is None) is self.hypotheses.knows(waiting.x):
            raise edited(
                "rounds.waiting.memo", "null where, and only where, rounds.waiting.x is unknown to the class"
            )
        if waiting.memo is not None and waiting.memo.answer is not waiting.answer:
            raise edited("rounds.waiting.memo", "the same answer as rounds.waiting.answer")

    def _memo_to_plain(self, memo: Memo | None) -> Any:
        return None if memo is None else msgspec.to_builtins(memo)

    def _memo_from_plain(self, data: Any) -> Memo | None:
        try:
            memo: Memo | None = msgspec.convert(data, Memo | None)
        except (ValueError, RecursionError):  # also half a character
            raise StateError("malformed round in a saved state; give what state_dict() returned") from None
        return None if memo is None else check_memo(memo)

    def __repr__(self) -> str:
        return (
            f"CandidateReplacementPredictor({self.hypotheses!r}, epsilon={self.epsilon!r}, delta={self.delta!r}, "
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


def planned(
    make: Callable[..., Plan],
    hypotheses: HypothesisClass,
    epsilon: float | None,
    delta: float | None,
    plan: object,
    max_delay: int,
) -> Plan:
    """Return the plan to follow: the one given, if it fits, or one made for (ε, δ).

    Raises
    ------
    ParameterError
        If neither is given, or they differ.
    PlanError
        If the plan is for another class, or does not keep what it promises.
    SizeError
        If the plan is the paper's own, or none keeps the privacy asked for.
    """
    if plan is None:
        if epsilon is None or delta is None:
            raise ParameterError("give epsilon and delta, the privacy to keep, or a plan")
        return make(hypotheses, epsilon, delta, max_delay=max_delay)
    if isinstance(plan, PaperPlan):
        plan.refuse()
    if not isinstance(plan, Plan):
        raise ParameterError(
            f"plan must be a Plan, got {type(plan).__name__}; private_plan and candidate_plan of streamlearn.planning "
            "make one, and paper_plan states the paper's own figures"
        )
    plan.certify(hypotheses)
    for name, value in (("epsilon", epsilon), ("delta", delta), ("max_delay", max_delay)):
        if value is not None and as_float(value) != getattr(plan, name):
            raise ParameterError(
                f"{name} must be {getattr(plan, name)}, as the plan has it, got {value!r}; give that, or another plan"
            )
    return plan
