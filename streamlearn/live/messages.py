"""What comes in and what goes out: JSON, checked as it is read. No reason ever quotes what a message holds."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec

from streamlearn.errors import MessageError, ParameterError

Position: TypeAlias = tuple[int, ...]
"""A place in a partition; later places compare greater."""
MOST_LETTERS: Final = 512
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_LETTERS)]
"""A key or an event id."""
MOST_BYTES: Final = 1_000_000
"""A longer message is refused unread."""


class Message(NamedTuple):
    """A message as its source hands it over.

    Parameters
    ----------
    partition
        The ordered log it comes from: a topic's partition, a stream, a pipe.
    position
        Its place there.
    data
        The JSON text.
    key
        The broker's own key, for messages whose JSON names none; bytes that are no UTF-8 as ``surrogateescape`` has
        them.
    ordered
        Whether its partition comes strictly in order. A consumer group hands messages out again, after newer ones.

    Examples
    --------
    >>> from streamlearn.live import Message
    >>> Message("reports", (17,), b'{"key": "job 1", "round": 1, "bit": 0}').position
    (17,)
    """

    partition: str
    position: Position
    data: bytes
    key: str | None = None
    ordered: bool = True


class ReportMessage(msgspec.Struct, frozen=True, gc=False):
    """A person's report for the stopping problem named ``key``.

    Parameters
    ----------
    round, bit, event_id
        As in :class:`streamlearn.Report`.
    key
        The stopping problem; the broker's own key where it is missing.

    Examples
    --------
    >>> from streamlearn.live import ReportMessage
    >>> ReportMessage(round=1, bit=0, key="job 1").event_id is None
    True
    """

    round: Annotated[int, msgspec.Meta(ge=1)]
    bit: Annotated[int, msgspec.Meta(ge=0, le=1)]
    event_id: Name | None = None
    key: Name | None = None


class ExampleMessage(msgspec.Struct, frozen=True):
    """An instance that the predictor of ``key`` is to foretell, or its label, or both at once.

    Parameters
    ----------
    event_id
        The sender's name for the event; instance and label carry the same.
    x
        The instance: an object of features, or any other JSON value; a list becomes a tuple. Missing in the message
        of a label.
    y
        The label: 0, 1, false or true. Missing in the message of an instance.
    key
        The stream; the broker's own key where it is missing.

    Examples
    --------
    >>> from streamlearn.live import ExampleMessage
    >>> ExampleMessage(event_id="a17", x={"height": 1.8}).y is None
    True
    """

    event_id: Name
    x: Any = None
    y: bool | Annotated[int, msgspec.Meta(ge=0, le=1)] | None = None
    key: Name | None = None


class StopDecision(msgspec.Struct, frozen=True, gc=False):
    """How a stopping problem ended.

    Parameters
    ----------
    id
        The same whenever the decision is published again.
    key
        The stopping problem.
    take
        Whether somebody is taken; False when all rounds have passed.
    round, event_id
        Whom: the round and event of the report. Of the last report where nobody is.

    Examples
    --------
    >>> from streamlearn.live import StopDecision
    >>> StopDecision(id="0f", key="job 1", take=True, round=3, event_id="a17").take
    True
    """

    id: str
    key: str
    take: bool
    round: int
    event_id: str | None


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """What was predicted for an event.

    Parameters
    ----------
    id
        The same whenever the prediction is published again.
    key, event_id
        Of the instance's message.
    prediction
        The bit.

    Examples
    --------
    >>> from streamlearn.live import Prediction
    >>> Prediction(id="0f", key="site", event_id="a17", prediction=False).prediction
    False
    """

    id: str
    key: str
    event_id: str
    prediction: bool


class DeadLetter(msgspec.Struct, frozen=True, gc=False):
    """A message that could not be used: where it lies and why, never what it holds.

    Parameters
    ----------
    id
        The same whenever the letter is published again.
    partition, position
        Where the message lies in its source.
    reason
        What was wrong with it.

    Examples
    --------
    >>> from streamlearn.live import DeadLetter
    >>> DeadLetter(id="0f", partition="reports", position=(17,), reason="bit is missing").position
    (17,)
    """

    id: str
    partition: str
    position: Position
    reason: str


Decision: TypeAlias = StopDecision | Prediction


def message_id(*parts: str) -> str:
    """Return a name for what goes out, the same for the same parts: 32 characters fit for any broker's header.

    Examples
    --------
    >>> from streamlearn.live.messages import message_id
    >>> message_id("run", "job 1") == message_id("run", "job 1") != message_id("run/job 1")
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Reader:
    """Reads messages of one type.

    Parameters
    ----------
    kind
        :class:`ReportMessage` or :class:`ExampleMessage`.
    key_field
        The JSON field that holds the key.

    Raises
    ------
    ParameterError
        If ``key_field`` is another field of the message.

    Examples
    --------
    >>> from streamlearn.live import Message, ReportMessage
    >>> from streamlearn.live.messages import Reader
    >>> read = Reader(ReportMessage, key_field="job")
    >>> read(Message("reports", (1,), b'{"job": "j1", "round": 2, "bit": 1}'))
    ('j1', ReportMessage(round=2, bit=1, event_id=None, key='j1'))
    """

    def __init__(self, kind: type[msgspec.Struct], key_field: str = "key") -> None:
        taken = {field.name for field in msgspec.structs.fields(kind)} - {"key"}
        if not key_field or key_field in taken:
            raise ParameterError(
                f"key_field must name the field of the key, not one of {', '.join(sorted(taken))}; got {key_field!r}"
            )
        read = kind
        if key_field != "key":
            fields = [(it.name, it.type, it.default) if not it.required else (it.name, it.type)
                      for it in msgspec.structs.fields(kind)]  # fmt: skip
            read = msgspec.defstruct(
                kind.__name__, fields, bases=(kind,), rename={"key": key_field}, frozen=True
            )
        self._decode = msgspec.json.Decoder(read).decode

    def __call__(self, message: Message) -> tuple[str, Any]:
        """Return the key of a message, and what it says.

        Raises
        ------
        MessageError
            If it cannot be used.
        """
        if len(message.data) > MOST_BYTES:
            raise MessageError(f"longer than {MOST_BYTES} bytes; send less, or in parts")
        if not message.data.strip():
            raise MessageError("empty: a tombstone, or an entry that was deleted or has no field data")
        try:
            read: Any = self._decode(message.data)
        except UnicodeDecodeError:
            raise MessageError("not UTF-8; send JSON in UTF-8") from None
        except RecursionError:
            raise MessageError("nested too deeply; send a flat object") from None
        except msgspec.MsgspecError as error:  # it names fields, types, bounds and bytes, never contents
            raise MessageError(str(error)) from None
        key = read.key or message.key
        if not key:
            raise MessageError(
                "no key: neither the message nor its broker names one; name it in the message, or say where with --key"
            )
        if len(key) > MOST_LETTERS:  # of the broker's: the message's own was checked as it was read
            raise MessageError(
                f"its broker's key is longer than {MOST_LETTERS} characters; name a shorter one in the message"
            )
        if not (read.key or key.isascii() or _encodes(key)):
            raise MessageError("its broker's key is not UTF-8; name one in the message")
        return key, read
