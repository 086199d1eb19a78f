"""The speed targets of hypothesis classes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.harness import Target, Timed
from streamlearn.agents import SOA
from streamlearn.hypotheses import Finite, HypothesisClass, Intervals, Points, Thresholds

HUGE = 2**60
EVENTS = 20_000
MOST_BYTES = 1_000_000_000
"""What the search of 2,000 hypotheses on 64 points may take."""

Rows = frozenset[tuple[bool, ...]]
Examples = list[tuple[Any, bool]]


def plain_dimension(rows: Rows) -> int:
    """Return the Littlestone dimension by plain recursion: one more than the best instance's worse label leaves."""
    known: dict[Rows, int] = {}

    def dimension(rows: Rows) -> int:
        if rows not in known:
            best = 0
            for x in range(len(next(iter(rows)))):
                ones = frozenset(h for h in rows if h[x])
                zeros = rows - ones
                if ones and zeros:
                    best = max(best, 1 + min(dimension(ones), dimension(zeros)))
            known[rows] = best
        return known[rows]

    return dimension(rows)


class PlainThresholds:
    """SOA for thresholds by hand: two bounds, no checks, no class that could be another one."""

    def __init__(self, m: int) -> None:
        self.lo, self.hi = 1, m + 1

    def predict_one(self, x: int) -> bool:
        """Return 0 iff as many thresholds above x are left as keep the dimension."""
        return self.hi - x < 1 << (self.hi - self.lo + 1).bit_length() - 1

    def learn_one(self, x: int, y: bool) -> None:
        """Keep the thresholds that say y at x."""
        if y:
            self.hi = min(self.hi, x)
        else:
            self.lo = max(self.lo, x + 1)


def random_table(hypotheses: int, points: int) -> np.ndarray:
    """Return fair coins, a row a hypothesis, no two rows alike."""
    return np.unique(np.random.default_rng(1).random((hypotheses, points)) < 0.5, axis=0)


def halving_stream(m: int) -> Examples:
    """Return examples each of which halves the thresholds left: no label is known before."""
    target, lo, hi, found = m // 3, 1, m + 1, []
    while lo < hi:
        x = (lo + hi - 1) // 2
        found.append((x, x >= target))
        lo, hi = (lo, x) if x >= target else (x + 1, hi)
    return found


def _instances(m: int) -> list[int]:
    return np.random.default_rng(2).integers(1, m, EVENTS, endpoint=True).tolist()


def answers(agent: Any, stream: Iterable[tuple[Any, bool]]) -> list[bool]:
    """Return what an agent predicts along a stream, learning every label."""
    found = []
    for x, y in stream:
        found.append(agent.predict_one(x))
        agent.learn_one(x, y)
    return found


def _learning(agent: Any, stream: Examples, passes: int = 1) -> Timed:
    """Time passes over a stream, each with a fresh agent."""

    def run() -> None:
        for _ in range(passes):
            learner = agent()
            predict, learn = learner.predict_one, learner.learn_one
            for x, y in stream:
                predict(x)
                learn(x, y)

    return Timed(run, passes * len(stream))


def _thresholds(name: str, stream: Examples, passes: int) -> Target:
    if answers(SOA(Thresholds(HUGE)), stream) != answers(PlainThresholds(HUGE), stream):
        raise RuntimeError("SOA and SOA by hand differ")
    return Target(
        f"SOA, thresholds on 2^60, {name}", "example",
        _learning(lambda: SOA(Thresholds(HUGE)), stream, passes),
        _learning(lambda: PlainThresholds(HUGE), stream, passes),
        "SOA by hand", 2.0, None,
    )  # fmt: skip


def _both_finish() -> Target:
    table = random_table(200, 10)
    rows = frozenset(map(tuple, table.tolist()))
    if plain_dimension(rows) != Finite(table).dimension:
        raise RuntimeError("the search and the plain recursion differ")
    return Target(
        f"Finite dimension, {len(table)} hypotheses on 10 points", "class",
        Timed(lambda: Finite(table).dimension, 1), Timed(lambda: plain_dimension(rows), 1),
        "plain recursion", None, 20,
    )  # fmt: skip


def _informative(cls: HypothesisClass, stream: Examples) -> Target:
    return Target(f"SOA, {cls!r}", "example", _learning(lambda: SOA(cls), stream), None, "", None, None)


def targets() -> list[Target]:
    """Return all of them; those of the last three classes have no bound."""
    large, small = random_table(2_000, 64), Finite(random_table(64, 64))
    threshold = 3 * HUGE // 8
    halving, numbers = halving_stream(HUGE), _instances(HUGE)
    return [
        _thresholds("halving", halving, EVENTS // len(halving)),
        _thresholds("random instances", [(x, x >= threshold) for x in numbers], 1),
        Target(
            "Finite dimension, 2,000 hypotheses on 64 points", "class",
            Timed(lambda: Finite(large).dimension, 1), None, "", 10e6, None,
        ),
        _both_finish(),
        _informative(Intervals(HUGE), [(x, threshold <= x <= 2 * threshold) for x in numbers]),
        _informative(Points(HUGE), [(x % 1_000 + 1, False) for x in numbers]),
        _informative(small, [(x % 64, small.default(x % 64)) for x in numbers]),
    ]  # fmt: skip


_SEARCH_ONCE = """
from benchmarks import hypotheses
assert hypotheses.Finite(hypotheses.random_table(2_000, 64)).dimension == 10
# getrusage would count what the parent held when it forked.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_memory() -> int:
    """Return the peak resident size, in bytes, of a process that searches 2,000 hypotheses on 64 points."""
    done = subprocess.run([sys.executable, "-c", _SEARCH_ONCE], capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024
