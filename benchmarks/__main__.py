"""``python -m benchmarks``: measure every target, print a table, keep the figures as JSON.

Exits with 1 if a target is missed. Options: --pairs N (default 9), --only TEXT, --json FILE.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy

from benchmarks import harness, hypotheses, live, prediction, private, stopping


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/latest.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        every = stopping.targets() + prediction.targets() + hypotheses.targets() + private.targets()
        if "live" in options.only or not options.only:
            every += live.targets(Path(folder), stack.enter_context(live.brokers(Path(folder))))
        return report([target for target in every if options.only in target.name], options, Path(folder))


def report(chosen: list[harness.Target], options: argparse.Namespace, folder: Path) -> int:
    measured = []
    for target in chosen:
        found = harness.measure(target, options.pairs)
        measured.append(found)
        peer = "" if found.ratio is None else (
            f"{found.ratio:>10.1f} x {found.peer_name} [{found.ratio_low:.1f}, {found.ratio_high:.1f}]"
        )  # fmt: skip
        verdict = "met" if found.met else "MISSED"
        judged = f"{found.bound}: {verdict}" if found.bound else "for information"
        print(f"{found.name:<44} {found.microseconds:>12.3f} µs/{found.unit:<8}{peer}  {judged}")
    memory = (
        {str(rows): stopping.peak_memory(rows) for rows in (500_000, 8_000_000)} if not options.only else {}
    )
    for rows, peak in memory.items():
        print(f"peak resident memory replaying {rows} rows: {peak / 1e6:.1f} MB")
    search = None if options.only else hypotheses.peak_memory()
    if search is not None:
        fits = "met" if search <= hypotheses.MOST_BYTES else "MISSED"
        print(
            f"peak resident memory of the search of 2,000 hypotheses: {search / 1e6:.1f} MB  <= 1 GB: {fits}"
        )
    growth = None if options.only else private.memory_growth(1_000_000)
    if growth is not None:
        flat = "met" if growth <= private.MOST_GROWTH else "MISSED"
        print(f"growth of PrivatePredictor from round 10^5 to 10^6: {growth / 1e6:.2f} MB  <= 5 MB: {flat}")
    keys = None if options.only else live.memory_of_keys(1_000_000)
    if keys is not None:
        fits = "met" if keys <= live.MOST_MEMORY else "MISSED"
        print(f"peak resident memory of a live run with 10^6 keys: {keys / 1e6:.0f} MB  <= 1 GB: {fits}")
    restart = None if options.only else live.restart_seconds(folder)
    if restart is not None:
        quick = "met" if restart <= live.MOST_RESTART else "MISSED"
        print(f"restart of a live run to its first decision: {restart:.2f} s  <= 2 s: {quick}")
    fit = (
        (search or 0) <= hypotheses.MOST_BYTES
        and (growth or 0) <= private.MOST_GROWTH
        and (keys or 0) <= live.MOST_MEMORY
        and (restart or 0.0) <= live.MOST_RESTART
    )
    figures = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        "pairs": options.pairs,
        "targets": [found._asdict() for found in measured],
        "peak_bytes": memory,
        "peak_bytes_of_search": search,
        "growth_of_private_predictor": growth,
        "peak_bytes_of_live_keys": keys,
        "seconds_of_live_restart": restart,
    }
    options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(found.met for found in measured) and fit else 1


sys.exit(main())
