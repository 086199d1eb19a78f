"""The search for the parameters of a plan with the fewest mistakes, over densities instead of whole rounds.

What it finds is only a proposal: :mod:`streamlearn.planning.certificate` computes the privacy of the rounded whole.
At one order z of log-moments everything adds up, so a single price of a unit of log-moment governs the batches, the
acceptance and the ramp; z, the masses apart and the split of (ε, δ) are what is left to be searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from streamlearn.accounting import moments
from streamlearn.planning.shape import shape
from streamlearn.selection import Scheme
from streamlearn.selection.exponential import LEAST_ETA

LEAST_EPSILON, MOST_EPSILON = 1e-3, 20.0
"""The levels that are searched for."""

LEAST_CHANCE = 2.0**-60
"""The least chance of what is apart."""

UNITS = 30.0
"""The most of an order for each unit out of 2^64 of the first chance."""

_FORBIDDEN = 1e300
_STARTS = ((0.1, 0.0), (0.4, 3.0))
"""Parts of δ for the ends of the ramps and for the acceptances, and ln of candidate replacement's over the rule's."""
_LEAST_PRICE, _MOST_PRICE = -5.0, 30.0  # logarithms
_PRICE = 8.0  # where the price is sought first
_SECANTS = 10  # steps before the root is sought by halving
_CLOSE = 1e-4  # of ln spent: near enough to what may be spent
_ALPHAS = np.geomspace(1e-6, 3.0, 600)


class Task(NamedTuple):
    """What a search is for.

    Parameters
    ----------
    scheme
        How candidates are selected.
    dimension
        The Littlestone dimension d.
    epsilon, delta
        The privacy of the whole.
    beta
        The failure probability of the candidates.
    max_delay
        P: labels come at most so many rounds late.
    """

    scheme: Scheme
    dimension: int
    epsilon: float
    delta: float
    beta: float
    max_delay: int = 0


class Shares(NamedTuple):
    """How the privacy of the whole is divided.

    Parameters
    ----------
    epsilon
        Candidate replacement's part of ε; the rest is the combining rule's.
    delta, gamma
        The parts of δ of candidate replacement and subsampled SOA; the rest is the combining rule's.
    """

    epsilon: float
    delta: float
    gamma: float


ALONE = Shares(1.0, 1.0, 0.0)
PAPER = Shares(0.5, 0.25, 0.25)


class Proposal(NamedTuple):
    """Parameters of candidate replacement.

    Parameters
    ----------
    order, price
        z, and rounds a unit of log-moment is worth.
    first, apart
        p_1 of the ramp, and b of the acceptance.
    eta, batch
        η and K of the selection.
    alpha
        α of the acceptance.
    bound
        About the B that follows.
    """

    order: float
    price: float
    first: float
    apart: float
    eta: float
    batch: int
    alpha: float
    bound: float


def propose(
    task: Task,
    shares: Shares,
    order: float,
    first: float,
    apart: float,
    excess: float,
    *,
    near: float = _PRICE,
    points: int = 60,
) -> Proposal | None:
    """Return the best parameters at one order, or None where there are none.

    Parameters
    ----------
    task, shares
        What is searched for, and candidate replacement's part of its privacy.
    order
        z > 0.
    first, apart, excess
        Parts of candidate replacement's δ, below 1 in sum, for the ends of the ramps, for the mass apart of the
        acceptances and for the selection's δ on top of its moments.
    near
        About the logarithm of the price.
    points
        Of the grid on which the ramp is thought of.
    """
    n, delta = task.scheme.steps, shares.delta * task.delta
    left = delta * (1.0 - first - apart - excess)
    if left <= 0.0:
        return None
    p, b = first * delta / n, apart * delta / n
    if not LEAST_CHANCE <= b < 0.4 or not least_first(order) <= p < 0.4:
        return None
    allowed = float(moments.allowance(order, shares.epsilon * task.epsilon, left))
    if allowed <= 0.0:
        return None
    costs, widths = moments.acceptance(order, _ALPHAS), _widths(b)

    def parts(log_price: float) -> tuple[float, Proposal]:
        price = math.exp(log_price)
        eta, batch = _selection(task, order, price, excess * delta)
        place = int(np.argmin(widths + price * costs))
        ramp = shape(p, order, price / 2.0, points)
        spent = float(task.scheme.log_moment(np.array([order]), eta)[0]) + n * (
            float(costs[place]) + ramp.cost
        )
        late = task.max_delay
        bound = batch + late - 1 + n * (2 * (batch + late) - 2 + widths[place] + ramp.length + late)
        return math.log(spent / allowed), Proposal(
            order, price, p, b, eta, batch, float(_ALPHAS[place]), float(bound)
        )

    return _priced(parts, near)


def least_first(order: float) -> float:
    """Return the least p_1: from it on chances rise by whole units, and none may be a loss the order makes much of."""
    return max(LEAST_CHANCE, order / UNITS * 2.0**-64)


def _priced(parts: Callable[[float], tuple[float, Proposal]], at: float) -> Proposal | None:
    """Return the proposal that spends what it may, by secants; at first ln spent falls half as fast as ln price rises.

    A step that leaves what is known to hold the root becomes a halving, as do all after many: where the spending
    jumps, secants creep.
    """
    low, high, slope = _LEAST_PRICE, _MOST_PRICE, -0.5
    kept: Proposal | None = None
    last: tuple[float, float] | None = None
    steps = 0
    while high - low > 0.01:
        steps += 1
        over, found = parts(at)
        if over <= 0.0:
            high, kept = at, found
        else:
            low = at
        if abs(over) < _CLOSE:
            return found
        if last is not None:
            slope = min(max((over - last[1]) / (at - last[0]), -2.0), -0.1)
        last = at, over
        at -= over / slope
        if steps > _SECANTS or not low < at < high:
            at = (low + high) / 2.0
    return kept


def search(task: Task, shares: Shares | None = None) -> tuple[Shares, Proposal] | None:
    """Return the best split and parameters found, however long their ramp; None where nothing keeps the privacy.

    Parameters
    ----------
    task
        What is searched for.
    shares
        The split; None to find that with the fewest expected mistakes.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - keeps the import of streamlearn fast

    stable = task.scheme.excess_delta(1.0, 2) > 0.0

    near = _PRICE

    def read(point: Sequence[float], points: int = 60) -> tuple[Shares, Proposal | None]:
        at = iter(point)
        order, first, apart = (math.exp(next(at)) for _ in range(3))
        excess = math.exp(next(at)) if stable else 0.0
        split = shares or _split(list(at))
        return split, propose(task, split, order, first, apart, excess, near=near, points=points)

    def worth(point: Sequence[float]) -> float:
        nonlocal near
        split, found = read(point)
        if found is None:
            return math.log(_FORBIDDEN)
        near = math.log(found.price)  # the next point is not far
        return math.log(found.bound if shares == ALONE else total(task, split, found.bound))

    order = usual_order(task, shares)
    starts = [
        [math.log(order), math.log(apart), math.log(apart)]
        + ([math.log(0.1)] if stable else [])
        + ([0.6, weight, -2.0] if shares is None else [])
        for apart, weight in _STARTS
    ]
    start = min(starts, key=lambda point: read(point)[1] is None)  # the first that is allowed
    best = start
    for exact, most in ((1e-4, 250), (3e-5, 120)):  # anew from where it stopped, along the axes again
        options = {"xtol": 0.03, "ftol": exact, "maxfev": most}
        best = minimize(worth, best, method="Powell", options=options).x.tolist()
    split, found = read(best, points=1000)
    return None if found is None else (split, found)


def length(found: Proposal) -> float:
    """Return about the rounds of the ramp of a proposal.

    Parameters
    ----------
    found
        The proposal.
    """
    return shape(found.first, found.order, found.price / 2.0).length


def usual_order(task: Task, shares: Shares | None) -> float:
    """Return about the order that will certify a plan.

    Parameters
    ----------
    task, shares
        As in :func:`search`.
    """
    usual = shares or PAPER
    return 1.4 * math.log(1.0 / (usual.delta * task.delta)) / (usual.epsilon * task.epsilon)


def total(task: Task, shares: Shares, bound: float) -> float:
    """Return the expected mistakes of the whole: 3(B + β·d·(1/γ + P)) + 2D + P.

    Parameters
    ----------
    task, shares
        What is searched for, and the split.
    bound
        B.
    """
    gamma = shares.gamma * task.delta
    rest = task.delta * (1.0 - shares.delta - shares.gamma)
    if gamma <= 0.0 or rest <= 0.0 or not 0.0 < shares.epsilon < 1.0:
        return _FORBIDDEN
    head_start = smooth_head_start((1.0 - shares.epsilon) * task.epsilon, rest, task.max_delay)
    failing = task.beta * task.dimension * (1.0 / gamma + task.max_delay)
    return 3.0 * (bound + failing) + 2.0 * head_start + task.max_delay


def smooth_head_start(epsilon: float, delta: float, max_delay: int) -> float:
    """Return about the least D of the combining rule: it gives away little more than a Gaussian with μ² = 8/D + 4P/D².

    Parameters
    ----------
    epsilon, delta, max_delay
        Of the rule alone.
    """
    low, high = math.log(1e-9), math.log(40.0)
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _gaussian_delta(math.exp(middle), epsilon) > delta else (middle, high)
    time = math.exp(2.0 * low)
    return (8.0 + math.sqrt(64.0 + 16.0 * time * max_delay)) / (2.0 * time)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    def above(x: float) -> float:
        return math.erfc(x / math.sqrt(2.0)) / 2.0

    return above(epsilon / mu - mu / 2.0) - math.exp(epsilon) * above(epsilon / mu + mu / 2.0)


def _split(point: Sequence[float]) -> Shares:
    """Return shares from three real numbers: ε by a logistic curve, δ by proportions to the combining rule's."""
    candidates, gamma = math.exp(min(point[1], 50.0)), math.exp(min(point[2], 50.0))
    whole = 1.0 + candidates + gamma
    return Shares(1.0 / (1.0 + math.exp(-max(-50.0, min(point[0], 50.0)))), candidates / whole, gamma / whole)


def _widths(b: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(2.0 / _ALPHAS * np.log1p(np.expm1(_ALPHAS) / (2.0 * b)))


def _selection(task: Task, order: float, price: float, excess: float) -> tuple[float, int]:
    """Return η and K where the batches' mistakes and the priced log-moment are least, by golden section over ln η.

    Of all η with that K it is about the least: it costs the least.
    """
    z, weight = np.array([order]), 2 * task.scheme.steps + 1

    def worth(log_eta: float) -> float:
        eta = math.exp(log_eta)
        cost = float(task.scheme.log_moment(z, eta)[0])
        return weight * batch_of(task, eta, excess) + price * cost

    low, high = math.log(LEAST_ETA), math.log(2.0)
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = worth(left), worth(right)
    for _ in range(16):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = worth(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = worth(right)
    eta = math.exp((low + high) / 2.0)
    batch = batch_of(task, eta, excess)
    # K falls like 1/η: a little less than K - 1 would need does not suffice for K.
    low, high = max(LEAST_ETA, eta * (1.0 - 1.5 / (batch + 1.0))), eta
    for _ in range(6):
        middle = (low + high) / 2.0
        low, high = (low, middle) if batch_of(task, middle, excess) <= batch else (middle, high)
    return high, batch


def batch_of(task: Task, eta: float, excess: float) -> int:
    """Return the smallest K that fails with probability β at most and whose excess δ is at most ``excess``.

    Parameters
    ----------
    task
        What is searched for.
    eta
        η.
    excess
        The δ that the selection may have on top of its moments.
    """
    least = task.scheme.batch(eta, task.beta)
    if task.scheme.excess_delta(eta, least) <= excess:
        return least
    low, high = least, 2 * least
    while task.scheme.excess_delta(eta, high) > excess:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if task.scheme.excess_delta(eta, middle) > excess else (low, middle)
    return high
