"""Privacy losses of products of small laws: a certified upper bound on the hockey-stick divergence.

For laws P, Q the loss of an outcome is ln P/Q, and δ(ε) = E_P (1 - e^(ε - loss))_+ + P(loss = ∞). The losses of a
product add. Each factor's losses are put on a grid, pessimistically; the factors are tilted by e^(z·loss), which makes
the losses near ε the likely ones, and convolved. Whatever the convolutions lose (floating point, cut tails) is one
number, a distance between tilted laws, and costs at most that share of the moment bound.
Proof: ``agents/mirror.proof.md``, part 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from streamlearn.accounting.convolutions import UNIT, Law, fold, merge, power, widened
from streamlearn.errors import ParameterError, SizeError
from streamlearn.priors.base import Floats
from streamlearn.rounding import check_epsilon

LOSS_GUARD = 16.0 * UNIT
"""A computed ln P/Q is raised by this times (1 + its size): more than its rounding error."""
MASS_GUARD = 128.0 * UNIT
"""The relative error of a tilted mass is below this times (1 + |exponent|)."""
LOOSENESS = 1e-4
"""How much the grid may raise δ, relatively, where that takes no more than ``MOST_CELLS`` cells."""
MOST_CELLS = 1 << 20
"""The most cells all factors together take on the grid."""
FEWEST_CELLS = 1 << 14
"""The fewest cells all factors together take."""
MOST_DOUBLINGS = 12.0
"""How often the width of a factor's cells may be doubled."""
STEEPEST = 30.0
"""The most the tilt's exponent changes within a cell; ``MASS_GUARD`` rests on it."""
MOST_OUTCOMES = 1 << 20
"""The most outcomes that are enumerated."""

_SAMPLED = 1 << 12  # factors
_LARGEST_ORDER = 2.0**20
_NOTHING = 1e-290  # a product of masses below this may have lost digits


class _Factors(NamedTuple):
    """Finite pairs, one a row, and how often all of them occur."""

    first: Floats
    second: Floats
    times: int


class _Leaves(NamedTuple):
    """One block of factors without their infinite losses."""

    logs: Floats  # ln of the first law's masses; -∞ where there is none
    losses: Floats
    times: int


class LossDistribution:
    """The privacy loss of a product of finite pairs of laws, kept as its factors.

    Parameters
    ----------
    first, second
        Arrays of shape (n, k): row i holds the k masses of the i-th factor under either law. Rows may be filled up with
        zeros. Each mass may be off by a relative 2^-52: the bounds hold for all laws that near.

    Raises
    ------
    ParameterError
        If the two are not arrays of one shape, or a row is no law.

    Examples
    --------
    >>> from streamlearn.accounting.pld import LossDistribution
    >>> fair = LossDistribution([[0.5, 0.5]], [[0.25, 0.75]])
    >>> round(fair.delta(0.0), 9), round(fair.repeat(3).delta(1.0), 9)
    (0.25, 0.082526847)
    """

    def __init__(self, first: npt.ArrayLike, second: npt.ArrayLike) -> None:
        # By columns: many factors have few outcomes each, and numpy works through the longer axis fast.
        rows = [np.asarray(side, dtype=np.float64, order="F") for side in (first, second)]
        if rows[0].ndim != 2 or rows[0].shape != rows[1].shape or rows[0].size == 0:
            raise ParameterError("first and second must have one shape (factors, outcomes), none of them 0")
        for side in rows:
            if not (np.all(side >= 0.0) and np.all(np.abs(side.sum(axis=1) - 1.0) <= 1e-12)):
                raise ParameterError(
                    "first and second must hold laws: masses >= 0 that add up to 1 in each row"
                )
        self._factors: tuple[_Factors, ...] = (_Factors(rows[0], rows[1], 1),)

    @classmethod
    def _of(cls, factors: Iterable[_Factors]) -> Self:
        made = cls.__new__(cls)
        made._factors = tuple(factors)  # noqa: SLF001 - of its class
        return made

    def compose(self, other: LossDistribution) -> LossDistribution:
        """Return the loss of the product of both.

        Parameters
        ----------
        other
            An independent pair, or one whose pairs are these whatever was drawn before.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> coin = LossDistribution([[0.5, 0.5]], [[0.25, 0.75]])
        >>> abs(coin.compose(coin).delta(0.5) - coin.repeat(2).delta(0.5)) < 1e-6
        True
        """
        return self._of(self._factors + other._factors)

    def repeat(self, times: int) -> LossDistribution:
        """Return the loss of ``times`` such products, ``times`` >= 1.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> round(LossDistribution([[0.5, 0.5]], [[0.49, 0.51]]).repeat(100).delta(9.0), 6)
        0.0
        """
        return self._of(block._replace(times=block.times * times) for block in self._factors)

    def reverse(self) -> LossDistribution:
        """Return the loss in the other direction: of the second laws against the first.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> coin = LossDistribution([[1.0, 0.0]], [[0.9, 0.1]])
        >>> round(coin.delta(1.0), 9), round(coin.reverse().delta(1.0), 9)
        (0.0, 0.1)
        """
        return self._of(_Factors(block.second, block.first, block.times) for block in self._factors)

    def certain(self) -> float:
        """Return the probability that some loss is infinite, never below the truth.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> round(LossDistribution([[0.9, 0.1]], [[1.0, 0.0]]).repeat(2).certain(), 6)
        0.19
        """
        never = math.fsum(
            block.times * math.log1p(-min(mass, 1.0)) if mass < 1.0 else -math.inf
            for block in self._factors
            for masses in [np.where(block.second == 0.0, block.first, 0.0).sum(axis=1)]
            for mass in masses[masses > 0.0].tolist()
        )
        return min(1.0, max(0.0, -math.expm1(never) * (1.0 + LOSS_GUARD)))

    def log_moment(self, order: float) -> float:
        """Return ln E_P e^(order·loss) over the finite losses, up to rounding.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> round(LossDistribution([[0.5, 0.5]], [[0.25, 0.75]]).log_moment(1.0), 6)
        0.287682
        """
        return _log_moment(self._leaves(), order)

    def delta(self, epsilon: float, *, cells: int = MOST_CELLS) -> float:
        """Return a certified upper bound on the hockey-stick divergence of the first product from the second.

        Parameters
        ----------
        epsilon
            ε >= 0; the divergence is sup over events E of P(E) - e^ε Q(E).
        cells
            The most grid cells, >= 1: fewer are faster, and the bound then looser.

        Raises
        ------
        ParameterError
            If ε is no privacy level.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> one = LossDistribution([[0.5, 0.5]], [[0.49, 0.51]])
        >>> round(one.repeat(100).delta(9.0), 3)
        0.0
        """
        level = check_epsilon(epsilon)
        infinite = self.certain()
        leaves = self._leaves()
        top = math.fsum(block.times * math.fsum(block.losses.max(axis=1).tolist()) for block in leaves)
        if top <= level or not leaves:
            return infinite
        return min(1.0, infinite + _finite_delta(leaves, level, cells))

    def enumerate(self, epsilon: float) -> float:
        """Return the divergence over all outcomes, one by one; off by less than 10^-12, never too small.

        Raises
        ------
        ParameterError
            If ε is no privacy level.
        SizeError
            If there are more than ``MOST_OUTCOMES`` outcomes.

        Examples
        --------
        >>> from streamlearn.accounting.pld import LossDistribution
        >>> round(LossDistribution([[0.5, 0.5]], [[0.25, 0.75]]).repeat(3).enumerate(1.0), 8)
        0.08252685
        """
        level = check_epsilon(epsilon)
        if self.outcomes > MOST_OUTCOMES:
            raise SizeError(f"more than {MOST_OUTCOMES} outcomes; use delta(epsilon)")
        if math.isinf(level):
            return self.certain()
        first = second = np.ones(1)
        rows = 0
        for block in self._factors:
            for p, q in zip(
                np.tile(block.first, (block.times, 1)), np.tile(block.second, (block.times, 1)), strict=True
            ):
                first, second = np.outer(first, p).ravel(), np.outer(second, q).ravel()
                rows += 1
        growth = math.exp(min(level, 700.0)) * (1.0 - LOSS_GUARD)
        off = 4.0 * UNIT * (rows + 1)  # of either product, relatively, where it does not underflow
        second[second < _NOTHING] = 0.0
        gaps = np.maximum(first * (1.0 + off) - growth * (second * (1.0 - off)), 0.0)
        return min(1.0, float(gaps.sum()) * (1.0 + 128.0 * UNIT) + _NOTHING)

    @property
    def outcomes(self) -> int:
        """How many outcomes the product has."""
        return math.prod(block.first.shape[1] ** (len(block.first) * block.times) for block in self._factors)

    def _leaves(self) -> list[_Leaves]:
        leaves = []
        for block in self._factors:
            finite = (block.first > 0.0) & (block.second > 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(finite, np.log(block.first), -np.inf)
                raw = np.where(finite, np.log(block.first / block.second), 0.0)
            leaves.append(
                _Leaves(logs, np.where(finite, raw + LOSS_GUARD * (1.0 + np.abs(raw)), 0.0), block.times)
            )
        return leaves


def _log_sums(logs: Floats) -> Floats:
    most = logs.max(axis=1)
    return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))


def _log_moment(leaves: Sequence[_Leaves], order: float) -> float:
    return math.fsum(
        block.times * float(_log_sums(block.logs + order * block.losses).sum()) for block in leaves
    )


def _best_order(leaves: Sequence[_Leaves], epsilon: float) -> float:
    """Return about the z that minimises the moment bound; any z would do, so of many factors some stand for all."""
    sampled = [
        _Leaves(block.logs[::skip], block.losses[::skip], block.times * skip)
        for block in leaves
        for skip in [max(1, len(block.logs) // _SAMPLED)]
    ]

    def exponent(log_order: float) -> float:
        order = math.exp(log_order)
        return (
            _log_moment(sampled, order)
            - order * epsilon
            + order * math.log(order / (1.0 + order))
            - math.log1p(order)
        )

    grid = np.linspace(math.log(1e-3), math.log(_LARGEST_ORDER), 20).tolist()
    best = min(range(len(grid)), key=[exponent(value) for value in grid].__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    for _ in range(13):  # ternary search: the exponent is convex in the order, unimodal in its logarithm
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, right) if exponent(left) < exponent(right) else (left, high)
    return math.exp(0.5 * (low + high))


def _finite_delta(leaves: Sequence[_Leaves], epsilon: float, cells: int) -> float:
    """Return an upper bound on the part of δ(ε) that finite losses make."""
    order = _best_order(leaves, epsilon)
    cell, ratios = _grid(leaves, order, cells)
    order = min(order, STEEPEST / (cell * max(int(ratio.max()) for ratio in ratios)))
    laws, logs, bases, guard = [], [], [], 0.0
    for block, ratio in zip(leaves, ratios, strict=True):
        tilted, log, base = _tilted(block, order, cell, ratio)
        logs += [block.times * log]
        bases += [block.times * base]
        exponents = np.abs(order * block.losses).max(axis=1) - np.where(
            block.logs > -np.inf, block.logs, 0.0
        ).min(axis=1)
        guard += MASS_GUARD * block.times * float((1.0 + exponents).sum())
        laws += [power(tilted, block.times)]
    law = merge(laws)
    above = math.fsum(bases) + cell * (law.start + np.arange(law.masses.size)) - epsilon
    worth = np.where(above > 0.0, -np.expm1(-above) * np.exp(-order * np.maximum(above, 0.0)), 0.0)
    # No loss is worth more than this in a tilted law: the factor of the moment bound.
    most = math.exp(order * math.log(order / (1.0 + order)) - math.log1p(order))
    total = float((law.masses * worth).sum()) + most * math.expm1(law.error)
    return math.exp(min(math.fsum(logs) - order * epsilon + guard, 700.0)) * total * (1.0 + 1e-9)


def _grid(leaves: Sequence[_Leaves], order: float, cells: int) -> tuple[float, list[npt.NDArray[np.int64]]]:
    """Return the width of the finest cells and, for each factor, how many of them its own cells hold: a power of two.

    A factor that reaches far and rarely does gets wide cells: least work for one loss of sharpness. The width has few
    bits, so its multiples are exact.
    """
    reach, rare = [], []
    for block in leaves:
        scaled = block.logs + order * block.losses
        weights = np.exp(scaled - _log_sums(scaled)[:, None])
        reach.append(np.maximum(block.losses.max(axis=1) - block.losses.min(axis=1), 1e-12))
        rare.append(np.maximum(1.0 - weights.max(axis=1), 1e-12))
    wishes = [np.cbrt(far / seldom) for far, seldom in zip(reach, rare, strict=True)]
    least = min(float(wish.min()) for wish in wishes)
    ratios = [np.exp2(np.minimum(np.floor(np.log2(wish / least)), MOST_DOUBLINGS)) for wish in wishes]
    span = math.fsum(
        math.sqrt(block.times) * float((far / ratio).sum())
        for block, far, ratio in zip(leaves, reach, ratios, strict=True)
    )
    spread = math.fsum(
        block.times * float((seldom * ratio**2).sum()) / 6.0
        for block, seldom, ratio in zip(leaves, rare, ratios, strict=True)
    )
    fine = math.sqrt(2.0 * LOOSENESS / (order * (1.0 + order) * spread))
    mantissa, exponent = math.frexp(max(min(fine, span / FEWEST_CELLS), span / cells, 1e-12))
    cell = math.ldexp(math.floor(mantissa * 256.0), exponent - 8)
    return cell, [ratio.astype(np.int64) for ratio in ratios]


def _tilted(
    block: _Leaves, order: float, cell: float, ratios: npt.NDArray[np.int64]
) -> tuple[Law, float, float]:
    """Return the tilted law of a block's sum on the grid, the ln of its moment, and the loss at the grid's zero."""
    scaled = block.logs + order * block.losses
    log = _log_sums(scaled)
    weights = np.exp(scaled - log[:, None])
    likely = weights.argmax(axis=1)
    base = np.take_along_axis(block.losses, likely[:, None], axis=1)
    away = block.losses - base
    away = np.where(away == 0.0, 0.0, away + LOSS_GUARD * (np.abs(block.losses) + np.abs(base)))
    cells = cell * ratios[:, None]
    place = np.where(weights > 0.0, np.floor(away / cells), 0.0)
    inside = np.where(weights > 0.0, away - place * cells, 0.0)
    # Mass between two cells is spread so that the mean of e^-loss stays, or falls by a rounding.
    upper = np.clip(np.expm1(-inside) / np.expm1(-cells) * (1.0 + LOSS_GUARD), 0.0, 1.0)
    below = weights * (1.0 - upper) * np.exp(-order * inside)
    higher = weights * upper * np.exp(order * (cells - inside))
    sums = (below + higher).sum(axis=1)
    first = place.min(axis=1).astype(np.int64)
    index = place.astype(np.int64) - first[:, None]
    shares = (below / sums[:, None], higher / sums[:, None])
    return (
        _spread(index, shares, first, ratios),
        math.fsum(log.tolist()) + math.fsum(np.log(sums).tolist()),
        math.fsum(base[:, 0].tolist()),
    )


def _spread(
    index: npt.NDArray[np.int64],
    shares: tuple[Floats, Floats],
    first: npt.NDArray[np.int64],
    ratios: npt.NDArray[np.int64],
) -> Law:
    """Return the law of the sum of all rows: those of one kind of cell and about one width are folded together."""
    parts = []
    widths = index.max(axis=1) + 2
    kinds = 64 * np.log2(ratios).astype(np.int64) + np.ceil(np.log2(widths)).astype(np.int64)
    for kind in np.unique(kinds).tolist():
        chosen = np.flatnonzero(kinds == kind)
        masses = np.zeros((chosen.size, int(widths[chosen].max())))
        rows = np.arange(chosen.size)
        for column in range(index.shape[1]):
            for further in (0, 1):
                np.add.at(masses, (rows, index[chosen, column] + further), shares[further][chosen, column])
        parts += [widened(fold(masses), 1 << kind // 64)]
    law = merge(parts)
    return law._replace(start=law.start + int((first * ratios).sum()))
