"""Backward induction: the value of continuing at every stage (stopping paper, Theorem 4.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from streamlearn.channels import Case
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats

TIE = 1.0 + 2.0**-50
"""Asking must gain more than four units in the last place: below that it is rounding, and a tie asks nobody."""


class Solution(NamedTuple):
    """The optimal plan of a stopping problem.

    Attributes
    ----------
    values
        W_1 .. W_{n+1}, length n + 1, in the unit of the priors; the last is 0.
    cases
        What to do with the person of each stage, length n.
    """

    values: list[float]
    cases: list[Case]


def truth_probability(epsilon: float) -> float:
    """Return p = 1/(1 + e^(-ε)), with which randomized response tells the truth.

    Examples
    --------
    >>> from streamlearn.recursion import truth_probability
    >>> truth_probability(0.0), truth_probability(float("inf"))
    (0.5, 1.0)
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def solve(priors: Sequence[Prior], epsilons: Sequence[float]) -> Solution:
    """Return the value of every stage and what to do there.

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilons
        Their privacy levels, length n, 0 <= ε <= ∞.

    Notes
    -----
    With w = W_{i+1} and p = 1/(1 + e^(-ε_i)), randomized response on x >= w is worth
    E φ(X_i, w) = p·E max(X_i, w) + (1-p)·E min(X_i, w) = p·w + (1-p)·μ_i + (2p-1)·S_i(w), and
    W_i = max(μ_i, w, E φ) (equations 13 and 16). No term overflows, whatever ε. Once w repeats within a
    run of one law at one ε it repeats for good, so the rest of the run is filled in.

    Examples
    --------
    >>> from streamlearn.priors import Uniform
    >>> from streamlearn.recursion import solve
    >>> solution = solve([Uniform(0.0, 1.0)] * 3, [1.0] * 3)
    >>> [round(value, 6) for value in solution.values]
    [0.587418, 0.557765, 0.5, 0.0]
    >>> solution.cases
    ['ask', 'ask', 'accept']
    """
    truths = {epsilon: truth_probability(epsilon) for epsilon in set(epsilons)}
    w = 0.0
    values = [w]
    cases: list[Case] = []
    stage = len(priors) - 1
    while stage >= 0:
        prior = priors[stage]
        epsilon = epsilons[stage]
        mean = prior.mean
        p = truths[epsilon]
        asking = p * w + (1.0 - p) * mean + (2.0 * p - 1.0) * prior.stop_loss(w)
        case: Case
        if mean > w:
            case, value = "accept", mean
        else:
            case, value = "skip", w
        if asking > value * TIE:
            case, value = "ask", asking
        if value == w:
            repeats = _run(priors, epsilons, stage)
            values.extend([value] * repeats)
            cases.extend([case] * repeats)
            stage -= repeats
            continue
        values.append(value)
        cases.append(case)
        w = value
        stage -= 1
    values.reverse()
    cases.reverse()
    return Solution(values, cases)


def _run(priors: Sequence[Prior], epsilons: Sequence[float], stage: int) -> int:
    """Return how many stages ending at ``stage`` share its law and its ε."""
    first = stage
    while first > 0 and priors[first - 1] is priors[stage] and epsilons[first - 1] == epsilons[stage]:
        first -= 1
    return stage - first + 1


def solve_grid(priors: Sequence[Prior], epsilons: Sequence[float]) -> Floats:
    """Return the stage values for many privacy levels at once, each shared by everybody.

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilons
        The grid of privacy levels, length k.

    Returns
    -------
    ndarray, shape (n + 1, k)
        Row i holds W_{i+1} for every level; the last row is 0.

    Notes
    -----
    The values are those of :func:`solve` up to the rounding of the last place.

    Examples
    --------
    >>> from streamlearn.priors import Uniform
    >>> from streamlearn.recursion import solve_grid
    >>> solve_grid([Uniform(0.0, 1.0)] * 2, [0.0, 1.0])[0].round(6).tolist()
    [0.5, 0.557765]
    """
    order = np.argsort(epsilons, kind="stable")
    p = 1.0 / (1.0 + np.exp(-np.asarray(epsilons, dtype=np.float64)[order]))
    q = 1.0 - p
    gain = p - q
    values = np.zeros((len(priors) + 1, p.size))
    lies = {id(prior): q * prior.mean for prior in priors}  # (1-p)·μ of each law
    stage = len(priors)
    while stage > 0:
        stage -= 1
        prior = priors[stage]
        w, value = values[stage + 1], values[stage]
        if w[0] >= prior.upper:  # and so are all, since values grow with ε: nobody here is worth taking
            value[:] = w
            continue
        excess = prior.stop_losses(w)
        excess *= gain
        excess += lies[id(prior)]
        np.multiply(p, w, out=value)
        value += excess
        np.maximum(value, w, out=value)
        if w[0] < prior.mean:
            np.maximum(value, prior.mean, out=value)
        if stage and priors[stage - 1] is prior and np.array_equal(value, w):
            while stage and priors[stage - 1] is prior:  # a run of one law, whose values repeat
                stage -= 1
                values[stage] = value
    if np.array_equal(order, np.arange(order.size)):
        return values
    columns = np.empty_like(order)
    columns[order] = np.arange(order.size)
    return values[:, columns]
