"""Plans and agents small enough to be fuzzed by the thousand, and their states."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzzing import Decoder

from streamlearn import Channel, Key, agents, hypotheses, priors, state
from streamlearn.accounting.combining import rule_delta
from streamlearn.errors import StateError, StreamlearnError
from streamlearn.planning import Combination, Plan
from streamlearn.reporters import ReportingPlan

KEY = Key.from_seed(5)
CUBE = hypotheses.Finite(np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=bool))
LATE = 3


# --- plans


def reporting_plan() -> ReportingPlan:
    return ReportingPlan([
        Channel.randomized_response(1, 0.5, 1.0),
        Channel.randomized_response(2, 0.25, float("inf")),
        Channel.constant(3, bit=1),
    ])  # fmt: skip


@functools.cache
def plan() -> Plan:
    shape = {"eta": 1.0, "batch": 4, "ramp": [0.3, 0.7], "acceptance": [0.0, 0.5, 1.0], "beta": 1.0}
    return Plan.explicit(CUBE, epsilon=5.0, max_delay=LATE, **shape)


@functools.cache
def combined_plan() -> Plan:
    """The same with a combination, without the search for a good one."""
    part, rule, gamma = plan(), rule_delta(500, 1.0, LATE), 0.01
    parts = Combination(part.epsilon, part.delta, gamma, 1.0, rule, 500)
    return dataclasses.replace(
        part, epsilon=6.0, delta=part.delta + 1.001 * (rule + gamma), combination=parts
    )


# --- agents and their states

PEOPLE = [0.5, priors.Uniform(0.0, 1.0), priors.Discrete([0.0, 1.0], [0.5, 0.5])]


def candidates() -> Any:
    return agents.CandidateReplacementPredictor(
        CUBE, plan=plan(), key=KEY.derive("candidates"), max_delay=LATE
    )


def subsampled() -> Any:
    return agents.SubsampledSOA(CUBE, 0.3, KEY.derive("subsampled"))


AGENTS: dict[str, Callable[[], Any]] = {
    "LDPOptimalStopper": lambda: agents.LDPOptimalStopper(PEOPLE, epsilon=1.0),
    "OptimalStopper": lambda: agents.OptimalStopper(PEOPLE),
    "SingleThresholdStopper": lambda: agents.SingleThresholdStopper(PEOPLE, epsilon=1.0),
    "StaticStopper": lambda: agents.StaticStopper(PEOPLE, epsilon=1.0),
    "SOA": lambda: agents.SOA(CUBE),
    "SubsampledSOA": subsampled,
    "CandidateReplacementPredictor": candidates,
    "Combine": lambda: agents.Combine(candidates(), subsampled(), D=2, key=KEY, max_delay=LATE),
    "Replacement": lambda: agents.Replacement(
        subsampled(), candidates(), 2, epsilon=8.0, delta=0.09, key=KEY, max_delay=LATE
    ),
    "PrivatePredictor": lambda: agents.PrivatePredictor(CUBE, plan=combined_plan(), key=KEY, max_delay=LATE),
    # Version spaces of other classes, in the smallest agent that saves one.
    "SOA of points": lambda: agents.SOA(hypotheses.Points()),
    "SOA of thresholds": lambda: agents.SOA(hypotheses.Thresholds(2**60)),
    "SOA of intervals": lambda: agents.SOA(hypotheses.Intervals(9)),
    "SOA of conjunctions": lambda: agents.SOA(hypotheses.Conjunctions(["a", "b", "c"], 2)),
    "SOA of stumps": lambda: agents.SOA(hypotheses.Stumps({"a": [0.5, 1.5], "b": [1.0]})),
    "SOA of singletons": lambda: agents.SOA(hypotheses.SingletonsOrEmpty()),
}
"""How to build an agent, by the kind of its state and what else tells it apart."""


@functools.cache
def built(name: str) -> Any:
    return AGENTS[name]()


def fresh(name: str) -> Any:
    """Return an agent that has seen nothing; plans are certified once."""
    return copy.deepcopy(built(name))


@functools.cache
def saved(name: str) -> bytes:
    """Return the state of an agent that has seen something of everything."""
    agent = fresh(name)
    if hasattr(agent, "horizon"):
        return state.dumps(agent)
    seen = {
        "SOA of points": [("a", 1), (("b", frozenset({"c"})), 0), (2.5, 0)],
        "SOA of singletons": [("a", 0), (7, 0)],
        "SOA of thresholds": [(5, 0), (2**40, 1)],
        "SOA of intervals": [(2, 0), (5, 1), (7, 0)],
        "SOA of conjunctions": [({"a": 1, "b": 0, "c": 1}, 1)],
        "SOA of stumps": [({"a": 1.0, "b": 0.5}, 1)],
    }.get(name, [(t % 3, t % 3 != 1) for t in range(11)])
    for x, y in seen:
        agent.learn_one(x, y)
    if "max_delay" not in agent._get_params() or name not in state.kinds():
        return state.dumps(agent)
    for t in range(100, 130):  # rounds that await their label, or have it before an older one
        x = t * 5 % 3
        agent.predict_one(x, round=t)
        for late, due in ((t, t % 4 != 1), (t - 2, t % 8 == 3)):
            if due:
                with contextlib.suppress(StreamlearnError):
                    agent.learn_one(late * 5 % 3, late * 5 % 3 != 1, round=late)
    return state.dumps(agent)


def loaded(name: str, data: bytes) -> Any:
    """Load a state into an agent, which is as before where that fails."""
    agent = fresh(name)
    try:
        return state.loads(data, agent)
    except BaseException:
        assert state.dumps(agent) == state.dumps(built(name))
        raise


def of_agents() -> list[Decoder]:
    return [
        Decoder(f"state of {name}", functools.partial(loaded, name), state.dumps, (saved(name),), StateError)
        for name in AGENTS
    ]
