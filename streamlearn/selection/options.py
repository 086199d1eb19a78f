"""Options: at most d candidates, each the standard optimal answer of a smaller version space.

Proof: ``options.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from streamlearn.errors import SizeError, StateError
from streamlearn.hypotheses.base import HypothesisClass, VersionSpace
from streamlearn.hypotheses.enumerated import EnumeratedClass
from streamlearn.hypotheses.options import Covering, Options
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.selection.arguments import check_batch, check_level
from streamlearn.selection.base import Mistake, Scheme, Selector, range_moment
from streamlearn.selection.exponential import REST, base, check_eta, draw, log_base
from streamlearn.selection.tables import table_of

NONE_OF_THEM = object()
"""What a stable selection may draw: then the candidate stays."""

PURPOSE = "selection/options"


class OptionsScheme(Scheme):
    """Keep a version space; take a privately chosen option of it for each full batch of mistakes.

    Parameters
    ----------
    cls
        The class. If it does not say how well its options cover, it is worked through as a table.

    Raises
    ------
    SizeError
        If it is too large for that.

    Attributes
    ----------
    coverings
        How well options cover the mistakes, in each case that can arise.
    stable
        Whether only options that the batch supports are weighed, since all of them are too many.

    Examples
    --------
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.selection import scheme
    >>> options = scheme(Thresholds(2**60 - 1))
    >>> options.mode, options.steps, options.rho, options.batch(eta=0.01, beta=1e-6)
    ('options', 60, 1, 1792)
    """

    mode = "options"

    def __init__(self, cls: HypothesisClass) -> None:
        try:
            self.coverings: Sequence[Covering] = cls.coverings()
        except SizeError as error:
            cls = _table(cls, error)
            self.coverings = cls.coverings()
        # A plan asks for batches again and again, and a large class has thousands of coverings.
        rivalled = [covering for covering in self.coverings if covering.rivals]
        self._rhos = np.array([float(covering.rho) for covering in rivalled])
        self._rivals = np.array([math.log(covering.rivals / covering.parts) for covering in rivalled])
        self.hypotheses = cls
        self.steps = cls.dimension
        self.stable = cls.version_space().options().count is None

    @property
    def rho(self) -> int:
        """ρ: at least one in so many mistakes of any batch support a common option."""
        return max((covering.rho for covering in self.coverings), default=1)

    def batch(self, eta: float, beta: float) -> int:
        """Return the smallest K for which some candidate makes fewer than K mistakes, but for ``beta``."""
        beta = check_level("beta", beta)
        rate = log_base(eta)
        odds = math.log(max(self.steps, 1) - beta) - math.log(beta) if self.steps > beta * 2 else 0.0
        needed = [float((self._rhos * (odds + self._rivals)).max())] if self._rhos.size else [0.0]
        if self.stable:
            needed.append(2.0 * odds + rate)  # floor(K/2) scores above "none of them"
        return max(1, math.ceil(max(needed) / rate * (1.0 + 1e-12)))

    def log_moment(self, z: Floats, eta: float) -> Floats:
        """Return N·z(z+1)(2η)²/8: in every call the loss ranges over 2η at most."""
        return self.steps * range_moment(z, 2.0 * check_eta(eta))

    def excess_delta(self, eta: float, K: int) -> float:  # noqa: N803
        """Return N·(1 + e^η)·e^(-ηK/2) for a stable selection, else 0."""
        eta, bar = check_eta(eta), _bar(check_batch(K))
        if not self.stable:
            return 0.0
        return self.steps * (1.0 + math.exp(eta)) * math.exp(-log_base(eta) * bar) * (1.0 + 1e-9)

    def start(self, eta: float, K: int) -> OptionsSelector:  # noqa: N803
        """Return a run before its first batch."""
        spaces = [self.hypotheses.version_space()]
        return OptionsSelector(self.hypotheses, spaces, self.steps, base(eta), check_batch(K))

    def from_plain(self, data: Any, eta: float, K: int) -> OptionsSelector:  # noqa: N803
        """Return the run that ``to_plain`` wrote."""
        if not isinstance(data, list) or not 1 <= len(data) <= self.steps + 1:
            raise StateError(
                "malformed candidate selection in a saved state; give what state_dict() returned"
            )
        spaces = [self.hypotheses.from_plain(entry) for entry in data]
        return OptionsSelector(self.hypotheses, spaces, self.steps, base(eta), check_batch(K))


class OptionsSelector(Selector):
    """A run of :class:`OptionsScheme`.

    Parameters
    ----------
    hypotheses
        The class, which tells instances apart.
    spaces
        The version spaces so far; the candidates are their standard optimal answers.
    steps
        N.
    num
        The weight of a score, out of 2^20.
    batch
        K.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import Mistake, scheme
    >>> selector = scheme(Point3()).start(eta=0.5, K=40)
    >>> selector.candidate()(2)
    False
    >>> selector.advance([Mistake(t, 2, True) for t in range(1, 41)], Key.from_seed(1))
    >>> selector.candidate()(2), selector.exhausted
    (True, True)
    """

    def __init__(
        self, hypotheses: HypothesisClass, spaces: Sequence[VersionSpace], steps: int, num: int, batch: int
    ) -> None:
        self._hypotheses = hypotheses
        self.steps = steps
        self.batch = batch
        self._num = num
        self._spaces = list(spaces)
        self.candidates = [space.predict for space in spaces]

    @property
    def exhausted(self) -> bool:
        """Whether N candidates were found, or one hypothesis is left."""
        return len(self._spaces) > self.steps or self._spaces[-1].dimension == 0

    @property
    def spaces(self) -> tuple[VersionSpace, ...]:
        """The version spaces so far."""
        return tuple(self._spaces)

    def scores(self, batch: Sequence[Mistake]) -> dict[Hashable, int]:
        """Return how many mistakes support each option that any supports, by the option's place."""
        return _scores(self._hypotheses, self._spaces[-1].options(), batch)

    def advance(self, batch: Sequence[Mistake], key: Key) -> None:
        """Take an option that many of the mistakes support."""
        self._check(batch)
        options = self._spaces[-1].options()
        scores = _scores(self._hypotheses, options, batch)
        if options.count is None:
            scores = {NONE_OF_THEM: _bar(self.batch), **scores}
        rest = 0 if options.count is None else options.count - len(scores)
        place, number = draw(self._num, scores, rest, key, PURPOSE, len(self._spaces))
        if place is REST:
            place = _unscored(scores, number)
        left = self._spaces[-1] if place is NONE_OF_THEM else options.take(place)
        self._spaces.append(left)
        self.candidates.append(left.predict)

    def to_plain(self) -> list[Any]:
        """Return the version spaces so far."""
        return [space.to_plain() for space in self._spaces]


def _table(cls: HypothesisClass, error: SizeError) -> EnumeratedClass:
    """Return a class as a table; where that is impossible or no help, raise the error, which says what would help."""
    if not isinstance(cls, EnumeratedClass):
        try:
            return table_of(cls)
        except SizeError:
            pass
    raise error


def _bar(batch: int) -> int:
    """Return the score of "none of them": half a batch, rounded up."""
    return -(-batch // 2)


def _scores(cls: HypothesisClass, options: Options, batch: Sequence[Mistake]) -> dict[Hashable, int]:
    """Return the support of each option, worked out once for each identity: what the class tells apart, and no more."""
    scores: dict[Hashable, int] = {}
    known: dict[Hashable, tuple[Hashable, ...]] = {}
    for _, x, y in batch:
        if not cls.knows(x):
            continue  # an unknown instance supports nothing
        example = (cls.identity(x), y)
        places = known.get(example)
        if places is None:
            places = known[example] = tuple(options.supported(x, y))
        for place in places:
            scores[place] = scores.get(place, 0) + 1
    return scores


def _unscored(scores: dict[Hashable, int], number: int) -> int:
    """Return the number-th of the places 0, 1, ... that have no score."""
    for taken in sorted(place for place in scores if isinstance(place, int)):
        if taken > number:
            break
        number += 1
    return number
