"""The speed targets of the predictors' loop, against river's ``progressive_val_score``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from river import dummy, evaluate, metrics
from river import stream as river_stream

from benchmarks.harness import Target, Timed
from streamlearn import Key
from streamlearn.replays import replay

EVENTS = 100_000
DELAY = 100


def _stream() -> list[tuple[dict[str, int], bool]]:
    key = Key.from_seed(1)
    return [({"a": i % 7}, key.uniform64("label", i) % 2 == 1) for i in range(EVENTS)]


def _without_copies(*args: Any, copy: bool = False, **kwargs: Any) -> Any:
    """River's question-and-answer stream with the deep copy of each x that it insists on left out."""
    del copy
    return river_stream.simulate_qa(*args, copy=False, **kwargs)


def _river(events: list[Any], delay: int | None) -> Callable[[], float]:
    def run() -> float:
        accuracy = metrics.Accuracy()
        qa = _Delaying(river_stream)
        with mock.patch.object(evaluate.progressive_validation, "stream", qa):
            evaluate.progressive_val_score(events, dummy.NoChangeClassifier(), accuracy, delay=delay)
        return float(accuracy.get() * accuracy.cm.n_samples)

    return run


class _Delaying:
    """River's module ``stream`` as its harness sees it here."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.simulate_qa = _without_copies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _ours(events: list[Any], delay: int | None) -> Callable[[], int]:
    def run() -> int:
        result = replay(events, dummy.NoChangeClassifier(), delay=delay)
        return result.rounds - result.mistakes

    return run


class _Idle:
    """Costs what calling a method costs, so that what is left is the loop's own."""

    def predict_one(self, x: Any) -> bool:  # noqa: ARG002 - it costs nothing
        return False

    def learn_one(self, x: Any, y: Any) -> None:
        pass


def _bare(events: list[Any]) -> Callable[[], None]:
    def run() -> None:
        idle = _Idle()
        predict, learn = idle.predict_one, idle.learn_one
        for x, y in events:
            predict(x)
            learn(x, y)

    return run


def targets() -> list[Target]:
    """Return all of them, once the two loops were seen to agree."""
    events = _stream()
    found = []
    for delay, most, least in ((None, 0.3, 3.0), (DELAY, 1.5, 5.0)):
        ours, rivers = _ours(events, delay), _river(events, delay)
        # River leaves out the events on which a model that has seen no label abstains.
        if abs(ours() - rivers()) > (delay or 1):
            raise AssertionError(
                f"the two loops disagree at delay {delay}: {ours()} right against {rivers()}"
            )
        what = "undelayed" if delay is None else f"labels {delay} events late"
        found += [
            Target(
                f"replay NoChange, {what}", "event", Timed(ours, EVENTS), Timed(rivers, EVENTS),
                "river, no copies", None, least,
            ),
            Target(
                f"replay's own cost, {what}", "event",
                Timed(lambda delay=delay: replay(events, _Idle(), delay=delay), EVENTS),
                Timed(_bare(events), EVENTS), "bare calls", None, None, None, most,
            ),
        ]  # fmt: skip
    return found
