"""The reporting plan: every stage's channel, public before anybody arrives, as JSON for any client."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, Self, TypeVar

import msgspec

from streamlearn.channels import OUT_OF, Channel
from streamlearn.errors import ParameterError, PlanError
from streamlearn.files import write_atomically
from streamlearn.rounding import realised_epsilon, realised_ratio

FORMAT = "streamlearn/reporting-plan"
VERSION = 1
T = TypeVar("T")
MAX_STAGES = 10_000_000
"""Most stages a plan read from outside may have: about 2 GB of JSON."""


class _Stage(msgspec.Struct, forbid_unknown_fields=True):
    """One stage as it stands in the file: integers as decimal strings, since JSON numbers are doubles."""

    round: int
    threshold: float
    below: str
    at: str
    above: str
    epsilon: float | Literal["inf"]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    out_of: str
    horizon: int
    stages: list[_Stage]


class _Header(msgspec.Struct):
    """What is read first, so that a newer format is refused by name and not for its new fields."""

    format: str
    version: int


class ReportingPlan:
    """The channels of stages 1..n, in order. Immutable.

    Parameters
    ----------
    channels
        One :class:`~streamlearn.Channel` a stage; stage i has ``round == i``.

    Raises
    ------
    ParameterError
        If there is no channel, or the rounds are not 1..n in order.

    Notes
    -----
    ``docs/plan-format.md`` documents the JSON field by field, with what a client has to do.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.reporters import ReportingPlan
    >>> plan = ReportingPlan([Channel.constant(1, bit=0), Channel.constant(2, bit=1)])
    >>> plan.horizon, plan[2].case
    (2, 'accept')
    >>> ReportingPlan.from_json(plan.to_json()) == plan
    True
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = tuple(channels)
        if not self._channels:
            raise ParameterError("channels is empty; a plan has at least one stage")
        for i, channel in enumerate(self._channels, start=1):
            if channel.round != i:
                raise ParameterError(
                    f"stage {i} carries round {channel.round}; stages are rounds 1..n in order"
                )

    @property
    def horizon(self) -> int:
        """The number of stages, n."""
        return len(self._channels)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels of rounds 1..n."""
        return self._channels

    @cached_property
    def epsilon(self) -> float:
        """The largest ε any stage really spends on its person."""
        # The logarithm is monotone, so only the largest ratio's is taken: each costs as much as thirty channels.
        ratios = {pair: realised_ratio(*pair) for pair in {(c.below, c.above) for c in self._channels}}
        if None in ratios.values():
            return math.inf
        return realised_epsilon(*max(ratios, key=lambda pair: ratios[pair] or 0))

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """The ε that each round really spends on its person, shape (n,)."""
        return tuple(channel.realised_epsilon for channel in self._channels)

    @cached_property
    def digest(self) -> str:
        """A name for the whole law (hex, 128 bits): equal plans share it."""
        law = hashlib.blake2b(digest_size=16)
        for channel in self._channels:
            law.update(b"%b\n" % channel.tag.encode())
        return law.hexdigest()

    def __getitem__(self, round: int) -> Channel:  # noqa: A002 - the field's own word
        """Return the channel of one round, 1-based."""
        if type(round) is not int or not 1 <= round <= len(self._channels):
            raise PlanError(
                f"round must lie in 1..{len(self._channels)}, got {round}; ask whoever published the plan for yours"
            )
        return self._channels[round - 1]

    def __len__(self) -> int:
        return len(self._channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._channels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReportingPlan) and self._channels == other._channels

    def __hash__(self) -> int:
        return hash(self._channels)

    def __repr__(self) -> str:
        return f"ReportingPlan(horizon={self.horizon}, epsilon={self.epsilon:g})"

    def to_json(self) -> str:
        """Return the plan as JSON: one line a stage, small enough to read.

        Examples
        --------
        >>> from streamlearn import Channel
        >>> from streamlearn.reporters import ReportingPlan
        >>> print(ReportingPlan([Channel.constant(1, bit=1)]).to_json())
        {"format":"streamlearn/reporting-plan","version":1,"out_of":"18446744073709551616","horizon":1,"stages":[
        {"round":1,"threshold":0.0,"below":"18446744073709551616","at":"18446744073709551616","above":"18446744073709551616","epsilon":0.0}
        ]}
        """
        head = _File(FORMAT, VERSION, str(OUT_OF), self.horizon, [])
        stages = ",\n".join(msgspec.json.encode(_to_stage(channel)).decode() for channel in self._channels)
        return f"{msgspec.json.encode(head).decode().removesuffix(']}')}\n{stages}\n]}}"

    def save(self, path: str | Path) -> None:
        """Write the JSON to ``path``, whole or not at all.

        Raises
        ------
        StreamlearnError
            If the file cannot be written.
        """
        write_atomically(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan that :meth:`save` wrote.

        Raises
        ------
        PlanError
            If the file cannot be read or is not a plan this version can follow.
        """
        try:
            text = Path(path).read_bytes()
        except (OSError, ValueError) as error:
            raise PlanError(f"plan {path!s}: cannot be read ({error}); give a file made by --plan") from None
        try:
            return cls.from_json(text)
        except PlanError as error:
            raise PlanError(f"plan {path!s}: {error}") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the plan written by :meth:`to_json`, checked integer by integer.

        Parameters
        ----------
        text
            JSON, as text or UTF-8 bytes.

        Raises
        ------
        PlanError
            If it is not JSON, not a plan, from a newer format, or a stage promises an ε that its
            integers do not keep.
        """
        header = _decode(text, _Header)
        if header.format != FORMAT:
            raise PlanError(f"format is {header.format!r}, expected {FORMAT!r}; this is not a reporting plan")
        if header.version > VERSION:
            raise PlanError(
                f"plan version {header.version} is newer than {VERSION}, the newest read here; "
                "upgrade streamlearn"
            )
        if header.version < 1:
            raise PlanError(f"plan version must be 1..{VERSION}, got {header.version}; this is not a plan")
        file = _decode(text, _File)
        if file.out_of != str(OUT_OF):
            raise PlanError(f"out_of must be {OUT_OF} in version {VERSION}; do not edit a plan by hand")
        if file.horizon != len(file.stages):
            raise PlanError(
                f"horizon is {file.horizon} and there are {len(file.stages)} stages; the plan is cut short"
            )
        if file.horizon > MAX_STAGES:
            raise PlanError(
                f"horizon is {file.horizon}, the most read here is {MAX_STAGES}; split the problem"
            )
        try:
            return cls([_from_stage(stage) for stage in file.stages])
        except ParameterError as error:
            raise PlanError(f"not a plan to follow: {error}") from None


def _decode(text: str | bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise PlanError(f"not a reporting plan: {error}; give the JSON of stopper.plan.to_json()") from None


def _to_stage(channel: Channel) -> _Stage:
    epsilon: float | Literal["inf"] = "inf" if math.isinf(channel.epsilon) else channel.epsilon
    return _Stage(
        channel.round, channel.threshold, str(channel.below), str(channel.at), str(channel.above), epsilon
    )


def _from_stage(stage: _Stage) -> Channel:
    below, at, above = (
        _weight(stage.round, name, text)
        for name, text in (("below", stage.below), ("at", stage.at), ("above", stage.above))
    )
    return Channel(stage.round, stage.threshold, below, at, above, float(stage.epsilon))


def _weight(round: int, name: str, text: str) -> int:  # noqa: A002 - the field's own name
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(OUT_OF))):
        raise PlanError(
            f"stage {round}: {name} must be a whole number from 0 to {OUT_OF}, as a string of digits"
        )
    return int(text)
