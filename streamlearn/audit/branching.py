"""A key whose draws take every value in turn, each with its exact chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from streamlearn.audit.divergence import Law
from streamlearn.audit.drawing import Draw
from streamlearn.audit.walking import Known, Name, Walk
from streamlearn.errors import ParameterError, SizeError
from streamlearn.randomness import Key
from streamlearn.rounding import OUT_OF

T = TypeVar("T")

MOST_PATHS = 2_000_000
"""Paths through the draws of one run, at most."""


class BranchingKey(Key):
    """A key for audits: a draw is a :class:`~streamlearn.audit.drawing.Draw`, made as it is compared.

    Keys derived from it share its walk, and draw alike where their secrets are equal, as real keys do.

    Parameters
    ----------
    secret
        Exactly 32 bytes: the name of its draws.
    walk
        Where outcomes are counted; a new one by default.

    Notes
    -----
    What is uniform to whoever lacks the key is taken for uniform. A draw of ``uniform64`` and one of ``bernoulli`` with
    the same purpose and round are one draw, as they are of a real key; one of ``below`` is another. That the further
    words of a real key are named ``purpose/1``, ``purpose/2``, ... is left out: give purposes other names.

    Examples
    --------
    >>> from streamlearn.audit.branching import BranchingKey
    >>> key = BranchingKey(bytes(32))
    >>> for _ in key.walk.scripts():
    ...     coin = key.uniform64("coin", 1) < 2**62
    ...     print(coin, key.walk.chance)
    True 1/4
    False 3/4
    """

    __slots__ = ("_bounds", "walk")

    def __init__(self, secret: bytes, walk: Walk | None = None) -> None:
        super().__init__(secret)
        self.walk = Walk() if walk is None else walk
        self._bounds: dict[Name, int] = {}

    def uniform64(self, purpose: str, round: int | str) -> Any:  # noqa: A002 - the field's own word
        """Return a draw on 0 .. 2^64 - 1."""
        return Draw(self.walk, self.walk.root(self._name("word", purpose, round), OUT_OF), OUT_OF)

    def bernoulli(self, numerator: int, denominator: int, purpose: str, round: int | str) -> bool:  # noqa: A002 - as above
        """Return True with probability numerator / denominator, exactly."""
        chance = Fraction(int(numerator), int(denominator))
        if not 0 <= chance <= 1:
            raise ParameterError(
                f"numerator / denominator must lie in 0..1, got {float(chance):g}; it is a probability"
            )
        root = self.walk.root(self._name("word", purpose, round), OUT_OF)
        times = chance.denominator // math.gcd(chance.denominator, root.units)
        if times > 1:
            root.finer(times)
        return self.walk.split(root, root.units // chance.denominator * chance.numerator, root.units)

    def below(self, bound: int, purpose: str, round: int | str) -> Any:  # noqa: A002 - as above
        """Return a draw on 0 .. bound - 1."""
        name = self._name("below", purpose, round)
        root = self.walk.root(name, bound)
        if root.units != bound:
            self.walk.refuse("one purpose and round is drawn below two different bounds")
        return Draw(self.walk, root, bound).reduced()

    def derive(self, purpose: str) -> BranchingKey:
        """Return the key of a part, on the same walk."""
        return BranchingKey(super().derive(purpose).secret, self.walk)

    @property
    def secret(self) -> bytes:
        """Refused: draws made from the bytes themselves could not be followed."""
        self.walk.refuse("it reads the secret of its key, which draws could be made from")

    @property
    def fingerprint(self) -> str:
        """A public name of this key."""
        return Key(self._secret).fingerprint

    def __reduce__(self) -> NoReturn:
        self.walk.refuse("its key is copied by pickle, and draws of the copy are not followed")

    def _name(self, how: str, purpose: str, round: int | str) -> Name:  # noqa: A002 - as above
        return self._secret, how, purpose, str(round)


def paths(run: Callable[[], T], walk: Walk, known: Known = ()) -> Iterator[tuple[T, Fraction]]:
    """Yield what a run gives on every path, with the chance of the path; the first path is run twice.

    Parameters
    ----------
    run
        What is run; its draws are on the walk.
    walk
        The walk.
    known
        What is known of its draws from before.

    Raises
    ------
    ParameterError
        If the run cannot be followed: it uses a draw digit by digit, or draws from elsewhere.
    SizeError
        If there are too many paths.
    """
    for count, _ in enumerate(walk.scripts(known)):
        outcome = _outcome(run, walk)
        if not count:
            chance = walk.chance
            walk.follow([], known)
            if _outcome(run, walk) != outcome or walk.chance != chance:
                walk.refuse(
                    "run again with the same draws it does otherwise, so it draws from elsewhere than its key"
                )
        if count >= MOST_PATHS:
            raise SizeError(
                f"the draws of one run have more than {MOST_PATHS:,} outcomes; shorten the run, or audit it "
                "statistically"
            )
        yield outcome, walk.chance


def _outcome(run: Callable[[], T], walk: Walk) -> T:
    try:
        return run()
    except Exception:
        if walk.refusal is not None:  # what comes of a refusal that was caught on the way
            raise walk.refusal from None
        raise


def law(mechanism: Callable[[Any, Key], Hashable], given: Any) -> Law:
    """Return the exact law of what a mechanism gives.

    Parameters
    ----------
    mechanism
        Called as ``mechanism(given, key)``; it draws from the key alone and returns something hashable.
    given
        Its input.

    Raises
    ------
    ParameterError
        If the mechanism cannot be followed.
    SizeError
        If its draws have too many outcomes.

    Examples
    --------
    >>> from streamlearn.audit import law
    >>> def noisy(bit, key):
    ...     return bit if key.bernoulli(3, 4, "truth", 1) else 1 - bit
    >>> {outcome: str(chance) for outcome, chance in law(noisy, 1).items()}
    {1: '3/4', 0: '1/4'}
    """
    walk = Walk()
    found: dict[Hashable, Fraction] = {}
    for outcome, chance in paths(lambda: mechanism(given, BranchingKey(bytes(32), walk)), walk):
        found[outcome] = found.get(outcome, Fraction(0)) + chance
    return found
