"""What privacy costs in the worst case, as functions: mistakes (the private-prediction paper), shares of the optimum.

================================  ==================================================================================
lower bounds, online learning     (Definition 1: a hypothesis is released every round)
:func:`algorithm1_lower`          Theorem 1's sum over stages, on Algorithm 1's own stream, for any p
:func:`repetition_lower`          one label, repeated (group privacy): the largest of these on any stream of real length
:func:`point3_lower`              Theorem 1, every constant explicit
:func:`theorem1_lower`            Theorem 1's closed form c·min{(log 2T)^(2/3), 1/δ}, with its c
:func:`littlestone_lower`         Theorem 2, every constant explicit
upper bounds, realisable streams
:func:`soa_upper`                 d, not private
:func:`subsampled_soa_upper`      d/γ expected, (0, γ)-private (Fact 5)
:func:`private_predictor_upper`   3B + 12d + 2D expected (Theorem 3)
:func:`quoted`                    others' bounds, lower and upper, whose constants the paper does not state
shares of the optimum             stopping under local differential privacy (the stopping paper)
:func:`w_over_v`                  against the best stopper without privacy; :func:`v_over_m` is that one's own
:func:`w_over_m`                  against the prophet; :func:`prop56_lower`, :func:`prop56_upper` as the paper has it
:func:`w_over_l`                  against the private prophet; :func:`w_over_b`: whose reports are bits
:func:`private_prophet_upper`     what no private prophet exceeds
================================  ==================================================================================

Of mistakes, the lower bounds take ``constants="paper"``, the constants as printed, or ``"tight"``, those of the same
proofs with nothing rounded up, which hold for every ε (derived in ``algorithm1.proof.md`` and ``forced.proof.md``).
Numbers may be arrays; they are broadcast, and an array comes back. Shares of the optimum take whole numbers of persons,
and one ε or a list with one per person (proved in ``ratios.proof.md``).
"""

from __future__ import annotations

from streamlearn.bounds.algorithm1 import (
    EPSILON_0,
    algorithm1_lower,
    leakage,
    paper_probability,
    stages,
    theorem1_lower,
)
from streamlearn.bounds.forced import littlestone_lower, point3_lower, repetition_lower
from streamlearn.bounds.ratios import (
    private_prophet_upper,
    prop56_lower,
    prop56_upper,
    v_over_m,
    w_over_b,
    w_over_l,
    w_over_m,
    w_over_v,
)
from streamlearn.bounds.upper import (
    QUOTED,
    Quoted,
    private_predictor_upper,
    quoted,
    soa_upper,
    subsampled_soa_upper,
)

__all__ = [
    "EPSILON_0",
    "QUOTED",
    "Quoted",
    "algorithm1_lower",
    "leakage",
    "littlestone_lower",
    "paper_probability",
    "point3_lower",
    "private_predictor_upper",
    "private_prophet_upper",
    "prop56_lower",
    "prop56_upper",
    "quoted",
    "repetition_lower",
    "soa_upper",
    "stages",
    "subsampled_soa_upper",
    "theorem1_lower",
    "v_over_m",
    "w_over_b",
    "w_over_l",
    "w_over_m",
    "w_over_v",
]
