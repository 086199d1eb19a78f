"""One path through everything that a mechanism can draw, and the exact chance of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NoReturn, TypeAlias

from streamlearn.errors import ParameterError
from streamlearn.rounding import OUT_OF

Name: TypeAlias = tuple[bytes, str, str, str]
"""What a draw is called: the key's secret, how it is drawn, the purpose and the round."""

Known: TypeAlias = tuple[tuple[Name, tuple[int, int, int]], ...]
"""What is known of some draws, by their names: (units, low, high) each."""

_ELSEWHERE: Final = (
    "the mechanism draws from elsewhere than its key: run again with the same draws, it does otherwise; "
    "draw everything from the key it is given"
)


class Root:
    """What is known of one draw: a number uniform on low .. high - 1, of ``units`` in all.

    Parameters
    ----------
    units
        How finely it is told apart.
    low, high
        Where it lies.
    """

    __slots__ = ("high", "low", "ranked", "residues", "units")

    def __init__(self, units: int, low: int = 0, high: int | None = None) -> None:
        self.units = units
        self.low = low
        self.high = units if high is None else high
        self.residues: dict[int, int] = {}
        self.ranked: list[list[Root]] | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is known of it."""
        return (self.low, self.high) == (0, self.units) and not self.residues

    def values(self, size: int) -> tuple[int, int]:
        """Return the range of its values on 0 .. size - 1: the first, and the one after the last."""
        unit = self.units // size
        return self.low // unit, -(-self.high // unit)

    def finer(self, times: int) -> None:
        """Tell it apart more finely."""
        self.units *= times
        self.low *= times
        self.high *= times


class Walk:
    """Takes one branch after another as a script says, the first one where the script ends.

    Attributes
    ----------
    chance
        Of all branches taken so far.
    sizes
        How many branches there were each time.
    roots
        The draws by name.
    refusal
        Why the mechanism cannot be followed, where it cannot.
    """

    __slots__ = ("chance", "refusal", "roots", "script", "sizes")

    def __init__(self) -> None:
        self.follow([])

    def follow(self, script: Sequence[int], known: Known = ()) -> None:
        """Begin a path, with some draws known from before."""
        self.script = script
        self.sizes: list[int] = []
        self.chance = Fraction(1)
        self.roots: dict[Name, Root] = {name: Root(*at) for name, at in known}
        self.refusal: ParameterError | None = None

    def scripts(self, known: Known = ()) -> Iterator[None]:
        """Follow one path after another, each once."""
        script: list[int] | None = []
        while script is not None:
            self.follow(script, known)
            yield
            if self.refusal is not None:  # the mechanism may have caught it
                raise self.refusal
            if len(self.sizes) < len(script):
                raise ParameterError(_ELSEWHERE)
            script = _following(script, self.sizes)

    def known(self, names: Iterator[Name]) -> Known:
        """Return what the path left known of some draws."""
        found = []
        for name in names:
            root = self.roots[name]
            if root.residues or root.ranked is not None:
                self.refuse("a draw is compared with another, or reduced, and used in a later round too")
            found.append((name, (root.units, root.low, root.high)))
        return tuple(sorted(found, key=repr))

    def refuse(self, why: str) -> NoReturn:
        """Raise that the mechanism cannot be followed.

        Raises
        ------
        ParameterError
            Always.
        """
        self.refusal = ParameterError(
            f"the mechanism cannot be audited exactly: {why}; or audit it statistically"
        )
        raise self.refusal

    def branch(self, weights: Sequence[int]) -> int:
        """Take one of several branches, with chances in proportion to whole numbers; none of zero is taken."""
        possible = [place for place, weight in enumerate(weights) if weight]
        if len(possible) == 1:
            return possible[0]
        place = len(self.sizes)
        number = self.script[place] if place < len(self.script) else 0
        if number >= len(possible):
            raise ParameterError(_ELSEWHERE)
        self.sizes.append(len(possible))
        taken = possible[number]
        self.chance *= Fraction(weights[taken], sum(weights))
        return taken

    def root(self, name: Name, units: int) -> Root:
        """Return the draw of that name."""
        found = self.roots.get(name)
        if found is None:
            found = self.roots[name] = Root(units)
        return found

    def split(self, root: Root, cut: int, size: int) -> bool:
        """Return whether a draw on 0 .. size - 1 is below ``cut``."""
        at = min(max(cut * (root.units // size), root.low), root.high)
        below, rest = at - root.low, root.high - at
        if below and rest:
            if root.residues or root.ranked is not None:
                self.refuse(
                    "a draw is compared with a number after it was compared with another draw, or reduced"
                )
            if self.branch((below, rest)) == 0:
                root.high = at
                return True
            root.low = at
            return False
        return below > 0

    def residue(self, root: Root, size: int, modulus: int) -> int:
        """Return a draw on 0 .. size - 1 modulo a small number."""
        if modulus not in root.residues:
            unit = root.units // size
            if root.residues or root.ranked is not None or root.low % unit or root.high % unit:
                self.refuse("a draw is reduced twice, or after it was compared with another")
            low, high = root.values(size)
            counts = [(high - 1 - r) // modulus - (low - 1 - r) // modulus for r in range(modulus)]
            root.residues[modulus] = self.branch(counts)
        return root.residues[modulus]

    def order(self, one: Root, other: Root) -> int:
        """Return -1, 0 or 1: how two draws of 64 bits compare."""
        if one is other:
            return 0
        if one.ranked is None and other.ranked is None:
            self._rank(other, [])
        if one.ranked is None or other.ranked is None:
            self._rank(*((one, other.ranked) if one.ranked is None else (other, one.ranked)))
        if one.ranked is not other.ranked or one.ranked is None:
            self.refuse("two draws are compared that were compared with others before")
        places = [
            next(place for place, tied in enumerate(one.ranked) if root in tied) for root in (one, other)
        ]
        return (places[0] > places[1]) - (places[0] < places[1])

    def _rank(self, root: Root, ranked: list[list[Root]] | None) -> None:
        """Place a draw among m different ones: before, between or after them, all alike, or level with one."""
        if ranked is None or root.units != OUT_OF or not root.whole:
            self.refuse("a draw is compared with another after it was compared with a number")
        m = len(ranked)
        place = self.branch([OUT_OF - m] * (m + 1) + [m + 1] * m)
        if place <= m:
            ranked.insert(place, [root])
        else:
            ranked[place - m - 1].append(root)
        root.ranked = ranked


def _following(script: list[int], sizes: Sequence[int]) -> list[int] | None:
    """Return the next script in order, None after the last."""
    numbers = [*script, *[0] * (len(sizes) - len(script))]
    while numbers and numbers[-1] == sizes[len(numbers) - 1] - 1:
        numbers.pop()
    if not numbers:
        return None
    numbers[-1] += 1
    return numbers
