"""Kafka's client: how one is made, and what its errors mean."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from streamlearn.errors import BrokerError, MissingExtraError, ParameterError, StreamlearnError

if TYPE_CHECKING:
    import confluent_kafka

UNKNOWN_TOPIC: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})
REFUSALS: Final = {
    "_AUTHENTICATION": "check the credentials in settings",
    "SASL_AUTHENTICATION_FAILED": "check the credentials in settings",
    "_SSL": "check the certificates in settings",
    "CLUSTER_AUTHORIZATION_FAILED": "let this user produce idempotently",
    "TOPIC_AUTHORIZATION_FAILED": "let this user use the topic",
    "TOPIC_EXCEPTION": "a topic's name is letters, digits, '.', '_' and '-'",
    "MSG_SIZE_TOO_LARGE": "raise the topic's max.message.bytes",
    "POLICY_VIOLATION": "ask who runs the cluster what its policy is",
} | dict.fromkeys(UNKNOWN_TOPIC, "create the topic first")
"""Errors that trying again does not mend, and what does."""
LOG: Final = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())  # the client's own lines: nowhere, unless the program says where


def client() -> ModuleType:
    """Return the client's module.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import confluent_kafka  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(
            'Kafka needs confluent-kafka; install it with: pip install "streamlearn[kafka]"'
        ) from None
    return confluent_kafka


def made(kind: Any, configuration: Mapping[str, Any], settings: Mapping[str, str] | None = None) -> Any:
    """Return a client. What the client says about a setting may quote its value, so only the name is passed on."""
    try:
        return kind(dict(configuration), logger=LOG)
    except Exception as error:
        if type(error).__name__ not in {"KafkaException", "ValueError", "TypeError"}:
            raise
        given = list(settings or {})
        named = [name for name in given if name in str(error)] or given
    raise ParameterError(
        f"settings cannot be used: {', '.join(map(repr, named))}; "
        "librdkafka's CONFIGURATION.md has all names and values"
    )


def translated(kafka: ModuleType, error: confluent_kafka.KafkaError, where: str) -> StreamlearnError:
    """Return an error of ours. The client's own text may say more than it should, its code does not."""
    said = kafka.KafkaError(error.code()).str()
    remedy = REFUSALS.get(error.name())
    return (
        BrokerError(f"{where}: {said}") if remedy is None else StreamlearnError(f"{where}: {said}; {remedy}")
    )


def decoded(key: bytes) -> str:
    """Return a key as text; of one that is no UTF-8 what shows that, and two of these stay two."""
    return key.decode(errors="surrogateescape")
