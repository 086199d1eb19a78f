"""What decides."""

from streamlearn.agents.optimal import LDPOptimalStopper, OptimalStopper
from streamlearn.agents.single_threshold import SingleThresholdStopper
from streamlearn.agents.static import StaticStopper

__all__ = ["LDPOptimalStopper", "OptimalStopper", "SingleThresholdStopper", "StaticStopper"]
