"""What others could reach on the same priors: with more knowledge, with less privacy, or with one channel for all.

Every benchmark takes the laws of persons 1..n as :func:`streamlearn.priors.as_priors` does; a private one also ε,
a number or one per person. In every instance static <= ldp_online <= binary_prophet <= private_prophet <=
interactive_prophet <= prophet, and ldp_online <= online <= prophet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streamlearn import maximum, onethreshold, recursion, rounding
from streamlearn.errors import ParameterError
from streamlearn.priors import Prior, as_priors
from streamlearn.prophets.value import CELLS, ProphetValue, interactive_value, prophet_value
from streamlearn.replays.ratios import ratios

__all__ = [
    "binary_prophet",
    "interactive_prophet",
    "ldp_online",
    "online",
    "private_prophet",
    "prophet",
    "ratios",
    "static",
]

Epsilon = float | Sequence[float]
"""The privacy level of everybody, or one per person; 0 <= ε <= ∞."""


def prophet(priors: Sequence[Any]) -> float:
    """Return M = E[max X_i]: what whoever sees all values before choosing gets.

    Parameters
    ----------
    priors
        The laws of persons 1..n.

    Raises
    ------
    PriorError
        If a prior cannot be used.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.replays import benchmarks
    >>> round(benchmarks.prophet([scipy.stats.uniform()] * 10), 12) == round(10 / 11, 12)
    True
    """
    return maximum.expected_max(as_priors(priors))


def online(priors: Sequence[Any]) -> float:
    """Return V: what the best online stopper without privacy gets (backward induction).

    Parameters
    ----------
    priors
        The laws of persons 1..n.

    Raises
    ------
    PriorError
        If a prior cannot be used.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.replays import benchmarks
    >>> round(benchmarks.online([scipy.stats.uniform()] * 10), 12)
    0.861098212206
    """
    return ldp_online(priors, math.inf)


def ldp_online(priors: Sequence[Any], epsilon: Epsilon) -> float:
    """Return W: what the best online stopper under local differential privacy gets (Theorem 4.4).

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilon
        ε, or one per person.

    Raises
    ------
    PriorError, ParameterError
        If a prior or a level cannot be used.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.replays import benchmarks
    >>> round(benchmarks.ldp_online([scipy.stats.uniform()] * 10, 1.0), 12)
    0.621897751356
    """
    return recursion.solve(*_instance(priors, epsilon)).values[0]


def static(priors: Sequence[Any], epsilon: Epsilon) -> float:
    """Return what the best stopper gets who asks everybody about one threshold, the best one found.

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilon
        ε, or one per person.

    Raises
    ------
    PriorError, ParameterError
        If a prior or a level cannot be used.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.replays import benchmarks
    >>> round(benchmarks.static([scipy.stats.uniform()] * 10, 5.0), 6)
    0.839863
    """
    laws, epsilons = _instance(priors, epsilon)
    return onethreshold.rule(laws, epsilons, onethreshold.best_threshold(laws, epsilons))[0]


def private_prophet(priors: Sequence[Any], epsilon: Epsilon, *, cells: int = CELLS) -> ProphetValue:
    """Return L: what a prophet gets who chooses every channel beforehand and sees all reports (Section 6).

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilon
        ε, or one per person.
    cells
        A law of more than 16 values is rounded to so many cells, 2 <= cells <= 64, below and above: the
        result says so, and its bounds hold for the law itself.

    Returns
    -------
    ProphetValue
        ``value`` is attained by ``channels``, ``upper_bound`` by nobody; ``status`` is "certified" where
        they are equal, else "bounded". All extreme channels are looked at where these are few: up to five values
        a person and 100,000 combinations.

    Raises
    ------
    PriorError, ParameterError
        If a prior, a level or the number of cells cannot be used.

    Examples
    --------
    >>> from streamlearn.priors import Discrete
    >>> from streamlearn.replays import benchmarks
    >>> values, probs = [[0, 1, 10], [0.5, 1, 2], [0, 3, 5]], [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.7, 0.2, 0.1]]
    >>> laws = [Discrete(*law) for law in zip(values, probs)]
    >>> best = benchmarks.private_prophet(laws, 4.0)
    >>> round(best.value, 12), best.status
    (2.688691645621, 'certified')
    """
    return prophet_value(*_instance(priors, epsilon), _check_cells(cells))


def binary_prophet(priors: Sequence[Any], epsilon: Epsilon, *, cells: int = CELLS) -> ProphetValue:
    """Return B: what such a prophet gets with one bit of each person (Remark 1): thresholds only.

    Parameters
    ----------
    priors, epsilon, cells
        As of :func:`private_prophet`.

    Raises
    ------
    PriorError, ParameterError
        As :func:`private_prophet`.

    Examples
    --------
    >>> from streamlearn.priors import Discrete
    >>> from streamlearn.replays import benchmarks
    >>> values, probs = [[0, 1, 10], [0.5, 1, 2], [0, 3, 5]], [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.7, 0.2, 0.1]]
    >>> laws = [Discrete(*law) for law in zip(values, probs)]
    >>> round(benchmarks.binary_prophet(laws, 4.0).value, 12)
    2.680327573338
    """
    return prophet_value(*_instance(priors, epsilon), _check_cells(cells), "binary")


def interactive_prophet(priors: Sequence[Any], epsilon: Epsilon, *, cells: int = CELLS) -> float:
    """Return an upper bound on a prophet who chooses each channel knowing the reports before it, and recalls anyone.

    Parameters
    ----------
    priors, epsilon, cells
        As of :func:`private_prophet`.

    Returns
    -------
    float
        No less than that prophet's value in this order of persons, and so no less than L.

    Raises
    ------
    PriorError, ParameterError
        As :func:`private_prophet`.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks
    >>> round(benchmarks.interactive_prophet([1.0, [0.0, 3.0]], 1.0), 6)
    1.596588
    """
    return interactive_value(*_instance(priors, epsilon), _check_cells(cells))


def _instance(priors: Sequence[Any], epsilon: Epsilon) -> tuple[list[Prior], list[float]]:
    laws = as_priors(priors)
    return laws, rounding.check_epsilons(epsilon, len(laws))


def _check_cells(cells: object) -> int:
    if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= 64:
        raise ParameterError(
            f"cells must be a whole number in [2, 64], got {cells!r}; 16 is the default, more take longer"
        )
    return cells
