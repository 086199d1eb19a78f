"""Private selection from lists (Fact 3): what many lists hold, or nothing.

Proof: ``select.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence

from streamlearn.errors import ParameterError
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.randomness import Key
from streamlearn.selection.arguments import check_level, real
from streamlearn.selection.exponential import base, draw, log_base

NOTHING_CHOSEN = object()
"""What competes with the lists' entries, at three quarters of the lists."""

MOST_GROUPS = 1 << 40


def select(
    lists: Sequence[Collection[Hashable]],
    a: float,
    key: Key,
    purpose: str = "selection/select",
    step: int = 1,
) -> Hashable | None:
    """Return an entry of many lists, drawn with weight e^(ac/2) for one of c lists; None has weight e^(3ak/8).

    Parameters
    ----------
    lists
        k lists. An entry given twice in one list counts once.
    a
        ε of the call, for one list replaced by another; :func:`excess` is its δ.
    key, purpose, step
        Where the draw comes from.

    Raises
    ------
    ParameterError
        If ``a`` is outside 1e-4..20.

    Notes
    -----
    Weights are powers of one whole number out of 2^20, at most e^(a/8): an entry's exponent is 4c, that of None 3k.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.selection.select import select
    >>> select([["h", "g"]] * 60 + [["h"]] * 60, a=1.0, key=Key.from_seed(1))
    'h'
    """
    scores: dict[Hashable, int] = {NOTHING_CHOSEN: 3 * len(lists)}
    for entries in lists:
        for entry in dict.fromkeys(entries):
            scores[entry] = scores.get(entry, 0) + 4
    place, _ = draw(base(_level(a) / 8.0), scores, 0, key, purpose, step)  # the weight of a quarter of a list
    return None if place is NOTHING_CHOSEN else place


def excess(s: int, a: float, k: int) -> float:
    """Return b = s(1 + e^(a/2))e^(-3ak/8): with it :func:`select` is (a, b)-differentially private.

    Parameters
    ----------
    s
        The most entries of a list.
    a
        As of :func:`select`.
    k
        The number of lists.

    Examples
    --------
    >>> from streamlearn.selection.select import excess
    >>> excess(3, 1.0, 116) < 1e-6
    True
    """
    s, a, k = check_whole("s", s, 1), _level(a), check_whole("k", k, 1)
    return s * (1.0 + math.exp(a / 2.0)) * math.exp(-3.0 * k * log_base(a / 8.0)) * (1.0 + 1e-9)


def failure(s: int, a: float, k: int) -> float:
    """Return how probable it is at most that :func:`select` misses one of its two promises.

    They are: what it returns is in at least 3k/5 lists; and it returns something if something is in 9k/10 lists.

    Parameters
    ----------
    s, a, k
        As of :func:`excess`.

    Examples
    --------
    >>> from streamlearn.selection.select import failure
    >>> failure(3, 1.0, 116) < 1e-3 < failure(3, 1.0, 115)
    True
    """
    s, a, k = check_whole("s", s, 1), _level(a), check_whole("k", k, 1)
    exponent = k * log_base(a / 8.0)
    return ((5.0 * s / 3.0 + 1.0) * math.exp(-0.6 * exponent) + k * s * math.exp(-3.0 * exponent)) * (
        1.0 + 1e-9
    )


def fewest_lists(s: int, a: float, b: float, beta: float) -> int:
    """Return the smallest k for which :func:`excess` is at most b and :func:`failure` at most ``beta``.

    Parameters
    ----------
    s, a
        As of :func:`excess`.
    b, beta
        In (0, 1).

    Examples
    --------
    >>> from streamlearn.selection.select import fewest_lists
    >>> fewest_lists(3, 1.0, 1e-6, 1e-3)
    116
    """
    b, beta = check_level("b", b), check_level("beta", beta)

    def enough(k: int) -> bool:
        return excess(s, a, k) <= b and failure(s, a, k) <= beta

    # k·s·e^(-3k·rate) rises up to k = 1/(3·rate), but until there the other term, e^(-0.6k·rate) times 8/3 or more, is
    # above 1: so once there are enough lists, more of them are enough too.
    high = 1
    while not all(map(enough, (high, 2 * high))):
        high *= 2
        if high > MOST_GROUPS:
            raise ParameterError(f"a = {a!r} would need more than {MOST_GROUPS} lists; choose a larger one")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _level(a: object) -> float:
    level = real(a)
    if level is None or not 1e-4 <= level <= 20.0:
        raise ParameterError(
            f"a must be a number in 0.0001..20, got {a!r}; it is the epsilon of one selection, so give one such as 1"
        )
    return level
