"""How many mistakes suffice, and what others have shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from streamlearn.bounds.algorithm1 import EPSILON_0
from streamlearn.bounds.arguments import Amounts, each, privacy, real, rounds, whole
from streamlearn.errors import ParameterError

_A_DIMENSION = "it is a Littlestone dimension"


def soa_upper(d: Amounts) -> Any:
    """Return d, the most mistakes of the standard optimal algorithm on a realisable stream; it is not private.

    Parameters
    ----------
    d
        The class's Littlestone dimension.

    Raises
    ------
    ParameterError
        If d is not a whole number >= 0.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.soa_upper(3)
    3.0
    """
    return each(lambda d: float(whole("d", d, 0, _A_DIMENSION)), d)


def subsampled_soa_upper(d: Amounts, gamma: Amounts) -> Any:
    """Return d/γ, the most expected mistakes of SOA on examples retained with probability γ (Fact 5).

    On realisable streams of any length. It is (0, γ)-jointly private as a predictor, and (0, γ)-private as a learner
    that releases its hypotheses.

    Parameters
    ----------
    d
        The class's Littlestone dimension.
    gamma
        0 < γ <= 1.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.subsampled_soa_upper(1, [0.5, 1e-6]).tolist()
    [2.0, 1000000.0]
    """

    def rule(d: int, gamma: float) -> float:
        rate = real("gamma", gamma, 0.0, 1.0, "it is the chance of retaining an example")
        if rate == 0:
            raise ParameterError("gamma must lie in (0, 1], got 0; whoever retains nothing never learns")
        return whole("d", d, 0, _A_DIMENSION) / rate

    return each(rule, d, gamma)


def private_predictor_upper(B: Amounts, d: Amounts, D: Amounts) -> Any:  # noqa: N803 - the paper's letters
    """Return 3B + 12d + 2D, the most expected mistakes of Theorem 3's predictor on a realisable stream.

    Parameters
    ----------
    B
        What the candidate predictor exceeds with probability at most δ.
    d
        The class's Littlestone dimension: subsampled SOA at γ = δ/4 adds 3δ·4d/δ = 12d.
    D
        The head start of the rule that combines the two (Algorithm 4).

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> bounds.private_predictor_upper(3261, 1, 654)
    11103.0
    """

    def rule(B: float, d: int, D: float) -> float:  # noqa: N803 - as above
        candidate = real("B", B, 0.0, math.inf, "it counts mistakes")
        start = real("D", D, 0.0, math.inf, "it counts rounds")
        return 3 * candidate + 12 * whole("d", d, 0, _A_DIMENSION) + 2 * start

    return each(rule, B, d, D)


class Asked(NamedTuple):
    """What a quoted bound is evaluated at.

    Attributes
    ----------
    log_t, d, epsilon, log_inverse_delta
        log T, the Littlestone dimension, ε and log 1/δ.
    """

    log_t: float
    d: int
    epsilon: float
    log_inverse_delta: float


class Quoted(NamedTuple):
    """A bound the paper quotes without its constant.

    Parameters
    ----------
    claim
        What is claimed, of what.
    rate
        The claim without its constant.

    Examples
    --------
    >>> from streamlearn import bounds
    >>> print(bounds.QUOTED["GL21"].claim)
    upper, learning any class, d and privacy fixed: O(log T)
    """

    claim: str
    rate: Callable[[Asked], float]


QUOTED = {
    "LWY24": Quoted(
        "lower, learning POINT3: Ω(log min{T, ε/δ}), from Ω(log T) at δ <= ε/T on the first ⌊ε/δ⌋ rounds",
        lambda at: max(0.0, min(at.log_t, math.log(at.epsilon) + at.log_inverse_delta)),
    ),
    "GL21": Quoted("upper, learning any class, d and privacy fixed: O(log T)", lambda at: at.log_t),
    "LWY25": Quoted(
        "upper, learning POINT3 against an adaptive adversary, ε fixed: O(log(T/δ))",
        lambda at: at.log_t + at.log_inverse_delta,
    ),
    "Lyu26": Quoted(
        "upper, learning any class: Õ(d^9.5·log T·log(1/δ)/ε), which hides logarithms of these",
        lambda at: at.d**9.5 * at.log_t * at.log_inverse_delta / at.epsilon,
    ),
    "KMM23": Quoted(
        "upper, predicting any class: Õ(d²·ε^-2·log²(1/δ)·log²(T/β)), here with β = δ; hides logarithms of these",
        lambda at: (at.d * at.log_inverse_delta * (at.log_t + at.log_inverse_delta) / at.epsilon) ** 2,
    ),
    "CLN24": Quoted(
        "upper, predicting point functions: O(ε^-2·log²(1/δ)), whatever T",
        lambda at: (at.log_inverse_delta / at.epsilon) ** 2,
    ),
}
"""The bounds of others, under the paper's names for them."""


def quoted(
    name: str,
    T: Amounts,  # noqa: N803 - the paper's letter
    *,
    constant: float,
    d: Amounts = 1,
    epsilon: Amounts = EPSILON_0,
    delta: Amounts,
) -> Any:
    """Return a bound of others, with a constant of your own: theirs is not stated in the paper, hence not known here.

    Parameters
    ----------
    name
        A key of ``QUOTED``, which says what each claims.
    T
        Rounds.
    constant
        What to multiply the rate with. 1 shows the shape; no value is a promise.
    d
        The class's Littlestone dimension, where the bound depends on it.
    epsilon, delta
        The learner's privacy; ε > 0. At δ = 0 a bound in log 1/δ is infinite.

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
    >>> bounds.quoted("LWY24", 10**6, constant=1.0, delta=[0.0, 0.001]).round(2).tolist()
    [13.82, 2.3]
    """
    if name not in QUOTED:
        raise ParameterError(f"name must be one of {', '.join(QUOTED)}, got {name!r}")
    factor = real("constant", constant, 0.0, math.inf, "1 shows the shape")

    def rule(T: float, d: int, epsilon: float, delta: float) -> float:  # noqa: N803 - as above
        e, level = privacy(epsilon, delta)
        if e == 0:
            raise ParameterError("epsilon must be > 0, got 0; these bounds are stated for positive ε")
        log_inverse_delta = math.inf if level == 0 else -math.log(level)
        asked = Asked(math.log(rounds(T)), whole("d", d, 0, _A_DIMENSION), e, log_inverse_delta)
        return factor * QUOTED[name].rate(asked)

    return each(rule, T, d, epsilon, delta)
