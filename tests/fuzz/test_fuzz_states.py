"""States that are no JSON but any objects of Python: refused, or taken on and good to be saved."""

from __future__ import annotations

import json
import math
import random

import fuzzagents
import fuzzdecoders
import fuzzing
import msgspec
import pytest

from streamlearn import Channel, agents, hypotheses, priors, state
from streamlearn.errors import StateError, StreamlearnError
from streamlearn.hypotheses import notation
from streamlearn.privacy import Ledger
from streamlearn.replays import read_examples
from streamlearn.reporters import Reporter, ReportingPlan


class Text(str):
    __slots__ = ()


CYCLE: dict = {}
CYCLE["a"] = CYCLE
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]
ODD = {
    "long": 10**5000,
    "negative": -(10**5000),
    "nan": math.nan,
    "infinite": math.inf,
    "surrogate": "\ud800",
    "surrogate key": {"\ud800": 1},
    "nul": "\0",
    "text": "x" * 100_000,
    "bytes": b"a",
    "cycle": CYCLE,
    "deep": DEEP,
    "set": set(),
    "tuple": (1,),
    "none": None,
    "true": True,
    "number key": {1: 2},
    "object": object(),
    "type": int,
    "function": print,
    "subclass": Text("q"),
    "list of long": [10**5000],
}


def places(plain, path=()):
    """Where something is, of each form of path the first: the elements of a list are alike."""
    yield path
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from places(value, (*path, name))
    elif isinstance(plain, list):
        for place, value in enumerate(plain[:2]):
            yield from places(value, (*path, place))


def changed(plain, path, value):
    """A copy with one value in place of another; what is beside the path is shared."""
    if not path:
        return value
    copied = plain.copy()
    copied[path[0]] = changed(plain[path[0]], path[1:], value)
    return copied


def refused(load, given):
    """Whether it was refused, in few words and in streamlearn's own error."""
    found, _ = fuzzing.watched(lambda: load(given), fuzzing.STEPS)
    if not isinstance(found, StreamlearnError):
        return False
    assert isinstance(found, StateError)
    assert len(str(found)) <= fuzzing.MOST_LETTERS
    return True


@pytest.mark.parametrize("name", fuzzagents.AGENTS)
def test_an_agent_refuses_odd_objects_or_can_be_saved_with_them(name):
    whole = msgspec.json.decode(fuzzagents.saved(name))
    at = list(places(whole))
    for path in random.Random(1).sample(at, min(len(at), 25)):
        for value in ODD.values():
            agent = fuzzagents.fresh(name)
            if refused(agent.load_state_dict, changed(whole, path, value)):
                assert state.dumps(agent) == state.dumps(fuzzagents.built(name))
                continue
            try:
                written = state.dumps(agent)
            except StateError:
                continue  # it says so; what cannot be JSON did not come from JSON
            except TypeError:
                assert isinstance(value, Text)
                continue
            assert state.dumps(fuzzagents.loaded(name, written)) == written


def test_a_reporter_refuses_odd_objects_or_can_be_saved_with_them():
    whole = msgspec.json.decode(fuzzdecoders.memory())
    for path in places(whole):
        for value in ODD.values():
            reporter = Reporter(max_epsilon=2.0)
            before = reporter.state_dict()
            if refused(reporter.load_state_dict, changed(whole, path, value)):
                assert reporter.state_dict() == before
            else:
                Reporter(max_epsilon=2.0).load_state_dict(
                    msgspec.json.decode(msgspec.json.encode(reporter.state_dict()))
                )


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    "read",
    [
        ReportingPlan.from_json,
        Ledger.from_json,
        Channel.from_tag,
        priors.parse,
        notation.parse,
        lambda data: state.loads(data, fuzzagents.fresh("SOA")),
    ],
    ids=["plan", "ledger", "tag", "priors", "class", "state"],
)
def test_no_reader_takes_an_odd_object_for_a_text(read, value):
    with pytest.raises(StreamlearnError):
        read(value)


def test_an_instance_that_json_cannot_carry_is_said_when_the_state_is_saved(tmp_path):
    """Python's own reader of JSON, which logs are read by, gives half a character for its escape."""
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"x": "\ud800", "y": 1}) + "\n")
    agent = agents.SOA(hypotheses.Points())
    for x, y in read_examples(log):
        agent.learn_one(x, y)
    with pytest.raises(StateError, match="cannot be written as JSON"):
        state.dumps(agent)
