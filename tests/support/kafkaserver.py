"""A Kafka cluster of one broker: librdkafka's mock, in a process of its own, with the data in that process's memory.

``kill`` and ``restart`` cut every connection and the port, as a broker that is killed does, and keep the data.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

DEADLINE = 30.0


class KafkaServer:
    """The cluster, as a context manager."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.servers = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.communicate()

    def _do(self, *command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        code = json.loads(self.process.stdout.readline())
        assert code == 0, f"{command[0]} fails with {code}"

    def create(self, topic, partitions=1):
        self._do("topic_create", topic, partitions, 1)

    def delete(self, topic):
        self._do("topic_delete", topic)

    def expire(self, topic, partition, before):
        """Delete the records before an offset, as retention does."""
        self._do("partition_delete_records", topic, partition, before)

    def spoil(self, topic, code):
        """Answer every question about a topic with an error."""
        self._do("topic_set_error", topic, code)

    def kill(self):
        self._do("broker_set_down", 1)

    def restart(self):
        self._do("broker_set_up", 1)

    def pause(self):
        """Freeze the broker: its connections stay, and nothing answers."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def send(self, topic, records):
        """Write (partition, key, value)."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for partition, key, value in records:
            producer.produce(topic, value, key, partition)
            producer.poll(0)
        assert producer.flush(DEADLINE) == 0

    def length(self, topic):
        """Return how many records were ever written to a topic."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "test", "log_level": 0})
        with contextlib.closing(consumer):
            numbers = consumer.list_topics(topic, timeout=DEADLINE).topics[topic].partitions
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, it), timeout=DEADLINE) for it in numbers
            ]
            return sum(end for _, end in ends)

    def read(self, topic, count):
        """Read the first ``count`` records of a topic, of each partition in order, and those that come with them."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "test", "log_level": 0})
        with contextlib.closing(consumer):
            numbers = consumer.list_topics(topic, timeout=DEADLINE).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
            found, deadline = [], time.monotonic() + DEADLINE
            while len(found) < count:
                assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
                found += [it for it in consumer.consume(10_000, 0.1) if not it.error()]
            return found


def _library():
    """librdkafka as the client has loaded it."""
    import confluent_kafka

    assert confluent_kafka.libversion()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in maps if "librdkafka" in line))


def _serve():
    """Start the mock, say where it listens, and do as told, a JSON line each."""
    library = _library()
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_topic_set_error.restype = None
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    said = ctypes.create_string_buffer(512)
    library.rd_kafka_conf_set(conf, b"log_level", b"0", said, ctypes.c_size_t(len(said)))
    client = ctypes.c_void_p(library.rd_kafka_new(0, conf, said, ctypes.c_size_t(len(said))))
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(client, 1))
    print(json.dumps(library.rd_kafka_mock_cluster_bootstraps(cluster).decode()), flush=True)  # noqa: T201
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        # A whole number of 64 bits is also one of 32, in a register.
        given = [it.encode() if isinstance(it, str) else ctypes.c_int64(it) for it in arguments]
        code = getattr(library, f"rd_kafka_mock_{command}")(cluster, *given)
        print(json.dumps(code or 0), flush=True)  # noqa: T201


if __name__ == "__main__":
    _serve()
