"""The exact law of any plan's outcome: the oracle for every simulated or replayed figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from streamlearn.channels import OUT_OF, Channel
from streamlearn.errors import ParameterError
from streamlearn.plans import ReportingPlan
from streamlearn.priors import Prior
from streamlearn.priors.base import Floats


class PolicyValue(msgspec.Struct, frozen=True):
    """What a plan yields when values follow the priors and the first report of 1 is taken.

    Parameters
    ----------
    mean, variance
        Of the true value taken (0 when nobody is); the variance is ``math.inf`` where it is infinite.
    mean_stop
        Expected number of people who arrive: the stopping time, where taking nobody counts as n.
    mean_asked
        Expected number of people who are really asked, at an ε above 0 or not.
    stop_law
        P(the person of round i is taken) for i = 1..n, then P(nobody is taken); length n + 1.

    Examples
    --------
    >>> from streamlearn.agents import OptimalStopper
    >>> from streamlearn.replays import evaluate_policy
    >>> exact = evaluate_policy(OptimalStopper([1.0, 2.0]), [1.0, 2.0])
    >>> exact.mean, exact.variance, exact.stop_law.tolist()
    (2.0, 0.0, [0.0, 1.0, 0.0])
    """

    mean: float
    variance: float
    mean_stop: float
    mean_asked: float
    stop_law: Floats


class _Moments(NamedTuple):
    """P(bit 1) and E[X; bit 1] of one stage."""

    taken: float
    value: float


def stage_moments(channel: Channel, prior: Prior) -> _Moments:
    """Return P(bit 1) and E[X; bit 1] of one stage.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.policy import stage_moments
    >>> from streamlearn.priors import PointMass
    >>> tuple(stage_moments(Channel.constant(1, bit=1), PointMass(2.0)))
    (1.0, 2.0)
    """
    t = channel.threshold
    low, at, high = channel.below / OUT_OF, channel.at / OUT_OF, channel.above / OUT_OF
    atom = prior.atom(t)
    taken = low + (at - low) * atom + (high - low) * prior.survival(t)
    value = low * prior.mean + (at - low) * t * atom + (high - low) * prior.mean_above(t)
    return _Moments(taken, value)


def _spread(channel: Channel, prior: Prior, centre: float) -> float:
    """Return E[(X - centre)²; bit 1] of one stage: about the mean, so that large values do not cancel."""
    t = channel.threshold
    low, at, high = channel.below / OUT_OF, channel.at / OUT_OF, channel.above / OUT_OF
    whole = prior.variance + (prior.mean - centre) * (prior.mean - centre)
    above = (
        prior.square_excess(t)
        + 2.0 * (t - centre) * prior.stop_loss(t)
        + (t - centre) * (t - centre) * prior.survival(t)
    )
    spread = (
        _weighted(low, whole)
        + _weighted((at - low) * prior.atom(t), (t - centre) * (t - centre))
        + _weighted(high - low, above)
    )
    return math.inf if math.isnan(spread) else spread  # ∞ - ∞: beyond 1e154 squares overflow


def _weighted(weight: float, moment: float) -> float:
    """Return the product, where nothing of an infinite moment is nothing."""
    return weight * moment if weight else 0.0


def reach(taken: Sequence[float]) -> Floats:
    """Return P(stage i is reached) = ∏_{j<i} (1 - taken_j), for i = 1..n + 1.

    Examples
    --------
    >>> from streamlearn.policy import reach
    >>> reach([0.5, 0.5]).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.concatenate([[1.0], np.cumprod(1.0 - np.asarray(taken))])


def evaluate(plan: ReportingPlan, priors: Sequence[Prior]) -> PolicyValue:
    """Return the exact outcome of ``plan`` under ``priors``.

    Parameters
    ----------
    plan
        The channels of stages 1..n; the first report of 1 is taken.
    priors
        The laws of persons 1..n, which need not be those the plan was made for.

    Raises
    ------
    ParameterError
        If there are not n priors.

    Notes
    -----
    With s_i = P(bit 1), m_i = E[X; bit 1] and R_i = ∏_{j<i}(1 - s_j): P(τ = i) = R_i s_i, the mean is
    m = Σ R_i m_i, and the variance Σ R_i E[(X - m)²; bit 1] + R_{n+1} m². The channel's own integers are used.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.plans import ReportingPlan
    >>> from streamlearn.policy import evaluate
    >>> from streamlearn.priors import PointMass
    >>> evaluate(ReportingPlan([Channel.constant(1, bit=1)]), [PointMass(2.0)]).mean
    2.0
    """
    if len(priors) != plan.horizon:
        raise ParameterError(
            f"there are {len(priors)} priors and the plan has {plan.horizon} stages; give one each"
        )
    moments = [stage_moments(channel, prior) for channel, prior in zip(plan, priors, strict=True)]
    reached = reach([stage.taken for stage in moments])
    mean = math.fsum(r * stage.value for r, stage in zip(reached, moments, strict=False))
    variance = math.fsum(
        _weighted(float(r), _spread(channel, prior, mean))
        for r, channel, prior in zip(reached, plan, priors, strict=False)
    )
    asked = math.fsum(r for r, channel in zip(reached, plan, strict=False) if channel.case == "ask")
    return PolicyValue(
        mean=mean,
        variance=variance + _weighted(float(reached[-1]), mean * mean),
        mean_stop=math.fsum(reached[:-1]),  # E[τ] = Σ_i P(τ >= i)
        mean_asked=asked,
        stop_law=np.append(reached[:-1] - reached[1:], reached[-1]),
    )
