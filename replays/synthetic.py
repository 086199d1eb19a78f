"""Labelled streams to try predictors on: adversarial ones, drawn ones, and real data that river carries.

Each stream can be iterated any number of times, knows its length, and yields pairs (x, y) with a boolean y.
Hard instances of stopping are lists of priors (``worstcases.py``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from streamlearn.bounds.arguments import real, whole
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import HypothesisClass
from streamlearn.randomness import Key
from streamlearn.replays.algorithm1 import AdversarialStream, point3_adversary
from streamlearn.replays.draws import generator_of
from streamlearn.replays.judges import Example, subsampled_soa_law
from streamlearn.replays.treeadversary import littlestone_adversary, random_path
from streamlearn.replays.worstcases import long_shot, prop53, prop56, theorem63
from streamlearn.replays.writing import write

__all__ = [
    "SKY",
    "AdversarialStream",
    "ExampleStream",
    "image_segments",
    "littlestone_adversary",
    "long_shot",
    "noisy",
    "phishing",
    "point3_adversary",
    "prop53",
    "prop56",
    "random_path",
    "realisable",
    "sea",
    "stagger",
    "subsampled_soa_law",
    "theorem63",
    "write",
]

SKY = ("rawblue-mean", 100.0)
"""The stump that tells sky in :func:`image_segments`: this feature is at least this much.

All 330 sky segments have 112.1 or more, all 1,980 others 91.4 or less. ``value-mean`` has the same gap, and
``intensity-mean`` one from 79.7 to 86.3.
"""


_SEGMENTS = 2310
_WEBSITES = 1250


@runtime_checkable
class Repeatable(Protocol):
    """A stream of known length that can be iterated again: a list of examples, or any stream of this module."""

    def __iter__(self) -> Iterator[Example]: ...
    def __len__(self) -> int: ...


class ExampleStream(msgspec.Struct, frozen=True, eq=False):
    """A stream that is made anew whenever it is iterated, always the same.

    Parameters
    ----------
    rounds
        Its length.
    start
        Returns a fresh iterator of that many examples.

    Examples
    --------
    >>> from streamlearn.replays.synthetic import ExampleStream
    >>> stream = ExampleStream(2, lambda: iter([("a", True), ("b", False)]))
    >>> len(stream), list(stream) == list(stream)
    (2, True)
    """

    rounds: int
    start: Callable[[], Iterator[Example]]

    def __iter__(self) -> Iterator[Example]:
        return self.start()

    def __len__(self) -> int:
        return self.rounds

    def __repr__(self) -> str:
        return f"<ExampleStream of {self.rounds} rounds>"


def realisable(
    cls: HypothesisClass,
    T: int,  # noqa: N803 - the paper's letter
    instances: Collection[Any],
    *,
    hypothesis: Callable[[Any], bool] | None = None,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> ExampleStream:
    """Draw instances uniformly, labelled by one hypothesis of a class.

    Parameters
    ----------
    cls
        The class.
    T
        Rounds.
    instances
        What to draw from; a ``range`` will do for numbers.
    hypothesis
        Labels the instances. None: a hypothesis is drawn, by going through the instances in random order and giving
        each a fair label unless only one is possible. So every labelling by the class can come.
    key, generator
        Where the draws come from; a fresh key by default.

    Raises
    ------
    ParameterError
        If the class does not know an instance, or no hypothesis of it labels as ``hypothesis`` does.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import synthetic
    >>> stream = synthetic.realisable(Thresholds(9), 4, range(1, 10), key=Key.from_seed(1))
    >>> list(stream)
    [(7, True), (1, False), (8, True), (5, True)]
    """
    rounds, listed = whole("T", T, 1, "it is a number of rounds"), list(instances)
    if not listed:
        raise ParameterError("instances must hold at least one, got none")
    draws = generator_of(key, generator)
    labels = _labels(cls, listed, hypothesis, draws)
    order = draws.integers(len(listed), size=rounds)
    examples = list(zip(listed, labels, strict=True))
    return ExampleStream(rounds, lambda: map(examples.__getitem__, order.tolist()))


def _labels(
    cls: HypothesisClass,
    instances: Sequence[Any],
    hypothesis: Callable[[Any], bool] | None,
    draws: np.random.Generator,
) -> list[bool]:
    space = cls.version_space()
    labels = [False] * len(instances)
    for place in draws.permutation(len(instances)).tolist():
        x = instances[place]
        if not cls.knows(x):
            raise ParameterError(f"instances[{place}] must be one that the class knows; leave it out")
        label = bool(draws.integers(2)) if hypothesis is None else bool(hypothesis(x))
        part = space.restrict(x, label)
        if part is None and hypothesis is None:
            label = not label
            part = space.restrict(x, label)
        if part is None:
            raise ParameterError(
                f"hypothesis must belong to the class, and none labels as it does at instances[{place}] and others"
            )
        labels[place], space = label, part
    return labels


def noisy(
    stream: Repeatable,
    rate: float,
    *,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> ExampleStream:
    """Turn the label of each round over with some probability, independently.

    Parameters
    ----------
    stream
        A stream of known length that can be iterated again.
    rate
        The probability, in [0, 1].
    key, generator
        Where the draws come from; a fresh key by default. Give another key than the stream's.

    Raises
    ------
    ParameterError
        If ``rate`` is outside its bound, or the stream has no length.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.replays import synthetic
    >>> list(synthetic.noisy([(1, True), (3, False)], 1.0, key=Key.from_seed(1)))
    [(1, False), (3, True)]
    """
    if not isinstance(stream, Repeatable):
        raise ParameterError(
            f"stream must have a length and be iterable again, got {type(stream).__name__}; list() it"
        )
    probability = real("rate", rate, 0.0, 1.0, "it is the probability of a wrong label")
    flips = np.packbits(generator_of(key, generator).random(len(stream)) < probability)

    def start() -> Iterator[Example]:
        turned = np.unpackbits(flips, count=len(stream)).astype(bool).tolist()
        return ((x, bool(y) is not flip) for (x, y), flip in zip(stream, turned, strict=True))

    return ExampleStream(len(stream), start)


def stagger(
    T: int,  # noqa: N803 - the paper's letter
    concept: int = 0,
    *,
    balanced: bool = False,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> ExampleStream:
    """Draw a stream from river's STAGGER: size, color and shape, each 0, 1 or 2.

    Parameters
    ----------
    T
        Rounds.
    concept
        0: size is 0 and color is 0. 1: color is 2 or shape is 0. 2: size is at least 1, which a stump realises.
    balanced
        Let labels 1 and 0 alternate.
    key, generator
        Where the draws come from; a fresh key by default.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.replays import synthetic
    >>> stream = synthetic.stagger(100, concept=2, key=Key.from_seed(1))
    >>> all((x["size"] >= 1) == y for x, y in stream)
    True
    """
    rounds = whole("T", T, 1, "it is a number of rounds")
    if concept not in {0, 1, 2}:
        raise ParameterError(f"concept must be 0, 1 or 2, got {concept!r}")
    seed = _seed(key, generator)

    def dataset() -> Iterable[tuple[Any, Any]]:
        from river.datasets import synth  # noqa: PLC0415 - 0.3 s, and only for this

        return synth.STAGGER(classification_function=concept, seed=seed, balance_classes=balanced)

    return ExampleStream(rounds, lambda: _first(dataset(), rounds, bool))


def sea(
    T: int,  # noqa: N803 - the paper's letter
    variant: int = 0,
    noise: float = 0.0,
    *,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> ExampleStream:
    """Draw a stream from river's SEA: three numbers in [0, 10], named 0, 1 and 2, the first two deciding.

    Parameters
    ----------
    T
        Rounds.
    variant
        The label is x[0] + x[1] > c with c = 8, 9, 7 or 9.5 for 0, 1, 2 or 3.
    noise
        The probability of a wrong label.
    key, generator
        Where the draws come from; a fresh key by default.

    Raises
    ------
    ParameterError
        If an argument is outside its bound.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.replays import synthetic
    >>> stream = synthetic.sea(100, variant=1, key=Key.from_seed(1))
    >>> all((x[0] + x[1] > 9) == y for x, y in stream)
    True
    """
    rounds = whole("T", T, 1, "it is a number of rounds")
    if variant not in {0, 1, 2, 3}:
        raise ParameterError(f"variant must be 0, 1, 2 or 3, got {variant!r}")
    wrong = real("noise", noise, 0.0, 1.0, "it is the probability of a wrong label")
    seed = _seed(key, generator)

    def dataset() -> Iterable[tuple[Any, Any]]:
        from river.datasets import synth  # noqa: PLC0415 - as above

        return synth.SEA(variant=variant, noise=wrong, seed=seed)

    return ExampleStream(rounds, lambda: _first(dataset(), rounds, bool))


def image_segments() -> ExampleStream:
    """Return river's image segments, sky (1) against the rest (0): 2,310 real examples that a decision stump realises.

    The stump is :data:`SKY`. Each x is a dict of 18 numeric features; 330 labels are 1.

    Examples
    --------
    >>> from streamlearn.replays import synthetic
    >>> feature, cut = synthetic.SKY
    >>> all((x[feature] >= cut) == y for x, y in synthetic.image_segments())
    True
    """

    def start() -> Iterator[Example]:
        from river.datasets import ImageSegments  # noqa: PLC0415 - as above

        dataset = ImageSegments()  # type: ignore[no-untyped-call]  # river leaves it so
        return _first(dataset, _SEGMENTS, "sky".__eq__)

    return ExampleStream(_SEGMENTS, start)


def phishing() -> ExampleStream:
    """Return river's phishing websites: 1,250 real examples that nothing realises, since equal ones differ in label.

    Each x is a dict of 9 numeric features; 548 labels are 1. The best stump, ``empty_server_form_handler`` below 1, is
    wrong on 144.

    Examples
    --------
    >>> from streamlearn.replays import synthetic
    >>> len(synthetic.phishing()), sum(y for _, y in synthetic.phishing())
    (1250, 548)
    """

    def start() -> Iterator[Example]:
        from river.datasets import Phishing  # noqa: PLC0415 - as above

        return _first(Phishing(), _WEBSITES, bool)

    return ExampleStream(_WEBSITES, start)


def _first(
    dataset: Iterable[tuple[Any, Any]], rounds: int, positive: Callable[[Any], bool]
) -> Iterator[Example]:
    return ((x, positive(y)) for x, y in itertools.islice(dataset, rounds))


def _seed(key: Key | None, generator: np.random.Generator | None) -> int:
    """Return a seed for a generator of river's, which are the standard library's."""
    return int(generator_of(key, generator).integers(2**63))
