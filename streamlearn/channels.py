"""What a person is asked: the public law of one randomised bit, and the report that carries it."""

from __future__ import annotations

import math
from typing import Final, Literal, Self

import msgspec

from streamlearn import rounding
from streamlearn.errors import ParameterError

OUT_OF: Final = rounding.OUT_OF

Case = Literal["ask", "accept", "skip"]


class Report(msgspec.Struct, frozen=True, gc=False):
    """One randomised bit, as it reaches an agent. It carries no value.

    Parameters
    ----------
    round
        The round the bit answers, 1-based: the ``round`` of the channel it was drawn from.
    bit
        0 or 1; 1 means "take me".
    event_id
        The sender's name for the event, to recognise duplicates; never derived from the value.

    Examples
    --------
    >>> from streamlearn import Report
    >>> Report(round=1, bit=1, event_id="a17")
    Report(round=1, bit=1, event_id='a17')
    """

    round: int
    bit: int
    event_id: str | None = None


class Channel(msgspec.Struct, frozen=True, gc=False):
    """The public law of one person's bit: P(1) below, at and above a threshold, as integers out of 2^64.

    Parameters
    ----------
    round
        The round this channel serves, 1-based.
    threshold
        The value that splits below from above, finite.
    below, at, above
        P(1 | x < threshold), P(1 | x = threshold), P(1 | x > threshold), out of 2^64, in increasing order.
    epsilon
        The privacy level that was asked for; ``realised_epsilon`` is what the integers keep.

    Raises
    ------
    ParameterError
        If the round is not a positive int, the threshold is not a finite number, the weights are not
        ints ordered in 0 .. 2^64, or they do not keep ``epsilon``.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> channel = Channel.randomized_response(round=1, threshold=0.5, epsilon=1.0)
    >>> channel.below, channel.above
    (4961093570831982232, 13485650502877569384)
    >>> channel.realised_epsilon <= 1.0
    True
    >>> channel.case
    'ask'
    """

    round: int
    threshold: float
    below: int
    at: int
    above: int
    epsilon: float

    def __post_init__(self) -> None:
        if type(self.round) is not int or self.round < 1:
            raise ParameterError(f"round must be an int >= 1, got {self.round!r}: rounds are counted from 1")
        # A numpy scalar or an int becomes a float: tag and JSON must not depend on the type of a number.
        msgspec.structs.force_setattr(self, "threshold", _finite(self.threshold, self.round))
        msgspec.structs.force_setattr(self, "epsilon", rounding.check_epsilon(self.epsilon))
        whole = type(self.below) is type(self.at) is type(self.above) is int
        if not (whole and 0 <= self.below <= self.at <= self.above <= OUT_OF):
            raise ParameterError(
                f"round {self.round}: below, at, above must be integers with "
                "0 <= below <= at <= above <= 2^64, where 1 means take this one"
            )
        if not rounding.keeps(self.below, self.above, self.epsilon):
            raise ParameterError(
                f"round {self.round}: the integers spend ε = {self.realised_epsilon:.17g}, more than the "
                f"promised {self.epsilon:.17g}; round them towards privacy, as streamlearn.rounding does"
            )

    @classmethod
    def constant(cls, round: int, bit: int) -> Self:  # noqa: A002 - the field's own name
        """Return the channel that always answers ``bit``: it asks nothing and spends nothing.

        Examples
        --------
        >>> from streamlearn import Channel
        >>> Channel.constant(round=3, bit=1).case
        'accept'
        """
        if bit not in {0, 1}:
            raise ParameterError(f"bit of round {round} must be 0 or 1")
        probability = OUT_OF if bit else 0
        return cls(round, 0.0, probability, probability, probability, 0.0)

    @classmethod
    def randomized_response(cls, round: int, threshold: float, epsilon: float) -> Self:  # noqa: A002
        """Return randomized response on ``x >= threshold`` (stopping paper, equation 14).

        Examples
        --------
        >>> from streamlearn import Channel
        >>> Channel.randomized_response(1, 0.5, 0.0).realised_epsilon
        0.0
        """
        below, above = rounding.randomized_response(rounding.check_epsilon(epsilon))
        return cls(round, threshold, below, above, above, epsilon)

    @property
    def case(self) -> Case:
        """``"accept"`` or ``"skip"`` where the bit is constant, else ``"ask"``."""
        if self.below == OUT_OF:
            return "accept"
        return "skip" if self.above == 0 else "ask"

    @property
    def realised_epsilon(self) -> float:
        """The ε these integers keep: ln of an exact ratio of integers, rounded up to a float."""
        return rounding.realised_epsilon(self.below, self.above)

    def weight(self, value: float) -> int:
        """Return P(1 | value) as an integer out of 2^64.

        Examples
        --------
        >>> from streamlearn import Channel
        >>> Channel.constant(1, bit=1).weight(0.3) == 2**64
        True
        """
        if value < self.threshold:
            return self.below
        return self.above if value > self.threshold else self.at

    def bit(self, value: float, draw: int) -> int:
        """Return the bit for ``value``, given a draw uniform on 0 .. 2^64 - 1.

        Examples
        --------
        >>> from streamlearn import Channel
        >>> Channel.randomized_response(1, 0.5, float("inf")).bit(0.7, draw=2**63)
        1
        """
        return 1 if draw < self.weight(value) else 0

    @property
    def tag(self) -> str:
        """A name of this law: channels share a tag iff round, threshold and the three integers agree."""
        return f"{self.round}/{self.threshold.hex()}/{self.below:x}/{self.at:x}/{self.above:x}"

    @classmethod
    def from_tag(cls, tag: str) -> Self:
        """Return the channel of a law's name. What ε was asked for is not part of it, and is ∞ here.

        Raises
        ------
        ParameterError
            If it is no channel's :attr:`tag`, or spelt in another way.

        Examples
        --------
        >>> from streamlearn import Channel
        >>> tag = Channel.randomized_response(round=1, threshold=0.5, epsilon=1.0).tag
        >>> Channel.from_tag(tag).realised_epsilon <= 1.0
        True
        """
        try:
            stage, threshold, below, at, above = tag.split("/")
            law = int(stage), float.fromhex(threshold), int(below, 16), int(at, 16), int(above, 16)
            channel = cls(*law, epsilon=math.inf)
        except (AttributeError, TypeError, ValueError, OverflowError):
            channel = None
        # A second spelling of one law would be a second answer to it, so only the one that is written passes.
        if channel is None or channel.tag != tag:
            raise ParameterError(
                "tag must be that of a channel, round/threshold/below/at/above as Channel.tag writes it"
            )
        return channel


def _finite(threshold: object, round: int) -> float:  # noqa: A002 - the field's own word
    """Return a threshold as a float, and -0.0 as 0.0: they are one law."""
    number = rounding.as_float(threshold)
    if number is not None and math.isfinite(number):
        return number + 0.0
    raise ParameterError(
        f"threshold of round {round} must be a finite number; a stage that asks nothing is Channel.constant"
    )
