"""Algorithm 1: the stream of POINT3 on which private learners must err.

It is drawn before any learner runs. Nearly all its examples are one dummy, so a stream of 10^9 rounds takes no memory
until it is iterated.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn import bounds
from streamlearn.bounds.arguments import insertion, whole
from streamlearn.errors import ParameterError
from streamlearn.randomness import Key
from streamlearn.replays.draws import generator_of
from streamlearn.replays.judges import Example, Run

_DUMMY: Example = (3, False)
_INFORMATIVE = 1


class AdversarialStream(msgspec.Struct, frozen=True, eq=False):
    """A stream of examples (x, y) that can be iterated any number of times.

    Parameters
    ----------
    runs
        The examples with the number of rounds each is shown, in order.
    informative
        The informative rounds, counted from 0, increasing.
    path
        The examples whose labels were chosen, in order; for a tree its path, the dummy's zero edge first.
    chosen
        How the labels and places were chosen: ``"drawn"``, or ``"against an exact law"`` of a learner, or ``"against a
        law estimated from n runs"``.
    expected_mistakes
        That learner's expected mistakes on the informative rounds, exact or estimated by runs of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.synthetic import AdversarialStream
    >>> stream = AdversarialStream((((3, False), 2), ((1, True), 1)), np.array([2]), ((1, True),))
    >>> len(stream), list(stream), stream.bit
    (3, [(3, False), (3, False), (1, True)], True)
    """

    runs: tuple[Run, ...]
    informative: npt.NDArray[np.int64]
    path: tuple[Example, ...]
    chosen: str = "drawn"
    expected_mistakes: float | None = None

    @property
    def bit(self) -> bool:
        """The last label chosen: B, of Algorithm 1's stream."""
        return self.path[-1][1]

    def __iter__(self) -> Iterator[Example]:
        return itertools.chain.from_iterable(itertools.starmap(itertools.repeat, self.runs))

    def __len__(self) -> int:
        return sum(times for _, times in self.runs)

    def __repr__(self) -> str:
        return (
            f"<AdversarialStream of {len(self)} rounds, {len(self.informative)} informative, {self.chosen}>"
        )


def point3_adversary(
    T: int,  # noqa: N803 - the paper's letter
    p: float | None = None,
    *,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> AdversarialStream:
    """Draw a stream from Algorithm 1: dummies (3, 0) and a few informative (1, B), B a fair bit.

    L = ⌊log₃ T⌋ times the interval left is cut in thirds and one is chosen; if the middle one, then with probability
    p a uniform round of the first third becomes informative. So Lp/3 rounds are informative on average, and round r
    (from 0) with probability p/3^L times the number of zeros among the L ternary digits of r.

    Parameters
    ----------
    T
        Rounds. Those beyond the first 3^L are dummies; for T <= 2 the first round is informative.
    p
        Insertion probability, in (0, 1]. None: the paper's choice, ``bounds.paper_probability(T)``, which is for
        ε = 1/100 and δ = 0; for other learners pass it with theirs.
    key, generator
        Where the draws come from; a fresh key by default.

    Returns
    -------
    AdversarialStream
        ``.bit`` is B. A private online learner errs at least ``bounds.algorithm1_lower(T, p)`` times, on average over
        the draws.

    Raises
    ------
    ParameterError
        If T or p is outside its bound.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.replays import synthetic
    >>> stream = synthetic.point3_adversary(27, p=1.0, key=Key.from_seed(4))
    >>> stream.informative.tolist(), stream.bit, list(stream) == list(stream)
    ([1, 9], False, True)
    """
    count = checked_rounds(T)
    draws = generator_of(key, generator)
    informative = (_INFORMATIVE, bool(draws.integers(2)))
    places = informative_rounds(count, checked_insertion(count, p), draws)
    return AdversarialStream(
        tuple(laid(count, _DUMMY, informative, places)), np.array(places, dtype=np.int64), (informative,)
    )


def informative_rounds(count: int, p: float, draws: np.random.Generator) -> list[int]:
    """Draw the informative rounds of Algorithm 1, counted from 0, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.algorithm1 import informative_rounds
    >>> informative_rounds(2, 1.0, np.random.default_rng(1))
    [0]
    """
    if count < 3:
        return [0]
    start, size = 0, 3 ** bounds.stages(count)
    places = []
    while size > 1:
        size //= 3
        chosen = int(draws.integers(3))
        if chosen == 1:
            place = start + int(draws.integers(size))
            if draws.random() < p:
                places.append(place)
        start += chosen * size
    return places


def laid(count: int, dummy: Example, informative: Example, places: Iterable[int]) -> Iterator[Run]:
    """Yield runs: the informative example at some places, the dummy elsewhere.

    Examples
    --------
    >>> from streamlearn.replays.algorithm1 import laid
    >>> list(laid(5, ("x", False), ("y", True), [1, 2]))
    [(('x', False), 1), (('y', True), 2), (('x', False), 2)]
    """
    done = 0
    for first, times in _stretches(places):
        if first > done:
            yield dummy, first - done
        yield informative, times
        done = first + times
    if count > done:
        yield dummy, count - done


def _stretches(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first of each stretch of neighbouring places, and its length."""
    for _, stretch in itertools.groupby(enumerate(places), lambda numbered: numbered[1] - numbered[0]):
        members = [place for _, place in stretch]
        yield members[0], len(members)


def checked_rounds(T: object) -> int:  # noqa: N803 - the paper's letter
    """Return a stream's length.

    Raises
    ------
    ParameterError
        If it is no whole number >= 1, or more than a stream can have.

    Examples
    --------
    >>> from streamlearn.replays.algorithm1 import checked_rounds
    >>> checked_rounds(27)
    27
    """
    count = whole("T", T, 1, "it is a number of rounds")
    if count > sys.maxsize:
        raise ParameterError(
            f"T must be at most {sys.maxsize} rounds, got {count}; nobody could iterate them"
        )
    return count


def checked_insertion(count: int, p: float | None) -> float:
    """Return an insertion probability; the paper's where none is given.

    Raises
    ------
    ParameterError
        If it is outside (0, 1].

    Examples
    --------
    >>> from streamlearn.replays.algorithm1 import checked_insertion
    >>> checked_insertion(27, None), checked_insertion(27, 0.5)
    (1.0, 0.5)
    """
    return float(bounds.paper_probability(count)) if p is None else insertion(p)
