"""What a private predictor will do and promises, fixed and public before it runs."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from streamlearn.accounting.combining import LARGEST_DELAY, plain
from streamlearn.errors import ParameterError
from streamlearn.files import write_atomically
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.ordered import check_max_delay
from streamlearn.planning.arguments import levels_of, listed, real, whole
from streamlearn.planning.certificate import candidate_delta
from streamlearn.planning.chances import Chances
from streamlearn.planning.combination import Combination
from streamlearn.planning.delays import check_delays, paper_schedule, schedule
from streamlearn.planning.modes import PAPER_MODE, full_count, scheme_for
from streamlearn.privacy import Guarantee
from streamlearn.rounding import OUT_OF
from streamlearn.selection import Scheme, sampled
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
    ramp: Chances | tuple[int, ...] = dataclasses.field(repr=False)
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
        delays: Sequence[int] | Literal["paper"] | None = None,
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
            How candidates are selected; by default as the class does best. "paper" is Algorithm 2 with these N and K:
            of its mistakes nothing is promised, as they are far below the paper's own.
        candidates
            N; by default, and at most, what the mode takes. With fewer the privacy is kept and nothing is promised of
            mistakes. Mode "paper" has no default, and takes 1000 at most.
        delays
            D_1..D_N; by default the shortest. "paper" is 9^j·D_0, with D_0 above 4K', w and L + P.
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
        used, count = _chosen(hypotheses, mode, candidates)
        full = full_count(hypotheses, used.mode)
        level, rate = float(epsilon), real("eta", eta, *_eta_range(used.mode), "try 0.1")
        size = whole("batch", batch, LARGEST_DELAY, "it is K, the mistakes that lead to a candidate")
        failing = real("beta", beta, 0.0, 1.0, "it is a failure probability, try 1e-6")
        steps = levels_of("ramp", ramp)
        chances = levels_of("acceptance", acceptance)
        if len(chances) < 2 or chances[0] != 0 or chances[-1] != OUT_OF:
            raise ParameterError("acceptance must rise from 0 to 1; give g_0 = 0, ..., g_w = 1")
        if not steps or steps[0] == 0 or steps[-1] == OUT_OF:
            raise ParameterError(
                "ramp must hold probabilities strictly between 0 and 1, and one at least; [0.5] is the shortest"
            )
        rises = Chances(steps)
        late = check_max_delay(plain(max_delay))
        shape = (count, size, len(chances) - 1, len(rises), late)
        if delays is None:
            chosen = schedule(*shape)
        elif isinstance(delays, str) and delays == "paper":
            chosen = paper_schedule(*shape)
        else:
            chosen = tuple(listed("delays", delays, "whole numbers"))
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
            alpha, order, chances, chosen, rises, failing, late, cut_from=full if count < full else None,
        )  # fmt: skip

    @property
    def kind(self) -> Literal["tight", "paper"]:
        """Which algorithm: our own, or the paper's with explicit numbers.

        The paper's own numbers are :func:`~streamlearn.planning.paper_plan`'s.
        """
        return "paper" if self.mode == PAPER_MODE else "tight"

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
        """Return a δ that these integers keep at ε, computed anew; 1 where a part does not keep its promise.

        Parameters
        ----------
        hypotheses
            The class that the plan is for.

        Raises
        ------
        PlanError
            If the plan is for another class, or its mode cannot be used.
        """
        from streamlearn.planning.keeping import certified_delta  # noqa: PLC0415 - it imports this module

        return certified_delta(self, hypotheses)

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
        from streamlearn.planning.keeping import certify  # noqa: PLC0415 - it imports this module

        certify(self, hypotheses)

    def explain(self) -> str:
        """Return every derived figure with its formula, and what is promised, as text of several lines."""
        from streamlearn.planning.explanation import explain  # noqa: PLC0415 - it imports this module

        return explain(self)

    def figures(self) -> dict[str, Any]:
        """Return the derived figures by their names, as JSON carries them."""
        from streamlearn.planning.explanation import figures  # noqa: PLC0415 - as above

        return figures(self)

    def to_json(self) -> str:
        """Return the plan as JSON text, which :meth:`from_json` reads.

        Integers out of 2^64 are decimal strings; a ramp of more than 65,536 rounds is base64 of eight bytes each.
        """
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

    def save(self, path: str | Path) -> None:
        """Write the JSON to ``path``, whole or not at all; an existing file is replaced in one step.

        Raises
        ------
        StreamlearnError
            If the file cannot be written.
        """
        write_atomically(path, self.to_json() + "\n")

    @staticmethod
    def load(path: str | Path, hypotheses: HypothesisClass) -> Plan:
        """Read a plan that :meth:`save` wrote, certified anew.

        Parameters
        ----------
        path
            The file.
        hypotheses
            The class that the plan is for.

        Raises
        ------
        PlanError
            If the file cannot be read, or as :meth:`from_json`.
        """
        from streamlearn.planning.saving import load  # noqa: PLC0415 - as above

        return load(path, hypotheses)


def _chosen(hypotheses: HypothesisClass, mode: str | None, candidates: object) -> tuple[Scheme, int]:
    """Return how candidates are selected, and N."""
    if isinstance(mode, str) and mode == PAPER_MODE and candidates is not None:
        count = whole("candidates", candidates, sampled.MOST_CANDIDATES, "each costs privacy, try 1")
        return scheme_for(hypotheses, mode, count), count
    used = scheme_for(hypotheses, mode)
    if candidates is None:
        return used, used.steps
    return used, whole("candidates", candidates, used.steps, "leave it out for all")


def _eta_range(mode: str) -> tuple[float, float]:
    return (sampled.LEAST_ETA, sampled.MOST_ETA) if mode == PAPER_MODE else (LEAST_ETA, MOST_ETA)
