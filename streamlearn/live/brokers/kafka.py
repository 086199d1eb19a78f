"""Kafka, by confluent-kafka: topics' partitions read from stored offsets on."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streamlearn.errors import BrokerError, LostError, ParameterError, StreamlearnError
from streamlearn.live.brokers.kafkaclient import REFUSALS, UNKNOWN_TOPIC, client, decoded, made, translated
from streamlearn.live.brokers.kafkasink import Sink
from streamlearn.live.brokers.stored import checked
from streamlearn.live.messages import Message, Position

__all__ = ["Sink", "Source"]

if TYPE_CHECKING:
    import confluent_kafka

PATIENCE: Final = 5.0
"""Seconds to wait for a broker's answer to a question about a topic."""
GLANCE: Final = 0.5
"""Seconds of it at a time."""
REFRESH: Final = 30.0
"""Seconds between two looks for new partitions."""
TOPIC_PATIENCE: Final = 10.0
"""Seconds that a topic may be missing: a new one is not known to all brokers at once."""
T = TypeVar("T")
OFFSET: Final = re.compile("[0-9]{1,18}")


class Source:
    """The partitions of topics, each a strictly ordered log. Never joins a consumer group, and commits nothing.

    Positions live in the store. Partitions that are added to a topic later are found within 30 seconds, and read
    from their beginning. A message's Kafka key, if it is UTF-8, serves where the JSON names no key. A tombstone is a
    message that cannot be used.

    Parameters
    ----------
    servers
        ``host:port[,host:port]``, some of the cluster's brokers.
    topics
        Their names.
    begin
        Where the partitions start while there is no stored position: ``"beginning"``, ``"end"``, or an offset in
        digits.
    settings
        Further settings of librdkafka: ``security.protocol``, ``sasl.username``, ... Never printed.

    Raises
    ------
    ParameterError
        If there is no topic, or ``begin`` or a setting cannot be used.
    MissingExtraError
        If confluent-kafka is not installed.

    Examples
    --------
    >>> from confluent_kafka import Producer
    >>> from streamlearn.live.brokers import kafka
    >>> mock = Producer({"bootstrap.servers": "-", "test.mock.num.brokers": 1, "log_level": 0})  # a cluster for tests
    >>> servers = ",".join(str(broker) for broker in mock.list_topics().brokers.values()).split("/")[0]
    >>> mock.produce("reports", b'{"round": 1, "bit": 0}', key="job 1", partition=0)
    >>> mock.flush()
    0
    >>> source = kafka.Source(servers, ["reports"])
    >>> source.start({})
    {}
    >>> source.fetch(10, patience=10.0)
    [Message(partition='reports/0', position=(0,), data=b'{"round": 1, "bit": 0}', key='job 1', ordered=True)]
    >>> source.close()
    """

    ended = False
    shared = False

    def __init__(
        self,
        servers: str,
        topics: Sequence[str],
        *,
        begin: str = "beginning",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(topics, str) or not topics:
            raise ParameterError("topics must be a list of at least one name")
        if begin not in {"beginning", "end"} and not OFFSET.fullmatch(begin):
            raise ParameterError(
                f"begin must be 'beginning', 'end' or an offset of at most 18 digits, got {begin!r}"
            )
        self._kafka = client()
        self.servers = servers
        self.topics = tuple(dict.fromkeys(topics))
        self.begin = begin
        self._configuration = {
            "group.id": "streamlearn",  # the client wants one; nobody joins it
            "queued.max.messages.kbytes": "16384",  # fetched ahead: all the memory that waiting messages take
            "fetch.queue.backoff.ms": "20",  # a full second by default once that is full
            **(settings or {}),
            "bootstrap.servers": servers,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # what expired unread must not be passed over in silence
            "error_cb": self._noticed,
        }
        self._consumer: confluent_kafka.Consumer | None = None
        self._trouble: confluent_kafka.KafkaError | None = None
        self._names: dict[tuple[str, int], str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._missing_since: dict[str, float] = {}
        self._next_refresh = 0.0
        made(self._kafka.Consumer, self._configuration, settings).close()  # a wrong setting is seen at once

    def start(self, positions: Mapping[str, Position]) -> dict[str, Position]:
        """Connect, anew after a loss, to go on after these positions; return where other partitions start.

        Raises
        ------
        BrokerError
            If no broker answers, or a topic is not known yet.
        StreamlearnError
            If a topic does not exist, or the brokers refuse this user.
        """
        self.close()
        self._names.clear()
        self._starts.clear()
        self._trouble = None
        self._consumer = made(self._kafka.Consumer, self._configuration)
        found = self._look()
        begun = {} if positions or self.begin == "beginning" else {it: self._first(it) for it in found}
        self._starts = {place: self._after(positions.get(self._names[place])) for place in found} | begun
        self._assign(found)
        return {self._names[place]: (start - 1,) if start else () for place, start in begun.items()}

    def _after(self, stored: Position | None) -> int:
        """Return the offset after a stored position; one is empty where nothing was read and all is to come."""
        if stored is None:
            return int(self._kafka.OFFSET_BEGINNING)
        return checked("Kafka", stored, 0, 1)[0] + 1 if stored else 0

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next messages, at most ``most``; wait ``patience`` seconds for the first.

        Raises
        ------
        BrokerError
            If no broker can be reached.
        LostError
            If messages expired unread.
        StreamlearnError
            If a topic is gone or was made anew, or the brokers refuse this user.
        """
        consumer = self._connected()
        if time.monotonic() >= self._next_refresh:
            self._refresh()
        taken = consumer.consume(most, 0.0)
        if not taken and (taken := consumer.consume(1, patience)):
            taken += consumer.consume(most - 1, 0.0)
        if not taken and self._trouble is not None:
            raise self._broken(self._trouble)
        return [message for it in taken if (message := self._message(it)) is not None]

    def feeds_on(self, sink: object) -> bool:
        """Return whether what a sink publishes is read here: in the same cluster, by whatever name of its brokers."""
        if not isinstance(sink, Sink) or sink.topic not in self.topics:
            return False
        mine = self._asked(lambda: self._connected().list_topics(sink.topic, timeout=GLANCE)).cluster_id
        return mine is not None and mine == sink.cluster()

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: the store knows where to go on."""

    def lag(self) -> int | None:
        """Return how many messages wait, as of the last fetch; gaps in the offsets count too."""
        consumer = self._connected()
        lag = 0
        for it in consumer.position([self._kafka.TopicPartition(*place) for place in self._names]):
            low, high = consumer.get_watermark_offsets(it, cached=True)
            if high < 0:
                return None
            start = self._starts[it.topic, it.partition]
            lag += max(0, high - max(0, low, it.offset, start))
        return lag

    def close(self) -> None:
        """Disconnect. Never raises."""
        if self._consumer is not None:
            with contextlib.suppress(self._kafka.KafkaException, RuntimeError):
                self._consumer.close()
            self._consumer = None

    # --- partitions

    def _look(self) -> list[tuple[str, int]]:
        """Return those partitions of the topics that were not known, and give them names."""
        self._next_refresh = time.monotonic() + REFRESH
        found = [(topic, number) for topic in self.topics for number in sorted(self._partitions(topic))]
        new = [place for place in found if place not in self._names]
        self._names |= {place: f"{place[0]}/{place[1]}" for place in new}
        return new

    def _partitions(self, topic: str) -> list[int]:
        known = self._asked(lambda: self._connected().list_topics(topic, timeout=GLANCE)).topics[topic]
        if known.error is None:
            self._missing_since.pop(topic, None)
            return list(known.partitions)
        if known.error.name() in UNKNOWN_TOPIC:
            since = self._missing_since.setdefault(topic, time.monotonic())
            if time.monotonic() - since < TOPIC_PATIENCE:
                raise BrokerError(f"Kafka at {self.servers} does not know the topic {topic!r} yet")
        raise self._broken(known.error, topic)

    def _first(self, place: tuple[str, int]) -> int:
        """Return where a partition of a new run starts."""
        low, high = self._kept(place)
        if self.begin == "end":
            return high
        if not low <= int(self.begin) <= high:
            raise StreamlearnError(
                f"{self._names[place]} has offsets {low} up to {high}, not included, and is to begin at {self.begin}; "
                "begin at one of these, at the beginning or at the end"
            )
        return int(self.begin)

    def _kept(self, place: tuple[str, int]) -> tuple[int, int]:
        """Ask for the first offset that the broker keeps of a partition, and for the next one to come."""
        partition = self._kafka.TopicPartition(*place)
        return self._asked(
            lambda: self._connected().get_watermark_offsets(partition, timeout=GLANCE), self._names[place]
        )

    def _asked(self, question: Callable[[], T], where: str | None = None) -> T:
        """Ask the brokers, for a short time again and again: a process does not heed signals meanwhile."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return question()
            except self._kafka.KafkaException as error:
                if not self._starts:  # later it would take a message
                    self._connected().poll(0.0)  # lets the client say why
                said = self._trouble or error.args[0]
                if said.name() not in {"_TIMED_OUT", "_TRANSPORT"} or time.monotonic() >= until:
                    raise self._broken(said, where) from None

    def _refresh(self) -> None:
        new = self._look()
        self._starts |= dict.fromkeys(new, self._kafka.OFFSET_BEGINNING)
        self._assign(new)

    def _assign(self, places: list[tuple[str, int]]) -> None:
        if places:
            self._connected().incremental_assign(
                [self._kafka.TopicPartition(*place, self._starts[place]) for place in places]
            )

    # --- messages and errors

    def _message(self, it: confluent_kafka.Message) -> Message | None:
        error = it.error()
        if error is not None:
            self._check(error, it)
            return None
        place: Any = it.topic(), it.partition()
        offset: Any = it.offset()
        key = it.key()
        name = None if key is None else decoded(key)
        return Message(self._names[place], (offset,), it.value() or b"", name)

    def _check(self, error: confluent_kafka.KafkaError, it: confluent_kafka.Message) -> None:
        """Raise what stops the reading; complaints about the group that nobody joins do not."""
        if error.name() == "_AUTO_OFFSET_RESET":
            raise self._lost(error, it)
        if not error.name().startswith(("GROUP_", "_PARTITION_EOF")):
            raise self._broken(error, it.topic())

    def _lost(self, error: confluent_kafka.KafkaError, it: confluent_kafka.Message) -> StreamlearnError:
        """Return why a partition cannot be read on from an offset."""
        place: Any = it.topic(), it.partition()
        offset: Any = it.offset()
        name = self._names[place]
        low, high = self._kept(place)
        if offset < 0 or low <= offset <= high:  # where it begins could not be asked
            return self._broken(error, name)
        there = f"{name}: offset {offset} is the next to read, and the broker has {low} up to {high}, not included"
        if offset > high:
            return StreamlearnError(
                f"{there}; the topic was made anew: name another store, --skip-lost does not help here"
            )
        return LostError(f"{there}; messages expired unread", {name: (low - 1,)})

    def _noticed(self, error: confluent_kafka.KafkaError) -> None:
        """Take note of what the client says by the way; single connections come and go."""
        refused = error.fatal() or error.name() in REFUSALS
        if refused or (self._trouble is None and error.name() == "_ALL_BROKERS_DOWN"):
            self._trouble = error

    def _broken(self, error: confluent_kafka.KafkaError, where: str | None = None) -> StreamlearnError:
        return translated(self._kafka, error, f"Kafka at {self.servers}" + (f", {where}" if where else ""))

    def _connected(self) -> confluent_kafka.Consumer:
        if self._consumer is None:
            raise BrokerError("not started")
        return self._consumer
