"""Plans for a privacy level: the parameters are searched for, rounded and certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

from streamlearn.accounting import acceptance
from streamlearn.accounting.combining import plain, smallest_delay
from streamlearn.accounting.moments import Levels, best
from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.ordered import check_max_delay
from streamlearn.planning.arguments import one_of
from streamlearn.planning.certificate import Certificate, candidate_delta, log_moments, mass_apart
from streamlearn.planning.chances import Chances
from streamlearn.planning.combination import Combination
from streamlearn.planning.crossing import crossover
from streamlearn.planning.delays import schedule
from streamlearn.planning.modes import PAPER_MODE, scheme_for
from streamlearn.planning.numbers import LEAST_BETA
from streamlearn.planning.plan import Plan
from streamlearn.planning.remedies import LONGEST_RAMP, search_or_refuse
from streamlearn.planning.search import (
    ALONE,
    LEAST_EPSILON,
    MOST_EPSILON,
    PAPER,
    Proposal,
    Shares,
    Task,
    batch_of,
)
from streamlearn.planning.shape import costs, levels, shape
from streamlearn.rounding import OUT_OF, as_float

_NEAR = np.array([0.92, 0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04, 1.08])
"""Orders that a certificate looks through, over the proposal's."""

Split = Literal["optimised", "paper"]

_LEAST_DELTA = 1e-15


def candidate_plan(
    cls: HypothesisClass,
    epsilon: float,
    delta: float,
    *,
    mode: str | None = None,
    beta: float | None = None,
    max_delay: int = 0,
) -> Plan:
    """Return the plan of CandidateReplacementPredictor with the fewest mistakes found.

    Parameters
    ----------
    cls
        The class, of Littlestone dimension at least 1.
    epsilon, delta
        The privacy, 0.001 <= ε <= 20 and 1e-15 <= δ < 1/10.
    mode
        How candidates are selected; by default as the class does best.
    beta
        The probability with which the bound on mistakes may fail, 1e-300 <= β < 1; δ by default.
    max_delay
        P: labels come at most so many rounds late.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.
    SizeError
        If the class does not support the mode, or no plan keeps the privacy; in mode "paper" always, with the number.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import candidate_plan
    >>> plan = candidate_plan(Point3(), 1.0, 1e-3)
    >>> plan.candidates, plan.mistake_bound < 600, str(plan.guarantee)
    (1, True, '(1, 0.001)-joint differential privacy per event')
    """
    check_target(cls, epsilon, delta)
    failing = as_float(delta if beta is None else beta)
    if failing is None or not LEAST_BETA <= failing < 1.0:
        raise ParameterError(
            f"beta must lie in [{LEAST_BETA:g}, 1), got {beta!r}; it is how often the bound may fail, try 1e-6"
        )
    _refuse_paper(cls, epsilon, delta, mode)
    used = scheme_for(cls, mode).mode  # the default and its name are one plan
    return _candidate_plan(
        cls, float(epsilon), float(delta), used, failing, check_max_delay(plain(max_delay))
    )


def private_plan(
    cls: HypothesisClass,
    epsilon: float,
    delta: float,
    *,
    mode: str | None = None,
    max_delay: int = 0,
    split: Split = "optimised",
) -> Plan:
    """Return the plan of PrivatePredictor (Theorem 3) with the fewest expected mistakes found.

    Parameters
    ----------
    cls
        The class, of Littlestone dimension at least 1.
    epsilon, delta
        The privacy of the whole, 0.001 <= ε <= 20 and 1e-15 <= δ < 1/10. The bound on mistakes of candidate
        replacement fails with probability at most β = δ.
    mode
        How candidates are selected; by default as the class does best.
    max_delay
        P: labels come at most so many rounds late.
    split
        "optimised", or "paper": (ε/2, δ/4) to candidate replacement, δ/4 to subsampled SOA, (ε/2, δ/2) to the rule.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.
    SizeError
        If the class does not support the mode, or no plan keeps the privacy; in mode "paper" always, with the number.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import private_plan
    >>> plan = private_plan(Point3(), 1.0, 1e-3)
    >>> plan.expected_mistakes < 3500, plan.combination.rule_epsilon < 0.5
    (True, True)
    """
    check_target(cls, epsilon, delta)
    one_of("split", split, ("optimised", "paper"), "'optimised' errs less")
    _refuse_paper(cls, epsilon, delta, mode)
    used = scheme_for(cls, mode).mode  # as above
    return _private_plan(cls, float(epsilon), float(delta), used, check_max_delay(plain(max_delay)), split)


def check_target(cls: HypothesisClass, epsilon: float, delta: float = 0.01) -> None:
    """Refuse a class or privacy level for which there is no plan.

    Parameters
    ----------
    cls, epsilon, delta
        As for :func:`private_plan`; where δ is left out only the others are checked.

    Raises
    ------
    ParameterError
        If one is outside its bound.
    """
    check_class(cls)
    level = as_float(epsilon)
    if level is None or not LEAST_EPSILON <= level <= MOST_EPSILON:
        raise ParameterError(
            f"epsilon must lie in [{LEAST_EPSILON:g}, {MOST_EPSILON:g}] for a plan, got {epsilon!r}; try 1.0"
        )
    least = as_float(delta)
    if least is None or not _LEAST_DELTA <= least < 0.1:
        raise ParameterError(
            f"delta must lie in [{_LEAST_DELTA:g}, 1/10) for a plan, got {delta!r}; try 1e-6"
        )
    if cls.dimension < 1:
        raise ParameterError(
            "cls must have a Littlestone dimension of at least 1, got 0: its one function needs no learning; "
            "SOA says what it says, and shows nothing of the labels"
        )


def _refuse_paper(cls: HypothesisClass, epsilon: float, delta: float, mode: object) -> None:
    """Refuse the paper's mode, with the number: its proof asks for its constants, and these cannot run."""
    from streamlearn.planning.paper import paper_plan  # noqa: PLC0415 - it imports this module

    if isinstance(mode, str) and mode == PAPER_MODE:
        paper_plan(cls, epsilon, delta).refuse()


_WIDEST = 16.0  # by how much the logarithm of a price is moved at most
_MOST_RAMPS = 40  # that are tried
_SECANTS = 8  # steps before the price is sought by halving
_GROWTHS = (1.1, 1.5, 2.5, 5.0)  # of an ε that is tried as a remedy
_MOST_STRETCH = 1.2  # a ramp is at most that much longer than any proposed
_ROOM = 2e-5  # of the logarithm of the price: a ramp that much too long will do
_NUDGE, _STRIDE = 1e-3, 1.0  # of it: the slope is taken over the one, no step is longer than the other


class _NoRampError(SizeError):
    """A search's proposal has no ramp that is certified; what to do instead is still to be found."""


@lru_cache(maxsize=256)
def _candidate_plan(
    cls: HypothesisClass, epsilon: float, delta: float, mode: str, beta: float, max_delay: int
) -> Plan:
    def made(task: Task) -> Plan:
        return _rounded(cls, task, search_or_refuse(task, ALONE)[1], ALONE, None)

    return _or_remedy(made, Task(scheme_for(cls, mode), cls.dimension, epsilon, delta, beta, max_delay))


@lru_cache(maxsize=256)
def _private_plan(
    cls: HypothesisClass, epsilon: float, delta: float, mode: str, max_delay: int, split: Split
) -> Plan:
    def made(task: Task) -> Plan:
        shares, proposal = search_or_refuse(task, PAPER if split == "paper" else None)
        return _rounded(cls, task, proposal, shares, _combination(task, shares))

    return _or_remedy(made, Task(scheme_for(cls, mode), cls.dimension, epsilon, delta, delta, max_delay))


def _combination(task: Task, shares: Shares) -> Combination:
    own_epsilon, own_delta = shares.epsilon * task.epsilon, shares.delta * task.delta
    gamma = shares.gamma * task.delta
    # A little less than what is left, so that the sums hold in doubles too.
    rule_epsilon, rule_delta = (
        (task.epsilon - own_epsilon) * (1 - 1e-12),
        (task.delta - own_delta - gamma) * (1 - 1e-12),
    )
    head_start = smallest_delay(rule_epsilon, rule_delta, task.max_delay)
    return Combination(own_epsilon, own_delta, gamma, rule_epsilon, rule_delta, head_start)


def _or_remedy(made: Callable[[Task], Plan], task: Task) -> Plan:
    """Return the plan of a task, or refuse it with a larger ε for which there is one."""
    try:
        return made(task)
    except _NoRampError as error:
        refusal = str(error)
    for growth in _GROWTHS:
        epsilon = math.ceil(task.epsilon * growth * 1000.0) / 1000.0
        if epsilon <= MOST_EPSILON and _can_be_made(made, task._replace(epsilon=epsilon)):
            raise SizeError(f"{refusal}; take an epsilon of {epsilon:g} or more")
    raise SizeError(f"{refusal}; take a larger delta, or a smaller class")


def _can_be_made(made: Callable[[Task], Plan], task: Task) -> bool:
    try:
        made(task)
    except SizeError:
        return False
    return True


def _rounded(
    cls: HypothesisClass,
    task: Task,
    proposal: Proposal,
    shares: Shares,
    combination: Combination | None,
) -> Plan:
    """Return a proposal in whole numbers, with the shortest ramp of its family that is certified."""
    used, late = task.scheme, task.max_delay
    epsilon, delta = shares.epsilon * task.epsilon, shares.delta * task.delta
    eta, batch = _least_eta(task, proposal), proposal.batch
    chances = acceptance.ramp(proposal.alpha, proposal.apart)

    orders, first = proposal.order * _NEAR, int(proposal.first * OUT_OF)
    ends = np.array(
        [first, OUT_OF - first], dtype=np.uint64
    )  # all of a ramp that counts but for its log-moments
    apart = mass_apart(used, proposal.alpha, chances, ends)
    selection, accepted, _ = log_moments(used, eta, proposal.alpha, ends, orders)

    def foreseen(price: float) -> float:
        """Return about the ln of δ, over what is allowed, that a ramp of a price will be certified at."""
        mirrors = used.steps * costs(proposal.first, proposal.order, price / 2.0, orders)
        rest, _ = best(selection + accepted + mirrors, orders, epsilon)
        return math.log((apart + (1.0 - apart) * rest + used.excess_delta(eta, batch)) / delta)

    def certified(ramp: Levels) -> Certificate:
        return candidate_delta(
            used, epsilon=epsilon, eta=eta, batch=batch, alpha=proposal.alpha, acceptance=chances, ramp=ramp,
            orders=orders,
        )  # fmt: skip

    ramp, order = _shortest(proposal, _foreseen(proposal, used.steps, foreseen), delta, certified)
    delays = schedule(used.steps, batch, len(chances) - 1, len(ramp), late)
    plan = Plan(
        cls.digest, cls.dimension, task.epsilon, task.delta, used.mode, used.steps, batch, eta, proposal.alpha,
        order, chances, delays, Chances(ramp), task.beta, late, combination, crossover(task, shares),
    )  # fmt: skip
    plan.certify(cls)
    return plan


def _shortest(
    proposal: Proposal,
    from_here: tuple[float, float],
    delta: float,
    certified: Callable[[Levels], Certificate],
) -> tuple[Levels, float]:
    """Return about the shortest ramp of N Mirrors that keeps δ, and the order that certifies it.

    By secants over the logarithm of the price, from where it is foreseen, with the slope there: long ramps take a
    second each.
    """
    start, slope = from_here
    at = start
    low, high = start - _WIDEST, start + _WIDEST
    best: tuple[Levels, float] | None = None
    last: tuple[float, float] | None = None
    length, least = 0.0, 1.0
    for tried in range(_MOST_RAMPS):
        price = math.exp(at) / 2.0
        length = shape(proposal.first, proposal.order, price).length
        if length > _MOST_STRETCH * LONGEST_RAMP:
            break  # it would not fit into memory
        ramp = levels(proposal.first, proposal.order, price)
        found = certified(ramp)
        over, least = math.log(found.delta / delta), min(least, found.delta)
        if over <= 0.0:
            high, best = at, (ramp, found.order)
        else:
            low = at
        room = max(_ROOM, 0.5 / len(ramp))  # of the price's logarithm: a quarter of a round
        if high - low <= room or -slope * room >= -over >= 0.0:
            break
        if last is not None and last[0] != at:
            slope = min(max((over - last[1]) / (at - last[0]), 4.0 * slope), slope / 4.0)
        last = at, over
        at += room / 4.0 - over / slope
        if not low < at < high or tried > _SECANTS:
            at = (low + high) / 2.0
    if best is None:
        raise _NoRampError(
            f"no ramp of up to {LONGEST_RAMP:,} rounds was found that keeps delta = {delta:.3g} of candidate "
            f"replacement: the last that was tried has {length:,.0f} rounds, and the least delta of any is {least:.3g}"
        )
    return best


def _foreseen(proposal: Proposal, steps: int, over: Callable[[float], float]) -> tuple[float, float]:
    """Return about the logarithm of the price whose ramp just keeps δ, and about by how much ln δ changes with it."""
    start = at = math.log(proposal.price)
    slope = _slope(proposal, steps)
    for _ in range(_SECANTS):
        here = over(math.exp(at))
        slope = min((over(math.exp(at + _NUDGE)) - here) / _NUDGE, -1e-3)
        step = min(max(-here / slope, -_STRIDE), _STRIDE)
        at += step
        if abs(step) < _ROOM:
            return at, slope
    return start, _slope(proposal, steps)  # it does not settle: rounding to whole units decides


def _slope(proposal: Proposal, steps: int) -> float:
    """Return about by how much ln δ changes with ln price: as all Mirrors' log-moments do."""
    spent = [
        shape(proposal.first, proposal.order, proposal.price * change / 2.0).cost for change in (1.0, 1.01)
    ]
    return min(steps * (spent[1] - spent[0]) / math.log(1.01), -1e-3)


def _least_eta(task: Task, proposal: Proposal) -> float:
    """Return the smallest η, about, whose batches are no larger than the proposal's: it costs the least privacy."""
    excess = task.scheme.excess_delta(proposal.eta, proposal.batch)
    low, high = proposal.eta * 0.97, proposal.eta
    for _ in range(20):
        middle = (low + high) / 2.0
        fits = batch_of(task, max(middle, 1e-4), excess * (1 + 1e-9)) <= proposal.batch
        low, high = (low, middle) if fits else (middle, high)
    return max(high, 1e-4)
