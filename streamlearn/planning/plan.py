"""What a private predictor will do and promises, fixed and public before it runs."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from streamlearn.accounting.combining import rule_delta
from streamlearn.errors import ParameterError, PlanError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.ordered import check_max_delay
from streamlearn.planning.certificate import candidate_delta, levels_of
from streamlearn.planning.combination import Combination
from streamlearn.planning.numbers import check_numbers
from streamlearn.privacy import Guarantee
from streamlearn.rounding import OUT_OF, as_float
from streamlearn.selection import scheme

_ALPHAS = np.geomspace(1e-3, 10.0, 60)


@dataclasses.dataclass(frozen=True)
class Plan:
    """The parameters of candidate replacement, alone or combined with subsampled SOA.

    :func:`~streamlearn.planning.candidate_plan` and :func:`~streamlearn.planning.private_plan` find one for (ε, δ),
    :meth:`explicit` takes parameters and computes what they keep.

    Parameters
    ----------
    class_digest, dimension
        The class, and its Littlestone dimension d.
    epsilon, delta
        The privacy of the whole.
    mode
        How candidates are selected.
    candidates
        N: the most candidates after the first.
    batch, eta
        K: the mistakes from which the next candidate is selected; η: a score one higher is e^η times as likely.
    order
        z of the log-moments that certify the privacy of candidate replacement.
    alpha, acceptance
        g_0 = 0 < ... < g_w = 2^64: the chances of acceptance, out of 2^64; neighbours are (α, b)-close.
    delays
        D_1..D_N.
    ramp
        p_1..p_L out of 2^64: the chances that Mirror shows an accepted candidate.
    beta
        The probability that no candidate makes fewer than K mistakes.
    max_delay
        P: labels come at most so many rounds late.
    combination
        None for candidate replacement alone.
    crossover
        About the largest δ at which plans like this one bound mistakes better than subsampled SOA; None if unknown.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.planning import Plan
    >>> plan = Plan.explicit(
    ...     Point3(), epsilon=3.0, mode="options", eta=0.5, batch=30, ramp=[0.1, 0.3, 0.5, 0.7, 0.9],
    ...     acceptance=[0.0, 0.1, 0.3, 0.7, 0.9, 1.0], beta=1e-3,
    ... )
    >>> plan.delays, plan.mistake_bound, plan.delta < 0.5
    ((63,), 97, True)
    """

    class_digest: str
    dimension: int
    epsilon: float
    delta: float
    mode: str
    candidates: int
    batch: int
    eta: float
    alpha: float
    order: float
    acceptance: tuple[int, ...] = dataclasses.field(repr=False)
    delays: tuple[int, ...] = dataclasses.field(repr=False)
    ramp: tuple[int, ...] = dataclasses.field(repr=False)
    beta: float
    max_delay: int = 0
    combination: Combination | None = None
    crossover: float | None = None

    @classmethod
    def explicit(
        cls,
        hypotheses: HypothesisClass,
        *,
        epsilon: float,
        eta: float,
        batch: int,
        ramp: Sequence[float | int],
        acceptance: Sequence[float | int],
        beta: float,
        mode: str | None = None,
        candidates: int | None = None,
        delays: Sequence[int] | None = None,
        max_delay: int = 0,
    ) -> Self:
        """Return a plan for candidate replacement with these parameters; its δ at ``epsilon`` is computed.

        Parameters
        ----------
        hypotheses
            The class.
        epsilon
            ε > 0.
        eta, batch
            η and K.
        ramp, acceptance
            Probabilities as floats, or integers out of 2^64 where all are integers.
        beta
            What is said of the failure probability; it must be that of (η, K) at least, unless N is cut short.
        mode
            How candidates are selected; by default as the class does best.
        candidates
            N; by default, and at most, what the mode takes. With fewer nothing is promised of mistakes.
        delays
            D_1..D_N; by default the shortest.
        max_delay
            P.

        Raises
        ------
        ParameterError
            If a parameter is outside its bound, or a delay shorter than Claim 1 allows.
        """
        from streamlearn.planning.asking import check_target  # noqa: PLC0415 - it imports this module

        check_target(hypotheses, epsilon, None)
        used = scheme(hypotheses, mode)
        count = used.steps if candidates is None else candidates
        if type(count) is not int or not 1 <= count <= used.steps:
            raise ParameterError(f"candidates must be a whole number in 1..{used.steps}, got {count!r}")
        if type(batch) is not int or batch < 1:
            raise ParameterError(f"batch must be a whole number >= 1, got {batch!r}; it is K")
        failing = as_float(beta)
        if failing is None or not 0.0 <= failing <= 1.0:
            raise ParameterError(f"beta must lie in [0, 1], got {beta!r}; it is a failure probability")
        rises = levels_of("ramp", ramp)
        chances = levels_of("acceptance", acceptance)
        if len(chances) < 2 or chances[0] != 0 or chances[-1] != OUT_OF:
            raise ParameterError("acceptance must rise from 0 to 1; give g_0 = 0, ..., g_w = 1")
        if not rises or rises[0] == 0 or rises[-1] == OUT_OF:
            raise ParameterError("ramp must hold probabilities strictly between 0 and 1, and one at least")
        late = check_max_delay(max_delay)
        least = schedule(count, batch, len(chances) - 1, len(rises), late)
        chosen = least if delays is None else tuple(delays)
        _check_delays(chosen, least, len(rises), batch + late, len(chances) - 1, late)
        # Every α gives a valid δ.
        found = [
            (
                candidate_delta(
                    used, epsilon=epsilon, eta=eta, batch=batch, alpha=alpha, acceptance=chances, ramp=rises
                ),
                alpha,
            )
            for alpha in _ALPHAS.tolist()
        ]
        (delta, order), alpha = min(found)
        return cls(
            hypotheses.digest, hypotheses.dimension, float(epsilon), delta, used.mode, count, batch, float(eta),
            alpha, order, chances, chosen, rises, float(beta), late,
        )  # fmt: skip

    @property
    def kind(self) -> Literal["tight"]:
        """Which constants: our own. The paper's are :func:`~streamlearn.planning.paper_plan`'s."""
        return "tight"

    @cached_property
    def digest(self) -> str:
        """A short, stable name of the plan, worked out once: that of its JSON text."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=16).hexdigest()

    @property
    def mirror_length(self) -> int:
        """L: the disagreements over which Mirror's ramp rises."""
        return len(self.ramp)

    @property
    def acceptance_width(self) -> int:
        """w: the counts over which the chance of acceptance rises."""
        return len(self.acceptance) - 1

    @property
    def mistake_bound(self) -> int:
        """B: the most mistakes of candidate replacement on a realisable stream, but for the probability β."""
        return self.batch + self.max_delay - 1 + self.delays[-1] + self.max_delay + self.mirror_length

    @property
    def expected_mistakes(self) -> float:
        """The most expected mistakes on any realisable stream; infinite for candidate replacement alone.

        3(B + β·d·(1/γ + P)) + 2D + P, γ as it is drawn: rounded down to a multiple of 2^-64.
        """
        parts = self.combination
        if parts is None:
            return math.inf
        late = self.max_delay
        failing = self.beta * self.dimension * (parts.mistakes_a_level + late)
        return 3.0 * (self.mistake_bound + failing) + 2.0 * parts.head_start + late

    @property
    def guarantee(self) -> Guarantee:
        """(ε, δ)-joint differential privacy in any one labelled example; none where δ would be 1."""
        if self.delta >= 1.0:
            return Guarantee.none()
        return Guarantee("joint", self.epsilon, self.delta, "event")

    def certified_delta(self, hypotheses: HypothesisClass) -> float:
        """Return a δ that these integers keep at ε, computed anew.

        Parameters
        ----------
        hypotheses
            The class that the plan is for.

        Raises
        ------
        PlanError
            If the plan is for another class.
        """
        check_class(hypotheses)
        if hypotheses.digest != self.class_digest:
            raise PlanError(
                f"the plan is for {self.class_digest}, not for {hypotheses.digest}; make one for it"
            )
        parts = self.combination
        own = candidate_delta(
            scheme(hypotheses, self.mode),
            epsilon=self.epsilon if parts is None else parts.epsilon,
            eta=self.eta,
            batch=self.batch,
            alpha=self.alpha,
            acceptance=self.acceptance,
            ramp=self.ramp,
            orders=np.array([self.order]),
        ).delta
        if parts is None:
            return own
        if Fraction(parts.epsilon) + Fraction(parts.rule_epsilon) > Fraction(self.epsilon):
            return 1.0
        rule = rule_delta(parts.head_start, parts.rule_epsilon, self.max_delay)
        # Each part keeps what is said of it; the slack is for sums of doubles in another order.
        if own > parts.delta * (1.0 + 1e-9) or rule > parts.rule_delta * (1.0 + 1e-9):
            return 1.0
        # Rounded up to the next double: the sum of three is within two roundings.
        return min(1.0, (own + parts.gamma + rule) * (1.0 + 1e-15))

    def certify(self, hypotheses: HypothesisClass) -> None:
        """Check that the plan keeps what it promises.

        Parameters
        ----------
        hypotheses
            The class that the plan is for.

        Raises
        ------
        PlanError
            If it is for another class, or some part does not keep its promise.
        """
        check_numbers(self)
        found = self.certified_delta(hypotheses)
        if found > self.delta:
            raise PlanError(
                f"the plan promises δ = {self.delta:g} and keeps only {found:.6g}; make it anew with private_plan or "
                "candidate_plan, or state the parameters with Plan.explicit"
            )
        used = scheme(hypotheses, self.mode)
        least = schedule(
            self.candidates, self.batch, self.acceptance_width, self.mirror_length, self.max_delay
        )
        needed = self.batch + self.max_delay
        try:
            _check_delays(
                self.delays, least, self.mirror_length, needed, self.acceptance_width, self.max_delay
            )
        except ParameterError as error:
            raise PlanError(f"the plan's delays cannot be used: {error}") from None
        if self.dimension != hypotheses.dimension or not 1 <= self.candidates <= used.steps:
            raise PlanError(f"the plan does not fit {self.class_digest}; make it anew")
        if (
            self.candidates == used.steps
            and self.beta < 1.0
            and (self.beta <= 0.0 or used.batch(self.eta, self.beta) > self.batch)
        ):
            raise PlanError(
                f"batches of {self.batch} fail more often than β = {self.beta:g}; make the plan anew"
            )

    def explain(self) -> str:
        """Return every derived figure with its formula, and what is promised, as text of several lines."""
        from streamlearn.planning.explanation import explain  # noqa: PLC0415 - it imports this module

        return explain(self)

    def figures(self) -> dict[str, Any]:
        """Return the derived figures by their names, as JSON carries them."""
        from streamlearn.planning.explanation import figures  # noqa: PLC0415 - as above

        return figures(self)

    def to_json(self) -> str:
        """Return the plan as JSON text, which :meth:`from_json` reads; integers out of 2^64 are decimal strings."""
        from streamlearn.planning.saving import to_json  # noqa: PLC0415 - as above

        return to_json(self)

    @staticmethod
    def from_json(text: str | bytes, hypotheses: HypothesisClass) -> Plan:
        """Return the plan that :meth:`to_json` wrote, certified anew.

        Parameters
        ----------
        text
            The JSON.
        hypotheses
            The class that the plan is for.

        Raises
        ------
        PlanError
            If the text is no plan, one of a newer format or for another class, or it does not keep what it promises.
        """
        from streamlearn.planning.saving import from_json  # noqa: PLC0415 - as above

        return from_json(text, hypotheses)


def schedule(candidates: int, batch: int, width: int, length: int, max_delay: int) -> tuple[int, ...]:
    """Return the shortest delays: D_1 = 2K'-2+w and D_(j+1) = D_j + 2K'-2+w+L+P, K' = K+P.

    Parameters
    ----------
    candidates, batch, width, length, max_delay
        N, K, w, L, P.

    Examples
    --------
    >>> from streamlearn.planning.plan import schedule
    >>> schedule(3, batch=10, width=5, length=20, max_delay=0)
    (23, 66, 109)
    """
    first = 2 * (batch + max_delay) - 2 + width
    return tuple(first + j * (first + length + max_delay) for j in range(candidates))


def _check_delays(
    delays: Sequence[int], least: Sequence[int], length: int, batch: int, width: int, late: int
) -> None:
    if len(delays) != len(least) or any(type(delay) is not int for delay in delays):
        raise ParameterError(f"delays must be {len(least)} whole numbers, one a candidate")
    shortest = least[0]
    for place, delay in enumerate(delays, start=1):
        if delay < shortest:
            raise ParameterError(
                f"delay {place} must be at least {shortest}, got {delay}; a shorter one lets a candidate change "
                "answers before it can be computed"
            )
        shortest = delay + 2 * batch - 2 + width + length + late
