"""Instances and independent oracles that several tests share."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.stats
from hypothesis import strategies as st

from streamlearn.channels import OUT_OF
from streamlearn.priors import Discrete

UNIFORMS = [scipy.stats.uniform()] * 10
"""Instance A of THEORY-stopping §8."""


def mixed():
    """Return instance C of THEORY-stopping §8, as scipy laws, a discrete law and a number."""
    from streamlearn import priors

    return [
        scipy.stats.uniform(),
        scipy.stats.expon(),
        scipy.stats.lognorm(0.5),
        scipy.stats.pareto(2.5),
        priors.Discrete([0.0, 5.0], [0.9, 0.1]),
        scipy.stats.beta(2, 5),
        scipy.stats.gamma(2),
        scipy.stats.weibull_min(1.5),
        scipy.stats.truncnorm(-1.0, np.inf, loc=1.0),
        0.7,
    ]


@st.composite
def discrete_instances(draw, most_people=4, most_values=4):
    """Draw lists of small discrete laws whose probabilities are multiples of 1/16: exact in floats."""
    people = draw(st.integers(1, most_people))
    laws = []
    for _ in range(people):
        size = draw(st.integers(1, most_values))
        values = draw(st.lists(st.integers(0, 12), min_size=size, max_size=size, unique=True))
        cuts = sorted(draw(st.lists(st.integers(1, 15), min_size=size - 1, max_size=size - 1, unique=True)))
        weights = np.diff([0, *cuts, 16]) / 16
        laws.append(Discrete([value / 4 for value in values], weights.tolist()))
    return laws


def enumerate_outcomes(plan, laws):
    """Return (mean, second moment, stop law) of a plan by going through every value of every person."""
    mean = second = 0.0
    stop_law = [0.0] * (len(laws) + 1)
    supports = [list(zip(law.atoms.tolist(), [law.atom(v) for v in law.atoms], strict=True)) for law in laws]
    for combination in itertools.product(*supports):
        waiting = math.prod(weight for _, weight in combination)
        for stage, ((value, _), channel) in enumerate(zip(combination, plan, strict=True)):
            taken = waiting * channel.weight(value) / OUT_OF
            mean += taken * value
            second += taken * value * value
            stop_law[stage] += taken
            waiting -= taken
        stop_law[-1] += waiting
    return mean, second, stop_law
