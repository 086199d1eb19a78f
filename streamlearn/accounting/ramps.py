"""Ramps: probabilities that rise from nearly 0 to nearly 1 so slowly that one step more or less can hardly be told."""

from __future__ import annotations

import math

import numpy as np

from streamlearn.priors.base import Floats


def build(first: float, growth: float, step: float) -> Floats:
    """Return a symmetric ramp: geometric at its ends, a quarter of a sine wave squared in the middle.

    With θ = arcsin √p, θ rises by at most ``step`` a round and p by at most the factor e^growth; the upper half
    mirrors the lower one, p_{L+1-j} = 1 - p_j.

    Parameters
    ----------
    first
        p_1, in (0, 1/2).
    growth
        The most that log p rises a round, above 0.
    step
        The most that θ rises a round, above 0; radians.

    Returns
    -------
    array of shape (L,)
        p_1..p_L, increasing.

    Examples
    --------
    >>> from streamlearn.accounting import ramps
    >>> ramp = ramps.build(0.1, 1.0, 0.3)
    >>> ramp.round(3).tolist()
    [0.1, 0.272, 0.5, 0.728, 0.9]
    """
    lower = [math.asin(math.sqrt(first))]
    while True:
        rise = math.exp(growth / 2) * math.sin(lower[-1])
        higher = math.asin(rise) if rise < 1.0 else math.inf
        if higher - lower[-1] >= step or higher >= math.pi / 4:
            break
        lower.append(higher)
    below = np.array(lower)
    width = math.pi / 2 - 2.0 * lower[-1]
    parts = max(1, math.ceil(width / step - 1e-12))
    middle = lower[-1] + width * np.arange(1, parts) / parts
    return np.asarray(np.sin(np.concatenate([below, middle, (math.pi / 2 - below)[::-1]])) ** 2)
