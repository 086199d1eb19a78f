"""Families of instances on which the competitive ratios of the stopping paper tend to their worst values.

==================  ==================  ===========================================
family              as it tends to 0    ratio that tends to its worst value
==================  ==================  ===========================================
:func:`long_shot`   a                   V/M, to 1/2
:func:`prop53`      q                   W/V (Theorem 5.1, Corollary 5.5)
:func:`prop56`      q                   W/M (Proposition 5.6, closed by us)
:func:`theorem63`   a                   W/L and W/B (Theorem 6.3)
==================  ==================  ===========================================

W = 1 on all of them but for rounding in the last places. Proofs: ``streamlearn/bounds/ratios.proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from streamlearn.bounds.arguments import real
from streamlearn.bounds.ratios import Levels, entries, levels, persons
from streamlearn.priors import Discrete, PointMass, Prior

LEAST: Final = 1e-150
"""The smallest parameter of a family: 1/q² must fit a double."""


def long_shot(n: int, a: float) -> list[Prior]:
    """Return (1; 1/a with probability a, else 0; 0; 0; ...): V = 1 and M = 2 - a.

    Parameters
    ----------
    n
        Persons, at least 2.
    a
        1e-150 <= a <= 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks, synthetic
    >>> priors = synthetic.long_shot(2, 0.25)
    >>> benchmarks.online(priors), benchmarks.prophet(priors)
    (1.0, 1.75)
    """
    return _long_shot_at(1, persons(n, least=2), a)


def prop53(n: int, epsilon: Levels, q: float) -> list[Prior]:
    """Return Proposition 5.3's instance: n - 1 persons with 1 + x_i(1 - q)/q with probability q, else 0; then 1.

    With x_i = e^(-ε_i), asking ties with going on at every stage, so W = 1. V tends to 1 + Σ_{i<n} x_i as q -> 0.

    Parameters
    ----------
    n
        Persons.
    epsilon
        The privacy level of everybody, or one per person (Corollary 5.5); 0 <= ε <= ∞.
    q
        1e-150 <= q <= 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks, synthetic
    >>> priors = synthetic.prop53(10, 0.0, 1e-6)
    >>> priors[-1], round(benchmarks.online(priors), 4)
    (PointMass(1.0), 10.0)
    """
    count = persons(n)
    chance = _parameter("q", q)
    return [*_ties(levels(count, epsilon)[:-1], chance), PointMass(1.0)]


def prop56(n: int, epsilon: Levels, q: float) -> list[Prior]:
    """Return Proposition 5.6's instance: one 1, n - 2 persons of :func:`prop53`, then 1/q² with probability q², else 0.

    The 1 stands at the largest ε_i, i < n (ours; the first of equals, so with one ε it is person 1, as in the paper).
    W = 1, and M tends to 2 + Σ_{i<n} x_i - min_{i<n} x_i as q -> 0.

    Parameters
    ----------
    n
        Persons, at least 2.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.
    q
        1e-150 <= q <= 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks, synthetic
    >>> priors = synthetic.prop56(10, 0.0, 1e-6)
    >>> priors[0], round(benchmarks.prophet(priors), 4)
    (PointMass(1.0), 10.0)
    """
    count = persons(n, least=2)
    chance = _parameter("q", q)
    before_last = levels(count, epsilon)[:-1]
    instance = _ties(before_last, chance)
    instance[before_last.index(max(before_last))] = PointMass(1.0)
    return [*instance, _rare(chance * chance)]


def theorem63(epsilon: Levels, a: float) -> list[Prior]:
    """Return Theorem 6.3's instance (1; 1/a with probability a, else 0): W = 1, L = B = 2p - (2p - 1)a.

    p = 1/(1 + e^(-ε)), so W/L tends to (1 + e^(-ε))/2 as a -> 0. With one ε per person, as many persons: the long shot
    is the one of the largest ε_i, i > 1 (ours; the first of equals), and the others of i > 1 are 0.

    Parameters
    ----------
    epsilon
        The privacy level of two persons, or one per person, at least two; 0 <= ε <= ∞.
    a
        1e-150 <= a <= 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.replays import synthetic
    >>> synthetic.theorem63(1.0, 0.25)
    [PointMass(1.0), Discrete([0.0, 4.0], [0.75, 0.25])]
    >>> synthetic.theorem63([1.0, 0.5, 2.0], 0.25)[1:]
    [PointMass(0.0), Discrete([0.0, 4.0], [0.75, 0.25])]
    """
    listed = entries(epsilon)
    count = persons(2 if listed is None else listed, least=2)
    after_first = levels(count, epsilon)[1:]
    return _long_shot_at(1 + after_first.index(max(after_first)), count, a)


def _long_shot_at(place: int, n: int, a: float) -> list[Prior]:
    """Return 1 and then zeros, but for the long shot at index ``place`` >= 1."""
    chance = _parameter("a", a)
    nothing = PointMass(0.0)
    instance: list[Prior] = [PointMass(1.0), *[nothing] * (n - 1)]
    instance[place] = _rare(chance)
    return instance


def _ties(epsilons: Sequence[float], q: float) -> list[Prior]:
    """Return laws for which E φ(X, 1) = 1: asking whether X >= 1 gains nothing over going on with 1."""
    laws = {
        epsilon: Discrete([0.0, 1.0 + math.exp(-epsilon) * (1.0 - q) / q], [1.0 - q, q])
        for epsilon in set(epsilons)
    }
    return [laws[epsilon] for epsilon in epsilons]


def _rare(chance: float) -> Prior:
    """Return the law of 1/chance with that probability, else 0; its mean is 1."""
    return Discrete([0.0, 1.0 / chance], [1.0 - chance, chance])


def _parameter(name: str, value: float) -> float:
    return real(name, value, LEAST, 1.0, "the worst case is its limit at 0; take 1e-6, say")
