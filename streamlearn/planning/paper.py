"""The paper's own constants, in logarithms: no plan of theirs can run, and this says by how much."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, NoReturn

from streamlearn.errors import SizeError
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.planning.arguments import real
from streamlearn.planning.asking import check_target

_LN10, _LN2 = math.log(10.0), math.log(2.0)


@dataclasses.dataclass(frozen=True)
class PaperPlan:
    """The figures of Theorem 3 as the paper states them; logarithms to base 10, since most hold in no double.

    Parameters
    ----------
    class_digest, dimension, epsilon, delta
        The class, d, and the privacy of the whole.
    log_candidates, log_batch, log_first_delay
        Of N, K and D_0.
    log_mistake_bound
        Of B = K + 2·9^N·D_0; infinite where the logarithm itself holds in no double.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import paper_plan
    >>> plan = paper_plan(Point3(), 1.0, 1e-6)
    >>> plan.candidates, f"{plan.batch:.0e}", round(plan.log_mistake_bound)
    (1026, '3e+10', 990)
    """

    class_digest: str
    dimension: int
    epsilon: float
    delta: float
    log_candidates: float
    log_batch: float
    log_first_delay: float
    log_mistake_bound: float

    @property
    def kind(self) -> Literal["paper"]:
        """Which constants."""
        return "paper"

    @property
    def candidates(self) -> int | float:
        """N, exact where a double is; infinite where it overflows."""
        value = _power(self.log_candidates)
        return round(value) if value < 2**53 else value

    @property
    def batch(self) -> float:
        """K; infinite where it overflows."""
        return _power(self.log_batch)

    @property
    def mistake_bound(self) -> float:
        """B; infinite where it overflows."""
        return _power(self.log_mistake_bound)

    def explain(self) -> str:
        """Return the figures with their formulas, as text."""
        return "\n".join(
            [
                (
                    f'plan "paper" for {self.class_digest} (Littlestone dimension {self.dimension}), '
                    f"ε = {self.epsilon:g}, δ = {self.delta:g}; hidden constants as given, default 1"
                ),
                f"  N = 2(d+1)s + 2 = {_text(self.log_candidates)} candidates; s = (2^d n)^d 2^(d²), n = C0(d+1)^6",
                f"  K = 2kn = {_text(self.log_batch)}, k = C1 N²(n + (4/ε) ln(3200 N n/(εδβ))), β = δ",
                f"  D_0 = CD(K + (N²/ε²) ln²(32N/δ)) = {_text(self.log_first_delay)}, D_j = 9^j D_0",
                f"  B = K + 2·9^N·D_0 = {_text(self.log_mistake_bound)} mistakes",
            ]
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures by their names; None for what holds in no double."""
        found = {"kind": self.kind} | dataclasses.asdict(self)
        return {name: None if value == math.inf else value for name, value in found.items()}

    def refuse(self) -> NoReturn:
        """Say that this plan cannot run.

        Raises
        ------
        SizeError
            Always, with the number.
        """
        raise SizeError(
            f"the paper's own plan cannot run: it promises at most {_text(self.log_mistake_bound)} mistakes, with "
            f"{_text(self.log_candidates)} candidates and batches of {_text(self.log_batch)}; private_plan and "
            'candidate_plan make one that can, and Plan.explicit(mode="paper") runs its algorithm with your own numbers'
        )


def paper_plan(
    cls: HypothesisClass,
    epsilon: float,
    delta: float,
    *,
    sample_constant: float = 1.0,
    group_constant: float = 1.0,
    delay_constant: float = 1.0,
) -> PaperPlan:
    """Return the paper's own parameters for Theorem 3 (Section 7, before Algorithm 2, and its equation 11).

    Parameters
    ----------
    cls
        The class.
    epsilon, delta
        The privacy of the whole.
    sample_constant, group_constant, delay_constant
        C0, C1 and the C of equation (11). The paper says only that they are sufficiently large; with 1 nothing is
        promised, and the figures are already these. Each in [1, 1e100].

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.planning import paper_plan
    >>> print(paper_plan(Thresholds(7), 1.0, 1e-6).explain().splitlines()[-1])
      B = K + 2·9^N·D_0 = 10^(10^17.1) mistakes
    """
    check_target(cls, epsilon, delta)
    constants = {"sample": sample_constant, "group": group_constant, "delay": delay_constant}
    for name, constant in constants.items():
        real(f"{name}_constant", constant, 1.0, 1e100, "1 is the least that it can be")
    epsilon, delta = float(epsilon), float(delta)
    d = cls.dimension
    log_n = math.log(sample_constant) + 6 * math.log(d + 1)
    log_s = d * (d * _LN2 + log_n) + d * d * _LN2
    # ln N, N = 2(d+1)s + 2
    log_candidates = math.log(2 * (d + 1)) + log_s
    log_candidates += math.log1p(2.0 * math.exp(-min(log_candidates, 700.0)))
    own_epsilon, own_delta = epsilon / 4.0, delta / 8.0
    inside = (
        math.log(100) + log_candidates + log_n - math.log(own_epsilon) - math.log(own_delta) - math.log(delta)
    )
    log_groups = math.log(group_constant) + 2 * log_candidates + _add(log_n, math.log(inside / own_epsilon))
    log_batch = _LN2 + log_groups + log_n
    spread = 2 * (log_candidates - math.log(epsilon)) + 2 * math.log(math.log(32 / delta) + log_candidates)
    log_first = math.log(delay_constant) + _add(log_batch, spread)
    steps = math.exp(log_candidates) if log_candidates < 700.0 else math.inf
    log_bound = _add(log_batch, _LN2 + steps * math.log(9.0) + log_first)
    return PaperPlan(
        cls.digest, d, epsilon, delta,
        log_candidates / _LN10, log_batch / _LN10, log_first / _LN10, log_bound / _LN10,
    )  # fmt: skip


def _add(first: float, second: float) -> float:
    """Return ln(e^first + e^second)."""
    high, low = max(first, second), min(first, second)
    return high if high == math.inf else high + math.log1p(math.exp(low - high))


def _power(log: float) -> float:
    return 10.0**log if log < 308.0 else math.inf


def _text(log: float) -> str:
    if log < 15:
        return f"{10.0**log:,.0f}"
    if log == math.inf:
        return "more than 10^(10^300)"
    return f"10^{log:.0f}" if log < 1e6 else f"10^(10^{math.log10(log):.1f})"
