"""The AsyncAPI document says what the readers do: its examples are read, and what its schemas refuse they refuse."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from streamlearn.errors import MessageError, ParameterError
from streamlearn.live import DeadLetter, ExampleMessage, Message, Prediction, ReportMessage, StopDecision
from streamlearn.live.asyncapi import document
from streamlearn.live.messages import Reader

INCOMING = {"stopper": ReportMessage, "predictor": ExampleMessage}
OUTGOING = {"StopDecision": StopDecision, "Prediction": Prediction, "DeadLetter": DeadLetter}
TYPES = {
    "object": lambda it: isinstance(it, dict),
    "array": lambda it: isinstance(it, list),
    "string": lambda it: isinstance(it, str),
    "boolean": lambda it: isinstance(it, bool),
    "integer": lambda it: isinstance(it, int) and not isinstance(it, bool),
    "null": lambda it: it is None,
}
REST = {"title", "description", "default", "properties", "required", "items", "anyOf", "type", "$ref"}
BOUNDS = {
    "minimum": lambda it, bound: it >= bound,
    "maximum": lambda it, bound: it <= bound,
    "minLength": lambda it, bound: len(it) >= bound,
    "maxLength": lambda it, bound: len(it) <= bound,
}


def found(whole, reference):
    for part in reference.removeprefix("#/").split("/"):
        whole = whole[part]
    return whole


def fits(value, schema, whole):  # noqa: PLR0911 - a case each
    """Whether a value satisfies a schema; a word of JSON Schema that is not known here is an error."""
    assert set(schema) <= REST | set(BOUNDS)
    if "$ref" in schema:
        return fits(value, found(whole, schema["$ref"]), whole)
    if "anyOf" in schema and not any(fits(value, choice, whole) for choice in schema["anyOf"]):
        return False
    if "type" in schema and not TYPES[schema["type"]](value):
        return False
    if not all(BOUNDS[word](value, schema[word]) for word in set(schema) & set(BOUNDS)):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(fits(part, schema["items"], whole) for part in value)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return set(schema.get("required", ())) <= set(value) and all(
            fits(part, known[name], whole) for name, part in value.items() if name in known
        )
    return True


def references(part):
    if isinstance(part, dict):
        yield from ([part["$ref"]] if "$ref" in part else ())
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


@pytest.mark.parametrize("kind", INCOMING)
def test_its_structure_is_asyncapi_3(kind):
    whole = json.loads(msgspec.json.encode(document(kind)))
    assert set(whole) == {"asyncapi", "info", "defaultContentType", "channels", "operations", "components"}
    assert whole["asyncapi"] == "3.0.0"
    assert whole["info"]["title"]
    assert whole["info"]["version"]
    for reference in references(whole):
        assert found(whole, reference)
    used = set()
    for operation in whole["operations"].values():
        assert operation["action"] in {"send", "receive"}
        channel = operation["channel"]["$ref"]
        used.add(channel.removeprefix("#/channels/"))
        assert all(it["$ref"].startswith(f"{channel}/messages/") for it in operation["messages"])
    assert used == set(whole["channels"])
    assert len(used) == 3
    names = [*whole["channels"], *whole["operations"], *whole["components"]["schemas"]]
    assert all(re.fullmatch(r"[\w.\-]+", name) for name in names)
    assert "dead_letters" in used


@pytest.mark.parametrize("kind", INCOMING)
@pytest.mark.parametrize("key_field", ["key", "job"])
def test_its_examples_are_read_and_fit_their_schemas(kind, key_field):
    whole = document(kind, key_field=key_field)
    read = Reader(INCOMING[kind], key_field)
    incoming = 0
    for name, message in whole["components"]["messages"].items():
        assert message["examples"]
        for example in message["examples"]:
            body = msgspec.json.encode(example["payload"])
            assert fits(json.loads(body), message["payload"], whole)
            if name in OUTGOING:
                assert msgspec.json.encode(msgspec.json.decode(body, type=OUTGOING[name])) == body
            else:
                key, _ = read(Message("log", (1,), body, key="the broker's"))
                assert key == example["payload"][key_field] or key == "the broker's"
                incoming += key != "the broker's"
    assert incoming > 0


MALFORMED = {
    "stopper": [
        ("round", 0), ("round", "1"), ("round", None), ("round", True), ("bit", 2), ("bit", -1), ("bit", True),
        ("bit", []), ("event_id", ""), ("event_id", "x" * 513), ("event_id", 7), ("key", ""), ("key", 7), ("key", {}),
    ],
    "predictor": [
        ("event_id", None), ("event_id", ""), ("event_id", 7), ("y", 2), ("y", -1), ("y", "1"), ("y", []), ("key", ""),
        ("key", "x" * 513), ("key", 1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", INCOMING)
@pytest.mark.parametrize("key_field", ["key", "job"])
def test_what_it_refuses_the_reader_refuses(kind, key_field):
    whole = document(kind, key_field=key_field)
    message = whole["components"]["messages"][INCOMING[kind].__name__]
    read = Reader(INCOMING[kind], key_field)
    body = message["examples"][0]["payload"]
    required = found(whole, message["payload"]["$ref"])["required"]
    bad = [body | {key_field if name == "key" else name: value} for name, value in MALFORMED[kind]]
    bad += [{name: value for name, value in body.items() if name != missing} for missing in required]
    for spoilt in [*bad, [], 7]:
        assert not fits(spoilt, message["payload"], whole), spoilt
        with pytest.raises(MessageError):
            read(Message("log", (1,), json.dumps(spoilt).encode(), key="the broker's"))
    longest = body | {"event_id": "x" * 512, "more": 1}
    assert fits(longest, message["payload"], whole)
    assert read(Message("log", (1,), json.dumps(longest).encode()))[0] == body[key_field]


def test_arguments_out_of_bounds_are_refused():
    with pytest.raises(ParameterError, match="kind must be one of stopper, predictor"):
        document("agent")
    with pytest.raises(ParameterError, match="key_field"):
        document("stopper", key_field="bit")
