"""Ramps in whole units: rounding down makes no step that a large order cannot stand, and costs are those foreseen."""

from __future__ import annotations

import numpy as np
import pytest

from streamlearn.accounting import moments
from streamlearn.planning.shape import costs, levels

# First chance, order and price of plans at δ = 1e-15, where a chance begins with twenty units out of 2^64; and others.
RAMPS = [
    (1.1184568308414367e-18, 584.53, 9e4),
    (1.1184568308414367e-18, 584.53, 8e6),
    (2.0e-18, 1000.0, 3e4),
    (1e-12, 300.0, 1e5),
    (1e-3, 10.0, 100.0),
]


@pytest.mark.parametrize(("first", "order", "price"), RAMPS)
def test_no_step_of_several_units_is_a_loss_that_the_order_makes_everything_of(first, order, price):
    ramp = levels(first, order, price)
    half = ramp[: (len(ramp) + 1) // 2]
    steps = np.diff(half)
    low = half[:-1] < 10**6
    several = low & (steps > 1)
    losses = order * np.log1p(steps[several] / half[:-1][several])
    assert np.all(half[:-1] <= half[1:])
    assert np.all(losses <= 30.0 + 1e-6)
    assert np.array_equal(np.uint64(0) - ramp[::-1], ramp)


@pytest.mark.parametrize(("first", "order", "price"), RAMPS)
def test_what_ramps_cost_is_foreseen(first, order, price):
    orders = order * np.array([0.96, 1.0, 1.04])
    exact = moments.mirror(orders, levels(first, order, price))
    assert costs(first, order, price, orders) == pytest.approx(exact, rel=0.02)
