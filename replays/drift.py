"""Whether the values to come still follow the laws that were learned: a two-sample check in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.errors import ParameterError
from streamlearn.priors import Discrete
from streamlearn.priors.base import Floats
from streamlearn.replays.enough import Build
from streamlearn.replays.learning import Groups, partition
from streamlearn.replays.streams import EpisodeBatch
from streamlearn.rounding import as_float

RATE = 1e-3
"""How often a check of a log without drift may find some."""
MOST_RATE = 0.1
MOST_CUTS = 512
"""Cuts of a stage's values, at most; what lies between two is told apart by its mean only."""


class Distance(msgspec.Struct, frozen=True):
    """How far the later values are from those learned from.

    Parameters
    ----------
    stage
        The stage, 1..n; 0 stands for all stages together.
    distance
        The largest difference of the two shares of values below a point, in [0, 1].
    allowed
        What it stays within as long as nothing changed, but for the false-alarm rate.
    mean, later_mean
        The two means, in the unit of the values.

    Examples
    --------
    >>> from streamlearn.replays.drift import Distance
    >>> Distance(stage=1, distance=0.3, allowed=0.2, mean=1.0, later_mean=1.5).found
    True
    """

    stage: int
    distance: float
    allowed: float
    mean: float
    later_mean: float

    @property
    def found(self) -> bool:
        """Whether the law changed."""
        return self.distance > self.allowed


class Drift(msgspec.Struct, frozen=True):
    """What a drift check found.

    Parameters
    ----------
    learned, later
        How many episodes there were on either side.
    rate
        The probability with which anything is found although nothing changed is at most this.
    together
        All stages together.
    stages
        Each stage by itself.

    Examples
    --------
    >>> from streamlearn.replays.drift import Distance, Drift
    >>> same, other = Distance(0, 0.1, 0.2, 1.0, 1.0), Distance(1, 0.3, 0.2, 1.0, 1.5)
    >>> Drift(50, 50, 0.001, same, (other,)).warning
    'values changed after the part learned from (stage 1: mean 1 then, 1.5 later): learn anew, from later episodes'
    """

    learned: int
    later: int
    rate: float
    together: Distance
    stages: tuple[Distance, ...]

    @property
    def found(self) -> bool:
        """Whether some law changed."""
        return any(distance.found for distance in (self.together, *self.stages))

    @property
    def blind(self) -> bool:
        """Whether there are too few episodes to find anything at all."""
        return all(distance.allowed >= 1.0 for distance in (self.together, *self.stages))

    @property
    def clearest(self) -> Distance:
        """The distance that is largest in the unit of what is allowed."""
        return max((self.together, *self.stages), key=lambda found: found.distance / found.allowed)

    @property
    def warning(self) -> str | None:
        """What changed, in a sentence; None if nothing was found."""
        if not self.found:
            return None
        most = self.clearest
        where = f"stage {most.stage}" if most.stage else "all stages together"
        return (
            f"values changed after the part learned from ({where}: mean {most.mean:.4g} then, "
            f"{most.later_mean:.4g} later): learn anew, from later episodes"
        )


class PlanChange(msgspec.Struct, frozen=True):
    """What the plan would be if it were learned from the later part.

    Parameters
    ----------
    value, later_value
        The plug-in value of either part, in the unit of the values.
    stage
        The stage whose threshold moves most, 1..n.
    threshold, later_threshold
        Its two thresholds.

    Examples
    --------
    >>> from streamlearn.replays.drift import PlanChange
    >>> PlanChange(0.6, 0.9, 1, 0.5, 0.8).later_value
    0.9
    """

    value: float
    later_value: float
    stage: int
    threshold: float
    later_threshold: float


class DriftCheck:
    """Compares later episodes with those that priors were learned from, in memory that does not grow.

    Parameters
    ----------
    learned
        The episodes learned from, shape (episodes, n).

    Notes
    -----
    Of m episodes learned from and k later ones, all independent and of one law (the people of an episode may depend on
    each other), the distribution functions of a stage differ by more than sqrt(ln(2/α)/2m) + sqrt(ln(2/α)/2k) with
    probability at most 2α: each is further than its own term from the truth with probability at most α (Dvoretzky,
    Kiefer and Wolfowitz; the constant is Massart's). That holds at any m and k and for every law, with atoms too.

    All stages together are m blocks of n values. (ours) For α <= 0.04 the same holds with 6 in the place of 2. The
    pooled function is the mean of what one gets by picking a person of each episode by lot, given the values.
    So by Jensen E(D - s)+ <= E(D' - s)+, D' the distance of independent picks, to which the bound above applies:
    P(D > t) <= ∫_s^∞ 2exp(-2mu²)du / (t - s) <= exp(-2ms²)/(2ms(t - s)). At s = t - 1/(4mt), with x = 2mt², this is
    2e·exp(-x)·exp(-1/(4x))/(1 - 1/(2x)), below 6·exp(-x) for x >= 5.

    Half of the false-alarm rate is for all stages together, the other half is shared among the n stages. The
    functions are compared at up to 512 of the values learned from, just below each and at it, which can only make
    the distance smaller, by less than 1/500.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.drift import DriftCheck
    >>> rng = np.random.default_rng(1)
    >>> check = DriftCheck(rng.uniform(size=(1000, 3)))
    >>> check.add(rng.uniform(size=(1000, 3)))
    >>> check.result().found
    False
    >>> check.add(1.0 + rng.uniform(size=(2000, 3)))
    >>> check.result().warning
    'values changed after the part learned from (stage 1: mean 0.4937 then, 1.174 later): learn anew, ...'
    """

    def __init__(self, learned: Floats) -> None:
        if learned.ndim != 2 or not learned.size:
            raise ParameterError(
                f"learned must have shape (episodes, n) and an entry, got {learned.shape}; give whole episodes"
            )
        parts = [learned.ravel(), *learned.T]
        self._cuts = [_cuts(part) for part in parts]
        self._learned = [_counted(cuts, part) for cuts, part in zip(self._cuts, parts, strict=True)]
        self._later = [_Bins(np.zeros_like(bins.counts), np.zeros_like(bins.sums)) for bins in self._learned]
        self._episodes = len(learned)
        self._later_episodes = 0

    def add(self, values: Floats) -> None:
        """Add later episodes.

        Parameters
        ----------
        values
            Shape (episodes, n).

        Raises
        ------
        ParameterError
            If they have another length than those learned from.
        """
        if values.ndim != 2 or values.shape[1] != self.horizon:
            raise ParameterError(f"values must have shape (episodes, {self.horizon}), got {values.shape}")
        for cuts, bins, part in zip(self._cuts, self._later, [values.ravel(), *values.T], strict=True):
            more = _counted(cuts, part)
            np.add(bins.counts, more.counts, out=bins.counts)
            np.add(bins.sums, more.sums, out=bins.sums)
        self._later_episodes += len(values)

    def watching(self, batches: Iterable[EpisodeBatch]) -> Iterator[EpisodeBatch]:
        """Yield batches as they are, adding each.

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.replays.drift import DriftCheck
        >>> from streamlearn.replays.streams import EpisodeBatch
        >>> check = DriftCheck(np.zeros((9, 2)))
        >>> [batch.ids for batch in check.watching([EpisodeBatch(["a17"], np.ones((1, 2)))])], check
        ([['a17']], DriftCheck(learned=9 episodes, later=1 episodes))
        """
        for batch in batches:
            self.add(batch.values)
            yield batch

    @property
    def horizon(self) -> int:
        """The number of stages, n."""
        return len(self._cuts) - 1

    def result(self, rate: float = RATE) -> Drift:
        """Return what was found so far.

        Parameters
        ----------
        rate
            The most probability of finding anything where nothing changed, 0 < rate <= 0.1. It is for one look: who
            looks again and again has more.

        Raises
        ------
        ParameterError
            If the rate is outside its bound, or there is no later episode.
        """
        chance = as_float(rate)
        if chance is None or not 0.0 < chance <= MOST_RATE:
            raise ParameterError(f"rate must be in (0, {MOST_RATE}], got {rate!r}; it is a false-alarm rate")
        if not self._later_episodes:
            raise ParameterError("no later episode was added; leave some of the log to compare with")
        # A quarter for each of the four terms: two sides, and all stages together or each of the n.
        together = self._distance(0, math.log(6.0 / (chance / 4.0)))
        each = math.log(2.0 / (chance / 4.0 / self.horizon))
        stages = tuple(self._distance(stage, each) for stage in range(1, self.horizon + 1))
        return Drift(self._episodes, self._later_episodes, chance, together, stages)

    def plan_change(self, build: Build, pooled: bool = False, groups: Groups | None = None) -> PlanChange:
        """Return what the plan would be if it were learned from the later part.

        Parameters
        ----------
        build
            Makes a stopper from priors.
        pooled, groups
            As for :func:`streamlearn.replays.learning.empirical_priors`.

        Examples
        --------
        >>> import numpy as np
        >>> from streamlearn.agents import LDPOptimalStopper
        >>> from streamlearn.replays.drift import DriftCheck
        >>> check = DriftCheck(np.ones((9, 2)))
        >>> check.add(2.0 * np.ones((9, 2)))
        >>> change = check.plan_change(lambda laws: LDPOptimalStopper(laws, epsilon=1.0))
        >>> change.value, change.later_value, change.stage
        (1.0, 2.0, 1)
        """
        columns = partition(self.horizon, pooled, groups)
        before, after = (build(_laws(bins[1:], columns)) for bins in (self._learned, self._later))
        moved = int(np.argmax(np.abs(after.thresholds - before.thresholds)))
        return PlanChange(
            value=before.value,
            later_value=after.value,
            stage=moved + 1,
            threshold=float(before.thresholds[moved]),
            later_threshold=float(after.thresholds[moved]),
        )

    def _distance(self, part: int, logarithm: float) -> Distance:
        learned, later = self._learned[part], self._later[part]
        return Distance(
            stage=part,
            distance=float(np.abs(learned.below - later.below).max()),
            allowed=sum(math.sqrt(logarithm / (2 * m)) for m in (self._episodes, self._later_episodes)),
            mean=learned.mean,
            later_mean=later.mean,
        )

    def __repr__(self) -> str:
        return f"DriftCheck(learned={self._episodes} episodes, later={self._later_episodes} episodes)"


class _Bins(NamedTuple):
    """Counts and sums of values by where they lie: below the first cut, at it, between it and the next, ..."""

    counts: npt.NDArray[np.int64]
    sums: Floats

    @property
    def below(self) -> Floats:
        """Shares of values below each cut and up to it."""
        shares: Floats = np.cumsum(self.counts) / self.counts.sum()
        return shares

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.counts.sum())

    def __repr__(self) -> str:
        # A sum of one value is that value.
        return f"_Bins({len(self.counts)})"


def _cuts(values: Floats) -> Floats:
    """Return values that cut all into parts of equal size, as far as atoms allow; all of them if they are few."""
    distinct = np.unique(values)
    if len(distinct) <= MOST_CUTS:
        return distinct
    return np.unique(np.quantile(values, np.linspace(0.0, 1.0, MOST_CUTS), method="inverted_cdf"))


def _counted(cuts: Floats, values: Floats) -> _Bins:
    place = np.searchsorted(cuts, values)
    at = cuts[np.minimum(place, len(cuts) - 1)] == values
    number = 2 * place + at
    size = 2 * len(cuts) + 1
    sums: Floats = np.bincount(number, weights=values, minlength=size).astype(np.float64)
    return _Bins(np.bincount(number, minlength=size), sums)


def _laws(bins: list[_Bins], columns: list[list[int]]) -> list[Discrete]:
    """Return the law of each stage, with the values between two cuts at their mean."""
    laws: dict[int, Discrete] = {}
    for group in columns:
        counts = np.concatenate([bins[column].counts for column in group])
        sums = np.concatenate([bins[column].sums for column in group])
        full = counts > 0
        law = Discrete(sums[full] / counts[full], counts[full] / counts.sum())
        laws |= dict.fromkeys(group, law)
    return [laws[column] for column in range(len(bins))]
