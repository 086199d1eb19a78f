"""Private prophets: who see a report of every person before they choose, each randomised by a channel of its own.

The public functions are in :mod:`streamlearn.replays.benchmarks`.
"""
