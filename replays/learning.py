"""Priors from the earlier part of a log, so that the later part can score what they led to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from streamlearn.errors import ParameterError, StreamError
from streamlearn.priors import Empirical
from streamlearn.priors.base import Floats
from streamlearn.replays.stopping import BATCH
from streamlearn.replays.streams import EpisodeBatch, RecordedStream
from streamlearn.rounding import as_float

Groups: TypeAlias = Sequence[Sequence[int]]
"""Stages, counted from 1, that share a law: each stage in one group."""


class Split(NamedTuple):
    """A log cut in two, in its own order.

    Attributes
    ----------
    learned
        The values of the earlier episodes, shape (episodes, n).
    later
        The batches of the later episodes; can be read once.
    """

    learned: Floats
    later: Iterator[EpisodeBatch]

    def __repr__(self) -> str:
        # The learned part is a log of private values.
        return f"Split(learned={len(self.learned)} episodes)"

    def priors(self, pooled: bool = False, groups: Groups | None = None) -> list[Empirical]:
        """Return one empirical prior per stage, from the earlier part only.

        Parameters
        ----------
        pooled, groups
            As for :func:`empirical_priors`.

        Raises
        ------
        ParameterError
            As :func:`empirical_priors`.
        """
        return empirical_priors(self.learned, pooled, groups)


def split(stream: RecordedStream, learn: float) -> Split:
    r"""Cut a log into a part to learn priors from and a later part to score on.

    Parameters
    ----------
    stream
        The log; its own order decides what is earlier.
    learn
        How much to learn from: an integer number of episodes, or a share of the log strictly between 0
        and 1 (which needs a first pass to count, so not from standard input).

    Raises
    ------
    ParameterError
        If ``learn`` is neither.
    StreamError
        If nothing is left to score on; or if the log has a time column and its episodes do not come in order of
        time, so that "earlier" would be wrong (found while reading, at the first such episode).

    Notes
    -----
    The learned part is held in memory: 8 bytes a value. Its people have no privacy from whoever learns from their raw
    values, nor from a plan that is published from them: thresholds can be single values of the log. They must not
    arrive again, or their reports add to what is known of them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.learning import split
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("bid\n" + "\n".join(str(i) for i in range(8)))
    >>> parts = split(read_stream(log, horizon=2), learn=0.5)
    >>> parts.learned.tolist(), sum(batch.episodes for batch in parts.later)
    ([[0.0, 1.0], [2.0, 3.0]], 2)
    """
    wanted = _episodes_wanted(stream, learn)
    batches = _in_order(stream)
    learned: list[Floats] = []
    missing = wanted
    for batch in batches:
        learned.append(batch.values[:missing])
        if len(batch.values) > missing:
            rest = EpisodeBatch(batch.ids[missing:], batch.values[missing:])
            return Split(np.concatenate(learned), itertools.chain([rest], batches))
        missing -= len(batch.values)
    raise StreamError(
        f"the log has {wanted - missing} whole episodes and {wanted} were to be learned from, which leaves none "
        "to score on; learn from fewer (--learn)"
    )


def stage_priors(
    stream: RecordedStream, pooled: bool = False, groups: Groups | None = None
) -> list[Empirical]:
    r"""Return empirical priors, one per stage, from a whole log: to decide with, not to score on.

    Parameters
    ----------
    stream
        The log.
    pooled, groups
        As for :func:`empirical_priors`.

    Raises
    ------
    StreamError
        If the log has no whole episode.
    ParameterError
        As :func:`empirical_priors`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamlearn.replays import read_stream
    >>> from streamlearn.replays.learning import stage_priors
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("bid\n" + "\n".join(str(i) for i in range(8)))
    >>> [prior.mean for prior in stage_priors(read_stream(log, horizon=2))]
    [3.0, 4.0]
    """
    batches = [batch.values for batch in stream.batches(BATCH)]
    if not batches:
        raise StreamError("the log has no whole episode to learn from; check --horizon and --episode")
    return empirical_priors(np.concatenate(batches), pooled, groups)


def empirical_priors(values: Floats, pooled: bool = False, groups: Groups | None = None) -> list[Empirical]:
    """Return the laws of recorded values, one per stage; stages of one group share one.

    Parameters
    ----------
    values
        The people's values, shape (episodes, n).
    pooled
        One law from all stages together, for people who are exchangeable: the group of all stages.
    groups
        Which stages share a law, as ``[[1, 2, 3], [4, 5]]``: each of 1..n in one group. None: each stage has its own.

    Raises
    ------
    ParameterError
        If both are given, or the groups leave a stage out, name one twice or one that there is not.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.replays.learning import empirical_priors
    >>> values = np.array([[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]])
    >>> [prior.mean for prior in empirical_priors(values)]
    [2.0, 3.0, 7.0]
    >>> [prior.mean for prior in empirical_priors(values, groups=[[1, 2], [3]])]
    [2.5, 2.5, 7.0]
    """
    priors: dict[int, Empirical] = {}
    for group in partition(values.shape[1], pooled, groups):
        law = Empirical(values[:, group].ravel())
        priors |= dict.fromkeys(group, law)
    return [priors[stage] for stage in range(values.shape[1])]


def partition(horizon: int, pooled: bool = False, groups: Groups | None = None) -> list[list[int]]:
    """Return which columns of a log share a law, counted from 0.

    Parameters
    ----------
    horizon
        The number of stages, n.
    pooled, groups
        As for :func:`empirical_priors`.

    Raises
    ------
    ParameterError
        As :func:`empirical_priors`.

    Examples
    --------
    >>> from streamlearn.replays.learning import partition
    >>> partition(3), partition(3, pooled=True), partition(3, groups=[[1, 3], [2]])
    ([[0], [1], [2]], [[0, 1, 2]], [[0, 2], [1]])
    """
    stages = range(1, horizon + 1)
    if groups is None:
        return [list(range(horizon))] if pooled else [[column] for column in range(horizon)]
    if pooled:
        raise ParameterError("pooled is one group of all stages; give pooled or groups, not both")
    named = [stage for group in groups for stage in group]
    strange = [stage for stage in named if type(stage) is not int or stage not in stages]
    if strange:
        raise ParameterError(f"groups name stage {strange[0]!r}; the stages are 1..{horizon}")
    counts = Counter(named)
    for stage in stages:
        if counts[stage] != 1:
            fault = "name stage {} twice" if counts[stage] else "leave out stage {}"
            raise ParameterError(
                f"groups {fault.format(stage)}; each of the stages 1..{horizon} belongs to one group"
            )
    return [[stage - 1 for stage in group] for group in groups if group]


def _episodes_wanted(stream: RecordedStream, learn: float) -> int:
    if type(learn) is int and learn >= 1:
        return learn
    share = as_float(learn)
    if share is not None and 0.0 < share < 1.0:
        return max(1, int(share * stream.count_episodes()))
    raise ParameterError(
        f"learn must be a whole number of episodes >= 1 or a share strictly between 0 and 1, got {learn!r}"
    )


def _in_order(stream: RecordedStream) -> Iterator[EpisodeBatch]:
    """Yield the log's batches as long as its episodes come in order of time."""
    for batch in stream.batches(BATCH):
        if not stream.chronological:
            raise StreamError(
                "episodes do not come in order of time, so an earlier part cannot be learned from; pass sort=True "
                "(--sort), or drop the time column (--time '') to go by the order of the log"
            )
        yield batch
