"""What drives agents over streams and scores them."""

from __future__ import annotations

from streamlearn.policy import PolicyValue
from streamlearn.replays.policies import evaluate_policy
from streamlearn.replays.replay import Step, replay, replay_many
from streamlearn.replays.results import Decision, Estimate, StoppingResult
from streamlearn.replays.scores import Interval
from streamlearn.replays.simulation import Simulation, simulate
from streamlearn.replays.streams import Episode, EpisodeBatch, RecordedStream, read_stream

__all__ = [
    "Decision",
    "Episode",
    "EpisodeBatch",
    "Estimate",
    "Interval",
    "PolicyValue",
    "RecordedStream",
    "Simulation",
    "Step",
    "StoppingResult",
    "evaluate_policy",
    "read_stream",
    "replay",
    "replay_many",
    "simulate",
]
