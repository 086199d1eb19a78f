"""Every error streamlearn raises on purpose.

A message names the field, the bound and the remedy. It never contains a private value: a reported
value, a row of a log or a sample from one is described by its place, not quoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal

MOST_LETTERS: Final = 2_000
"""The longest text of an error: what was given, and is named in it, may be of any length."""
_FIRST, _LAST = 1_400, 500


class StreamlearnError(Exception):
    """Base of every error this package raises on purpose. Of a very long text the middle is left out.

    Examples
    --------
    >>> from streamlearn.errors import ParameterError, StreamlearnError
    >>> issubclass(ParameterError, StreamlearnError) and issubclass(ParameterError, ValueError)
    True
    >>> len(str(ParameterError("x" * 1_000_000 + " is no number; give one")))
    1903
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= MOST_LETTERS else f"{text[:_FIRST]} … {text[-_LAST:]}"


def brief(number: int) -> str:
    """Return a whole number as a message shows it: Python refuses to write one of more than 4,300 digits.

    Examples
    --------
    >>> from streamlearn.errors import brief
    >>> brief(7), brief(-(10**5000))
    ('7', 'an integer of more than 40 digits')
    """
    return str(number) if abs(number) < 10**40 else "an integer of more than 40 digits"


class ParameterError(StreamlearnError, ValueError):
    """A constructor or function argument is outside its bound."""


class PriorError(ParameterError):
    """A prior cannot be used: negative support, infinite mean, weights that do not sum to 1, ..."""


class SizeError(StreamlearnError, ValueError):
    """Exact work on something this large would not end. The message names the size and the limit."""


class PrivateValueError(StreamlearnError, ValueError):
    """A person's own value is unusable. The message never quotes the value."""


class ReportError(StreamlearnError, ValueError):
    """A report is malformed, is meant for another round, or contradicts its channel."""


class PlanError(StreamlearnError, ValueError):
    """A reporting plan cannot be read, or promises something its integers do not keep."""


class StateError(StreamlearnError, ValueError):
    """A saved state is malformed, newer than this version, or belongs to another agent."""


class StreamError(StreamlearnError, ValueError):
    """A recorded stream cannot be read, or a row of it is malformed."""


class LabelError(StreamlearnError, ValueError):
    """A label is missing or is not binary."""


class InstanceError(StreamlearnError, ValueError):
    """An instance is neither hashable nor a dict of features."""


class MessageError(StreamlearnError, ValueError):
    """A message of a live stream cannot be used. The text names fields and places, never what the message holds."""


class BrokerError(StreamlearnError, RuntimeError):
    """A broker cannot be reached or refuses; it is worth trying again."""


class LostError(StreamlearnError, RuntimeError):
    """Messages of a stream are gone unread. Trying again does not help; one may go on without them.

    Parameters
    ----------
    message
        What is gone; the remedy is added.
    positions
        Where to go on, by partition: all up to there is gone or was processed. Empty for a consumer group, which goes
        on by itself once its source is started again.

    Attributes
    ----------
    what
        The message without the remedy.

    Examples
    --------
    >>> from streamlearn.errors import LostError
    >>> LostError("reports: messages expired unread", {"reports": (17,)}).positions
    {'reports': (17,)}
    """

    def __init__(self, message: str, positions: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(
            f"{message}. To go on without them, use --skip-lost (of a Pump: skip_lost=True), or name another store"
        )
        self.what = message
        self.positions = dict(positions)


class RoundError(StreamlearnError, ValueError):
    """A label is for a round that does not await one."""


class HorizonError(StreamlearnError, RuntimeError):
    """A stopper was used past its last round."""


class MissingExtraError(StreamlearnError, ImportError):
    """An optional dependency is needed and not installed. The message names the extra."""


class CheckError(StreamlearnError, AssertionError):
    """An agent does not keep its contract. The message names the check, what was expected and seen, and the remedy."""


class BudgetError(StreamlearnError, RuntimeError):
    """Something would spend more privacy than is allowed. Nothing was spent.

    Parameters
    ----------
    message
        What was refused, and the remedy.
    spent, asked, limit
        What was spent before, what this would add, and the limit.
    parameter
        What these three are counted in, ``"epsilon"`` or ``"delta"``.

    Attributes
    ----------
    left
        ``limit - spent``, never below zero.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlearn.errors import BudgetError
    >>> error = BudgetError("refused", spent=Fraction(1), asked=0.5, limit=1.25)
    >>> error.left
    0.25
    """

    def __init__(
        self,
        message: str,
        *,
        spent: float | Fraction,
        asked: float,
        limit: float,
        parameter: Literal["epsilon", "delta"] = "epsilon",
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.spent = float(spent)
        self.asked = asked
        self.limit = limit

    @property
    def left(self) -> float:
        """What may still be spent."""
        return max(0.0, self.limit - self.spent)
