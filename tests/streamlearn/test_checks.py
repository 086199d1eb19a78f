"""Every check catches the fault it is there for, and nothing else; a sound agent of a third party passes."""

from __future__ import annotations

import itertools
from array import array

import faulty_agents  # noqa: F401 - importing plants
import faulty_predictors  # noqa: F401
import faulty_stoppers  # noqa: F401
import msgspec
import numpy as np
import pytest
from planting import KEY, PLANTED, Fixed, Patient, Vote, stoppers
from river.base import Base

from streamlearn import Report, checks, hypotheses, rounds
from streamlearn.agents import SOA
from streamlearn.checks import memory
from streamlearn.checks.sizes import deep_size, reachable
from streamlearn.errors import CheckError, ParameterError, StreamlearnError


@pytest.fixture(autouse=True)
def _small_caps(monkeypatch):
    """So that memory is soon seen to be bounded, or not."""
    monkeypatch.setattr(rounds, "MOST_PENDING", 300)
    monkeypatch.setattr(memory, "FIRST", 2**8)
    monkeypatch.setattr(memory, "LAST", 2**11)


def failing(agent):
    """What is said of the checks an agent fails, by their names and in order."""
    said = {}
    for check in checks.yield_checks(agent):
        try:
            check(agent)
        except CheckError as error:
            said[check.__name__] = str(error)
    return said


def agents_of(cls, build):
    built = build(cls)
    return built if isinstance(built, tuple) else (built,)


@pytest.mark.parametrize(("cls", "build", "caught"), PLANTED, ids=[cls.__name__ for cls, _, _ in PLANTED])
def test_a_planted_fault_is_caught_by_its_own_check(cls, build, caught):
    said = {}
    for agent in agents_of(cls, build):
        found = failing(agent)
        said |= found
        if found:
            first = next(iter(found))
            assert first == caught[0]
            with pytest.raises(CheckError, match=f"{first} of {cls.__name__}: expected .*, saw .*; "):
                checks.check_agent(agent)
    assert set(said) == set(caught)


SOUND = [
    Vote(KEY),
    *(Patient(KEY, delay) for delay in (0, 1, 2, 7, 8, 2000)),
    *stoppers(Fixed),
    Fixed("-"),
    Fixed("+"),
    Fixed("a", 0.0),
]


@pytest.mark.parametrize("agent", SOUND, ids=lambda agent: getattr(agent, "pattern", "vote"))
def test_a_sound_agent_of_a_third_party_passes(agent):
    before = agent.state_dict()
    assert failing(agent) == {}
    checks.check_agent(agent)
    assert agent.state_dict() == before


def test_every_check_has_a_fault_that_only_it_catches():
    every = {check.__name__ for agent in (Vote(KEY), Fixed("a")) for check in checks.yield_checks(agent)}
    # Whoever ignores its key differs in everything that compares two agents.
    assert every - {caught[0] for _, _, caught in PLANTED if len(caught) == 1} == {
        "check_same_key_same_run",
        "check_asking_again_changes_no_answer",
    }
    assert {name for _, _, caught in PLANTED for name in caught} == every


# --- what is said, and what is refused


class Unready(Vote):
    def __init__(self, key, title="vote"):
        self._unlearned()
        self.title = title
        self._key = key


def test_an_argument_that_is_not_stored_is_named():
    with pytest.raises(
        CheckError,
        match=r"check_arguments_are_stored of Unready: .* saw no attribute key; set self.key = key",
    ):
        checks.check_agent(Unready(KEY))


def test_the_remedy_for_an_agent_without_a_kind_is_to_register_it():
    with pytest.raises(CheckError, match=r'saw none.*@streamlearn.state.register\("Unkinded"\)'):
        checks.check_agent(type("Unkinded", (Fixed,), {})("a"))


class Impatient(Patient):
    def _give_up_before(self, waiting):
        super()._give_up_before(waiting - 1)


@pytest.mark.parametrize("delay", [0, 1, 7])
def test_an_agent_less_patient_than_it_says_fails(delay):
    assert "check_labels_come_in_any_order" in failing(Impatient(KEY, delay))


@pytest.mark.parametrize("delay", [-1, 1.0, True])
def test_a_max_delay_that_is_none_is_said(delay):
    with pytest.raises(CheckError, match="expected max_delay to be how many rounds late a label may be"):
        checks.check_agent(Patient(KEY, delay))


def test_a_check_error_is_an_assertion_and_keeps_the_cause():
    with pytest.raises(CheckError, match="saw ValueError") as caught:
        _are_bits([("private", 1)])(Picky(KEY))
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, StreamlearnError)
    assert isinstance(caught.value.__cause__, ValueError)
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(
    "stream", [[], [1, 2], [(1, 2, 3)], [(1, None)], [(1, 2)], [(1, [1])], [(1, np.array([1, 0]))]]
)
def test_a_stream_is_of_labelled_instances(stream):
    with pytest.raises(ParameterError, match="stream must yield pairs"):
        checks.check_agent(Vote(KEY), stream)


def test_a_stopper_takes_no_stream():
    with pytest.raises(ParameterError, match="stream is for predictors"):
        checks.check_agent(Fixed("a"), [(1, True)])


def test_what_is_no_agent_is_refused():
    with pytest.raises(ParameterError, match="must be a Predictor or a Stopper, got Base"):
        checks.check_agent(Base())


class Hidden(hypotheses.Finite):
    """Does not list its instances."""

    def as_finite(self):
        return hypotheses.HypothesisClass.as_finite(self)


def test_a_class_nobody_can_guess_an_instance_of_needs_a_stream():
    agent = SOA(Hidden([[False], [True]], domain=["p"]))
    with pytest.raises(ParameterError, match="pass stream="):
        checks.check_agent(agent)
    checks.check_agent(agent, (("p", i % 2) for i in itertools.count()))


class Picky(Vote):
    """Breaks on whatever is not mine."""

    def _predict(self, x):
        if x != "mine":
            raise ValueError(x)
        return super()._predict(x)


def _are_bits(stream):
    return next(
        it for it in checks.yield_checks(Picky(KEY), stream) if it.__name__ == "check_answers_are_bits"
    )


def test_a_given_stream_is_what_is_fed():
    _are_bits([("mine", 1)])(Picky(KEY))
    with pytest.raises(CheckError, match="saw ValueError"):
        _are_bits([("mine", 1), ("yours", 0)])(Picky(KEY))


# --- sizes


class Holder:
    def __init__(self, held):
        self.held = held


GROWING = {
    "list": lambda n: [True] * n,
    "tuple": lambda n: (True,) * n,
    "dict": lambda n: dict.fromkeys(range(n)),
    "set": lambda n: set(range(n)),
    "bytes": bytes,
    "bytearray": bytearray,
    "str": lambda n: "a" * n,
    "array": lambda n: array("b", bytes(n)),
    "numpy": lambda n: np.zeros(n, dtype=np.int8),
    "view": lambda n: np.zeros(n, dtype=np.int8)[:1],
    "objects": lambda n: np.array([None] * n, dtype=object),
    "closure": lambda n: lambda held=[True] * n: held,
    "struct": lambda n: msgspec.defstruct("S", [("held", list)], gc=False)([True] * n),
    "report": lambda n: [Report(i, 1) for i in range(n)],
    "int": lambda n: 2 ** (8 * n),
}


@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING.keys())
def test_every_entry_counts(make):
    assert deep_size(Holder(make(2_000))) >= deep_size(Holder(make(1_000))) + 1_000


def test_room_for_more_does_not_count():
    grown = list(range(1_000))
    while len(grown) > 3:
        grown.pop()
    once = dict.fromkeys(range(1_000))
    for number in range(3, 1_000):
        del once[number]
    assert deep_size(grown) == deep_size([0, 1, 2])
    assert deep_size(once) == deep_size(dict.fromkeys(range(3)))


def test_what_is_shared_counts_once_and_cycles_end():
    one = [1, 2, 3]
    cycle = [one, one]
    cycle.append(cycle)
    assert [item for item, _ in reachable(cycle) if item is one] == [one]
    assert deep_size(cycle) == deep_size([one, one]) + 1
