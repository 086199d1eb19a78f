"""The loop that drives stoppers over episodes: each is given to a fresh clone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Protocol

import msgspec
import numpy as np

from streamlearn import telemetry
from streamlearn.base import Stopper
from streamlearn.channels import Channel, Report
from streamlearn.errors import StreamError
from streamlearn.priors.base import Floats
from streamlearn.randomness import Key
from streamlearn.replays import coins
from streamlearn.replays.coins import Outcomes
from streamlearn.replays.progress import track
from streamlearn.replays.results import Decision, StoppingResult, Tally
from streamlearn.replays.streams import Episode, EpisodeBatch, RecordedStream

BATCH = 8192
"""Episodes handled at once in batch: the working arrays stay in the processor's cache."""


class Reporting(Protocol):
    """The person's side, as :class:`streamlearn.reporters.Reporter` offers it."""

    def report(self, *, value: float, channel: Channel, event_id: str) -> Report:
        """Return the person's report."""


class Step(msgspec.Struct, frozen=True):
    """What an observer is shown after each arrival. It carries no value.

    Parameters
    ----------
    episode
        The episode's id.
    report
        The report the agent saw.
    taken
        Whether this person was taken.

    Examples
    --------
    >>> from streamlearn.agents import OptimalStopper
    >>> from streamlearn.replays import replay
    >>> steps = []
    >>> _ = replay([[1.0, 3.0]], OptimalStopper([2.0, 1.0]), observers=[steps.append])
    >>> steps
    [Step(episode=0, report=Report(round=1, bit=1, event_id='0/1'), taken=True)]
    """

    episode: str | int
    report: Report
    taken: bool


Observer = Callable[[Step], None]


def replay_stopper(
    stream: Iterable[Any],
    agent: Stopper,
    reporter: Reporting | None,
    reference: Stopper | None,
    observers: Sequence[Observer],
    progress: bool,
) -> StoppingResult:
    """Drive one stopper; the arguments are those of :func:`streamlearn.replays.replay`."""
    people = reporter if reporter is not None else _KeyedCoins()
    log = f"{stream.name}/" if isinstance(stream, RecordedStream) else ""
    decisions: list[Decision] = []

    def play(batch: EpisodeBatch, _: Floats) -> list[Outcomes]:
        asked = np.zeros(agent.horizon)
        played = [
            _play(episode, agent.clone(), people, log, observers, asked)
            for episode in map(Episode, batch.ids, batch.values)
        ]
        decisions.extend(decision for decision, _ in played)
        nobody = np.array([float(decision.round is None) for decision, _ in played])
        return [Outcomes(np.array([reward for _, reward in played]), nobody, asked)]

    name = type(agent).__name__
    return _drive(stream, {name: agent}, reference, play, progress).results(decisions)[name]


class _KeyedCoins:
    """Draws each bit from the channel with a fixed key: no limit, no memory, the same bits every time."""

    def __init__(self) -> None:
        self._key = Key.from_seed(0)

    def report(self, *, value: float, channel: Channel, event_id: str) -> Report:
        draw = self._key.uniform64("replay", event_id)
        return Report(channel.round, channel.bit(value, draw), event_id)


def _play(
    episode: Episode,
    agent: Stopper,
    people: Reporting,
    log: str,
    observers: Sequence[Observer],
    asked: Floats,
) -> tuple[Decision, float]:
    """Return the decision on one episode and its reward; count in ``asked`` who was really asked."""
    for i, value in enumerate(episode.values.tolist()):
        channel = agent.channel
        report = people.report(value=value, channel=channel, event_id=f"{log}{episode.id}/{channel.round}")
        asked[i] += channel.case == "ask"
        taken = agent.predict_one(report)
        agent.learn_one(report)
        for observer in observers:
            observer(Step(episode.id, report, taken))
        if taken:
            return Decision(episode.id, channel.round), value
    return Decision(episode.id, None), 0.0


def integrate_stoppers(
    stream: Iterable[Any], agents: Mapping[str, Stopper], reference: Stopper | None, progress: bool
) -> dict[str, StoppingResult]:
    """Score stoppers with the coins integrated out; as :func:`streamlearn.replays.replay_many`."""
    plans = [coins.stages(agent.plan) for agent in agents.values()]

    def integrate(_: EpisodeBatch, values: Floats) -> list[Outcomes]:
        return [coins.expected_outcomes(plan, values) for plan in plans]

    return _drive(stream, dict(agents), reference, integrate, progress).results()


def _drive(
    stream: Iterable[Any],
    agents: dict[str, Stopper],
    reference: Stopper | None,
    outcomes: Callable[[EpisodeBatch, Floats], list[Outcomes]],
    progress: bool,
) -> Tally:
    """Run ``outcomes`` over the stream's batches and add up what it returns."""
    tally = Tally(agents, referenced=reference is not None)
    ideal = None if reference is None else coins.stages(reference.plan)
    compared = [*agents.values(), *([] if reference is None else [reference])]
    telemetry.emit(telemetry.REPLAY_STARTED, agents=len(agents))
    for batch in track(_batches(stream), size="episodes", enabled=progress):
        for agent in compared:
            _check_length(batch.ids[0], batch.values.shape[1], agent)
        values = np.ascontiguousarray(batch.values.T)  # stage-major: a stage is one run of memory
        best = np.zeros(values.shape[1]) if ideal is None else coins.expected_outcomes(ideal, values).reward
        tally.add(values.max(axis=0), best, outcomes(batch, values))
    if not tally.episodes:
        raise StreamError("the stream has no whole episode; give at least one")
    telemetry.emit(telemetry.REPLAY_FINISHED, episodes=tally.episodes)
    return tally


def _check_length(episode: str | int, length: int, agent: Stopper) -> None:
    if length != agent.horizon:
        raise StreamError(
            f"episode {episode} has {length} people and {type(agent).__name__} has horizon {agent.horizon}; "
            "give one prior per person"
        )


def _episodes(first: Any, items: Iterator[Any]) -> Iterator[Episode]:
    """Yield the episodes of a stream whose first item is ``first``, whatever their form."""
    if isinstance(first, Real):
        yield Episode(0, _values(0, list(items)))
        return
    for number, item in enumerate(items):
        if isinstance(item, Episode):
            yield Episode(item.id, _values(item.id, item.values))
        else:
            yield Episode(number, _values(number, item))


def _values(episode: str | int, people: Any) -> Floats:
    """Return one episode's values, checked; the message never quotes one."""
    try:
        values = np.asarray(people, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise StreamError(
            f"episode {episode} holds something that is not a number; give numbers >= 0"
        ) from None
    if values.ndim != 1 or not len(values):
        raise StreamError(
            f"episode {episode} must be a non-empty sequence of numbers, got shape {values.shape}"
        )
    unusable = ~(np.isfinite(values) & (values >= 0))
    if unusable.any():
        person = int(np.argmax(unusable)) + 1
        raise StreamError(f"episode {episode}, person {person}: the value must be a finite number >= 0")
    return values


def _batches(stream: Iterable[Any]) -> Iterator[EpisodeBatch]:
    """Yield the stream's episodes in batches, each of one horizon."""
    if isinstance(stream, RecordedStream):
        yield from stream.batches(BATCH)
        return
    items = iter(stream)
    first = next(items, None)
    if first is None:
        return
    items = itertools.chain([first], items)
    if isinstance(first, EpisodeBatch):
        yield from items
        return
    episodes = _episodes(first, items)
    while chunk := list(itertools.islice(episodes, BATCH)):
        length = len(chunk[0].values)
        for episode in chunk:
            if len(episode.values) != length:
                raise StreamError(
                    f"episode {episode.id} has {len(episode.values)} people, episode {chunk[0].id} has {length}; "
                    "replay each horizon by itself"
                )
        yield EpisodeBatch([episode.id for episode in chunk], np.stack([episode.values for episode in chunk]))
