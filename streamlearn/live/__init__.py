"""Agents on live streams, exactly once in effect: brokers, a durable store, and what connects them.

``Message`` → ``Runner`` (with its ``Store``) → ``StopDecision`` or ``Prediction``. A ``Pump`` moves messages from a
source to the runner and what it decides to a sink, both found in ``streamlearn.live.brokers``.
"""

from streamlearn.live.messages import (
    DeadLetter,
    Decision,
    ExampleMessage,
    Message,
    Prediction,
    ReportMessage,
    StopDecision,
)
from streamlearn.live.ports import Sink, Source
from streamlearn.live.pump import Pump
from streamlearn.live.runner import Runner
from streamlearn.live.store import Outgoing, Store

__all__ = [
    "DeadLetter",
    "Decision",
    "ExampleMessage",
    "Message",
    "Outgoing",
    "Prediction",
    "Pump",
    "ReportMessage",
    "Runner",
    "Sink",
    "Source",
    "StopDecision",
    "Store",
]
