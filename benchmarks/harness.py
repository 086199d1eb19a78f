"""Interleaved timing: ours, peer, ours, peer, …; the figure is the median of the pairs' ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Timed(NamedTuple):
    """Something to time, and how many units of work one call does."""

    run: Callable[[], object]
    units: int


class Target(NamedTuple):
    """A speed target: a figure of ours, of the pair, and the bound it must meet."""

    name: str
    unit: str
    ours: Timed
    peer: Timed | None
    peer_name: str
    most_microseconds: float | None  # per unit of ours
    least_ratio: float | None  # peer's time per unit over ours
    most_ratio: float | None = None  # ours over the peer's, per call
    most_more: float | None = None  # microseconds per unit that ours may take beyond the peer's


class Measured(NamedTuple):
    """What a target measured."""

    name: str
    unit: str
    microseconds: float
    peer_name: str
    peer_microseconds: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    bound: str
    met: bool


def measure(target: Target, pairs: int) -> Measured:
    """Time both sides in turn, ``pairs`` times after one warm-up each."""
    sides = [target.ours] + ([target.peer] if target.peer else [])
    for side in sides:
        side.run()
    gc.collect()
    gc.freeze()  # what the other targets hold must not be walked through during this one
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(pairs):
        for side, kept in zip(sides, times, strict=True):
            kept.append(_seconds(side.run) / side.units * 1e6)
    ours = statistics.median(times[0])
    bounds, met = [], True
    if target.most_microseconds is not None:
        bounds.append(f"<= {target.most_microseconds:g} µs")
        met &= ours <= target.most_microseconds
    if target.peer is None:
        return Measured(target.name, target.unit, ours, "", None, None, None, None, " and ".join(bounds), met)
    ratios = sorted(peer / own for own, peer in zip(*times, strict=True))
    ratio = statistics.median(ratios)
    if target.least_ratio is not None:
        bounds.append(f">= {target.least_ratio:g} x")
        met &= ratio >= target.least_ratio
    if target.most_ratio is not None:
        calls = 1.0 / ratio * target.ours.units / target.peer.units
        bounds.append(f"<= {target.most_ratio:g} x the peer's call ({calls:.1f} x)")
        met &= calls <= target.most_ratio
    peer = statistics.median(times[1])
    if target.most_more is not None:
        more = statistics.median(own - other for own, other in zip(*times, strict=True))
        bounds.append(f"<= {target.most_more:g} µs more ({more:.3f})")
        met &= more <= target.most_more
    return Measured(
        target.name,
        target.unit,
        ours,
        target.peer_name,
        peer,
        ratio,
        ratios[0],
        ratios[-1],
        " and ".join(bounds),
        met,
    )


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
