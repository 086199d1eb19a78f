"""Laws on a grid, convolved; whatever that loses is counted, as a distance in l1 from the true law.

Many narrow laws are convolved term by term, all at once, and wide ones by FFT.

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
NARROW = 16
"""The most cells of laws that are convolved term by term."""

_BLOCK = 1 << 14  # masses worked on at once: few enough to stay near the processor


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
    start, error = 0, 0.0
    columns = np.ascontiguousarray(masses.T)  # many rows are worked on at once, cell by cell
    while columns.shape[1] > 1:
        if columns.shape[1] % 2:
            nothing = np.zeros((len(columns), 1))
            nothing[0] = 1.0
            columns = np.hstack([columns, nothing])
        half = columns.shape[1] // 2
        raw, lost = _convolve(columns[:, :half], columns[:, half:])
        columns, cut, gone = _trim(raw)
        start += cut * half
        error += lost + gone
    return Law(columns[:, 0], start, error)


def product(a: Law, b: Law) -> Law:
    """Return the law of the sum of two independent ones."""
    raw, lost = _convolve(a.masses[:, None], b.masses[:, None])
    masses, cut, gone = _trim(raw)
    return Law(masses[:, 0], a.start + b.start + cut, a.error + b.error + lost + gone)


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
    """Return the convolutions column by column, and a bound on the sum of their errors in l1."""
    return _term_by_term(a, b) if max(len(a), len(b)) <= NARROW else _by_fft(a, b)


def _term_by_term(a: Floats, b: Floats) -> tuple[Floats, float]:
    product = np.zeros((len(a) + len(b) - 1, a.shape[1]))
    step = _BLOCK // len(b)
    for block in (slice(start, start + step) for start in range(0, a.shape[1], step)):
        for place, masses in enumerate(a[:, block]):
            product[place : place + len(b), block] += masses * b[:, block]
    terms = min(len(a), len(b))  # of one mass
    return product, (terms + 2) * UNIT * float(np.dot(a.sum(axis=0), b.sum(axis=0)))


def _by_fft(a: Floats, b: Floats) -> tuple[Floats, float]:
    width = len(a) + len(b) - 1
    size = 1 << (width - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, size, axis=0) * np.fft.rfft(b, size, axis=0), size, axis=0)[:width]
    lengths = _norms(a) * b.sum(axis=0) + _norms(b) * a.sum(axis=0)
    return np.maximum(product, 0.0, out=product), 2.0 * FFT * (size.bit_length()) * math.sqrt(size) * float(
        lengths.sum()
    )


def _norms(columns: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", columns, columns)))


def _trim(masses: Floats) -> tuple[Floats, int, float]:
    """Return the laws without far cells that hold next to nothing of any, how many went below, and the mass gone."""
    most = masses.max(axis=1)  # its sums are above those of every law
    low = int(np.argmax(np.cumsum(most) > CUT))
    high = most.size - int(np.argmax(np.cumsum(most[::-1]) > CUT))
    gone = float(masses[:low].sum() + masses[high:].sum())
    return masses[low:high], low, gone * (1.0 + 1e-9)
