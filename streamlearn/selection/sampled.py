"""Algorithm 2 with numbers of one's own: groups, essential hypotheses, and levels of those that are rare.

Proof of its privacy: ``sampled.proof.md`` beside this file. Of mistakes nothing is promised: for that the paper's proof
asks for the paper's constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np

from streamlearn.errors import ParameterError, SizeError, StateError
from streamlearn.hypotheses.base import HypothesisClass
from streamlearn.hypotheses.decomposition import essential_hypotheses
from streamlearn.hypotheses.finite import Finite
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.selection.arguments import check_batch
from streamlearn.selection.base import Candidate, Mistake, Scheme, Selector, range_moment
from streamlearn.selection.exponential import check_eta, log_base
from streamlearn.selection.select import select

MOST_HYPOTHESES, MOST_INSTANCES = 16, 16
"""Of the classes whose essential hypotheses are worked out while a stream runs."""

MOST_CANDIDATES = 1_000
"""N at most."""

MOST_BATCH = 1 << 17
"""K at most: twice the groups."""

LEAST_ETA, MOST_ETA = 5e-5, 10.0
"""η: half of what a selection may be given as a."""

PURPOSE = "selection/paper"


class SampledScheme(Scheme):
    """Algorithm 2: k = K/2 groups keep one record of each batch, and their lists hold essential hypotheses.

    The list of a group is C_p(G): G the hypotheses that agree with its records, p = 2^level. What many lists hold is
    chosen. Where nothing is in many, the level rises from 0; after level d the run ends with its first candidate.

    Parameters
    ----------
    cls
        The class, of at most 16 hypotheses on at most 16 instances.
    candidates
        N.

    Raises
    ------
    ParameterError
        If N is no whole number in 1..1000.
    SizeError
        If the class is too large.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection.sampled import SampledScheme
    >>> small = SampledScheme(Point3(), candidates=2)
    >>> small.widths().tolist(), small.list_size, f"{small.excess_delta(eta=0.5, K=200):.1e}"
    ([4.0, 8.0, 8.0], 4, '1.5e-14')
    """

    mode = "paper"

    def __init__(self, cls: HypothesisClass, candidates: int) -> None:
        self.steps = check_whole("candidates", candidates, 1)
        if self.steps > MOST_CANDIDATES:
            raise ParameterError(
                f"candidates must be a whole number in 1..{MOST_CANDIDATES} in mode paper, got {candidates!r}; "
                "each costs privacy, try 1"
            )
        self.cls = cls
        self.finite = cls.as_finite()
        if self.finite.size > MOST_HYPOTHESES or len(self.finite.domain) > MOST_INSTANCES:
            raise SizeError(
                f"mode paper runs on at most {MOST_HYPOTHESES} hypotheses and {MOST_INSTANCES} instances, and "
                f"{cls.digest} has {self.finite.size:,} and {len(self.finite.domain):,}; take a smaller class, or "
                "mode options, direct or groups"
            )
        self.dimension = self.finite.dimension
        # (P1) of Fact 2 at p = 2^d: at most p^d·2^(d²).
        self.list_size = 1 << 2 * self.dimension**2
        self._lists: dict[tuple[int, int], tuple[int, ...]] = {}
        self._places = {cls.identity(x): place for place, x in enumerate(self.finite.domain)}

    def place(self, x: Any) -> int | None:
        """Return the column of an instance, by its identity alone: the past keeps one instance of each."""
        return self._places.get(self.cls.identity(x)) if self.cls.knows(x) else None

    def essential(self, rows: int, level: int) -> tuple[int, ...]:
        """Return C_p of some hypotheses, p = 2^level: for each what it says at each instance, as bits, in order.

        Parameters
        ----------
        rows
            The hypotheses, as bits; none has an empty list.
        level
            0..d.
        """
        found = self._lists.get((rows, level))
        if found is None:
            found = self._lists[rows, level] = self._essential(rows, level)
        return found

    def _essential(self, rows: int, level: int) -> tuple[int, ...]:
        if not rows:
            return ()
        chosen = [row for row in range(self.finite.size) if rows >> row & 1]
        part = Finite(self.finite.table[chosen], self.finite.domain)
        labellings = essential_hypotheses(part, 1 << level, d=self.dimension)
        answers = sorted(
            sum(says(x) << place for place, x in enumerate(self.finite.domain)) for says in labellings
        )
        return tuple(answers[: self.list_size])  # so that the certificate does not rest on Fact 2

    def widths(self) -> Floats:
        """Return how far apart the changes of two scores can be: 4j at batch j, and 4N at each of d calls in vain."""
        last = 4.0 * self.steps
        return np.append(np.arange(4.0, last + 1.0, 4.0), np.full(self.dimension, last))

    def log_moment(self, z: Floats, eta: float) -> Floats:
        """Return the sum of the calls' log-moments: z(z+1)(width·η)²/8 each."""
        return range_moment(z, _eta(eta) * math.sqrt(float(np.sum(self.widths() ** 2))))

    def excess_delta(self, eta: float, K: int) -> float:  # noqa: N803 - the paper's K
        """Return the sum over the calls of q·s(1 + e^(qη))e^(-3ηk/4): q lists are replaced, 2j at batch j."""
        rate, k = 4.0 * log_base(_eta(eta) / 4.0), _groups(check_batch(K))
        replaced = np.minimum(self.widths() / 2.0, float(k))
        # e^(qη) is at most e^(kη): no overflow where the sum is below 1.
        exponents = replaced * eta - 0.75 * k * rate
        terms = replaced * self.list_size * (np.exp(np.minimum(exponents, 0.0)) + math.exp(-0.75 * k * rate))
        return min(1.0, float(np.sum(terms)) * (1.0 + 1e-9)) if np.all(exponents <= 0.0) else 1.0

    def batch(self, eta: float, beta: float) -> NoReturn:  # noqa: ARG002
        """Refuse: no batch of any use makes the paper's proof hold."""
        raise ParameterError(
            "mode paper promises nothing of mistakes below its own constants; "
            'scheme(cls, "paper").constants(...) tells them'
        )

    def start(self, eta: float, K: int) -> SampledSelector:  # noqa: N803
        """Return a run before its first batch."""
        return SampledSelector(self, _eta(eta), check_batch(K))

    def from_plain(self, data: Any, eta: float, K: int) -> SampledSelector:  # noqa: N803
        """Return the run that ``to_plain`` wrote."""
        selector = self.start(eta, K)
        selector.restore(data)
        return selector


class SampledState(msgspec.Struct, forbid_unknown_fields=True):
    """A run as it is saved.

    Parameters
    ----------
    candidates
        What each candidate but the first says at each instance, as the digits of a hexadecimal number; null is the
        first again, when nothing was chosen at the last level.
    groups
        The hypotheses that agree with each group's records, likewise.
    level
        0..d, d + 1 after the last.
    """

    candidates: list[str | None]
    groups: list[str]
    level: int


class SampledSelector(Selector):
    """A run of :class:`SampledScheme`.

    Parameters
    ----------
    scheme
        Whose run it is.
    eta
        η.
    batch
        K.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import Mistake
    >>> from streamlearn.selection.sampled import SampledScheme
    >>> selector = SampledScheme(Point3(), candidates=1).start(eta=2.0, K=40)
    >>> selector.advance([Mistake(t, 2, True) for t in range(1, 41)], Key.from_seed(1))
    >>> [selector.candidate()(x) for x in (1, 2, 3)]
    [False, True, False]
    """

    def __init__(self, scheme: SampledScheme, eta: float, batch: int) -> None:
        self.steps = scheme.steps
        self.batch = batch
        self._scheme = scheme
        self._eta = eta
        self._groups = [(1 << scheme.finite.size) - 1] * _groups(batch)
        self._level = 0
        self._answers: list[int | None] = []
        self.candidates: list[Candidate] = [scheme.cls.default]

    @property
    def exhausted(self) -> bool:
        """Whether N candidates were found, or nothing was at the last level."""
        return len(self._answers) >= self.steps or self._level > self._scheme.dimension

    @property
    def lists(self) -> list[tuple[int, ...]]:
        """The groups' lists now."""
        return [self._scheme.essential(rows, self._level) for rows in self._groups]

    def advance(self, batch: Sequence[Mistake], key: Key) -> None:
        """Choose an essential hypothesis that many lists hold; the first candidate again if none is."""
        self._check(batch)
        number = len(self._answers) + 1
        kept: dict[int, tuple[int, Mistake]] = {}
        for mistake in batch:
            group = key.below(len(self._groups), f"{PURPOSE}/{number}/group", mistake.sequence)
            lot = key.uniform64(f"{PURPOSE}/{number}/lot", mistake.sequence)
            if group not in kept or (lot, mistake.sequence) < (kept[group][0], kept[group][1].sequence):
                kept[group] = lot, mistake
        for group, (_, mistake) in kept.items():
            self._groups[group] &= ~self._wrong(mistake)
        while self._level <= self._scheme.dimension:
            found = select(self.lists, 2.0 * self._eta, key, f"{PURPOSE}/{number}/select", self._level)
            if found is not None:
                assert isinstance(found, int)  # noqa: S101 - lists hold nothing else
                self._choose(found)
                return
            self._level += 1
        self._choose(None)

    def _wrong(self, mistake: Mistake) -> int:
        """Return the hypotheses that an example contradicts, as bits; none for an unknown instance."""
        place = self._scheme.place(mistake.x)
        if place is None:
            return 0
        ones = self._scheme.finite.ones(self._scheme.finite.domain[place]) or 0
        return (1 << self._scheme.finite.size) - 1 ^ ones if mistake.y else ones

    def _choose(self, answers: int | None) -> None:
        self._answers.append(answers)
        if answers is None:
            self.candidates.append(self._scheme.cls.default)
            return
        place_of = self._scheme.place

        def says(x: Any) -> bool:
            place = place_of(x)
            return place is not None and bool(answers >> place & 1)

        self.candidates.append(says)

    def to_plain(self) -> Any:
        """Return the run so far."""
        candidates = [None if answers is None else f"{answers:x}" for answers in self._answers]
        state = SampledState(candidates, [f"{rows:x}" for rows in self._groups], self._level)
        return msgspec.to_builtins(state)

    def restore(self, data: Any) -> None:
        """Take on a run that ``to_plain`` wrote.

        Raises
        ------
        StateError
            If it is none of this scheme.
        """
        try:
            saved = msgspec.convert(data, SampledState)
            groups = [int(rows, 16) for rows in saved.groups]
            answers = [None if says is None else int(says, 16) for says in saved.candidates]
        except (msgspec.ValidationError, ValueError):
            raise StateError("malformed candidate selection; give what state_dict() returned") from None
        finite, last = self._scheme.finite, self._scheme.dimension + 1
        ended = saved.level == last
        if (
            len(groups) != len(self._groups)
            or not all(0 <= rows < 1 << finite.size for rows in groups)
            or not 0 <= saved.level <= last
            or len(answers) > self.steps
            or [says is None for says in answers] != [False] * (len(answers) - ended) + [True] * ended
            or not all(says is None or 0 <= says < 1 << len(finite.domain) for says in answers)
        ):
            raise StateError("the saved candidates are not possible; the state was edited")
        self._groups, self._level = groups, saved.level
        for says in answers:
            self._choose(says)


def _groups(batch: int) -> int:
    """Return k = K/2n for n = 1, one at least."""
    if batch > MOST_BATCH:
        raise ParameterError(
            f"K must be at most {MOST_BATCH:,} in mode paper, got {batch:,}; give a smaller one, or use mode options, "
            "direct or groups"
        )
    return max(1, batch // 2)


def _eta(value: object) -> float:
    eta = check_eta(value)
    if not LEAST_ETA <= eta <= MOST_ETA:
        raise ParameterError(
            f"eta must be a number in {LEAST_ETA:g}..{MOST_ETA:g} in mode paper, got {value!r}; give one such as 0.5"
        )
    return eta
