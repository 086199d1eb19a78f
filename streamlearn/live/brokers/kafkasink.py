"""Where decisions go with Kafka: an idempotent producer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from streamlearn.errors import StreamlearnError
from streamlearn.live.brokers.kafkaclient import REFUSALS, client, made, translated
from streamlearn.live.store import Outgoing

if TYPE_CHECKING:
    import confluent_kafka

GLANCE: Final = 2.0
"""Seconds to wait for an answer that can be done without."""
DELIVERY: Final = 10.0
"""Seconds for a message to reach its broker; then all are published again."""


class Sink:
    """A topic, written by an idempotent producer; messages of one key go to one partition, in order.

    Every message carries its id in the header ``id``. Within a process none is doubled while its broker can be
    reached within ten seconds; after a crash, or a longer break, the last ones may be there twice, under the same id.

    Parameters
    ----------
    servers
        ``host:port[,host:port]``, some of the cluster's brokers.
    topic
        Its name.
    settings
        Further settings of librdkafka. Never printed. Keys are spread over partitions as Java's client does, unless
        ``partitioner`` says otherwise.

    Raises
    ------
    ParameterError
        If a setting cannot be used.
    MissingExtraError
        If confluent-kafka is not installed.

    Examples
    --------
    >>> from streamlearn.live import Outgoing
    >>> from streamlearn.live.brokers import kafka
    >>> sink = kafka.Sink("-", "decisions", {"test.mock.num.brokers": "1"})  # a cluster of its own, for tests
    >>> sink.publish([Outgoing(1, "decision", "0f", "job 1", b'{"take": true}')])
    >>> sink.close()
    """

    def __init__(self, servers: str, topic: str, settings: Mapping[str, str] | None = None) -> None:
        self._kafka = client()
        self.servers = servers
        self.topic = topic
        milliseconds = str(round(1000 * DELIVERY))
        self._configuration = {
            "partitioner": "murmur2_random",
            "message.timeout.ms": milliseconds,
            # Half of it, so that a missing topic is seen in time.
            "topic.metadata.propagation.max.ms": str(round(500 * DELIVERY)),
            **(settings or {}),
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "acks": "all",
            "delivery.report.only.error": True,
            "error_cb": self._noticed,
        }
        self._trouble: confluent_kafka.KafkaError | None = None
        self._producer: confluent_kafka.Producer | None = made(
            self._kafka.Producer, self._configuration, settings
        )

    def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish messages in order; return when the broker has them all.

        Raises
        ------
        BrokerError
            If not all are known to be there; any of them may be.
        StreamlearnError
            If the topic does not exist, or the brokers refuse.
        """
        if self._producer is None:
            self._producer = made(self._kafka.Producer, self._configuration)
        self._trouble = None
        failed: list[confluent_kafka.KafkaError] = []

        def reported(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
            if error is not None:
                failed.append(error)

        for message in messages:
            self._produce(self._producer, message, reported)
        while self._producer.flush(1.0):
            pass  # every message is reported in time, one way or the other
        if failed:
            self._producer = None  # begin anew: after some errors it would send nothing more
            raise self._refused(failed[0])

    def cluster(self) -> str | None:
        """Return the id of the cluster, None where it does not say."""
        if self._producer is None:
            return None
        try:
            found: str | None = self._producer.list_topics(self.topic, timeout=GLANCE).cluster_id
        except self._kafka.KafkaException:
            return None
        return found

    def close(self) -> None:
        """Disconnect. Never raises."""
        self._producer = None

    def _produce(
        self,
        producer: confluent_kafka.Producer,
        message: Outgoing,
        reported: Callable[[confluent_kafka.KafkaError | None, confluent_kafka.Message], None],
    ) -> None:
        """Queue a message."""
        while True:
            try:
                producer.produce(
                    self.topic, message.payload, message.key, -1, reported, headers=[("id", message.id)]
                )
            except BufferError:  # its queue is full
                producer.poll(0.1)
            except self._kafka.KafkaException as error:
                self._producer = None
                raise self._refused(error.args[0]) from None
            else:
                return

    def _refused(self, error: confluent_kafka.KafkaError) -> StreamlearnError:
        where = f"Kafka at {self.servers}, topic {self.topic!r}"
        return translated(self._kafka, self._trouble or error, where)

    def _noticed(self, error: confluent_kafka.KafkaError) -> None:
        """Take note of a refusal: the messages themselves only time out."""
        if error.name() in REFUSALS:
            self._trouble = error
