"""The figures of a run at work, for Prometheus and for the live page. They are counts: of nobody in particular.

======================================  =========  ==========================================================
metric                                  type       meaning
======================================  =========  ==========================================================
streamlearn_run_info                    gauge      1; the labels ``run`` and ``kind`` say what runs
streamlearn_running                     gauge      1 while the run is at work
streamlearn_connected                   gauge      1 while the brokers answer
streamlearn_start_time_seconds          gauge      when this process began, since 1970
streamlearn_last_batch_time_seconds     gauge      when its last batch began, since 1970
streamlearn_lag_messages                gauge      messages that wait in the source; missing where unknown
streamlearn_messages_total              counter    messages taken in by this process, whatever became of them
streamlearn_batch_seconds               histogram  time from a batch's first message to its commit
streamlearn_answers_total               counter    answers that spent privacy, by the label ``mechanism``
streamlearn_epsilon_max                 gauge      the most ε that one answer spent
streamlearn_NAME_total                  counter    NAME is one of :data:`COUNTERS`, of the run from its beginning
======================================  =========  ==========================================================

How many predictions were 1 is not among them: a count that rises by one would tell one person's prediction to all who
look, and joint privacy shows it to that person alone. Whether somebody was taken is public: local privacy covers it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from streamlearn.errors import MissingExtraError
from streamlearn.live.pump import Pump

STOPPERS: Final = ("stopper",)
PREDICTORS: Final = ("predictor",)
BOTH: Final = (*STOPPERS, *PREDICTORS)
COUNTERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "reports": (STOPPERS, "reports given to their stopper"),
    "decisions": (STOPPERS, "stopping problems that ended"),
    "taken": (STOPPERS, "stopping problems that ended with somebody taken"),
    "after_decision": (STOPPERS, "reports that came after the decision"),
    "predictions": (PREDICTORS, "instances predicted"),
    "labels": (PREDICTORS, "labels learned from"),
    "late": (PREDICTORS, "labels that came too late to learn from"),
    "given_up": (PREDICTORS, "instances whose label is no longer awaited"),
    "early": (BOTH, "messages that came early and were kept"),
    "duplicates": (BOTH, "messages sent again by their senders, passed over"),
    "redelivered": (BOTH, "messages handed over again by the broker, passed over"),
    "dead_letters": (BOTH, "messages that could not be used"),
    "losses": (BOTH, "gaps of messages that the broker dropped unread, passed over"),
}
"""What a run counts: for which kind of agent, and in words."""


class Figures(msgspec.Struct, frozen=True):
    """A run at one moment.

    Parameters
    ----------
    run, kind, guarantee
        The run's name, ``"stopper"`` or ``"predictor"``, and what is promised, in words.
    time, started, last_batch
        Now, and when the run and its last batch began; in seconds since 1970.
    running, connected, lag, messages
        As of :class:`streamlearn.live.Pump`.
    decisions
        Decisions or predictions so far.
    counts
        Every counter of this kind of agent, 0 too.
    answers
        Answers that spent privacy, by mechanism.
    epsilon
        The most ε that one of them spent; "inf" is no number of JSON's.

    Examples
    --------
    >>> from streamlearn.live.metrics import Figures
    >>> counts, answers = {"reports": 7}, {"plan": 7}
    >>> Figures("run", "stopper", "none", 2.0, 1.0, 1.0, True, True, 0, 7, 1, counts, answers, "inf").messages
    7
    """

    run: str
    kind: str
    guarantee: str
    time: float
    started: float
    last_batch: float
    running: bool
    connected: bool
    lag: int | None
    messages: int
    decisions: int
    counts: dict[str, int]
    answers: dict[str, int]
    epsilon: float | Literal["inf"]


def figures(pump: Pump) -> Figures:
    """Return the figures of a run; safe from any thread.

    Parameters
    ----------
    pump
        What runs.
    """
    runner, found = pump.runner, pump.runner.summary
    counts = {
        name: found.counts.get(name, 0) for name, (kinds, _) in COUNTERS.items() if runner.kind in kinds
    }
    return Figures(
        run=runner.store.run,
        kind=runner.kind,
        guarantee=str(runner.guarantee),
        time=time.time(),
        started=pump.started,
        last_batch=pump.last_batch,
        running=pump.running,
        connected=pump.connected,
        lag=pump.lag,
        messages=pump.messages,
        decisions=counts["decisions" if runner.kind == "stopper" else "predictions"],
        counts=counts,
        answers=found.answers,
        epsilon="inf" if math.isinf(found.epsilon) else found.epsilon,
    )


def exposition(pump: Pump) -> tuple[str, bytes]:
    """Return the figures as Prometheus reads them: the content type, and the text.

    Parameters
    ----------
    pump
        What runs.

    Raises
    ------
    MissingExtraError
        If prometheus-client is not installed.
    """
    try:
        import prometheus_client as prometheus  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(
            'metrics need prometheus-client; install it with: pip install "streamlearn[metrics]"'
        ) from None
    registry = prometheus.CollectorRegistry()
    registry.register(_Collector(pump))
    return prometheus.CONTENT_TYPE_LATEST, prometheus.generate_latest(registry)


class _Collector:
    """Reads the figures anew for each who asks."""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump

    def describe(self) -> list[Any]:
        """Return nothing: it is alone in its registry."""
        return []

    def collect(self) -> Iterator[Any]:
        """Iterate over the metrics."""
        from prometheus_client import metrics_core as core  # noqa: PLC0415 - an extra

        now = figures(self._pump)
        info = core.GaugeMetricFamily("streamlearn_run_info", "what runs", labels=["run", "kind"])
        info.add_metric([now.run, now.kind], 1)
        yield info
        for name, words, value in (
            ("running", "whether the run is at work", now.running),
            ("connected", "whether the brokers answer", now.connected),
            ("start_time_seconds", "when this process began", now.started),
            ("last_batch_time_seconds", "when the last batch began", now.last_batch),
            ("lag_messages", "messages that wait in the source", now.lag),
            ("epsilon_max", "the most epsilon that one answer spent", float(now.epsilon)),
        ):
            if value is not None:
                yield core.GaugeMetricFamily(f"streamlearn_{name}", words, float(value))
        yield core.CounterMetricFamily(
            "streamlearn_messages", "messages taken in by this process", now.messages
        )
        for name, count in now.counts.items():
            yield core.CounterMetricFamily(f"streamlearn_{name}", COUNTERS[name][1], count)
        answers = core.CounterMetricFamily(
            "streamlearn_answers", "answers that spent privacy", labels=["mechanism"]
        )
        for mechanism, count in now.answers.items():
            answers.add_metric([mechanism], count)
        yield answers
        yield self._durations(core)

    def _durations(self, core: Any) -> Any:
        took = self._pump.took
        sums, buckets = 0, []
        for bound, count in zip((*took.bounds, math.inf), took.counts, strict=True):
            sums += count
            buckets.append(("+Inf" if math.isinf(bound) else str(bound), sums))
        words = "seconds from a batch's first message to its commit"
        return core.HistogramMetricFamily("streamlearn_batch_seconds", words, buckets, took.total)
