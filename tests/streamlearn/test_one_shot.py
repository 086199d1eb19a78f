"""What can be read only once is kept as a list; what has no order is refused where a list is meant."""

from __future__ import annotations

import pytest
import scipy.stats

from streamlearn.agents import LDPOptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.errors import ParameterError
from streamlearn.replays import simulate


@pytest.mark.parametrize("epsilon", [{1.0, 2.0}, b"ab", {1.0: 1, 2.0: 2}])
def test_epsilons_come_in_a_list(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a number or a list"):
        LDPOptimalStopper([1.0, 2.0], epsilon)


@pytest.mark.parametrize("kind", [LDPOptimalStopper, StaticStopper, SingleThresholdStopper])
def test_generators_are_kept(kind):
    stopper = kind((law for law in [scipy.stats.uniform(), 0.5]), (level for level in [1.0, 2.0]))
    assert simulate(stopper, episodes=10).horizon == 2
    assert stopper.clone({"epsilon": 3.0}).horizon == 2
