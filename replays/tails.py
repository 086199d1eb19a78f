"""Whether a handful of recorded values rules what is learned from them."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from streamlearn.priors.base import Floats
from streamlearn.replays.enough import Build
from streamlearn.replays.hill import MOST_RANKED, tail_index
from streamlearn.replays.learning import Groups, empirical_priors

HANDFUL = 5
"""How many of the largest values are looked at together."""
RULES = 0.10
"""A larger share than this of the answer, resting on a handful of values, is called out."""
HEAVY = 2.0
"""At this tail index or below the variance is infinite."""


class Tails(msgspec.Struct, frozen=True):
    """How much of what was learned rests on the largest values.

    Parameters
    ----------
    value_share
        Share of the plug-in value that is lost if the five largest values had been 0; NaN where there is none.
    maximum_share
        The same of the episodes' mean maximum, what a prophet gets.
    tail_index
        Hill's estimate α of how the largest values fall off, P(X > x) ~ x^(-α), less one standard error. NaN where
        nothing can be said, infinite where they are equal.

    Notes
    -----
    How often a rare value turns up in a log is nearly a Poisson number. So if k values carry a share s of the answer,
    its relative standard error is at least about s/√k: with k = 5 and s = 10 % that is 4.5 %, more than privacy costs
    in many a problem. Beyond that the answer is called ruled by the tail.

    With α <= 2 the variance is infinite: no normal interval holds, at any number of episodes, and a mean settles more
    slowly than 1/√N.

    Examples
    --------
    >>> from streamlearn.replays.tails import Tails
    >>> Tails(0.04, 0.05, 3.1).warnings
    ()
    >>> Tails(0.32, 0.41, 3.1).warnings
    ('the 5 largest values carry 32% of the plug-in value: another log as long could give another answer',)
    """

    value_share: float
    maximum_share: float
    tail_index: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the answer is not to be trusted, each in a sentence."""
        found = []
        for share, what in (
            (self.value_share, "the plug-in value"),
            (self.maximum_share, "the mean maximum"),
        ):
            if share > RULES:
                found.append(
                    f"the {HANDFUL} largest values carry {share:.0%} of {what}: "
                    "another log as long could give another answer"
                )
                break
        if self.tail_index <= HEAVY:
            found.append(
                f"large values fall off slowly (tail index {self.tail_index:.1f}): their variance may be infinite, "
                "and no normal interval then holds"
            )
        return tuple(found)


def tails(learned: Floats, build: Build, *, pooled: bool = False, groups: Groups | None = None) -> Tails:
    """Return how much of the plug-in value rests on the largest values.

    Parameters
    ----------
    learned
        The episodes learned from, shape (episodes, n).
    build
        Makes a stopper from priors.
    pooled, groups
        As for :func:`streamlearn.replays.learning.empirical_priors`.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays.tails import tails
    >>> values = np.ones((200, 2))
    >>> values[7, 1] = 100.0
    >>> round(tails(values, lambda laws: LDPOptimalStopper(laws, epsilon=1.0)).value_share, 3)
    0.336
    """
    without = learned.ravel().copy()
    handful = min(HANDFUL, without.size)
    without[np.argpartition(without, -handful)[-handful:]] = 0.0
    logs = learned, without.reshape(learned.shape)
    values = [build(empirical_priors(log, pooled, groups)).value for log in logs]
    maxima = [float(log.max(axis=1).mean()) for log in logs]
    return Tails(
        value_share=_lost(*values),
        maximum_share=_lost(*maxima),
        tail_index=_tail_index(learned.ravel()),
    )


def _tail_index(values: Floats) -> float:
    kept = min(len(values), MOST_RANKED + 1)
    return tail_index(np.sort(np.partition(values, -kept)[-kept:]), len(values))


def _lost(full: float, without: float) -> float:
    return 1.0 - without / full if full else math.nan
