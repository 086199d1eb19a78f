"""Hill's estimate of how slowly large values fall off."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from streamlearn.priors.base import Floats

MOST_RANKED: Final = 200
"""Largest values that it is made from, at most."""


def tail_index(largest: Floats, count: int) -> float:
    """Return Hill's estimate of the tail index α, P(X > x) ~ x^(-α), less one standard error.

    Parameters
    ----------
    largest
        The largest ones of ``count`` values >= 0, in increasing order: all of them, or the last 201.
    count
        How many values there are.

    Returns
    -------
    float
        NaN where nothing can be said, infinite where the largest are equal.

    Notes
    -----
    With x_0 the (k+1)-th largest, 1/α is the mean of log(x/x_0) over the k largest; its relative standard error
    is 1/√k. k = √count, at most 200.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.hill import tail_index
    >>> rng = np.random.default_rng(1)
    >>> heavy, light = np.sort(1 + rng.pareto(1.5, size=10_000)), np.sort(rng.uniform(size=10_000))
    >>> round(tail_index(heavy, 10_000), 1), round(tail_index(light[-201:], 10_000), 1)
    (1.4, 166.9)
    """
    k = min(math.isqrt(count), MOST_RANKED, len(largest) - 1)
    if k < 2 or largest[-k - 1] <= 0.0:
        return math.nan
    mean_log = float(np.mean(np.log(largest[-k:] / largest[-k - 1])))
    return math.inf if mean_log == 0.0 else (1.0 - 1.0 / math.sqrt(k)) / mean_log
