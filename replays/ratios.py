"""Competitive ratios: of one instance, and of the families that attain the worst of each ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from streamlearn import bounds, maximum, recursion
from streamlearn.bounds.arguments import whole
from streamlearn.bounds.ratios import Levels, levels
from streamlearn.errors import ParameterError
from streamlearn.priors import PointMass, Prior, as_priors
from streamlearn.replays.worstcases import long_shot, prop53, prop56, theorem63
from streamlearn.rounding import as_float, check_epsilons

PARAMETERS: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""Where the families are measured."""
MOST_PERSONS: Final = 100_000
"""The most persons of a measured family."""

_Family: TypeAlias = Callable[[int, Levels, float], list[Prior]]


class Ratio(msgspec.Struct, frozen=True):
    """One ratio of one instance, beside the worst there is for as many persons.

    Parameters
    ----------
    name
        ``"W/V"`` and so on; the letters are those of :mod:`streamlearn.bounds.ratios`.
    low, high
        The ratio lies between them; equal where it is exact, NaN where it is 0/0.
    bound
        The worst over all instances with as many persons and these privacy levels.
    source
        Who proved the bound.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks
    >>> first = benchmarks.ratios([1.0, 0.5], epsilon=1.0)[0]
    >>> first.name, first.low, first.high, first.bound
    ('V/M', 1.0, 1.0, 0.5)
    """

    name: str
    low: float
    high: float
    bound: float
    source: str


class WorstCase(msgspec.Struct, frozen=True):
    """One row of the ratio table: a bound, and the ratio on the family that tends to it.

    Parameters
    ----------
    name
        ``"W/V"`` and so on.
    bound
        The worst over all instances of n persons.
    source
        Who proved it.
    family
        The instances, as text; their parameter is q or a.
    parameters, measured
        The ratio for each parameter; where L or B is not certified, its lower end.

    Examples
    --------
    >>> from streamlearn.replays.ratios import worst_cases
    >>> row = worst_cases(3, epsilon=0.0, parameters=[0.5, 1e-9])[1]
    >>> row.name, row.family
    ('W/V', '2 × (1 + x(1 - q)/q w.p. q); 1')
    >>> row.bound, [round(ratio, 6) for ratio in row.measured]
    (0.3333333333333333, [0.571429, 0.333333])
    """

    name: str
    bound: float
    source: str
    family: str
    parameters: tuple[float, ...]
    measured: tuple[float, ...]


def ratios(priors: Sequence[Any], epsilon: Levels) -> list[Ratio]:
    """Return the ratios V/M, W/V, W/M, W/B and W/L of an instance beside their worst cases.

    Parameters
    ----------
    priors
        The laws of persons 1..n.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.

    Raises
    ------
    PriorError
        If a prior cannot be used.
    ParameterError
        If ε is negative, NaN, or a list of another length than the priors.

    Notes
    -----
    L and B are known up to :func:`~streamlearn.replays.benchmarks.private_prophet`'s certificate, so W/L and W/B are
    intervals, from W over the upper bound to W over what was attained.

    Examples
    --------
    >>> from streamlearn.replays import benchmarks, synthetic
    >>> for row in benchmarks.ratios(synthetic.theorem63(1.0, 0.01), epsilon=1.0):
    ...     print(row.name, round(row.low, 4), round(row.bound, 4), row.source)
    V/M 0.5025 0.5 Krengel and Sucheston
    W/V 1.0 0.7311 Theorem 5.1
    W/M 0.5025 0.5 ours, Proposition 5.6
    W/B 0.6861 0.6839 Remark 1
    W/L 0.6861 0.6839 Theorem 6.3
    """
    laws = as_priors(priors)
    check_epsilons(epsilon, len(laws))
    return [
        Ratio(rule.name, *rule.measure(laws, epsilon), rule.bound(len(laws), epsilon), rule.source(epsilon))
        for rule in _RULES
    ]


def worst_cases(n: int, epsilon: Levels, parameters: Sequence[float] = PARAMETERS) -> list[WorstCase]:
    """Return the ratio table for n persons: each bound, its family, and the ratio measured on it.

    Parameters
    ----------
    n
        Persons, at most 100,000.
    epsilon
        The privacy level of everybody, or one per person; 0 <= ε <= ∞.
    parameters
        The families' parameters, each 1e-150 to 1; the worst case is their limit at 0.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Notes
    -----
    Every instance is solved as a user's own would be; persons who are surely 0 are left out.

    Examples
    --------
    >>> from streamlearn.replays.ratios import worst_cases
    >>> for row in worst_cases(10, epsilon=1.0, parameters=[1e-8]):
    ...     print(row.name, round(row.bound, 6), round(row.measured[0], 6))
    V/M 0.5 0.5
    W/V 0.231969 0.231969
    W/M 0.202305 0.202305
    W/B 0.68394 0.68394
    W/L 0.68394 0.68394
    """
    count = whole("n", n, 1, "it is a number of persons")
    if count > MOST_PERSONS:
        raise ParameterError(
            f"n must be at most {MOST_PERSONS:,} to be measured; streamlearn.bounds takes any number"
        )
    levels(count, epsilon)
    rows = []
    for rule in _RULES:
        family = rule.family if count > 1 else _alone
        measured = [rule.measure(*_worth(family(count, epsilon, at), epsilon))[0] for at in parameters]
        described = rule.describe(count, epsilon) if count > 1 else "1"
        rows.append(
            WorstCase(
                rule.name,
                rule.bound(count, epsilon),
                rule.source(epsilon),
                described,
                tuple(parameters),
                tuple(measured),
            )
        )
    return rows


class _Rule(NamedTuple):
    """How one ratio is bounded, measured and attained."""

    name: str
    bound: Callable[[int, Levels], float]
    measure: Callable[[list[Prior], Levels], tuple[float, float]]
    family: _Family
    describe: Callable[[int, Levels], str]
    sources: tuple[str, str]
    """With one ε, and with one per person."""

    def source(self, epsilon: Levels) -> str:
        return self.sources[0 if as_float(epsilon) is not None else 1]


def _online(laws: list[Prior], epsilon: Levels) -> float:
    return recursion.solve(laws, check_epsilons(epsilon, len(laws))).values[0]


def _exactly(over: float, under: float) -> tuple[float, float]:
    ratio = over / under if under else math.nan
    return ratio, ratio


def _v_over_m(laws: list[Prior], _: Levels) -> tuple[float, float]:
    return _exactly(_online(laws, math.inf), maximum.expected_max(laws))


def _w_over_v(laws: list[Prior], epsilon: Levels) -> tuple[float, float]:
    return _exactly(_online(laws, epsilon), _online(laws, math.inf))


def _w_over_m(laws: list[Prior], epsilon: Levels) -> tuple[float, float]:
    return _exactly(_online(laws, epsilon), maximum.expected_max(laws))


def _w_over_prophet(name: str, laws: list[Prior], epsilon: Levels) -> tuple[float, float]:
    from streamlearn.replays import benchmarks  # noqa: PLC0415 - it offers this module's ratios

    prophet = getattr(benchmarks, name)(laws, epsilon)
    value = _online(laws, epsilon)
    low, high = _exactly(value, prophet.upper_bound)[0], _exactly(value, prophet.value)[0]
    return low, low if prophet.certified else high


def _worth(laws: list[Prior], epsilon: Levels) -> tuple[list[Prior], list[float]]:
    """Leave out who is surely 0: nobody gains by that person."""
    kept = [
        (law, level)
        for law, level in zip(laws, check_epsilons(epsilon, len(laws)), strict=True)
        if law.upper > 0.0
    ]
    return [law for law, _ in kept], [level for _, level in kept]


def _alone(n: int, epsilon: Levels, parameter: float) -> list[Prior]:  # noqa: ARG001 - every family alike
    return [PointMass(1.0)]


def _of_theorem63(n: int, epsilon: Levels, a: float) -> list[Prior]:  # noqa: ARG001 - two persons suffice
    return theorem63(epsilon, a)


def _place(n: int, epsilon: Levels, among: slice) -> int:
    """Return which of those persons has the largest ε, counted from 1; of equals the first."""
    every = levels(n, epsilon)
    return every.index(max(every[among]), among.start) + 1


def _describe53(n: int, epsilon: Levels) -> str:
    return f"{n - 1} × (1 + {_x(epsilon)}(1 - q)/q w.p. q); 1"


def _describe56(n: int, epsilon: Levels) -> str:
    rare = "1/q² w.p. q²"
    if n == 2:
        return f"1; {rare}"
    ties = f"{n - 2} × (1 + {_x(epsilon)}(1 - q)/q w.p. q)"
    place = _place(n, epsilon, slice(0, n - 1))
    return f"1; {ties}; {rare}" if place == 1 else f"{ties}; {rare}; with 1 as person {place}"


def _describe63(n: int, epsilon: Levels) -> str:
    place = _place(n, epsilon, slice(1, n))
    if n == 2:
        return "1; 1/a w.p. a"
    return "1; 1/a w.p. a; zeros" if place == 2 else f"1; zeros; 1/a w.p. a as person {place}"


def _x(epsilon: Levels) -> str:
    return "x" if as_float(epsilon) is not None else "x_i"


_RULES: Final = (
    _Rule(
        "V/M",
        lambda n, _: bounds.v_over_m(n),
        _v_over_m,
        lambda n, _, a: long_shot(n, a),
        lambda n, _: "1; 1/a w.p. a" if n == 2 else "1; 1/a w.p. a; zeros",
        ("Krengel and Sucheston", "Krengel and Sucheston"),
    ),
    _Rule("W/V", bounds.w_over_v, _w_over_v, prop53, _describe53, ("Theorem 5.1", "Corollary 5.5")),
    _Rule("W/M", bounds.w_over_m, _w_over_m, prop56, _describe56, ("ours, Proposition 5.6", "ours")),
    _Rule(
        "W/B",
        bounds.w_over_b,
        partial(_w_over_prophet, "binary_prophet"),
        _of_theorem63,
        _describe63,
        ("Remark 1", "ours"),
    ),
    _Rule(
        "W/L",
        bounds.w_over_l,
        partial(_w_over_prophet, "private_prophet"),
        _of_theorem63,
        _describe63,
        ("Theorem 6.3", "ours"),
    ),
)
