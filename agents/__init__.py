"""What decides."""

from __future__ import annotations

from streamlearn.agents.optimal import LDPOptimalStopper, OptimalStopper
from streamlearn.agents.single_threshold import SingleThresholdStopper
from streamlearn.agents.soa import SOA, SubsampledSOA
from streamlearn.agents.static import StaticStopper

__all__ = [
    "SOA",
    "LDPOptimalStopper",
    "OptimalStopper",
    "SingleThresholdStopper",
    "StaticStopper",
    "SubsampledSOA",
]
