"""What the pump needs of a broker. Every adapter in ``streamlearn.live.brokers`` is one of these two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from streamlearn.live.messages import Message, Position
from streamlearn.live.store import Outgoing


@runtime_checkable
class Source(Protocol):
    """Where messages come from.

    Any method raises :class:`~streamlearn.errors.BrokerError` where trying again may help, and another
    :class:`~streamlearn.errors.StreamlearnError` where it will not (no such topic, a position that is gone).

    Attributes
    ----------
    ended
        Whether no message will ever come any more: the end of a pipe. Brokers never end.
    feeds_on
        May be missing: a method that takes a sink, and returns whether what that publishes would be read here, as far
        as their servers say.
    shared
        Whether it hands its messages out to several processes (a consumer group): they are then not ``ordered`` and
        want to be acknowledged. All processes of a group share one store.

    Examples
    --------
    >>> from streamlearn.live import Source
    >>> from streamlearn.live.brokers import file
    >>> isinstance(file.Source("reports.jsonl"), Source)
    True
    """

    ended: bool
    shared: bool

    def start(self, positions: Mapping[str, Position]) -> Mapping[str, Position] | None:
        """Connect, anew after a loss, to go on after these positions.

        Where there are none at all, all partitions start where the source was told to. Where there are some, a
        partition not among them is new, and starts at its beginning.

        Returns
        -------
        mapping or None
            Where partitions start that do not start at their beginning and had no position: to be stored before
            anything is fetched, lest a restart look for their end again. The empty position is before all others.
        """

    def fetch(self, most: int, patience: float) -> list[Message]:
        """Return the next messages, at most ``most``, in order; wait ``patience`` seconds for the first one."""

    def acknowledge(self, messages: Sequence[Message]) -> Mapping[str, Position] | None:
        """Tell a consumer group that messages were processed and committed. Nothing to do for an ordered log.

        Returns
        -------
        mapping or None
            Of a group, by partition: a position up to which all that was ever handed out, to any of its processes, is
            acknowledged.
        """

    def lag(self) -> int | None:
        """Return how many messages are waiting in the source, None where that is unknown."""

    def close(self) -> None:
        """Disconnect. Never raises."""


@runtime_checkable
class Sink(Protocol):
    """Where decisions go.

    Examples
    --------
    >>> from streamlearn.live import Sink
    >>> from streamlearn.live.brokers import file
    >>> isinstance(file.Sink("decisions.jsonl"), Sink)
    True
    """

    def publish(self, messages: Sequence[Outgoing]) -> int | None:
        """Publish messages in order; return when the broker has them all.

        A message that was published before, under the same id, must be recognisable by it.

        Returns
        -------
        int or None
            How many of them were there already, if that is known.

        Raises
        ------
        BrokerError
            If it is worth trying again; any of the messages may be out.
        """

    def close(self) -> None:
        """Disconnect. Never raises."""
