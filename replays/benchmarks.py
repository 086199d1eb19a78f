"""What others could reach on the same priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from streamlearn import maximum, recursion
from streamlearn.priors import as_priors


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
    laws = as_priors(priors)
    return recursion.solve(laws, [math.inf] * len(laws)).values[0]
