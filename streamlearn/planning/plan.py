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

from streamlearn.accounting.combining import LARGEST_DELAY, plain, rule_delta
from streamlearn.errors import ParameterError, PlanError, SizeError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.ordered import check_max_delay
from streamlearn.planning.arguments import levels_of, listed, real, whole
from streamlearn.planning.certificate import candidate_delta
from streamlearn.planning.combination import Combination
from streamlearn.planning.delays import check_delays, schedule
from streamlearn.planning.modes import scheme_for
from streamlearn.planning.numbers import LEAST_BETA, check_numbers
from streamlearn.privacy import Guarantee
from streamlearn.rounding import OUT_OF
from streamlearn.selection import Scheme
from streamlearn.selection.exponential import LEAST_ETA, MOST_ETA

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
        g_0 = 0 <= ... <= g_w = 2^64: the chances of acceptance, out of 2^64; neighbours are (α, b)-close.
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
    cut_from
        The candidates that the mode takes, where there are fewer here: then nothing is promised of mistakes. Else None.

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
    cut_from: int | None = None

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
            ε, in [0.001, 20].
        eta, batch
            η and K, 1e-5 <= η <= 20 and 1 <= K <= 2^50.
        ramp, acceptance
            Probabilities as floats, or integers out of 2^64 where all are integers.
        beta
            What is said of the failure probability; it must be that of (η, K) at least, unless N is cut short.
        mode
            How candidates are selected; by default as the class does best.
        candidates
            N; by default, and at most, what the mode takes. With fewer the privacy is kept and nothing is promised of
            mistakes.
        delays
            D_1..D_N; by default the shortest.
        max_delay
            P.

        Raises
        ------
        ParameterError
            If a parameter is outside its bound, or a delay shorter than Claim 1 allows.
        SizeError
            If the class does not support the mode.
        """
        from streamlearn.planning.asking import check_target  # noqa: PLC0415 - it imports this module

        check_target(hypotheses, epsilon)
        used = scheme_for(hypotheses, mode)
        level, rate = float(epsilon), real("eta", eta, LEAST_ETA, MOST_ETA, "try 0.1")
        count = used.steps
        if candidates is not None:
            count = whole("candidates", candidates, used.steps, "leave it out for all")
        size = whole("batch", batch, LARGEST_DELAY, "it is K, the mistakes that lead to a candidate")
        failing = real("beta", beta, 0.0, 1.0, "it is a failure probability, try 1e-6")
        rises = levels_of("ramp", ramp)
        chances = levels_of("acceptance", acceptance)
        if len(chances) < 2 or chances[0] != 0 or chances[-1] != OUT_OF:
            raise ParameterError("acceptance must rise from 0 to 1; give g_0 = 0, ..., g_w = 1")
        if not rises or rises[0] == 0 or rises[-1] == OUT_OF:
            raise ParameterError(
                "ramp must hold probabilities strictly between 0 and 1, and one at least; [0.5] is the shortest"
            )
        late = check_max_delay(plain(max_delay))
        shape = (count, size, len(chances) - 1, len(rises), late)
        chosen = schedule(*shape) if delays is None else tuple(listed("delays", delays, "whole numbers"))
        check_delays(chosen, *shape)
        # Every α gives a valid δ.
        found = [
            (
                candidate_delta(
                    used, epsilon=level, eta=rate, batch=size, alpha=alpha, acceptance=chances, ramp=rises
                ),
                alpha,
            )
            for alpha in _ALPHAS.tolist()
        ]
        (delta, order), alpha = min(found)
        return cls(
            hypotheses.digest, hypotheses.dimension, level, delta, used.mode, count, size, rate,
            alpha, order, chances, chosen, rises, failing, late, cut_from=used.steps if count < used.steps else None,
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
    def mistake_bound(self) -> int | None:
        """B: the most mistakes of candidate replacement on a realisable stream, but for the probability β.

        None for a plan cut short: the last of its candidates may err without end.
        """
        if self.cut_from is not None:
            return None
        return self.batch + self.max_delay - 1 + self.delays[-1] + self.max_delay + self.mirror_length

    @property
    def expected_mistakes(self) -> float | None:
        """The most expected mistakes on any realisable stream; infinite for candidate replacement alone.

        3(B + β·d·(1/γ + P)) + 2D + P, γ as it is drawn: rounded down to a multiple of 2^-64. None for a plan cut short.
        """
        parts, bound = self.combination, self.mistake_bound
        if bound is None:
            return None
        if parts is None:
            return math.inf
        late = self.max_delay
        failing = self.beta * self.dimension * (parts.mistakes_a_level + late)
        return 3.0 * (bound + failing) + 2.0 * parts.head_start + late

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
            If the plan is for another class, or its mode cannot be used.
        """
        used = self._scheme(hypotheses)
        parts = self.combination
        own = candidate_delta(
            used,
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
        shares = (Fraction(parts.delta), Fraction(parts.gamma), Fraction(parts.rule_delta))
        if Fraction(parts.epsilon) + Fraction(parts.rule_epsilon) > Fraction(self.epsilon) or sum(
            shares
        ) > Fraction(self.delta):
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
        self._check_fit(hypotheses)
        found = self.certified_delta(hypotheses)
        if found > self.delta:
            raise PlanError(
                f"the plan promises δ = {self.delta:g} and keeps only {found:.6g}; make it anew with private_plan or "
                "candidate_plan, or state the parameters with Plan.explicit"
            )

    def _check_fit(self, hypotheses: HypothesisClass) -> None:
        """Refuse a plan whose shape or failure probability are not what the class and the proof ask for."""
        used = self._scheme(hypotheses)
        cut = used.steps if self.candidates < used.steps else None
        if self.dimension != hypotheses.dimension or self.candidates > used.steps or self.cut_from != cut:
            raise PlanError(
                f"the plan does not fit {self.class_digest}, of dimension {hypotheses.dimension} and with {used.steps} "
                "candidates in this mode (cut_from says so where the plan has fewer); make it anew"
            )
        try:
            check_delays(
                self.delays,
                self.candidates,
                self.batch,
                self.acceptance_width,
                self.mirror_length,
                self.max_delay,
            )
        except ParameterError as error:
            raise PlanError(f"the plan's delays cannot be used: {error}") from None
        if (
            cut is None
            and self.beta < 1.0
            and (self.beta < LEAST_BETA or used.batch(self.eta, self.beta) > self.batch)
        ):
            raise PlanError(
                f"batches of {self.batch} fail more often than β = {self.beta:g}; make the plan anew"
            )

    def _scheme(self, hypotheses: HypothesisClass) -> Scheme:
        check_class(hypotheses)
        if hypotheses.digest != self.class_digest:
            raise PlanError(
                f"the plan is for {self.class_digest}, not for {hypotheses.digest}; make one for it"
            )
        try:
            return scheme_for(hypotheses, self.mode)
        except (ParameterError, SizeError) as error:
            raise PlanError(f"the plan's mode cannot be used: {error}") from None

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
