"""A draw that has not been made: a number known only as far as it was compared, each comparison with its exact chance.

It behaves as a whole number where a mechanism compares, shifts, scales or picks by it. What would need its very digits
(``float``, text) is refused, so that nothing is ever decided by a draw that was not followed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NoReturn

from streamlearn.audit.walking import Root, Walk

MOST_VALUES = 4096
"""A draw of more values is not followed value by value."""

FEW_VALUES = 64
"""A quotient, or a draw below a bound, of so few values is drawn at once: a plain number, which can be kept."""

Step = Callable[[Any], Any]


class Draw:
    """A whole number that is drawn when it is compared.

    Parameters
    ----------
    walk
        Where its outcomes are counted.
    root
        What it is a part of.
    size
        It is uniform on 0 .. size - 1.
    steps
        What was done with it since: functions that never fall.

    Examples
    --------
    >>> from streamlearn.audit.branching import BranchingKey, law
    >>> def dice(sides, key):
    ...     return key.below(sides, "dice", 1) // 2
    >>> [str(chance) for chance in law(dice, 5).values()]
    ['2/5', '2/5', '1/5']
    """

    __slots__ = ("root", "size", "steps", "walk")

    def __init__(self, walk: Walk, root: Root, size: int, steps: tuple[Step, ...] = ()) -> None:
        self.walk = walk
        self.root = root
        self.size = size
        self.steps = steps

    def _value(self, drawn: int) -> Any:
        value: Any = drawn
        for step in self.steps:
            value = step(value)
        return value

    def _then(self, step: Step) -> Draw:
        return Draw(self.walk, self.root, self.size, (*self.steps, step))

    def _refuse(self, what: str) -> NoReturn:
        self.walk.refuse(
            f"a draw of the key is {what}, which cannot be followed; compare it with whole numbers, or divide it by "
            "2**64 and compare that"
        )

    def _holds(self, below: Callable[[Any], bool]) -> bool:
        """Decide a condition that holds up to some value and not from there on."""
        first, last = self.root.values(self.size)
        while first < last:
            middle = (first + last) // 2
            if below(self._value(middle)):
                first = middle + 1
            else:
                last = middle
        return self.walk.split(self.root, first, self.size)

    def _settled(self) -> Any:
        """Draw the value itself, by halves."""
        low, high = self.root.values(self.size)
        first, last = self._value(low), self._value(high - 1)
        if last - first >= MOST_VALUES:
            self._refuse(f"used digit by digit, and has more than {MOST_VALUES:,} values")
        while first < last:
            middle = (first + last) // 2
            if self._holds(lambda value, bar=middle: value <= bar):  # type: ignore[misc]
                last = middle
            else:
                first = middle + 1
        return first

    def reduced(self) -> Any:
        """Return the value itself where there are few, else this."""
        low, high = self.root.values(self.size)
        first, last = self._value(low), self._value(high - 1)
        return self._settled() if isinstance(first, int) and last - first < FEW_VALUES else self

    def _other(self, other: object) -> Draw | None:
        """Return another draw; None for a plain number."""
        if isinstance(other, Draw):
            if self.steps or other.steps:
                self._refuse("compared with another after arithmetic")
            return other
        return None

    def __lt__(self, other: Any) -> bool:
        draw = self._other(other)
        if draw is not None:
            return self.walk.order(self.root, draw.root) < 0
        if not self.steps and type(other) is int:  # as nearly always: no search
            return self.walk.split(self.root, other, self.size)
        return self._holds(lambda value: value < other)

    def __le__(self, other: Any) -> bool:
        draw = self._other(other)
        if draw is not None:
            return self.walk.order(self.root, draw.root) <= 0
        if not self.steps and type(other) is int:
            return self.walk.split(self.root, other + 1, self.size)
        return self._holds(lambda value: value <= other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        draw = self._other(other)
        if draw is not None:
            return self.walk.order(self.root, draw.root) == 0
        if not isinstance(other, numbers.Real):
            return False
        return not self < other and self <= other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._settled())

    def __index__(self) -> int:
        return int(self._settled())

    __int__ = __index__
    __trunc__ = __index__

    def __bool__(self) -> bool:
        return self != 0

    def __add__(self, other: Any) -> Draw:
        plain = self._plain(other)
        return self._then(lambda value: value + plain)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Draw:
        plain = self._plain(other)
        return self._then(lambda value: value - plain)

    def __mul__(self, other: Any) -> Draw:
        self._positive(other)
        return self._then(lambda value: value * other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        self._positive(other)
        return self._then(lambda value: value // other).reduced()

    def __truediv__(self, other: Any) -> Draw:
        self._positive(other)
        return self._then(lambda value: value / other)

    def __rshift__(self, other: int) -> Any:
        return self._then(lambda value: value >> other).reduced()

    def __lshift__(self, other: int) -> Draw:
        return self._then(lambda value: value << other)

    def __mod__(self, other: Any) -> int:
        if (
            self.steps
            or isinstance(other, Draw)
            or not isinstance(other, int)
            or not 0 < other <= MOST_VALUES
        ):
            self._refuse(f"reduced by a modulus that is no whole number in 1..{MOST_VALUES}")
        return self.walk.residue(self.root, self.size, other)

    def __and__(self, other: Any) -> int:
        if not isinstance(other, int) or other < 0 or other & (other + 1):
            self._refuse("masked by something else than its lowest bits")
        return self % (other + 1)

    __rand__ = __and__

    def _plain(self, other: Any) -> Any:
        if isinstance(other, Draw):
            self._refuse("added to another")
        return other

    def _positive(self, other: Any) -> None:
        if isinstance(other, Draw) or not isinstance(other, numbers.Real) or not float(other) > 0.0:
            self._refuse("scaled by what is no positive number")

    def __float__(self) -> float:
        self._refuse("made a float")

    def __str__(self) -> str:
        return str(self._settled())

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(self._settled(), spec)

    def __copy__(self) -> Draw:
        return self

    def __deepcopy__(self, memo: object) -> Draw:
        return self

    def __reduce__(self) -> NoReturn:
        self._refuse("saved")


numbers.Integral.register(Draw)
