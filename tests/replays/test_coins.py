"""Integrating the coins out: against enumeration of every outcome of every coin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlearn import Channel
from streamlearn.agents import LDPOptimalStopper, SingleThresholdStopper
from streamlearn.channels import OUT_OF
from streamlearn.plans import ReportingPlan
from streamlearn.replays.coins import expected_outcomes, stages


def _by_enumeration(plan, values):
    reward = nobody = 0.0
    asked = np.zeros(len(values))
    for bits in itertools.product([0, 1], repeat=len(values)):
        weight = 1.0
        for channel, value, bit in zip(plan, values, bits, strict=True):
            p = channel.weight(value) / OUT_OF
            weight *= p if bit else 1 - p
        first = bits.index(1) if 1 in bits else None
        reward += weight * (0.0 if first is None else values[first])
        nobody += weight * (first is None)
        seen = len(values) if first is None else first + 1
        asked[:seen] += [weight * (channel.case == "ask") for channel in plan.channels[:seen]]
    return reward, nobody, asked


@st.composite
def plans(draw):
    channels = []
    for i in range(1, draw(st.integers(1, 5)) + 1):
        kind = draw(st.sampled_from(["ask", "skip", "accept", "tie"]))
        threshold = draw(st.integers(0, 4)) / 4
        if kind == "ask":
            channels.append(Channel.randomized_response(i, threshold, draw(st.floats(0, 50))))
        elif kind == "tie":
            channels.append(Channel(i, threshold, OUT_OF // 4, OUT_OF // 2, 3 * OUT_OF // 4, 2.0))
        else:
            channels.append(Channel.constant(i, int(kind == "accept")))
    return ReportingPlan(channels)


@given(plans(), st.data())
@settings(max_examples=150, deadline=None)
def test_every_coin(plan, data):
    episodes = data.draw(
        st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(plan), max_size=len(plan)),
            min_size=1,
        )
    )
    found = expected_outcomes(stages(plan), np.array(episodes).T)
    asked = np.zeros(len(plan))
    for i, values in enumerate(episodes):
        reward, nobody, asked_here = _by_enumeration(plan, values)
        assert (found.reward[i], found.nobody[i]) == pytest.approx((reward, nobody), abs=1e-14)
        asked += asked_here
    assert found.asked == pytest.approx(asked, abs=1e-13)


def test_the_batch_order_is_the_episode_order():
    plan = stages(LDPOptimalStopper([1.0, 2.0], 1.0).plan)
    assert expected_outcomes(plan, np.array([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]])).reward.tolist() == [
        6.0,
        5.0,
        4.0,
    ]


def test_ties_use_their_own_weight():
    stopper = SingleThresholdStopper([1.0, 1.0, 1.0], 2.0)
    value = expected_outcomes(stages(stopper.plan), np.ones((3, 1)))
    assert value.reward[0] == pytest.approx(stopper.value)
