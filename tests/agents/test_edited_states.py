"""States edited by hand: refused with the fields that disagree, or taken on and then good for many rounds."""

from __future__ import annotations

import copy
import dataclasses
import functools

import numpy as np
import pytest

from streamlearn import Key, state
from streamlearn.accounting.combining import rule_delta
from streamlearn.agents import (
    SOA,
    CandidateReplacementPredictor,
    Combine,
    PrivatePredictor,
    Replacement,
    SubsampledSOA,
)
from streamlearn.errors import StateError, StreamlearnError
from streamlearn.hypotheses import Finite
from streamlearn.planning import Combination, Plan

CUBE = Finite(np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=bool))
KEY = Key.from_seed(5)
LATE = 3
EARLY, LATER = 29, 45
"""Rounds played: a batch is begun and a replacement undecided; no candidate can come and one was accepted."""


@functools.cache
def plan():
    shape = {"eta": 1.0, "batch": 4, "ramp": [0.3, 0.7], "acceptance": [0.0, 0.5, 1.0], "beta": 1.0}
    return Plan.explicit(CUBE, epsilon=5.0, max_delay=LATE, **shape)


@functools.cache
def combined_plan():
    """The same plan with a combination, without the search for a good one."""
    part, rule, gamma = plan(), rule_delta(500, 1.0, LATE), 0.01
    parts = Combination(part.epsilon, part.delta, gamma, 1.0, rule, 500)
    return dataclasses.replace(
        part, epsilon=6.0, delta=part.delta + 1.001 * (rule + gamma), combination=parts
    )


def candidates():
    return CandidateReplacementPredictor(CUBE, plan=plan(), key=KEY.derive("candidates"), max_delay=LATE)


def subsampled():
    return SubsampledSOA(CUBE, 0.3, KEY.derive("subsampled"))


def combine():
    return Combine(candidates(), subsampled(), D=2, key=KEY, max_delay=LATE)


def nested():
    inner = Combine(SOA(CUBE), subsampled(), D=1, key=KEY.derive("inner"), max_delay=LATE)
    return Combine(candidates(), inner, D=2, key=KEY, max_delay=LATE)


def replacement():
    shape = {"epsilon": 8.0, "delta": 0.09, "key": KEY, "max_delay": LATE}
    return Replacement(subsampled(), candidates(), 2, **shape)


def private():
    return PrivatePredictor(CUBE, plan=combined_plan(), key=KEY, max_delay=LATE)


MAKERS = {it.__name__: it for it in (candidates, combine, nested, replacement, private)}


@functools.cache
def built(name):
    return MAKERS[name]()


def fresh(name):
    """An agent that has seen nothing; plans and ramps are certified once."""
    return copy.deepcopy(built(name))


def play(agent, start, rounds):
    """Let a stream pass, its labels late, in another order, given up or missing; return the errors."""
    errors = []

    def tried(call, *given, **named):
        try:
            call(*given, **named)
        except StreamlearnError as error:
            errors.append(error)

    for t in range(start, start + rounds):
        x = t * 5 % 3
        tried(agent.predict_one, x, round=t)
        if t % 4 != 1:
            tried(agent.learn_one, x, x != 1, round=t)
        if t % 8 == 3:
            tried(agent.learn_one, (t - 2) * 5 % 3, True, round=t - 2)
        if t % 16 == 7:
            tried(agent.give_up, t - 2)
    return errors


@functools.cache
def midway(name, rounds=EARLY):
    """An agent with rounds pending, labels that wait for others and replacements open."""
    agent = fresh(name)
    for t in range(11):
        agent.learn_one(t % 3, t % 3 != 1)
    play(agent, 100, rounds)  # the last rounds await their label, or have it before an older one
    return agent, agent.state_dict()


def leaves(data, path=()):
    """Where the integers and the lists are."""
    if type(data) is int or isinstance(data, list):
        yield path
    if isinstance(data, dict | list):
        for name, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, name))


def at(data, path):
    for name in path:
        data = data[name]
    return data


def edits(value):
    """What an integer or a list may be replaced by."""
    if isinstance(value, list):
        return [[], value[1:], value[:-1], value[::-1], [*value, *value[-1:]], [*value, 1], [*value, None]]
    return [value - 1, value + 1, 0, -1, 1000, 2**63, 10**30]


def edited(data, path, value):
    """A copy with one value in place of another; what is beside the path is shared."""
    if not path:
        return value
    copied = data.copy()
    copied[path[0]] = edited(data[path[0]], path[1:], value)
    return copied


@pytest.mark.parametrize("name", MAKERS)
def test_the_state_that_is_edited_has_something_of_everything(name):
    agent, saved = midway(name)
    assert state.loads(state.dumps(agent), fresh(name)).state_dict() == saved
    whole = getattr(agent, "combined", agent)
    assert {waiting.label is None for waiting in whole._waiting} == {True, False}
    assert whole._closed.runs
    if name in {"candidates", "combine", "nested", "private"}:
        both = (getattr(it, "combined", it) for it in (agent, midway(name, LATER)[0]))
        early, later = (getattr(it, "first", it) for it in both)
        assert early._batch
        for part, accepted in ((early, None), (later, True)):
            assert [link.state.accepted for link in part._links.values()] == [accepted]
            assert any(waiting.memo.disagreements for waiting in part._waiting)


@pytest.mark.parametrize("rounds", [EARLY, LATER])
@pytest.mark.parametrize("name", MAKERS)
def test_an_edited_state_is_refused_or_goes_on(name, rounds):
    _, saved = midway(name, rounds)
    twin, untouched = fresh(name), state.dumps(fresh(name))
    before = copy.deepcopy(saved)
    refused = loaded = parted = 0
    for path in leaves(saved["body"]):
        for value in edits(at(saved["body"], path)):
            try:
                twin.load_state_dict(edited(saved, ("body", *path), value))
            except StateError:
                assert state.dumps(twin) == untouched
                refused += 1
                continue
            loaded += 1
            said = [str(error) for error in play(twin, 150, 24) if isinstance(error, StateError)]
            assert all("failed in the middle of a round" in text for text in said)
            if said:  # one part saw rounds that the other did not, as only rounds to come can tell
                parted += 1
            else:
                state.dumps(twin)
            twin = fresh(name)
    assert refused > loaded > 100 * parted
    assert saved == before  # loading leaves the state alone


def part_of(name):
    return ("combined", "body") if name == "private" else ()


DISAGREE = [
    # (agent, where, by how much, the two fields that the error names)
    ("combine", ("rounds", "asked"), 1000, ("rounds.asked", "first")),
    ("private", ("rounds", "asked"), 1, ("rounds.asked", "first")),
    ("private", ("rounds", "asked"), -1, ("rounds.asked", "first")),
    ("private", ("first", "body", "rounds", "asked"), 1, ("rounds.asked", "first")),
    ("private", ("second", "body", "rounds", "unnumbered"), 1, ("rounds.asked", "second")),
    ("private", ("second", "body", "rounds", "closed", -1, 1), 1, ("rounds", "second")),
    ("combine", ("second", "body", "rounds", "pending", 0), 1000, ("rounds.waiting", "second")),
    ("combine", ("first", "body", "rounds", "waiting", 0, "number"), 1000, ("rounds.waiting", "first")),
    ("combine", ("rounds", "waiting", 0, "number"), 1000, ("rounds.waiting", "first")),
    ("combine", ("rounds", "closed", -1, 0), -50, ("rounds", "rounds.closed")),
    ("combine", ("first_right",), 1000, ("first_right and second_right", "rounds.asked")),
    ("candidates", ("resolved",), -1, ("past", "resolved")),
    ("candidates", ("past", "seen", 0, "counts", 3), 1, ("past.counts", "resolved")),
    ("candidates", ("past", "seen", 0, "first", 1, 0), 1, ("past.first", "time")),
    ("candidates", ("links", 0, "asked"), 1, ("memo", "links.asked")),
    ("candidates", ("links", 0, "resolved"), 1, ("link.resolved", "link.asked")),
    ("candidates", ("batch", 0, "sequence"), 1, ("batch", "past.first")),
    ("candidates", ("base",), 1, ("links", "base")),
    ("replacement", ("link", "resolved"), -1, ("link.resolved", "link.asked")),
    ("replacement", ("link", "asked"), 1000, ("link.asked", "rounds.waiting")),
    ("replacement", ("link", "right"), 1000, ("link.right", "link.resolved")),
]


@pytest.mark.parametrize(("name", "where", "more", "fields"), DISAGREE)
def test_fields_that_disagree_are_both_named(name, where, more, fields):
    saved = midway(name)[1]
    path = ("body", *part_of(name), *where)
    wrong = edited(saved, path, at(saved, path) + more)
    with pytest.raises(StateError) as caught:
        fresh(name).load_state_dict(wrong)
    assert all(field in str(caught.value) for field in fields), str(caught.value)


def test_parts_that_learned_before_are_no_contradiction():
    """Only a private predictor's own parts are known to have seen nothing else."""
    pretrained, other = fresh("combine"), fresh("combine")
    for part in (pretrained.first, pretrained.second):
        play(part, 0, 40)
        for number in part._tally().awaited:
            part.give_up(number)
    play(pretrained, 100, 30)
    state.loads(state.dumps(pretrained), other)
    assert state.dumps(other) == state.dumps(pretrained)
