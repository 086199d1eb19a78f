"""Candidate replacement: equal to its offline definition, within its bound, in bounded memory, and exactly private."""

from __future__ import annotations

import dataclasses
import math
import random
from decimal import Decimal

import numpy as np
import pytest

from streamlearn import Key, state
from streamlearn.agents.candidate_replacement import CandidateReplacementPredictor
from streamlearn.agents.past import safe
from streamlearn.errors import ParameterError, PlanError, RoundError, StateError
from streamlearn.hypotheses import Conjunctions, Finite, Point3, Points, Stumps, Thresholds
from streamlearn.planning import Plan, candidate_plan
from streamlearn.selection import Mistake, scheme

CUBE = Finite(np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=bool))
"""All functions of three points."""


def small_plan(cls, *, batch=2, width=1, length=1, max_delay=0, mode="options", eta=1.0):
    """A plan whose every part is reached on streams of a few dozen rounds."""
    acceptance = [i / width for i in range(width + 1)]
    ramp = [(i + 1) / (length + 1) for i in range(length)]
    return Plan.explicit(
        cls, epsilon=5.0, eta=eta, batch=batch, ramp=ramp, acceptance=acceptance, beta=1.0, mode=mode,
        max_delay=max_delay,
    )  # fmt: skip


def offline(agent, stream):
    """What Algorithm 3 says with all candidates available from the start, and the agent's own draws."""
    plan, key = agent.plan, agent.key
    selector = scheme(agent.hypotheses, plan.mode).start(plan.eta, plan.batch)
    candidates = [selector.candidate()]
    while len(candidates) <= plan.candidates and not selector.exhausted:
        wrong = [Mistake(t, x, y) for t, (x, y) in enumerate(stream, 1) if candidates[-1](x) != y]
        selector.advance(wrong[: plan.batch], key)
        candidates.append(selector.candidate())
    answers = [candidates[0](x) for x, _ in stream]
    for number, says in enumerate(candidates[1:], start=1):
        rule = agent._rule(number)
        differing = [t for t, (x, _) in enumerate(stream) if says(x) != answers[t]]
        right = sum(says(stream[t][0]) == stream[t][1] for t in differing[: rule.delay])
        accepted = rule.accepts(right, key, number)
        for index, t in enumerate(differing, start=1):
            if accepted and rule.follows(index, key, number):
                answers[t] = not answers[t]
    return answers


def online(agent, stream, late=0, draws=None):
    """The agent's answers, each label at most ``late`` rounds late, at random."""
    answers = []
    waiting = []
    for t, (x, y) in enumerate(stream):
        answers.append(agent.predict_one(x, round=t) if late else agent.predict_one(x))
        waiting.append((t, x, y))
        draws = draws or random.Random(0)
        draws.shuffle(waiting)
        due = [label for label in waiting if label[0] + late <= t or draws.random() < 0.5]
        for label in due:
            waiting.remove(label)
            agent.learn_one(label[1], label[2], **({"round": label[0]} if late else {}))
    return answers


def streams(count, instances, functions, length=60):
    """Realisable and unrealisable streams whose instances come in runs."""
    draws = random.Random(1)
    for number in range(count):
        f = functions[number % len(functions)]
        noise = draws.choice([0.0, 0.0, 0.3, 1.0])
        pool = draws.sample(instances, draws.randint(1, len(instances)))
        yield (
            number,
            [
                (x, draws.random() < 0.5 if draws.random() < noise else f(x))
                for x in draws.choices(pool, k=length)
            ],
        )


CASES = [
    (Point3(), [1, 2, 3], [lambda x, p=p: x == p for p in (1, 2, 3)]),
    (Thresholds(6), list(range(1, 7)), [lambda x, a=a: x >= a for a in range(1, 8)]),
    (CUBE, [0, 1, 2], [lambda x, i=i: bool(i >> x & 1) for i in range(8)]),
]


@pytest.mark.parametrize("late", [0, 1, 3])
@pytest.mark.parametrize(("cls", "instances", "functions"), CASES, ids=["point3", "thresholds", "cube"])
def test_online_is_offline(cls, instances, functions, late):
    plan = small_plan(cls, max_delay=late)
    switched = 0
    for number, stream in streams(250, instances, functions, length=60 + 40 * late):
        agent = CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(number), max_delay=late)
        answers = online(agent, stream, late, random.Random(number))
        assert answers == offline(agent, stream)
        switched += answers != [agent._selector.candidates[0](x) for x, _ in stream]
    assert switched > 25  # else nothing was compared


@pytest.mark.parametrize(("batch", "width", "length"), [(1, 1, 1), (1, 2, 3), (3, 2, 2)])
def test_online_is_offline_for_other_shapes(batch, width, length):
    plan = small_plan(CUBE, batch=batch, width=width, length=length)
    for number, stream in streams(200, [0, 1, 2], CASES[2][2], length=80):
        agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(number))
        assert online(agent, stream) == offline(agent, stream)


def test_a_schedule_shorter_by_one_is_caught():
    plan = small_plan(CUBE, batch=2, width=1, length=1)
    differing = 0
    for number, stream in streams(600, [0, 1, 2], CASES[2][2]):
        agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(number))
        agent.plan = dataclasses.replace(plan, delays=tuple(delay - 1 for delay in plan.delays))
        agent._begin()
        differing += online(agent, stream) != offline(agent, stream)
    assert differing > 0


@pytest.mark.parametrize(("cls", "instances", "functions"), CASES, ids=["point3", "thresholds", "cube"])
@pytest.mark.parametrize("late", [0, 2])
def test_mistakes_keep_to_the_bound_wherever_selection_succeeds(cls, instances, functions, late):
    plan = small_plan(
        cls, max_delay=late, eta=15.0, batch=2
    )  # the exponential mechanism all but takes the maximum
    for number in range(120):
        f = functions[number % len(functions)]
        draws = random.Random(number)
        stream = [(x, f(x)) for x in draws.choices(instances, k=600)]
        agent = CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(number), max_delay=late)
        answers = online(agent, stream, late, draws)
        last = agent._selector.candidates[-1]
        assert sum(last(x) != y for x, y in stream) < plan.batch + late
        assert sum(a != y for a, (_, y) in zip(answers, stream, strict=True)) <= plan.mistake_bound


def test_a_real_plan_keeps_its_bound_and_reaches_its_last_candidate():
    cls = Point3()
    plan = candidate_plan(cls, 1.0, 1e-3)
    for seed in range(4):  # fails with probability at most beta = 1e-3 each
        agent = CandidateReplacementPredictor(cls, 1.0, 1e-3, key=Key.from_seed(seed))
        wrong = 0
        for _ in range(4000):
            wrong += agent.predict_one(2) is not True
            agent.learn_one(2, True)
        assert wrong <= plan.mistake_bound
        assert agent.predict_one(2)  # it has switched for good
        assert not agent._links
        assert len(agent._past) == 0


@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("place", [3, 17, 31, 47])
def test_a_restored_copy_goes_on_alike(place, late):
    plan = small_plan(CUBE, max_delay=late)
    for number, stream in streams(30, [0, 1, 2], CASES[2][2]):
        agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(number), max_delay=late)
        online(agent, stream[:place], late, random.Random(number))
        copy = agent.clone()
        state.loads(state.dumps(agent), copy)
        assert state.dumps(copy) == state.dumps(agent)
        rest = [(x, y) for x, y in stream[place:]]
        for t, (x, y) in enumerate(rest, start=1000):
            assert agent.predict_one(x, round=t) == copy.predict_one(x, round=t)
            for each in (agent, copy):
                each.learn_one(x, y, round=t)
        assert state.dumps(copy) == state.dumps(agent)


def test_memory_depends_on_distinct_instances_only():
    cls = Thresholds(2**60)
    agent = CandidateReplacementPredictor(cls, 1.0, 1e-6, key=Key.from_seed(1))
    instances = [(i * 2**54) + 7 for i in range(1, 40)]
    sizes = []
    for n in (8_000, 8_000):
        for i in range(n):
            x = instances[i * 7 % len(instances)]
            agent.predict_one(x)
            agent.learn_one(x, x >= 2**59)
        sizes.append(len(agent._past))
    assert sizes == [39, 39]
    assert all(len(first) <= agent.plan.batch for seen in agent._past._seen.values() for first in seen.first)


def test_labels_that_never_come_are_the_public_defaults():
    cls = Point3()
    plan = small_plan(cls, max_delay=1)
    silent = CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(1), max_delay=1)
    told = CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(1), max_delay=1)
    for t in range(200):
        x = (1, 2, 2, 3)[t % 4]
        assert silent.predict_one(x, round=t) == told.predict_one(x, round=t)
        told.learn_one(x, cls.default(x), round=t)
    with pytest.raises(RoundError, match="no label is awaited for round 100"):
        silent.learn_one(2, True, round=100)


def test_a_round_asked_again_has_its_answer():
    plan = small_plan(CUBE, max_delay=3)
    agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(2), max_delay=3)
    twin = agent.clone()
    for _, stream in streams(1, [0, 1, 2], CASES[2][2], length=200):
        for t, (x, y) in enumerate(stream):
            first = agent.predict_one(x, round=t)
            assert [agent.predict_one(x, round=t) for _ in range(3)] == [first] * 3
            assert twin.predict_one(x, round=t) == first
            agent.learn_one(x, y, round=t)
            twin.learn_one(x, y, round=t)
    assert state.dumps(agent) == state.dumps(twin)


def test_unknown_instances_are_no_part_of_the_stream():
    plan = small_plan(CUBE)
    agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(1))
    plain = agent.clone()
    for _, stream in streams(1, [0, 1, 2], CASES[2][2], length=120):
        for x, y in stream:
            assert agent.predict_one("nobody") is False
            agent.learn_one("nobody", True)
            assert agent.predict_one(x) == plain.predict_one(x)
            agent.learn_one(x, y)
            plain.learn_one(x, y)


def test_bad_arguments():
    with pytest.raises(ParameterError, match="give epsilon and delta"):
        CandidateReplacementPredictor(Point3())
    with pytest.raises(ParameterError, match="hypothesis class"):
        CandidateReplacementPredictor(3, 1.0, 1e-3)
    with pytest.raises(ParameterError, match="max_delay must be"):
        CandidateReplacementPredictor(Point3(), 1.0, 1e-3, max_delay=-1)
    with pytest.raises(ParameterError, match="key must be a Key"):
        CandidateReplacementPredictor(Point3(), 1.0, 1e-3, key=7)
    plan = candidate_plan(Point3(), 1.0, 1e-3)
    with pytest.raises(ParameterError, match=r"epsilon must be 1.0, as the plan has it"):
        CandidateReplacementPredictor(Point3(), 2.0, 1e-3, plan=plan)
    with pytest.raises(ParameterError, match="max_delay must be 0, as the plan has it"):
        CandidateReplacementPredictor(Point3(), plan=plan, max_delay=2)
    with pytest.raises(PlanError, match="the plan is for Point3"):
        CandidateReplacementPredictor(Points(3), plan=plan)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body.update(base=3),
        lambda body: body.update(base=-1),
        lambda body: body.update(resolved=-1),
        lambda body: body.update(resolved=12),
        lambda body: body["rounds"].update(asked=10**40),
        lambda body: body["links"][0].update(asked=-1),
        lambda body: body["links"][0].update(asked=10**6),
        lambda body: body["links"][0].update(right=-1),
        lambda body: body["links"][0].update(right=9),
        lambda body: body["links"][0].update(resolved=5),
        lambda body: body["links"][0].update(accepted=not body["links"][0]["accepted"]),
        lambda body: body["links"].insert(0, body["links"][0]),
        lambda body: body["batch"].extend(body["batch"] * 2),
        lambda body: body["batch"].append({"sequence": 99, "x": 0, "y": True}),
        lambda body: body["past"]["seen"][0].update(first=[[99], []]),
        lambda body: body["links"].append(
            {"number": 9, "asked": 0, "resolved": 0, "right": 0, "accepted": None}
        ),
        lambda body: body["past"]["seen"][0].update(counts=[-1, 0, 0, 0]),
        lambda body: body["past"]["seen"][0].update(first=[[2**70], []]),
        lambda body: body.update(selector="x"),
    ],
)
def test_states_that_are_not_possible_are_refused(spoil):
    plan = small_plan(CUBE)
    agent = CandidateReplacementPredictor(CUBE, plan=plan, key=Key.from_seed(1))
    for _ in range(11):
        agent.learn_one(0, agent._view(0).bits[-1] is False or len(agent._links) > 0)
        agent.learn_one(1, True)
        if agent._links and agent._batch:
            break
    saved = agent.state_dict()
    assert saved["body"]["links"]
    assert saved["body"]["batch"]
    spoil(saved["body"])
    before = state.dumps(agent)
    with pytest.raises(StateError):
        agent.load_state_dict(saved)
    assert state.dumps(agent) == before


def test_an_instance_the_class_does_not_know_decides_nothing_for_another():
    """Types in another order of names: the first record of a neighbouring stream must not change later answers."""
    cls = Stumps({"a": [0.5, 1.5]})
    answers = []
    for first in ({"b": 1, "a": Decimal(1)}, "nobody"):
        agent = CandidateReplacementPredictor(cls, plan=small_plan(cls), key=Key.from_seed(1))
        agent.learn_one(first, True)
        known = {"a": 1, "b": Decimal(1)}
        assert cls.knows(known)
        assert not cls.knows(first)
        answers.append(online(agent, [(known, False)] * 30))
        assert agent._resolved == 30
    assert answers[0] == answers[1]


def test_equal_instances_of_unlike_types_are_told_apart():
    cls = Stumps({"a": [0.5, 1.5]})
    plan = small_plan(cls)
    agent = CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(1))
    known = agent.predict_one({"a": 1})
    assert agent._answer({"a": 1}, 1)[1] is not None
    assert agent._answer({"a": Decimal(1)}, 1)[1] is None  # no number to a stump, though equal to one
    assert agent.predict_one({"a": 1}) is known


class Odd:
    """An instance whose equality raises."""

    def __eq__(self, other):
        raise RuntimeError

    def __hash__(self):
        return 1


def test_strangers_break_nothing():
    agent = CandidateReplacementPredictor(Point3(), plan=small_plan(Point3()), key=Key.from_seed(1))
    for x in (Odd(), Odd(), (1, [2]), {"a": [1]}, {"a": Odd(), "b": Odd()}, float("nan")):
        assert agent.predict_one(x) is False
        agent.learn_one(x, True)
    assert agent._resolved == 0


class Prickly:
    """Equal to itself alone; asked about any other it raises."""

    def __eq__(self, other):
        if self is not other:
            raise RuntimeError
        return True

    def __hash__(self):
        return 1


FURTHER = [
    {}, {"more": [1]}, {"more": math.nan}, {"more": float("-nan")}, {"more": {"b": [2, (3, {"c": None})]}},
    {"more": (1, [math.nan])}, {"more": "x", "rest": [[]]},
]  # fmt: skip
UNSAVABLE = [
    {"more": Odd()},
    {"more": Prickly()},
    {"more": Prickly()},
    {"more": {Odd()}},
    {"more": Decimal("NaN")},
]
FEATURES = {
    "stumps": (Stumps({"a": [0.5, 1.5]}), [{"a": a} for a in (0, 1, 2)]),
    "conjunctions": (Conjunctions(["p", "q"], k=2), [{"p": p, "q": q} for p in (0, 1) for q in (0, 1)]),
}


def in_order(agent, stream, late, save_every=None):
    """The agent's answers, each label just ``late`` rounds late; saved and restored every so many rounds."""
    answers = []
    for t, (x, _) in enumerate(stream):
        if save_every and t % save_every == 0:
            agent = state.loads(state.dumps(agent), agent.clone())
        answers.append(agent.predict_one(x, round=t))
        if t >= late:
            agent.learn_one(*stream[t - late], round=t - late)
    return answers, state.dumps(agent) if save_every else None


@pytest.mark.parametrize("late", [0, 2])
@pytest.mark.parametrize("name", FEATURES)
def test_further_features_that_no_table_holds_make_no_difference(name, late):
    """Online is offline on them, as it is without them, and saved runs go on alike."""
    cls, instances = FEATURES[name]
    plan = small_plan(cls, max_delay=late)
    changed = 0
    for number, stream in streams(60, instances, [lambda x: all(x.values()), cls.default]):
        draws = random.Random(number)

        def given(further, stream=stream, draws=draws):
            return [(x | draws.choice(further), y) for x, y in stream]

        def agent(number=number):
            return CandidateReplacementPredictor(cls, plan=plan, key=Key.from_seed(number), max_delay=late)

        told = given(FURTHER)
        answers, _ = in_order(agent(), stream, late)
        assert answers == offline(agent(), told)
        assert answers == in_order(agent(), given([*FURTHER, *UNSAVABLE]), late)[0]
        told = [(x, y) if late else (x | {"image": object()}, y) for x, y in told]  # of no use to the class
        saved = [in_order(agent(), told, late, every) for every in (5, 60)]
        assert saved[0] == saved[1]
        assert saved[0][0] == answers
        changed += answers != [cls.default(x) for x, _ in stream]
    assert changed > 5  # else nothing was learned


def test_what_differs_from_itself_or_others_by_a_strangers_word_is_unknown_whoever_came_before():
    """An identity that is a stranger's own cannot be looked up: it is no instance, also not the first of its kind."""
    assert [safe(x) for x in (Prickly(), (1, Prickly()), frozenset({Prickly()}), 1, ("a", None))] == [
        False, False, False, True, True,
    ]  # fmt: skip
    agent = CandidateReplacementPredictor(Points(), plan=small_plan(Points()), key=Key.from_seed(1))
    agent.learn_one(Prickly(), False)
    for x in (Prickly(), {"a": Prickly(), "b": [1]}):
        assert agent.predict_one(x) is False
        agent.learn_one(x, True)
    assert agent._resolved == 1


def test_an_instance_too_deep_to_be_saved_is_said():
    deep = 1
    for _ in range(40):
        deep = [deep]
    agent = CandidateReplacementPredictor(Point3(), plan=small_plan(Point3()), key=Key.from_seed(1))
    agent.predict_one({"a": deep, "b": 1}, round=1)
    with pytest.raises(StateError, match="nested more than 32 deep cannot be saved; make it flatter"):
        agent.state_dict()
    agent.learn_one({"a": deep, "b": 1}, True, round=1)
    saved = agent.state_dict()
    for wrong in (
        {"features": [["a"]]},
        {"features": 1},
        {"list": 1},
        {"float": "nan", "more": 1},
        {"tuple": [[]]},
    ):
        saved["body"]["rounds"] |= {"asked": 2}
        saved["body"]["rounds"]["waiting"] = [
            {"number": 2, "x": wrong, "answer": False, "memo": None, "label": None}
        ]
        with pytest.raises(StateError, match="malformed"):
            agent.load_state_dict(saved)
