"""The privacy of candidate replacement with given integers: computed, whatever found them.

Proof: ``plan.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from streamlearn.accounting import acceptance as steps
from streamlearn.accounting import moments
from streamlearn.priors.base import Floats
from streamlearn.rounding import OUT_OF
from streamlearn.selection import Scheme

ALL_ORDERS: Floats = np.geomspace(0.01, 30_000.0, 160)
"""Orders of log-moments that serve any plan."""

MOST_ORDER = 1e6
"""The largest order of a log-moment that is looked at."""

MOST_EXPONENT = 4e8
"""The most of z·ε·(64 + L/2^14): up to there ``moments.SLACK`` is above the rounding of the log-moments' sums."""

_UP = 1.0 + 1e-12


class Certificate(NamedTuple):
    """What certifies a δ.

    Parameters
    ----------
    delta
        δ.
    order
        z: this order of log-moments alone certifies it.
    """

    delta: float
    order: float


def most_order(epsilon: float, rounds: int) -> float:
    """Return the largest order whose log-moments are summed well enough, at most ``MOST_ORDER``.

    Parameters
    ----------
    epsilon
        ε ≥ 0, of candidate replacement or more.
    rounds
        L, of the ramp.

    Examples
    --------
    >>> from streamlearn.planning.certificate import most_order
    >>> most_order(1.0, 0), round(most_order(1.0, 25_000_000))
    (1000000.0, 251591)
    """
    each = epsilon * (64.0 + rounds / 2.0**14)
    return MOST_ORDER if MOST_ORDER * each <= MOST_EXPONENT else MOST_EXPONENT / each


def mass_apart(
    scheme: Scheme, alpha: float, acceptance: Sequence[int], ramp: Sequence[int] | moments.Levels
) -> float:
    """Return the probability that some acceptance or Mirror leaves what log-moments can bound.

    Parameters
    ----------
    scheme
        How candidates are selected; only N counts.
    alpha
        α of the acceptance.
    acceptance, ramp
        g_0..g_w and p_1..p_L out of 2^64.

    Returns
    -------
    float
        1 - ((1 - b)(1 - p_1))^N, b the least that makes the acceptance (α, b)-close; rounded up.
    """
    b = Fraction(min(_acceptance_mass(tuple(acceptance), alpha), OUT_OF), OUT_OF)
    p = Fraction(moments.mirror_mass(ramp), OUT_OF)
    if float(b) >= 1.0 or float(p) >= 1.0:
        return 1.0
    kept = scheme.steps * (math.log1p(-float(b)) + math.log1p(-float(p)))
    return min(1.0, -math.expm1(kept * _UP) * _UP)


@lru_cache(maxsize=4)
def _acceptance_mass(acceptance: tuple[int, ...], alpha: float) -> int:
    """Return ``acceptance.mass``; a search asks for one again and again, while only the ramp changes."""
    return steps.mass(acceptance, alpha)


def log_moments(
    scheme: Scheme, eta: float, alpha: float, ramp: Sequence[int] | moments.Levels, orders: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the log-moments of the selection, of all N acceptances and of all N Mirrors.

    Parameters
    ----------
    scheme, eta
        How candidates are selected.
    alpha
        α of the acceptance.
    ramp
        p_1..p_L out of 2^64.
    orders
        z; shape (orders,).

    Returns
    -------
    three arrays of shape (orders,)
    """
    n = scheme.steps
    selection = np.asarray(scheme.log_moment(orders, eta))
    return selection, n * moments.acceptance(orders, alpha), n * moments.mirror(orders, ramp)


def candidate_delta(
    scheme: Scheme,
    *,
    epsilon: float,
    eta: float,
    batch: int,
    alpha: float,
    acceptance: Sequence[int],
    ramp: Sequence[int] | moments.Levels,
    orders: Floats = ALL_ORDERS,
) -> Certificate:
    """Return a δ at which candidate replacement is (ε, δ)-jointly private, and the order that shows it.

    Parameters
    ----------
    scheme
        How candidates are selected, N of them.
    epsilon
        ε.
    eta, batch
        η and K of the selection.
    alpha
        Any α > 0; each gives a valid δ.
    acceptance, ramp
        g_0..g_w and p_1..p_L out of 2^64.
    orders
        Orders to look through; any give a valid δ, none above :func:`most_order` is used.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning.certificate import candidate_delta
    >>> from streamlearn.planning.shape import levels
    >>> from streamlearn.accounting import acceptance
    >>> from streamlearn.selection import scheme
    >>> found = candidate_delta(
    ...     scheme(Point3()), epsilon=1.0, eta=0.05, batch=300, alpha=0.05,
    ...     acceptance=acceptance.ramp(0.05, 1e-8), ramp=levels(1e-8, 30.0, 100.0),
    ... )
    >>> 1e-8 < found.delta < 1e-6
    True
    """
    apart = mass_apart(scheme, alpha, acceptance, ramp)
    orders = np.minimum(orders, most_order(epsilon, len(ramp)))
    together = sum(log_moments(scheme, eta, alpha, ramp, orders), np.zeros(len(orders)))
    rest, order = moments.best(together, orders, epsilon)
    delta = (apart + (1.0 - apart) * rest + scheme.excess_delta(eta, batch)) * _UP
    return Certificate(min(1.0, delta), order)
