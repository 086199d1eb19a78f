"""The paper's own constants (Section 7.1, before Algorithm 2): to know them; no computer could run them.

With batches of one's own, small enough, its algorithm runs: :mod:`streamlearn.selection.sampled`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.priors.base import Floats
from streamlearn.selection.arguments import check_batch, check_level
from streamlearn.selection.base import Scheme, range_moment
from streamlearn.selection.sampled import MOST_BATCH, MOST_CANDIDATES, SampledScheme, SampledSelector


class PaperConstants(NamedTuple):
    """What Section 7.1 sets, in whole numbers.

    Parameters
    ----------
    sample
        n: records a group keeps of each batch.
    list_size
        s: the most essential hypotheses of a group.
    candidates
        N.
    groups
        k.
    batch
        K.
    """

    sample: int
    list_size: int
    candidates: int
    groups: int
    batch: int


class PaperScheme(Scheme):
    """Algorithm 2 with the paper's constants. It can be asked for its numbers; to start with them is refused.

    Parameters
    ----------
    cls
        The class, of Littlestone dimension d.
    c0, c1
        The paper's C_0 and C_1, "sufficiently large" and not named. At 1, the default, its proof does not hold yet.

    Raises
    ------
    ParameterError
        If a constant is not a whole number >= 1.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import scheme
    >>> paper = scheme(Point3(), "paper")
    >>> paper.steps
    1026
    >>> f"{paper.constants(epsilon=0.25, delta=1.25e-7, beta=1e-6).batch:.0e}"
    '3e+10'
    """

    mode = "paper"

    def __init__(self, cls: HypothesisClass, c0: int = 1, c1: int = 1) -> None:
        self.hypotheses = cls
        self.c0 = check_whole("c0", c0, 1)
        self.c1 = check_whole("c1", c1, 1)
        d = cls.dimension
        self._sample = self.c0 * (d + 1) ** 6
        self._list_size = (self._sample << d) ** d << d * d
        self.steps = 2 * (d + 1) * self._list_size + 2 if d else 0
        self._runs: SampledScheme | None = None

    def constants(self, epsilon: float, delta: float, beta: float) -> PaperConstants:
        """Return n = C_0(d+1)^6, s = (2^d n)^d 2^(d²), N = 2(d+1)s + 2, k = C_1 N²(n + ln(100Nn/εδβ)/ε), K = 2kn.

        Parameters
        ----------
        epsilon, delta, beta
            Privacy and failure probability of the selection; a quarter, an eighth and δ in Theorem 3.

        Raises
        ------
        ParameterError
            If one does not lie strictly between 0 and 1.
        """
        product = Fraction(1)
        for name, value in (("epsilon", epsilon), ("delta", delta), ("beta", beta)):
            product *= Fraction(check_level(name, value))
        n, big = self._sample, max(self.steps, 1)
        logarithm = math.log(100 * big * n) - math.log(product.numerator) + math.log(product.denominator)
        k = math.ceil(self.c1 * big**2 * (n + Fraction(logarithm) / Fraction(epsilon)))
        return PaperConstants(n, self._list_size, self.steps, k, 2 * k * n)

    def batch(self, eta: float, beta: float) -> int:
        """Return K where the selection is (η, β)-differentially private and fails with probability at most β."""
        return self.constants(check_level("eta", eta), beta, beta).batch

    def log_moment(self, z: Floats, eta: float) -> Floats:
        """Return z(z+1)η²/2, which η-differential privacy implies."""
        return range_moment(z, 2.0 * check_level("eta", eta))

    def excess_delta(self, eta: float, K: int) -> NoReturn:  # noqa: ARG002, N803 - the paper's K
        """Refuse: δ is an argument of :meth:`constants`."""
        raise ParameterError("the paper's selection takes delta as an argument; ask constants()")

    def start(self, eta: float, K: int) -> SampledSelector:  # noqa: N803
        """Return a run with batches of one's own, one record a group; with the paper's refuse, with the number.

        Of its mistakes nothing is promised. :class:`~streamlearn.selection.sampled.SampledScheme` tells its privacy.
        """
        return self._explicit(K).start(eta, K)

    def from_plain(self, data: Any, eta: float, K: int) -> SampledSelector:  # noqa: N803
        """Return the run that ``to_plain`` wrote."""
        return self._explicit(K).from_plain(data, eta, K)

    def _explicit(self, batch: int) -> SampledScheme:
        if check_batch(batch) > MOST_BATCH:
            digits = math.log10(batch)
            raise ParameterError(
                f"the paper's constants ask for {_power(self.steps)} candidates and batches of about 10^{digits:.0f} "
                'mistakes; use mode="options", "direct" or "groups"; streamlearn.planning.paper_plan states its figures'
            )
        if self._runs is None:
            self._runs = SampledScheme(self.hypotheses, min(self.steps, MOST_CANDIDATES))
        return self._runs


def _power(number: int) -> str:
    return str(number) if number < 10**6 else f"about 10^{math.log10(number):.0f}"
