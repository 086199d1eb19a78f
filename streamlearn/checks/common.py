"""Checks of every agent: its arguments, its copies, its saved states, its words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from river.base import Base

from streamlearn import state
from streamlearn.checks.sizes import reachable
from streamlearn.checks.trial import (
    Trial,
    Unmet,
    difference,
    play,
    require_alike,
    require_refused,
    require_unchanged,
    saved,
)
from streamlearn.errors import StateError
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key

_SAVE_ALL = "put all that later answers depend on into state_dict"


def check_arguments_are_stored(trial: Trial) -> None:
    """Require that every constructor argument is an attribute of the same name and value."""
    rebuilt = type(trial.agent)(**trial.parameters)
    for name, given in trial.parameters.items():
        if not _equal(getattr(rebuilt, name, None), given):
            raise Unmet(
                f"argument {name} stored as given", "another value", f"set self.{name} = {name} in __init__"
            )


def _equal(stored: Any, given: Any) -> bool:
    if stored is given:
        return True
    if isinstance(given, Base):
        return type(stored) is type(given) and repr(stored) == repr(given)
    try:
        return bool(stored == given)
    except (TypeError, ValueError):  # arrays: what is stored as given is the same object
        return False


def check_kind_is_registered(trial: Trial) -> None:
    """Require that the class has a kind of its own, by which its saved states are recognised."""
    kind = vars(type(trial.agent)).get("kind")
    if kind not in state.kinds():
        name = type(trial.agent).__name__
        raise Unmet(
            "a kind of the class's own in the registry of states",
            "none, or its parent's: states of the two could not be told apart",
            f'decorate it with @streamlearn.state.register("{name}")',
        )


def check_guarantee_is_a_guarantee(trial: Trial) -> None:
    """Require that what is promised is a Guarantee, and the same before and after use."""
    agent = trial.fresh()
    promised = agent.guarantee
    if not isinstance(promised, Guarantee):
        raise Unmet(
            "a streamlearn.Guarantee",
            type(promised).__name__,
            "return Guarantee.none() where nothing is promised",
        )
    play(agent, trial.moves)
    if agent.guarantee != promised:
        raise Unmet(
            "the same guarantee after a run", "another one", "promise before the run what holds for all of it"
        )


def check_clone_is_fresh(trial: Trial) -> None:
    """Require that clone() gives an agent like a newly built one, which shares nothing with its original."""
    agent, rest = trial.used()
    before = saved(agent)
    clone = agent.clone()
    if clone is agent or type(clone) is not type(agent):
        raise Unmet(
            "a new agent of the same class from clone()", "another", "leave clone() to river.base.Base"
        )
    remedy = "build the clone from the constructor's arguments alone"
    where = difference(saved(trial.fresh()), saved(clone))
    if where:
        raise Unmet("the clone in the state of a newly built agent", f"a difference in {where}", remedy)
    require_alike(
        play(clone, trial.moves), play(trial.fresh(), trial.moves), "a clone and a newly built agent", remedy
    )
    require_unchanged(before, agent, "a run of its clone", "share nothing mutable with the clone")
    require_alike(
        play(agent, rest), _rest_of_another(trial), "an agent that was cloned and one that was not", remedy
    )


def _rest_of_another(trial: Trial) -> list[Any]:
    """Return the reference: what an agent that is left alone answers in the second part of the run."""
    agent, rest = trial.used()
    return play(agent, rest)


def check_state_is_plain_json(trial: Trial) -> None:
    """Require that state_dict() consists of what JSON carries unchanged: no tuple, no infinity."""
    agent, _ = trial.used()
    given = saved(agent)
    remedy = (
        "use str, int, finite float, bool, None, list and dict with str names; streamlearn.state.pack helps"
    )
    try:
        text = msgspec.json.encode(given)
    except (TypeError, ValueError) as error:
        raise Unmet("a state that JSON can carry", type(error).__name__, remedy) from error
    where = difference(given, msgspec.json.decode(text))
    if where:
        raise Unmet("a state that JSON gives back unchanged", f"a change in {where}", remedy)


def check_state_is_a_snapshot(trial: Trial) -> None:
    """Require that what state_dict() returned, or load_state_dict() took, does not change with the agent."""
    agent, rest = trial.used()
    returned = agent.state_dict()
    kept = saved(agent)
    play(agent, rest)
    taken = copy.deepcopy(kept)
    other = trial.fresh()
    other.load_state_dict(taken)
    play(other, rest)
    for what, now in (("state_dict() returned", returned), ("load_state_dict() took", taken)):
        where = difference(kept, now)
        if where:
            raise Unmet(
                f"what {what} to stay as it was", f"a change in {where} as the agent goes on", "copy it"
            )


def _restored(agent: Any, into: Any) -> Any:
    return state.loads(state.dumps(agent), into)


def _require_same_future(agent: Any, twin: Any, trial: Trial, done: int, what: str, remedy: str) -> None:
    """Refuse a twin that is not in the agent's state, answers otherwise, or shares something with it."""
    before = saved(agent)
    where = difference(before, saved(twin))
    if where:
        raise Unmet(f"{what} in the state of the original", f"a difference in {where}", remedy)
    answers = play(twin, trial.moves[done:])
    require_unchanged(before, agent, f"a run of {what}", "share nothing mutable with it")
    require_alike(answers, play(agent, trial.moves[done:]), f"the original and {what}", remedy)
    where = difference(saved(agent), saved(twin))
    if where:
        raise Unmet(f"{what} to end in the state of the original", f"a difference in {where}", remedy)


def check_restored_agents_go_on_alike(trial: Trial) -> None:
    """Require that a new agent that loads a state, as JSON text, goes on as the one that saved it."""
    for done in range(0, len(trial.moves), max(1, len(trial.moves) // 16)):
        agent = trial.fresh()
        play(agent, trial.moves[:done])
        twin = _restored(agent, trial.fresh())
        _require_same_future(agent, twin, trial, done, f"an agent restored after move {done}", _SAVE_ALL)


def check_loading_replaces_everything(trial: Trial) -> None:
    """Require that what an agent did before it loaded a state leaves no trace."""
    done = len(trial.moves) // 2
    agent, used = trial.fresh(), trial.fresh()
    play(agent, trial.moves[:done])
    play(used, trial.moves)
    twin = _restored(agent, used)
    remedy = "let load_state_dict replace every part of the state"
    _require_same_future(agent, twin, trial, done, "a used agent that loaded a state", remedy)


def check_copies_go_on_alike(trial: Trial) -> None:
    """Require that a deep copy, and an unpickled agent where the class can be pickled, goes on as the original."""
    for name, duplicate in (("copy.deepcopy", copy.deepcopy), ("pickle", _pickled)):
        done = len(trial.moves) // 2
        agent = trial.fresh()
        play(agent, trial.moves[:done])
        twin = duplicate(agent)
        if twin is not None:
            remedy = "let it copy every attribute"
            _require_same_future(agent, twin, trial, done, f"a copy by {name}", remedy)


def _pickled(agent: Any) -> Any:
    """Return an unpickled copy; None where the class, or what it was given, cannot be pickled."""
    try:
        data = pickle.dumps(agent)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return pickle.loads(data)  # noqa: S301 - written one line above


def check_same_key_same_run(trial: Trial) -> None:
    """Require that two agents built alike, key included, answer alike and end in one state."""
    one, other = trial.fresh(), trial.fresh()
    remedy = "draw from the key alone: key.uniform64(purpose, round)"
    require_alike(play(one, trial.moves), play(other, trial.moves), "two agents built alike", remedy)
    where = difference(saved(one), saved(other))
    if where:
        raise Unmet("two agents built alike to end in one state", f"a difference in {where}", remedy)


def check_foreign_states_are_refused(trial: Trial) -> None:
    """Require that a state of a newer format, another kind or other parameters is refused, and changes nothing."""
    agent, _ = trial.used()
    own = saved(trial.fresh())
    if set(own) != {field.name for field in msgspec.structs.fields(state.Envelope)}:
        raise Unmet(
            "a state with format, kind, parameters and body",
            "others",
            "return streamlearn.state.pack(self, body)",
        )
    another = next((kind for kind in state.kinds() if kind != own["kind"]), "Another")
    foreign = {
        "a state of a newer format": own | {"format": state.FORMAT + 1},
        "a state of another kind": own | {"kind": another},
        "a state of other parameters": own | {"parameters": own["parameters"] + " "},
    }
    for what, wrong in foreign.items():
        _require_state_refused(agent, wrong, what)


def check_malformed_states_are_refused(trial: Trial) -> None:
    """Require that a state with a part that makes no sense is refused as a whole."""
    agent, _ = trial.used()
    own = saved(trial.fresh())
    _require_state_refused(agent, {}, "an empty state")
    _require_state_refused(agent, own | {"body": None}, "a state without a body")
    for name in own["body"]:
        body = own["body"] | {name: {"malformed": [{}]}}
        _require_state_refused(agent, own | {"body": body}, f"a state whose {name} is malformed")


def check_states_of_another_key_are_refused(trial: Trial) -> None:
    """Require that where the agent draws from a key, a state saved under another key is refused."""
    for name, key in trial.parameters.items():
        if isinstance(key, Key):
            other = trial.fresh(**{name: key.derive("another")})
            _require_state_refused(other, saved(trial.fresh()), "a state saved under another key")


def _require_state_refused(agent: Any, wrong: dict[str, Any], what: str) -> None:
    load = partial(agent.load_state_dict, wrong)
    remedy = "let streamlearn.state.unpack read it, with a parameters_digest that tells all arguments"
    require_refused(agent, load, StateError, what, remedy)


def check_no_secret_is_shown(trial: Trial) -> None:
    """Require that neither what is printed of an agent nor its saved state holds key material."""
    agent, _ = trial.used()
    keys = [item for item, _ in reachable(agent) if isinstance(item, Key)]
    words = {"repr": repr(agent), "str": str(agent), "state": state.dumps(agent).decode()}
    for name, text in words.items():
        if any(form in text for key in keys for form in _forms(key.secret)):
            raise Unmet(f"no key material in the {name}", "some", "show no key: repr(key) is Key(<secret>)")


def _forms(secret: bytes) -> list[str]:
    return [
        secret.hex(),
        repr(secret),
        str(list(secret)),
        str(int.from_bytes(secret)),
        msgspec.json.encode(secret).decode(),
    ]


FIRST: list[Callable[[Trial], None]] = [
    check_arguments_are_stored,
    check_kind_is_registered,
    check_guarantee_is_a_guarantee,
    check_same_key_same_run,
]
"""What the other checks build on."""

LAST: list[Callable[[Trial], None]] = [
    check_clone_is_fresh,
    check_state_is_plain_json,
    check_state_is_a_snapshot,
    check_restored_agents_go_on_alike,
    check_loading_replaces_everything,
    check_copies_go_on_alike,
    check_foreign_states_are_refused,
    check_malformed_states_are_refused,
    check_states_of_another_key_are_refused,
    check_no_secret_is_shown,
]
