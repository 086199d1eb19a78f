"""Staircase channels: each message is at most e^ε times as likely for some values as for the others (Proposition 6.2).

A channel with messages y is Q(y | x) = λ_y (r + (1 - r) A_yx), r = e^(-ε), A a 0-1 matrix. With κ the common value of
Σ_y λ_y A_yx, w = λ/κ solves Σ_y w_y A_yx = 1 for every x, whatever ε is, and κ = 1/(1 - r + r Σ w). So the extreme
channels are the minimal balanced collections of subsets, the same at every ε: 1, 2, 6, 42, 1292 for 1..5 values.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats

Subsets = npt.NDArray[np.bool_]
"""A row a message, a column a value: whether the message is the more likely for it."""

MOST_VALUES: Final = 5
"""The most values for which all extreme channels are listed."""
_ZERO: Final = 1e-9


class Staircase(NamedTuple):
    """A channel of one person: what is reported, and what it says.

    Attributes
    ----------
    values
        The person's possible values, or the upper ends of the cells they fall into; increasing, shape (m,).
    probabilities
        P(message | value), shape (messages, m).
    means
        The posterior mean of each message, increasing, shape (messages,).
    weights
        The probability of each message under the prior.
    """

    values: Floats
    probabilities: Floats
    means: Floats
    weights: Floats

    @property
    def epsilon(self) -> float:
        """The level it keeps, up to rounding: the largest |ln| of a ratio of a message's probabilities."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        return float((logs.max(axis=1) - logs.min(axis=1)).max())


def balanced(subsets: Subsets) -> tuple[Subsets, Floats]:
    """Return those of the subsets that it takes, with their w > 0, so that Σ w_y A_y = 1.

    Parameters
    ----------
    subsets
        Some that can be balanced, shape (messages, m).

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.staircase import balanced
    >>> balanced(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool))[1].round(9).tolist()
    [0.5, 0.5, 0.5]
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import

    weights, _ = nnls(subsets.T.astype(np.float64), np.ones(subsets.shape[1]))
    used = weights > _ZERO
    return subsets[used], weights[used]


def channel(subsets: Subsets, weights: Floats, least: float) -> Floats:
    """Return P(message | value) of balanced subsets.

    Parameters
    ----------
    subsets, weights
        A and w with Σ w_y A_y = 1.
    least
        r = e^(-ε).

    Returns
    -------
    array of shape (messages, m)

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.prophets.staircase import channel
    >>> channel(np.eye(2, dtype=bool), np.ones(2), 0.25).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    scale = 1.0 / (1.0 - least + least * weights.sum())
    return np.asarray((scale * weights)[:, None] * np.where(subsets, 1.0, least))


@lru_cache(maxsize=MOST_VALUES)
def extreme(values: int) -> tuple[tuple[Subsets, Floats], ...]:
    """Return all minimal balanced collections of subsets of so many values, each with its weights.

    Parameters
    ----------
    values
        m, 1 <= m <= ``MOST_VALUES``.

    Examples
    --------
    >>> from streamlearn.prophets.staircase import extreme
    >>> [len(extreme(m)) for m in (1, 2, 3, 4)]
    [1, 2, 6, 42]
    """
    subsets = np.array(list(itertools.product((False, True), repeat=values))[1:])
    chosen = np.array(list(itertools.combinations(range(len(subsets)), values)))
    systems = subsets[chosen].astype(np.float64).transpose(0, 2, 1)
    solvable = np.abs(np.linalg.det(systems)) > 0.5  # determinants of 0-1 matrices are whole numbers
    chosen, systems = chosen[solvable], systems[solvable]
    weights = np.linalg.solve(systems, np.ones((len(systems), values, 1)))[..., 0]
    balanced = weights.min(axis=1) > -_ZERO
    found: dict[tuple[int, ...], Floats] = {}
    for rows, weight in zip(chosen[balanced], weights[balanced], strict=True):
        used = weight > _ZERO
        found.setdefault(tuple(rows[used].tolist()), weight[used])
    return tuple((subsets[list(rows)], weight) for rows, weight in found.items())
