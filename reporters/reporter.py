"""Randomises one person's values within that person's own limits. Proof: ``reporter.proof.md``."""

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import msgspec

from streamlearn.channels import Channel, Report
from streamlearn.errors import BudgetError, ParameterError, PrivateValueError, ReportError, StateError, brief
from streamlearn.files import write_atomically
from streamlearn.randomness import Key
from streamlearn.reporters.ledger import Entry, Ledger
from streamlearn.rounding import as_float, check_epsilon

FORMAT = "streamlearn/reporter"
VERSION = 1
T = TypeVar("T")


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """What a reporter must not forget. Prices are not in it: they follow from the tags."""

    format: str
    version: int
    key: str
    max_epsilon: float | Literal["inf"]
    total_epsilon: float | Literal["inf"]
    answers: list[tuple[str, str, Literal[0, 1]]]


class _Header(msgspec.Struct):
    """What is read first, so that a newer format is refused by name and not for its new fields."""

    format: str
    version: int


class Reporter:
    """Answers channels with random bits, for one person, within that person's limits.

    Parameters
    ----------
    max_epsilon
        The most ε all answers about one event may spend together, 0 <= ε <= ∞.
    key
        The person's secret; a fresh one from the operating system by default.
    total_epsilon
        The most ε all answers about all events may spend together; unlimited by default.

    Attributes
    ----------
    ledger
        What was answered and spent.

    Raises
    ------
    ParameterError
        If a limit is negative, NaN or not a number, or ``key`` is not a :class:`~streamlearn.Key`.

    Notes
    -----
    Nobody is trusted: the ε of a channel is computed from its integers, never taken from what it
    declares. Whatever channels a server chooses, even in view of earlier bits, all answers about one
    event together are ``max_epsilon``-locally differentially private (``reporter.proof.md``, Theorem 2).
    One reporter belongs to one thread; two copies of one memory would each spend the whole limit.

    Examples
    --------
    >>> from streamlearn import Channel, Key
    >>> from streamlearn.reporters import Reporter
    >>> reporter = Reporter(max_epsilon=1.0, key=Key.from_seed(2))
    >>> channel = Channel.randomized_response(round=1, threshold=0.5, epsilon=1.0)
    >>> reporter.report(value=0.7, channel=channel, event_id="a17")
    Report(round=1, bit=1, event_id='a17')
    >>> reporter
    Reporter(max_epsilon=1, total_epsilon=inf, ledger=Ledger(events=1, answers=1, total=1))
    """

    def __init__(self, max_epsilon: float, key: Key | None = None, total_epsilon: float = math.inf) -> None:
        if not isinstance(key, Key | None):
            raise ParameterError(
                f"key must be a Key, got {type(key).__name__}; Key.from_seed(n) makes one for tests"
            )
        self.max_epsilon = max_epsilon
        self.total_epsilon = total_epsilon
        self.key = Key.generate() if key is None else key
        self.ledger = Ledger()

    @property
    def max_epsilon(self) -> float:
        """The most ε one event may spend. Its owner may set it anew, for answers to come."""
        return self._max_epsilon

    @max_epsilon.setter
    def max_epsilon(self, epsilon: float) -> None:
        self._max_epsilon = check_epsilon(epsilon, "max_epsilon")

    @property
    def total_epsilon(self) -> float:
        """The most ε all events may spend together. Its owner may set it anew, for answers to come."""
        return self._total_epsilon

    @total_epsilon.setter
    def total_epsilon(self, epsilon: float) -> None:
        self._total_epsilon = check_epsilon(epsilon, "total_epsilon")

    def report(self, *, value: float | None, channel: Channel, event_id: str | int) -> Report:
        """Return this person's bit for one channel.

        Parameters
        ----------
        value
            The private value: a finite number >= 0. Not read, and may be None, where the channel is
            constant or the event was already answered under it.
        channel
            What is asked.
        event_id
            Your name for this one value, never derived from it: 17 and ``"17"`` are the same name.

        Raises
        ------
        BudgetError
            If the answer would pass a limit. Nothing is spent, and the value was not read.
        PrivateValueError
            If the value is not a finite number >= 0. The message does not quote it.
        ReportError
            If ``event_id`` is empty, or neither text nor an integer.
        ParameterError
            If ``channel`` is not a channel.

        Examples
        --------
        The same question about the same event repeats its answer; another one must fit the limit.

        >>> from streamlearn import Channel
        >>> from streamlearn.errors import BudgetError
        >>> from streamlearn.reporters import Reporter
        >>> reporter = Reporter(max_epsilon=1.0)
        >>> first, second = (Channel.randomized_response(i, 0.5, 0.6) for i in (1, 2))
        >>> once = reporter.report(value=0.7, channel=first, event_id="a17")
        >>> reporter.report(value=0.7, channel=first, event_id="a17") == once
        True
        >>> try:
        ...     reporter.report(value=0.7, channel=second, event_id="a17")
        ... except BudgetError as error:
        ...     print(f"{error.left:.3f} left, {error.asked:.3f} asked")
        0.400 left, 0.600 asked
        """
        if not isinstance(channel, Channel):
            raise ParameterError(
                f"channel must be a Channel, got {type(channel).__name__}; take it from a stopper or a plan"
            )
        event = _event_name(event_id)
        if channel.case != "ask":
            return Report(channel.round, int(channel.case == "accept"), event)
        tag, epsilon = _law(channel)
        answer = self.ledger.find(event, tag)
        if answer is None:
            # The limits come before the value: whether this is refused must not depend on it.
            self._check_limits(event, epsilon)
            number = _private_number(value)
            draw = self.key.uniform64(f"report/{tag}/{event}", channel.round)
            answer = Entry(event, tag, channel.bit(number, draw), epsilon)
            self.ledger.add(answer)
        return Report(channel.round, answer.bit, event)

    def _check_limits(self, event: str, epsilon: float) -> None:
        if not self.ledger.fits_event(event, epsilon, self.max_epsilon):
            raise _refusal("this event", self.ledger.spent(event), epsilon, "max_epsilon", self.max_epsilon)
        if not self.ledger.fits_total(epsilon, self.total_epsilon):
            raise _refusal("all events", self.ledger.total, epsilon, "total_epsilon", self.total_epsilon)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole memory as plain JSON types: the secret key, the limits and every answer.

        Examples
        --------
        >>> from streamlearn import Key
        >>> from streamlearn.reporters import Reporter
        >>> reporter = Reporter(max_epsilon=1.0, key=Key.from_seed(2))
        >>> sorted(reporter.state_dict())
        ['answers', 'format', 'key', 'max_epsilon', 'total_epsilon', 'version']
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "key": self.key.secret.hex(),
            "max_epsilon": _plain(self.max_epsilon),
            "total_epsilon": _plain(self.total_epsilon),
            "answers": self.ledger.answers(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on the key and the ledger of a saved memory with the same limits.

        Parameters
        ----------
        state
            What :meth:`state_dict` returned.

        Raises
        ------
        StateError
            If it is malformed, newer, or was kept under other limits. This reporter is then unchanged.
        """
        saved = self._from_state(state)
        if (saved.max_epsilon, saved.total_epsilon) != (self.max_epsilon, self.total_epsilon):
            raise StateError(
                f"state was kept under max_epsilon={saved.max_epsilon}, total_epsilon={saved.total_epsilon}, "
                f"this reporter has {self.max_epsilon}, {self.total_epsilon}; build it with the same limits"
            )
        self.key = saved.key
        self.ledger = saved.ledger

    def save(self, path: str | Path) -> None:
        """Write the memory to ``path``, readable by its owner only, whole or not at all.

        Save before you send: a bit that was sent and forgotten is not counted when more is asked.

        Raises
        ------
        StreamlearnError
            If the file cannot be written.
        """
        write_atomically(path, msgspec.json.encode(self.state_dict()) + b"\n", mode=0o600)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the reporter that :meth:`save` wrote.

        Raises
        ------
        StateError
            If the file cannot be read, is malformed, or was written by a newer version.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from streamlearn import Channel
        >>> from streamlearn.reporters import Reporter
        >>> reporter = Reporter(max_epsilon=1.0)
        >>> channel = Channel.randomized_response(1, 0.5, 1.0)
        >>> report = reporter.report(value=0.7, channel=channel, event_id="a17")
        >>> memory = pathlib.Path(tempfile.mkdtemp()) / "reporter.json"
        >>> reporter.save(memory)
        >>> Reporter.load(memory).report(value=None, channel=channel, event_id="a17") == report
        True
        """
        try:
            data = Path(path).read_bytes()
        except (OSError, ValueError) as error:  # ValueError: no name of a file
            reason = getattr(error, "strerror", None) or error
            raise StateError(
                f"memory {path}: cannot be read ({reason}); give a file made by Reporter.save"
            ) from None
        try:
            state = msgspec.json.decode(data)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise StateError(
                f"memory {path}: not JSON ({error}); give a file made by Reporter.save"
            ) from None
        return cls._from_state(state)

    @classmethod
    def _from_state(cls, state: object) -> Self:
        header = _convert(state, _Header)
        if header.format != FORMAT:
            raise StateError(
                f"format is {header.format!r}, expected {FORMAT!r}; this is no reporter's memory"
            )
        if not 1 <= header.version <= VERSION:
            raise StateError(
                f"memory version {brief(header.version)} is not among 1..{VERSION}, those read here; "
                "upgrade streamlearn"
            )
        saved = _convert(state, _State)
        try:
            reporter = cls(
                float(saved.max_epsilon), Key(bytes.fromhex(saved.key)), float(saved.total_epsilon)
            )
            answers = ((_event_name(event), tag, bit) for event, tag, bit in saved.answers)
            reporter.ledger = Ledger.from_answers(answers)
        except ValueError as error:
            raise StateError(
                f"malformed memory: {error}; give what state_dict() returned, unedited"
            ) from None
        return reporter

    def __repr__(self) -> str:
        limits = f"max_epsilon={self.max_epsilon:g}, total_epsilon={self.total_epsilon:g}"
        return f"{type(self).__name__}({limits}, ledger={self.ledger!r})"


@lru_cache(maxsize=4096)
def _law(channel: Channel) -> tuple[str, float]:
    """Return a channel's tag and the ε its integers spend, which cost a microsecond each to find."""
    return channel.tag, channel.realised_epsilon


def _event_name(event_id: object) -> str:
    """Return the name of an event as text that can be hashed and saved."""
    if not isinstance(event_id, str):
        if isinstance(event_id, bool) or not isinstance(event_id, numbers.Integral):
            raise ReportError(f"event_id must be text or an integer, got {type(event_id).__name__}")
        try:
            return str(int(event_id))
        except ValueError:
            raise ReportError("event_id is a number of more than 4,300 digits; give a shorter name") from None
    if not event_id:
        raise ReportError("event_id is empty; name the event, so that asked again it answers the same")
    if not event_id.isascii():
        try:
            event_id.encode()
        except UnicodeEncodeError:
            raise ReportError("event_id holds a lone surrogate, half a character; rename it") from None
    return str(event_id)  # numpy's text becomes plain text, which JSON knows


def _private_number(value: object) -> float:
    """Return a private value as a float; no message quotes it."""
    number = as_float(value)
    if number is None:
        raise PrivateValueError(
            f"value must be a number that fits a double, got {type(value).__name__}; convert it with float()"
        )
    if not 0.0 <= number < math.inf:
        raise PrivateValueError(
            "value must be finite and >= 0; shift or truncate the scale it is measured on"
        )
    return number


def _refusal(what: str, spent: float, asked: float, name: str, limit: float) -> BudgetError:
    return BudgetError(
        f"the channel spends ε = {asked} and {spent} is already spent on {what}: more than {name} = {limit}; "
        "leave the question unanswered, or raise the limit for events to come",
        spent=spent,
        asked=asked,
        limit=limit,
    )


def _plain(epsilon: float) -> float | Literal["inf"]:
    return "inf" if epsilon == math.inf else epsilon  # JSON has no infinity


def _convert(plain: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(plain, kind)
    except (ValueError, RecursionError) as error:  # also half a character, or a number too long to be shown
        raise StateError(f"malformed memory: {error}; give what state_dict() returned, unedited") from None
