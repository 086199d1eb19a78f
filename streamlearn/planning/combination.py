"""How a plan combines candidate replacement with subsampled SOA."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

from streamlearn.rounding import OUT_OF


@dataclasses.dataclass(frozen=True)
class Combination:
    """How candidate replacement is combined with subsampled SOA (Theorem 3).

    Parameters
    ----------
    epsilon, delta
        The privacy of candidate replacement alone.
    gamma
        The retention probability γ of subsampled SOA, which is (0, γ)-private.
    rule_epsilon, rule_delta
        The privacy of the combining rule alone.
    head_start
        D of the combining rule.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import private_plan
    >>> parts = private_plan(Point3(), 1.0, 1e-3).combination
    >>> parts.epsilon + parts.rule_epsilon <= 1.0, parts.delta + parts.gamma + parts.rule_delta <= 1e-3
    (True, True)
    """

    epsilon: float
    delta: float
    gamma: float
    rule_epsilon: float
    rule_delta: float
    head_start: int

    @property
    def mistakes_a_level(self) -> float:
        """1/γ: the most expected mistakes of subsampled SOA until one is retained, which lowers the dimension.

        γ is rounded down to a multiple of 2^-64, as it is drawn; infinite where nothing is ever retained.
        """
        below = math.floor(Fraction(self.gamma) * OUT_OF)
        return OUT_OF / below if below else math.inf
