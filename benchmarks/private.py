"""The speed and memory targets of the private predictor, and of its plans."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Target, Timed
from streamlearn import Key
from streamlearn.agents import CandidateReplacementPredictor, PrivatePredictor, SubsampledSOA
from streamlearn.hypotheses import Finite, HypothesisClass, Point3, Thresholds
from streamlearn.planning import private_plan
from streamlearn.replays import replay

EVENTS = 20_000
INSTANCES = 1_000
SETTLED = 100_000
"""Rounds after which memory must be flat."""
MOST_GROWTH = 5_000_000
"""Bytes that allocators may waste; one more instance a round would take a thousand times as much."""


def cube() -> Finite:
    """Return the eight functions of three points."""
    return Finite([[bool(row >> x & 1) for x in range(3)] for row in range(8)])


def examples(count: int) -> list[tuple[int, bool]]:
    """Return a realisable stream on which the first candidate keeps failing."""
    return [(i % 3, i % 3 != 1) for i in range(count)]


def _running(agent: Any) -> Timed:
    events = examples(EVENTS)
    return Timed(lambda: replay(events, agent), EVENTS)


def _planning(cls: HypothesisClass) -> Callable[[], object]:
    levels = (1.0 + i * 1e-9 for i in itertools.count())  # plans are cached: each is for a level of its own
    return lambda: private_plan(cls, next(levels), 1e-6)


def targets() -> list[Target]:
    """Return all of them."""
    cls = cube()
    key = Key.from_seed(1)
    private = _running(PrivatePredictor(cls, 1.0, 1e-6, key=key))
    alone = _running(CandidateReplacementPredictor(cls, 1.0, 1e-6, key=key))
    subsampled = _running(SubsampledSOA(cls, 1e-6, key))
    return [
        Target("PrivatePredictor, 8 hypotheses", "round", private, subsampled, "SubsampledSOA", 15.0, None),
        Target("CandidateReplacementPredictor, 8 hyp.", "round", alone, subsampled, "SubsampledSOA", None, None),
        Target("plan, POINT3", "plan", Timed(_planning(Point3()), 1), None, "", 10e6, None),
        Target("plan, thresholds 2^60 - 1", "plan", Timed(_planning(Thresholds(2**60 - 1)), 1), None, "", 10e6, None),
    ]  # fmt: skip


def _resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


def growth_of(rounds: int) -> int:
    """Return by how many bytes this process grows between round ``SETTLED`` and the last of a stream.

    The stream shows 1,000 instances again and again, and is not realisable, so that candidates keep being sought.
    """
    agent = PrivatePredictor(Thresholds(2**60 - 1), 1.0, 1e-6, key=Key.from_seed(1))

    def stream() -> Iterator[tuple[int, bool]]:
        for i in itertools.count():
            x = (i * 611 % INSTANCES + 1) << 40
            yield x, (x >= 500 << 40) is (i % 97 > 0)

    events = stream()
    replay(itertools.islice(events, SETTLED), agent)
    before = _resident()
    for _ in range(10):  # in parts, so that the list of wrong rounds is not what grows
        replay(itertools.islice(events, (rounds - SETTLED) // 10), agent)
    return _resident() - before


def memory_growth(rounds: int) -> int:
    """Return :func:`growth_of` in a process of its own."""
    code = f"from benchmarks import private; print(private.growth_of({rounds}))"
    return int(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
