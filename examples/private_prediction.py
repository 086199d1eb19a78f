"""Mistakes against rounds: SOA, subsampled SOA, candidate replacement and the private predictor.

    python examples/private_prediction.py --out figures          # 8 runs of each
    python examples/private_prediction.py --out figures --full   # 40 runs of each

Either goes to 10^8 rounds: streams come as runs of one example, and rounds that change nothing are skipped exactly
(streamlearn.replays.skipping says when and why). Then two real streams, played round by round. Needs the extra "plot".
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, metrics

from streamlearn import Key, bounds
from streamlearn.agents import SOA, CandidateReplacementPredictor, PrivatePredictor, SubsampledSOA
from streamlearn.errors import StreamlearnError
from streamlearn.hypotheses import HypothesisClass, Point3, Stumps
from streamlearn.planning import candidate_plan, private_plan
from streamlearn.replays import replay_many
from streamlearn.replays.privatefigure import Panel, private_figure, track
from streamlearn.replays.synthetic import point3_adversary

EPSILON = 1.0
DELTAS = (1e-3, 1e-6, 1e-9)
ROUNDS = 10**8
POINTS = 81

Runs = Iterable[tuple[tuple[int, bool], int]]


def repeated(rounds: int, key: Key) -> Runs:  # noqa: ARG001 - nothing is drawn
    """Repeat one label that no agent begins with: what is hardest for a private learner."""
    return [((1, True), rounds)]


def algorithm1(rounds: int, key: Key) -> Runs:
    """Draw a stream of the paper's Algorithm 1: dummies, and a few informative rounds at places hard to tell."""
    return point3_adversary(rounds, key=key).runs


def benign(rounds: int, key: Key) -> Iterator[tuple[tuple[int, bool], int]]:
    """Draw sessions of one of three instances, labelled by the function that is 1 at instance 2.

    Each is a tenth as long as all before.
    """
    done = session = 0
    while done < rounds:
        times = min(rounds - done, 1 + done // 10)
        x = 1 + key.below(3, "instance", session)
        yield (x, x == 2), times
        done += times
        session += 1


STREAMS: dict[str, Callable[[int, Key], Runs]] = {
    "one label repeated": repeated,
    "benign: sessions": benign,
    "Algorithm 1": algorithm1,
}


def agents(cls: HypothesisClass, delta: float) -> dict[str, tuple[Callable[[Key], Any], float]]:
    """Return what makes each agent, and what it promises; all but SOA are (1, δ)-jointly private."""
    alone, whole = candidate_plan(cls, EPSILON, delta), private_plan(cls, EPSILON, delta)
    return {
        "SOA, not private": (lambda _: SOA(cls), cls.dimension),
        "SubsampledSOA, γ = δ": (lambda key: SubsampledSOA(cls, delta, key), cls.dimension / delta),
        "CandidateReplacementPredictor": (
            lambda key: CandidateReplacementPredictor(cls, plan=alone, key=key),
            alone.mistake_bound,
        ),
        "PrivatePredictor": (
            lambda key: PrivatePredictor(cls, plan=whole, key=key),
            whole.expected_mistakes,
        ),
    }


def panel(name: str, delta: float, rounds: int, runs: int) -> Panel:
    """Measure all agents on one kind of stream at one δ."""
    stream = STREAMS[name]
    counts = np.unique(np.geomspace(1, rounds, POINTS).round().astype(np.int64)).tolist()
    key = Key.from_seed(1).derive(name)
    tracks = [
        track(label, lambda own: stream(rounds, own), agent_of, counts, runs, key, bound)
        for label, (agent_of, bound) in agents(Point3(), delta).items()
    ]
    return Panel(tracks, forced(name, counts, delta))


def forced(name: str, counts: list[int], delta: float) -> Any:
    """Return how many mistakes such streams force on any learner that is (1, δ)-private."""
    if name == "one label repeated":
        return bounds.repetition_lower(counts, epsilon=EPSILON, delta=delta)
    if name == "Algorithm 1":  # the bound is for the whole stream
        whole = bounds.algorithm1_lower(counts[-1], epsilon=EPSILON, delta=delta, p=1.0)
        return np.array([np.nan] * (len(counts) - 1) + [whole])
    return None


def figure(path: Path, rounds: int, runs: int) -> dict[str, dict[str, Panel]]:
    """Measure everything, draw it and return it."""
    panels = {
        name: {f"δ = {delta:.0e}".replace("e-0", "e-"): panel(name, delta, rounds, runs) for delta in DELTAS}
        for name in STREAMS
    }
    title = f"Mistakes on POINT3 (d = 1) at ε = {EPSILON:g}: mean, fewest and most of {runs} runs"
    private_figure(path, title, panels, "forced on any private learner")
    return panels


def table(panels: dict[str, dict[str, Panel]]) -> str:
    """Return the mean mistakes at the end, and what is promised, as text."""
    lines = [f"{'stream':20}{'δ':>10}  {'agent':31}{'mistakes':>15}{'promised':>15}"]
    for stream, found in panels.items():
        for level, one in found.items():
            lines += [
                f"{stream:20}{level[4:]:>10}  {it.label:31}{it.mean[-1]:15,.1f}{it.bound:15,.0f}"
                for it in one.tracks
            ]
    return "\n".join(lines)


def shuttle(events: int | None = None) -> list[tuple[dict[str, float], bool]]:
    """Return every fourth of NASA's nine shuttle sensors, which river carries, and whether something was wrong."""
    return [
        ({name: x[name] for name in list(x)[::4]}, bool(y))
        for x, y in itertools.islice(datasets.Shuttle(), events)
    ]


def real(events: int | None = None) -> str:
    """Run all agents on the shuttle's stream, and on the same with the labels of its best stump."""
    rows = shuttle(events)
    cuts = {name: cuts_of([x[name] for x, _ in rows]) for name in rows[0][0]}
    cls = Stumps(cuts)
    name, cut, above = best_stump(rows, cuts)
    clean = [(x, (x[name] >= cut) is above) for x, _ in rows]
    lines = [f"real: {len(rows):,} events, stumps on {len(cuts)} sensors (d = {cls.dimension}), δ = 1e-3"]
    for title, stream in (("as recorded", rows), (f"labels: {name} against {cut:g}", clean)):
        key = Key.from_seed(2)
        made = {label: make(key.derive(label)) for label, (make, _) in agents(cls, 1e-3).items()}
        recall = {label: metrics.BalancedAccuracy() for label in made}
        results = replay_many(stream, made, observers={label: [it] for label, it in recall.items()})
        lines += [
            f"  {title:28}{label:31}{result.mistakes:8,} mistakes, balanced accuracy {recall[label].get():.3f}"
            for label, result in results.items()
        ]
    return "\n".join(lines)


def cuts_of(values: list[float]) -> list[float]:
    """Return at most three cuts, between quarters of what a sensor said."""
    found = np.unique(np.quantile(values, np.arange(1, 4) / 4)) + 0.5  # the sensors say whole numbers
    return [float(cut) for cut in found]


def best_stump(
    rows: list[tuple[dict[str, float], bool]], cuts: dict[str, list[float]]
) -> tuple[str, float, bool]:
    """Return the sensor, the cut and the side that agree best with the labels."""
    labels = np.array([y for _, y in rows])
    sides = (
        (float(np.mean((np.array([x[name] for x, _ in rows]) >= cut) == (labels == above))), name, cut, above)
        for name, given in cuts.items()
        for cut in given
        for above in (True, False)
    )
    _, name, cut, above = max(sides)
    return name, cut, above


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and do it all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(), help="folder for private-prediction.png")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="length of the synthetic streams")
    parser.add_argument("--runs", type=int, default=8, help="runs behind each curve")
    parser.add_argument("--full", action="store_true", help="40 runs behind each curve")
    parser.add_argument("--events", type=int, help="how many real events; all by default")
    given = parser.parse_args(arguments)
    begun = time.perf_counter()
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        path = given.out / "private-prediction.png"
        print(table(figure(path, given.rounds, 40 if given.full else given.runs)))
        print(real(given.events))
    except (StreamlearnError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{path} drawn; {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
