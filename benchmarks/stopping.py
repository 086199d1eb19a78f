"""The speed targets of stopping."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.stats

from benchmarks.harness import Target, Timed
from streamlearn import Channel, Key, Report, priors, recursion
from streamlearn.agents import LDPOptimalStopper, SingleThresholdStopper, StaticStopper
from streamlearn.replays import read_stream, replay, replay_many, simulate
from streamlearn.reporters import Reporter

LAWS = [
    scipy.stats.uniform(),
    scipy.stats.expon(),
    scipy.stats.lognorm(0.5),
    scipy.stats.pareto(2.5),
    priors.Discrete([0.0, 5.0], [0.9, 0.1]),
    scipy.stats.beta(2, 5),
    scipy.stats.gamma(2),
    scipy.stats.weibull_min(1.5),
    scipy.stats.truncnorm(-1.0, np.inf, loc=1.0),
    0.7,
]
"""Instance C of THEORY-stopping §8."""

STAGES = 100_000
ROWS = 2_000_000
GRID = np.linspace(0.05, 10.0, 100).tolist()


def _by_expect() -> None:
    """Solve instance C once, the way a user of scipy would: E max(X, w) by ``expect``."""
    p, w = recursion.truth_probability(1.0), 0.0
    for law in reversed(LAWS):
        if isinstance(law, float | priors.Prior):  # scipy.stats has no law for these two
            known = priors.as_prior(law)
            mean, loss = known.mean, known.stop_loss(w)
        else:
            mean = law.expect(lambda x: x)
            loss = law.expect(lambda x: max(x - w, 0.0))  # noqa: B023 - used at once
        w = max(mean, w, p * w + (1 - p) * mean + (2 * p - 1) * loss)


def _events() -> tuple[Timed, Timed]:
    """The same episodes through the event loop and in batch, and both through the same channels."""
    values = np.random.default_rng(1).uniform(size=(2_000, 10))
    stopper = LDPOptimalStopper([scipy.stats.uniform()] * 10, 1.0)
    law = [scipy.stats.uniform()] * 10
    event = Timed(lambda: replay(values, stopper), len(values))
    batch = Timed(lambda: simulate(stopper, law, episodes=200_000), 200_000)
    return batch, event


def _predict_and_learn() -> Timed:
    stopper = LDPOptimalStopper([scipy.stats.uniform()] * 2_000, 1.0)
    # Near the end every stage asks; a report of 0 passes on to the next round.
    first = next(i for i, case in enumerate(stopper.cases) if case == "ask") + 1
    rounds = range(first, stopper.horizon)
    reports = [Report(i, 0) for i in rounds]

    def run() -> None:
        agent = stopper.clone()
        agent.round = first
        for report in reports:
            agent.predict_one(report)
            agent.learn_one(report)

    return Timed(run, len(reports))


def _reporting() -> Timed:
    channel = Channel.randomized_response(1, 0.5, 1.0)
    names = [f"event-{i}" for i in range(20_000)]

    def run() -> None:
        reporter = Reporter(max_epsilon=1.0, key=Key.from_seed(1))
        for name in names:
            reporter.report(value=0.7, channel=channel, event_id=name)

    return Timed(run, len(names))


def write_parquet(directory: Path, rows: int) -> Path:
    """Write a log of 10-person episodes."""
    path = directory / f"log-{rows}.parquet"
    values = np.random.default_rng(2).exponential(size=rows)
    pq.write_table(pa.table({"episode": np.repeat(np.arange(rows // 10), 10), "value": values}), path)
    return path


def _replaying(path: Path) -> Timed:
    law = [scipy.stats.expon()] * 10
    agents = {
        "optimal": LDPOptimalStopper(law, 1.0),
        "static": StaticStopper(law, 1.0),
        "single": SingleThresholdStopper(law, 1.0),
    }
    return Timed(lambda: replay_many(read_stream(path), agents), ROWS)


def targets() -> list[Target]:
    """Return all of them; temporary files live as long as the process."""
    directory = Path(tempfile.mkdtemp())
    mixed = list(itertools.islice(itertools.cycle(LAWS), STAGES))
    iid = [scipy.stats.uniform()] * STAGES
    one = Timed(lambda: LDPOptimalStopper(mixed, 1.0), STAGES)
    batch, event = _events()
    return [
        Target("solve, mixed 10^5 stages", "stage", one, Timed(_by_expect, len(LAWS)), "scipy expect", 1.5, 5000),
        Target(
            "solve, iid 10^5 stages (stops early)", "stage",
            Timed(lambda: LDPOptimalStopper(iid, 1.0), STAGES), one, "mixed", None, 3,
        ),
        Target(
            "solve a grid of 100 ε", "call",
            # Both sides begin with what a user has: the list of scipy laws.
            Timed(lambda: recursion.solve_grid(priors.as_priors(mixed), GRID), 1),
            Timed(one.run, 1), "one ε", None, None, 10,
        ),
        Target("predict_one + learn_one", "report", _predict_and_learn(), None, "", 1.5, None),
        Target("Reporter.report, keyed draw", "report", _reporting(), None, "", 4.0, None),
        Target("batch simulation", "episode", batch, event, "event loop", None, 10),
        Target("replay Parquet, three agents", "row", _replaying(write_parquet(directory, ROWS)), None, "", 1.0, None),
    ]  # fmt: skip


_REPLAY_ONCE = """
import sys
from pathlib import Path
from benchmarks import stopping
stopping._replaying(Path(sys.argv[1])).run()
# getrusage would count what the parent held when it forked.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_memory(rows: int) -> int:
    """Return the peak resident size, in bytes, of a process that replays a Parquet log of that many rows."""
    with tempfile.TemporaryDirectory() as directory:
        path = write_parquet(Path(directory), rows)
        done = subprocess.run(
            [sys.executable, "-c", _REPLAY_ONCE, path], capture_output=True, text=True, check=True
        )
    return int(done.stdout) * 1024
