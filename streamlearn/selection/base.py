"""Candidate selection: what finds the next candidate from the mistakes of the last, and what it costs in privacy."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.selection.arguments import check_batch
from streamlearn.selection.exponential import check_eta

Candidate: TypeAlias = Callable[[Any], bool]


class Mistake(NamedTuple):
    """A round on which a candidate was wrong.

    Parameters
    ----------
    sequence
        The round, counted from 1 in the order of asking.
    x
        The instance.
    y
        Its label.

    Examples
    --------
    >>> from streamlearn.selection import Mistake
    >>> Mistake(7, "anna", True).y
    True
    """

    sequence: int
    x: Any
    y: bool


class Selector(abc.ABC):
    """One run of candidate selection. Its answers follow from the batches and the key.

    Attributes
    ----------
    steps
        N: the most candidates after the first.
    batch
        K: the most mistakes that a batch holds.
    candidates
        The candidates so far, the public first one at place 0.

    Examples
    --------
    A full batch of mistakes leads to the next candidate:

    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.selection import Mistake, scheme
    >>> selector = scheme(Thresholds(1000)).start(eta=1.0, K=20)
    >>> [x for x in range(1, 1001) if selector.candidate()(x)][0]
    490
    >>> selector.advance([Mistake(t, 600 + t, False) for t in range(1, 21)], Key.from_seed(1))
    >>> selector.candidate()(601), selector.exhausted
    (False, False)
    """

    steps: int
    batch: int
    candidates: list[Candidate]

    def candidate(self) -> Candidate:
        """Return the newest candidate."""
        return self.candidates[-1]

    @property
    @abc.abstractmethod
    def exhausted(self) -> bool:
        """Whether no further candidate can come."""

    @abc.abstractmethod
    def advance(self, batch: Sequence[Mistake], key: Key) -> None:
        """Find the next candidate from the newest one's first K mistakes.

        The stream need not be realisable; only then is nothing promised of the candidate.

        Raises
        ------
        ParameterError
            If the batch holds more than K mistakes, or the selector is exhausted.
        """

    @abc.abstractmethod
    def to_plain(self) -> Any:
        """Return the run so far as plain JSON data, which its scheme's ``from_plain`` reads.

        Raises
        ------
        StateError
            If it holds an instance that JSON cannot carry.
        """

    def _check(self, batch: Sequence[Mistake]) -> None:
        if self.exhausted:
            raise ParameterError("no further candidate can come; ask exhausted before advance")
        if len(batch) > self.batch:
            raise ParameterError(
                f"a batch holds at most {self.batch} mistakes, got {len(batch)}; pass the first ones"
            )


class Scheme(abc.ABC):
    """A way of selecting candidates from one class.

    Attributes
    ----------
    mode
        "options", "direct", "groups" or "paper".
    steps
        N: the most candidates after the first. On a realisable stream the last of them, or an earlier one, makes
        fewer than K mistakes, but for the probability β.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.hypotheses import Points, Thresholds
    >>> from streamlearn.selection import scheme
    >>> halving = scheme(Thresholds(1000))
    >>> halving.steps, halving.batch(eta=0.1, beta=1e-6), halving.log_moment(np.array([9.0]), eta=0.1).round(3).tolist()
    (9, 161, [4.05])
    >>> halving.excess_delta(eta=0.1, K=161), scheme(Points()).excess_delta(eta=0.1, K=161) < 1e-3
    (0.0, True)
    """

    mode: str
    steps: int

    @abc.abstractmethod
    def batch(self, eta: float, beta: float) -> int:
        """Return the smallest batch K for which a full run fails with probability at most ``beta``.

        Parameters
        ----------
        eta
            η > 0: a score one higher is e^η times as likely to be chosen.
        beta
            In (0, 1).

        Raises
        ------
        ParameterError
            If an argument is out of range; η is at least 1e-5, as weights are rounded. So it is with the methods
            below, and K is a whole number >= 1.
        """

    @abc.abstractmethod
    def log_moment(self, z: Floats, eta: float) -> Floats:
        """Return bounds on ln E e^(z·loss) for the privacy loss of one whole run, either direction; shape of ``z``."""

    def excess_delta(self, eta: float, K: int) -> float:  # noqa: N803 - the paper's K
        """Return a δ of one whole run that comes on top of its moments: 0 but for a stable selection."""
        check_eta(eta)
        check_batch(K)
        return 0.0

    @abc.abstractmethod
    def start(self, eta: float, K: int) -> Selector:  # noqa: N803
        """Return a run before its first batch."""

    @abc.abstractmethod
    def from_plain(self, data: Any, eta: float, K: int) -> Selector:  # noqa: N803
        """Return the run that ``to_plain`` wrote.

        Raises
        ------
        StateError
            If ``data`` describes no run of this scheme.
        """


def range_moment(z: Floats, width: float) -> Floats:
    """Return z(z+1)·width²/8: the log-moment of a mechanism whose privacy loss ranges over ``width`` at most.

    Let ψ(s) = ln E_Q e^(s·loss), loss = ln dP/dQ. Then ψ(0) = ψ(1) = 0 and ψ'' is the variance of a
    variable with values in an interval of length ``width``, at most width²/4. So ψ(z+1) = z(z+1)/2 · ψ''(ξ) for some ξ.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.selection.base import range_moment
    >>> range_moment(np.array([1.0, 3.0]), 0.2).round(4).tolist()
    [0.01, 0.06]
    """
    return z * (z + 1.0) * width**2 / 8.0
