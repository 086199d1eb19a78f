"""Where decisions go with Redis: a stream that knows the ids of its latest entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from streamlearn.live.brokers.redisconnection import Server
from streamlearn.live.brokers.redisscripts import PUBLISH
from streamlearn.live.store import Outgoing

PART: Final = 500
"""Messages a step: a script takes some thousands of arguments."""


class Sink:
    """A stream. What is published again is known by its id and not added, exactly: the ids lie beside the stream.

    An entry has the fields ``id``, ``key`` and ``data``, the JSON. The ids of the last 100,000 entries are kept
    under the key ``{STREAM}:ids``, in the same step that adds the entry.

    Parameters
    ----------
    url
        As for :class:`Source`.
    stream
        The stream's key.

    Raises
    ------
    MissingExtraError
        If redis-py is not installed.

    Examples
    --------
    >>> from streamlearn.live.brokers import redis
    >>> redis.Sink("redis://127.0.0.1:6379/0", "decisions").close()
    """

    def __init__(self, url: str, stream: str) -> None:
        self.stream = stream
        self.server = Server(url)
        self._publish: Callable[..., Any] = self.server.client.register_script(PUBLISH)

    def publish(self, messages: Sequence[Outgoing]) -> int:
        """Add messages in order; return how many were there.

        Raises
        ------
        BrokerError
            If the server does not answer.
        StreamlearnError
            If it refuses.
        """
        known = 0
        keys = [self.stream, f"{{{self.stream}}}:ids"]
        for start in range(0, len(messages), PART):
            part = messages[start : start + PART]
            arguments = [word for message in part for word in (message.id, message.key, message.payload)]
            with self.server.asked(f"the stream {self.stream!r}"):
                known += int(self._publish(keys=keys, args=arguments))
        return known

    def close(self) -> None:
        """Disconnect."""
        self.server.close()
