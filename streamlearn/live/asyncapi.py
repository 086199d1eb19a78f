"""The messages of a run as an AsyncAPI 3.0 document, made from the very types that read and write them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from streamlearn import __version__
from streamlearn.errors import ParameterError
from streamlearn.live.messages import (
    DeadLetter,
    ExampleMessage,
    Prediction,
    Reader,
    ReportMessage,
    StopDecision,
)

SCHEMAS: Final = "#/components/schemas/"
_ID: Final = "d2a84f4b8b650937ec8f73cd8be2c74a"
Flow: TypeAlias = tuple[type[msgspec.Struct], str, str, list[msgspec.Struct]]
"""A message, what the run does with it, in words, and examples."""
KINDS: Final[dict[str, dict[str, Flow]]] = {
    "stopper": {
        "reports": (
            ReportMessage,
            "receive",
            "Take in people's reports.",
            [ReportMessage(round=1, bit=0, event_id="a17", key="job 1"), ReportMessage(round=2, bit=1)],
        ),
        "decisions": (
            StopDecision,
            "send",
            "Say how a stopping problem ended.",
            [StopDecision(_ID, "job 1", take=True, round=2, event_id="a18")],
        ),
    },
    "predictor": {
        "examples": (
            ExampleMessage,
            "receive",
            "Take in instances and their labels, apart or together.",
            [
                ExampleMessage("a17", x={"height": 1.8}, key="site"),
                ExampleMessage("a17", y=1, key="site"),
                ExampleMessage("a18", x=[1, 2], y=False),
            ],
        ),
        "predictions": (
            Prediction,
            "send",
            "Say what was predicted.",
            [Prediction(_ID, "site", "a17", prediction=True)],
        ),
    },
}
"""By kind of agent and channel."""
DEAD: Final[Flow] = (
    DeadLetter,
    "send",
    "Say where a message lies that could not be used, and why; never what it holds.",
    [DeadLetter(_ID, "reports", (17,), "Object missing required field `bit`")],
)


def document(kind: str, *, key_field: str = "key") -> dict[str, Any]:
    """Return the document.

    Parameters
    ----------
    kind
        ``"stopper"`` or ``"predictor"``.
    key_field
        The JSON field that holds the key of what comes in.

    Raises
    ------
    ParameterError
        If ``kind`` is neither, or ``key_field`` is another field of the message.

    Examples
    --------
    >>> from streamlearn.live.asyncapi import document
    >>> document("stopper", key_field="job")["channels"]["reports"]["messages"]
    {'ReportMessage': {'$ref': '#/components/messages/ReportMessage'}}
    """
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    channels: dict[str, Flow] = {**KINDS[kind], "dead letters": DEAD}
    for message, action, _, _ in channels.values():
        if action == "receive":
            Reader(message, key_field)  # refuses a field that is taken
    names = {name: name.replace(" ", "_") for name in channels}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": f"A streamlearn {kind} on a live stream",
            "version": __version__,
            "description": "Where the channels lie is the affair of whoever runs it. Whatever goes out may come again, "
            "under the same id. A message without a key has its broker's.",
        },
        "defaultContentType": "application/json",
        "channels": {
            names[name]: {
                "address": None,
                "title": name,
                "messages": {it[0].__name__: {"$ref": f"#/components/messages/{it[0].__name__}"}},
            }
            for name, it in channels.items()
        },
        "operations": {
            f"{action}_{names[name]}": {
                "action": action,
                "channel": {"$ref": f"#/channels/{names[name]}"},
                "summary": words,
                "messages": [{"$ref": f"#/channels/{names[name]}/messages/{message.__name__}"}],
            }
            for name, (message, action, words, _) in channels.items()
        },
        "components": {
            "messages": {
                it[0].__name__: _message(*it, key_field if it[1] == "receive" else "key")
                for it in channels.values()
            },
            "schemas": _schemas({it[0]: it[1] == "receive" for it in channels.values()}, key_field),
        },
    }


def _message(
    kind: type[msgspec.Struct], _: str, words: str, examples: list[msgspec.Struct], key_field: str
) -> dict[str, Any]:
    bodies = [
        {key_field if name == "key" else name: value for name, value in msgspec.to_builtins(it).items()}
        for it in examples
    ]
    return {
        "name": kind.__name__,
        "summary": words,
        "contentType": "application/json",
        "payload": {"$ref": SCHEMAS + kind.__name__},
        "examples": [{"payload": body} for body in bodies],
    }


def _schemas(kinds: dict[type[msgspec.Struct], bool], key_field: str) -> dict[str, Any]:
    """Return the schemas of messages; those that come in name their key as they are told."""
    _, found = msgspec.json.schema_components(kinds, ref_template=SCHEMAS + "{name}")
    for kind, comes_in in kinds.items():
        schema = found[kind.__name__]
        schema["description"] = schema["description"].split("\n\n")[0]
        if comes_in:
            properties = schema["properties"].items()
            schema["properties"] = {key_field if name == "key" else name: value for name, value in properties}
    return found
