"""Laws on a grid, convolved by FFT; whatever that loses is counted, as a distance in l1 from the true law.

Proof: ``agents/mirror.proof.md``, part 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streamlearn.priors.base import Floats

UNIT = 2.0**-53
FFT = 24.0 * UNIT
"""The relative l2 error of one transform, for each doubling of its length."""
CUT = 1e-13
"""The most mass of a law that is cut off each end at a time."""


class Law(NamedTuple):
    """A tilted law of a sum of losses: masses on the grid from cell 0, and how far it is from the true one in l1."""

    masses: Floats
    start: int
    error: float


def widened(law: Law, ratio: int) -> Law:
    """Return the same law on cells that are ``ratio`` times finer."""
    masses = np.zeros((law.masses.size - 1) * ratio + 1)
    masses[::ratio] = law.masses
    return Law(masses, law.start * ratio, law.error)


def fold(masses: Floats) -> Law:
    """Return the convolution of all rows: a tree, whose laws grow wider and are cut where little is left."""
    start = np.zeros(len(masses), dtype=np.int64)
    error = 0.0
    while len(masses) > 1:
        odd = len(masses) % 2
        if odd:
            nothing = np.zeros((1, masses.shape[1]))
            nothing[0, 0] = 1.0
            masses, start = np.vstack([masses, nothing]), np.append(start, 0)
        raw, lost = _convolve(masses[0::2], masses[1::2])
        masses, cut, gone = _trim(raw)
        start = start[0::2] + start[1::2] + cut
        error += lost + gone
    return Law(masses[0], int(start[0]), error)


def product(a: Law, b: Law) -> Law:
    """Return the law of the sum of two independent ones."""
    raw, lost = _convolve(a.masses[None, :], b.masses[None, :])
    masses, cut, gone = _trim(raw)
    return Law(masses[0], a.start + b.start + cut, a.error + b.error + lost + gone)


def merge(laws: list[Law]) -> Law:
    """Return the law of the sum of independent ones: the two shortest first, which takes the least work."""
    left = list(laws)
    while len(left) > 1:
        left.sort(key=lambda law: -law.masses.size)
        left.append(product(left.pop(), left.pop()))
    return left[0]


def power(law: Law, times: int) -> Law:
    """Return the law of a sum of independent copies, by repeated squaring."""
    if times == 1:
        return law
    half = power(law, times // 2)
    square = product(half, half)
    return product(square, law) if times % 2 else square


def _convolve(a: Floats, b: Floats) -> tuple[Floats, float]:
    """Return the convolutions row by row, and a bound on the sum of their errors in l1."""
    width = a.shape[1] + b.shape[1] - 1
    size = 1 << (width - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:, :width]
    lengths = _norms(a) * b.sum(axis=1) + _norms(b) * a.sum(axis=1)
    return np.maximum(product, 0.0, out=product), 2.0 * FFT * (size.bit_length()) * math.sqrt(size) * float(
        lengths.sum()
    )


def _norms(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def _trim(masses: Floats) -> tuple[Floats, int, float]:
    """Return the laws without far cells that hold next to nothing of any, how many went below, and the mass gone."""
    most = masses.max(axis=0)  # its sums are above those of every row
    low = int(np.argmax(np.cumsum(most) > CUT))
    high = most.size - int(np.argmax(np.cumsum(most[::-1]) > CUT))
    gone = float(masses[:, :low].sum() + masses[:, high:].sum())
    return masses[:, low:high], low, gone * (1.0 + 1e-9)
