"""The exponential mechanism with whole weights: the law is exact, and so are its draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from streamlearn.errors import ParameterError
from streamlearn.randomness import Key
from streamlearn.selection.arguments import real

SHIFT = 20
"""e^η is rounded down to a multiple of 2^-20."""

LEAST_ETA, MOST_ETA = 1e-5, 20.0

REST = object()
"""Drawn where no scored place is."""


def check_eta(value: object) -> float:
    """Return η, by which the logarithm of a weight grows with a score.

    Raises
    ------
    ParameterError
        If it is outside 1e-5..20.
    """
    eta = real(value)
    if eta is None or not LEAST_ETA <= eta <= MOST_ETA:
        raise ParameterError(
            f"eta must be a number in {LEAST_ETA:g}..{MOST_ETA:g}, got {value!r}; "
            "smaller ones need batches too large for use, so give one such as 0.05"
        )
    return eta


def base(eta: object) -> int:
    """Return num with num / 2^20 <= e^η: what a score one higher multiplies a weight by.

    Raises
    ------
    ParameterError
        If ``eta`` is outside 1e-5..20.

    Examples
    --------
    >>> from streamlearn.selection.exponential import base
    >>> base(0.05), base(1e-4)
    (1102337, 1048680)
    """
    return int(math.exp(check_eta(eta)) * (1.0 - 1e-15) * (1 << SHIFT))  # exp errs by less than that


def log_base(eta: float) -> float:
    """Return a number at most ln(base / 2^20): the η that is used, a little less than asked.

    Examples
    --------
    >>> from streamlearn.selection.exponential import log_base
    >>> 0 < 0.05 - log_base(0.05) < 1e-6
    True
    """
    return math.log(base(eta) / (1 << SHIFT)) * (1.0 - 1e-14)  # the quotient is exact


def weights(num: int, scores: Mapping[int, int]) -> dict[int, int]:
    """Return the weight num^s · 2^(20(top - s)) of each score s, ``top`` the highest.

    Parameters
    ----------
    num
        As :func:`base`.
    scores
        How many places have each score.

    Examples
    --------
    >>> from streamlearn.selection.exponential import weights
    >>> weights(3 << 19, {0: 5, 2: 1}) == {0: 2**40, 2: (3 << 19) ** 2}
    True
    """
    top = max(scores, default=0)
    return {score: num**score << SHIFT * (top - score) for score in scores}


def draw(
    num: int, scores: Mapping[Any, int], rest: int, key: Key, purpose: str, step: int
) -> tuple[object, int]:
    """Return a place drawn with probability proportional to (num / 2^20)^score.

    Parameters
    ----------
    num
        As :func:`base`.
    scores
        The scores of some places, whole numbers >= 0.
    rest
        How many further places have score 0.
    key, purpose, step
        Where the draw comes from.

    Returns
    -------
    place, number
        A place of ``scores`` and 0; or ``REST`` and which of the further places, counted from 0.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.selection.exponential import REST, base, draw
    >>> draw(base(1.0), {"a": 30, "b": 2}, 5, Key.from_seed(1), "pick", 1)
    ('a', 0)
    """
    counts: dict[int, int] = {0: rest} if rest else {}
    for score in scores.values():
        counts[score] = counts.get(score, 0) + 1
    weight = weights(num, counts)
    drawn = key.below(sum(weight[score] * count for score, count in counts.items()), purpose, step)
    for place, score in scores.items():
        if drawn < weight[score]:
            return place, 0
        drawn -= weight[score]
    return REST, drawn // weight[0]
