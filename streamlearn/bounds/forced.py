"""The most mistakes we can show privacy to force, on POINT3 and on any Littlestone class (Theorems 1 and 2).

Proof: ``forced.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamlearn.bounds.algorithm1 import EPSILON_0, MOST_DELTA, Leak, algorithm1_lower, stages
from streamlearn.bounds.arguments import (
    Amounts,
    Constants,
    check_constants,
    each,
    privacy,
    real,
    rounds,
    whole,
)
from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats

_LEAST_EPSILON = (
    2.0**-300
)  # stands for all below: less privacy forces no more mistakes, so what it gives holds
_DIRECT = 1 << 16  # terms summed one by one; the rest by a rule that never overestimates
_MIDPOINTS = 4096
_NEGLIGIBLE = 40.0  # terms below e^-40 are left out
_PROBABILITIES = (2.0 ** (-np.arange(241) / 8)).tolist()  # for p; a factor 1.09 apart costs at most 0.4 %


def group_delta(changed: Amounts, epsilon: float, delta: float) -> Any:
    """Return δ·Σ_{j<q} e^(jε), the δ of q changed examples (Fact 1).

    Examples
    --------
    >>> from streamlearn.bounds.forced import group_delta
    >>> float(group_delta(3, 0.0, 0.125))
    0.375
    """
    level = max(epsilon, _LEAST_EPSILON)
    return delta * np.expm1(changed * level) / math.expm1(level)


def repetition_lower(T: Amounts, *, epsilon: Amounts = EPSILON_0, delta: Amounts = 0.0) -> Any:  # noqa: N803
    """Return the mistakes forced by T rounds of one example (x, B), with B a fair bit and both labels possible at x.

    Σ_{j<T} ((1 - δ_j)/(1 + e^(jε)))⁺ with δ_j = δ·(e^(jε) - 1)/(e^ε - 1): after j copies the learner has to tell two
    streams apart that differ in j examples, and no test errs less (Fact 1). This is about ln 2/ε, and 1/(4δ) as ε
    vanishes: on streams of any real length more than Algorithm 1 gives.

    Parameters
    ----------
    T
        Rounds.
    epsilon, delta
        The learner's privacy: 0 <= ε <= 300, 0 <= δ <= 1.

    Returns
    -------
    float or array
        Beyond 65,536 terms the sum is rounded down, by less than 1e-5 of itself.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.repetition_lower(1), round(bounds.repetition_lower(10**6), 2)
    (0.5, 69.56)
    """

    def rule(T: float, epsilon: float, delta: float) -> float:  # noqa: N803 - the paper's letter
        return _repetition(rounds(T), *privacy(epsilon, delta))

    return each(rule, T, epsilon, delta)


def _repetition(count: int, epsilon: float, delta: float) -> float:
    level = max(epsilon, _LEAST_EPSILON)

    def wrong(copies: Floats) -> Floats:
        return np.asarray((1 - group_delta(copies, level, delta)) / (1 + np.exp(copies * level)))

    last = _NEGLIGIBLE / level
    if delta > 0:  # where δ_j reaches 1
        last = min(last, math.log1p(math.expm1(level) / delta) / level)
    terms = min(count, math.floor(last) + 1)
    direct = np.sum(np.maximum(wrong(np.arange(min(terms, _DIRECT), dtype=np.float64)), 0.0))
    if terms <= _DIRECT:
        return float(direct)
    # The terms are convex in j: their sum is at least the integral and half the difference of its ends, and the
    # midpoint rule is at most the integral.
    width = (terms - 1 - _DIRECT) / _MIDPOINTS
    middles: Floats = _DIRECT + width * np.arange(0.5, _MIDPOINTS)
    ends = wrong(np.array([_DIRECT, terms - 1.0]))
    return float(direct + width * wrong(middles).sum() + (ends[0] - ends[1]) / 2)


def point3_lower(
    T: Amounts,  # noqa: N803 - the paper's letter
    *,
    epsilon: Amounts = EPSILON_0,
    delta: Amounts = 0.0,
    constants: Constants = "tight",
) -> Any:
    """Return expected mistakes that every private online learner of POINT3 makes on some stream (Theorem 1).

    Parameters
    ----------
    T
        Rounds.
    epsilon, delta
        The learner's privacy.
    constants
        ``"paper"``: :func:`algorithm1_lower` with the paper's p and constants, for ε <= 1/100 and δ <= 1/4.
        ``"tight"``: the most of :func:`repetition_lower`, :func:`algorithm1_lower` over p, and the same with ⌊0.01/ε⌋
        copies of each example (Lemma 5); for every ε and δ.

    Returns
    -------
    float or array
        With tight constants never decreasing in T; the paper's p depends on T, and so does what its sum gives.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> [round(bounds.point3_lower(3**L), 1) for L in (1, 6, 1500)]
    [1.5, 69.5, 79.4]
    """
    check_constants(constants)

    def rule(T: float, epsilon: float, delta: float) -> float:  # noqa: N803 - as above
        if constants == "paper":
            return float(algorithm1_lower(T, epsilon=epsilon, delta=delta, constants="paper"))
        return _hardest(rounds(T), *privacy(epsilon, delta))

    return each(rule, T, epsilon, delta)


def _hardest(count: int, epsilon: float, delta: float) -> float:
    copies = math.floor(EPSILON_0 / max(epsilon, EPSILON_0 / _DIRECT))
    placed = (_copied(count, q, epsilon, delta) for q in {1, max(1, copies)})
    return max(_repetition(count, epsilon, delta), *placed)


def _copied(count: int, copies: int, epsilon: float, delta: float) -> float:
    """Lemma 5: each round of Algorithm 1 becomes a block of 32q, its example q copies from a random place on."""
    length = count if copies == 1 else count // (32 * copies)
    spent = float(group_delta(copies, epsilon, delta))
    if length == 0 or spent > 1:
        return 0.0
    leak = Leak.of(copies * epsilon, spent, "tight")
    before = np.arange(copies, dtype=np.float64)
    # The copy after j others errs as often as the first, but for its moving by j places of 16q and j changed examples.
    cost = before / (16 * copies) + group_delta(before, epsilon, delta)
    kept = np.exp(-before * epsilon)
    levels = stages(length)

    def forced(p: float) -> float:
        informative = p * levels / 3 if levels else 1.0
        return float(np.maximum(kept * (leak.mistakes(levels, p) - informative * cost), 0.0).sum())

    return max(map(forced, _PROBABILITIES))


def littlestone_lower(
    T: Amounts,  # noqa: N803 - the paper's letter
    d: Amounts,
    *,
    epsilon: Amounts = EPSILON_0,
    delta: Amounts = 0.0,
    constants: Constants = "tight",
) -> Any:
    """Return expected mistakes that every private online learner of a Littlestone class makes on some stream.

    Theorem 2: the root's zero edge gives the dummy example, the other d - 1 nodes of a path down a shattered tree
    get a phase of ⌊T/(d-1)⌋ rounds each, and the mistakes of the phases add up.

    Parameters
    ----------
    T
        Rounds.
    d
        The class's Littlestone dimension.
    epsilon, delta
        The learner's privacy.
    constants
        ``"paper"``: Lemma 5 for each phase, with its own cases and constants, for d >= 2, 0 < ε <= 1 and
        δ <= min(ε², 1/4). ``"tight"``: the larger of the phases' tight bounds (as for :func:`point3_lower`)
        and of :func:`repetition_lower` at d nodes that share the T rounds evenly, which needs no dummy; for
        every d, ε and δ.

    Returns
    -------
    float or array

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> round(bounds.littlestone_lower(10**6, 3, epsilon=1.0), 3), bounds.littlestone_lower(2, 3)
    (2.892, 1.0)
    """
    check_constants(constants)

    def rule(T: float, d: int, epsilon: float, delta: float) -> float:  # noqa: N803 - as above
        if constants == "paper":
            return _theorem2(
                rounds(T), whole("d", d, 2, "Theorem 2 spends the root on its dummy"), epsilon, delta
            )
        count, nodes = rounds(T), whole("d", d, 0, "it is a Littlestone dimension")
        level = privacy(epsilon, delta)
        phases = min(nodes - 1, count)
        placed = phases * _hardest(count // phases, *level) if phases > 0 else 0.0
        return max(placed, _shared(count, min(nodes, count), *level))

    return each(rule, T, d, epsilon, delta)


def _shared(count: int, nodes: int, epsilon: float, delta: float) -> float:
    """Return what repetition forces at some nodes that share the rounds evenly."""
    if nodes == 0:
        return 0.0
    each, more = divmod(count, nodes)
    once = _repetition(each, epsilon, delta)
    return (nodes - more) * once + (more * _repetition(each + 1, epsilon, delta) if more else 0.0)


def _theorem2(count: int, d: int, epsilon: object, delta: object) -> float:
    remedy = 'use constants="tight" beyond'
    e = real("epsilon", epsilon, 0.0, 1.0, remedy)
    if e == 0:
        raise ParameterError(f"epsilon must lie in (0, 1], got 0; {remedy}")
    level = real("delta", delta, 0.0, min(e * e, MOST_DELTA), remedy)
    phases = min(d - 1, count)
    return phases * _lemma5(count // phases, e, level)


def _lemma5(count: int, epsilon: float, delta: float) -> float:
    """Lemma 5 as printed: mistakes forced by one dummy example and one informative one."""
    if epsilon > EPSILON_0:  # each example reaches the learner with probability r
        r = math.expm1(EPSILON_0) / math.expm1(epsilon)
        return r * _lemma4(count, r * delta) / 4
    if count * epsilon < 1:
        return count / 8
    copies = math.floor(EPSILON_0 / epsilon)
    return copies * _lemma4(count // (32 * copies), float(group_delta(copies, epsilon, delta))) / 5


def _lemma4(count: int, delta: float) -> float:
    """Return μ, the expected number of informative examples; at least a quarter of them are mistakes (Lemma 4)."""
    levels = stages(count)
    return levels * Leak.of(EPSILON_0, delta, "paper").probability(levels) / 3 if levels else 1.0
