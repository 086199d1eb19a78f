"""Saved state: versioned JSON, decoded against declared types. Never a pickle.

An agent class names its state type and joins the registry with :func:`register`; a state names its
agent's kind and is only ever looked up there, never imported by a name found in data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from streamlearn.errors import StateError, brief

if TYPE_CHECKING:
    from streamlearn.base import Agent

FORMAT = 1

_kinds: dict[str, type[Agent]] = {}

A = TypeVar("A", bound="type[Agent]")


class Envelope(msgspec.Struct, forbid_unknown_fields=True):
    """What every saved state holds.

    Parameters
    ----------
    format
        Version of the state format.
    kind
        The agent's registered name.
    parameters
        Digest of the constructor's parameters: a state fits only an agent built alike.
    body
        The agent's own state, of the type its class declares.
    """

    format: int
    kind: str
    parameters: str
    body: dict[str, Any]


def register(kind: str) -> Callable[[A], A]:
    """Return a class decorator that lets an agent's states be recognised under ``kind``.

    Raises
    ------
    StateError
        If another class already has that name.

    Examples
    --------
    >>> from streamlearn import state
    >>> import streamlearn.agents
    >>> "LDPOptimalStopper" in state.kinds()
    True
    """

    def join(cls: A) -> A:
        known = _kinds.get(kind)
        # The same class defined again (a re-run notebook cell) replaces itself.
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise StateError(
                f"state kind {kind!r} already belongs to {known.__module__}; choose another name"
            )
        _kinds[kind] = cls
        cls.kind = kind
        return cls

    return join


def kinds() -> list[str]:
    """Return the registered kinds, sorted."""
    return sorted(_kinds)


def pack(agent: Agent, body: msgspec.Struct) -> dict[str, Any]:
    """Return a state dictionary of plain JSON types."""
    return packed(agent, msgspec.to_builtins(body))


def packed(agent: Agent, body: dict[str, Any]) -> dict[str, Any]:
    """Return a state dictionary around a body that is plain already."""
    return {"format": FORMAT, "kind": agent.kind, "parameters": agent.parameters_digest, "body": body}


B = TypeVar("B", bound=msgspec.Struct)


def unpack(agent: Agent, state: dict[str, Any], body_type: type[B]) -> B:
    """Return the body of ``state`` if it belongs to this agent.

    Raises
    ------
    StateError
        If the state is malformed, newer, of another kind, or of an agent built from other parameters.
    """
    envelope = _convert(state, Envelope)
    if envelope.format < 1:
        raise StateError(f"state format must be >= 1, got {brief(envelope.format)}; the state was edited")
    if envelope.format > FORMAT:
        raise StateError(
            f"state format {brief(envelope.format)} is newer than {FORMAT}, the newest read here; "
            "upgrade streamlearn"
        )
    if envelope.kind not in _kinds:
        raise StateError(f"state is of unknown kind {envelope.kind!r}; registered here: {', '.join(kinds())}")
    if envelope.kind != agent.kind:
        raise StateError(
            f"state belongs to a {envelope.kind}, not to this {agent.kind}; load it into the former"
        )
    if envelope.parameters != agent.parameters_digest:
        raise StateError(
            f"state belongs to a {agent.kind} with parameters {envelope.parameters}, this one has "
            f"{agent.parameters_digest}; build the agent with the arguments it was saved with"
        )
    return _convert(envelope.body, body_type)


def dumps(agent: Agent) -> bytes:
    """Return the agent's state as JSON bytes.

    Raises
    ------
    StateError
        If JSON cannot carry what the agent has seen: half a character, or a number of more than 4,300 digits.

    Examples
    --------
    >>> from streamlearn import state
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> stopper = LDPOptimalStopper([1.0, 0.5], epsilon=1.0)
    >>> state.loads(state.dumps(stopper), stopper.clone()).round
    1
    """
    plain = agent.state_dict()
    try:
        return msgspec.json.encode(plain)
    except ValueError as error:
        raise StateError(
            f"the state cannot be written as JSON: {error}; give the agent instances that JSON can carry"
        ) from None


AgentT = TypeVar("AgentT", bound="Agent")


def loads(data: bytes | str, agent: AgentT) -> AgentT:
    """Load JSON bytes into ``agent``, built as the saved one was, and return it.

    Raises
    ------
    StateError
        As :func:`unpack`, or if ``data`` is not JSON. The agent is then unchanged.
    """
    try:
        state = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateError(f"not a saved state: {error}; give the bytes that state.dumps wrote") from None
    agent.load_state_dict(state)
    return agent


S = TypeVar("S")


def _convert(plain: dict[str, Any], kind: type[S]) -> S:
    try:
        return msgspec.convert(plain, kind)
    except (ValueError, RecursionError) as error:  # also half a character, or a number too long to be shown
        raise StateError(f"malformed state: {error}; give what state_dict() returned, unedited") from None
