"""The tree adversary of Theorem 2: streams on which private learners of any Littlestone class must err.

They are fixed before the learner runs, and realisable whatever is drawn: their labels follow a path down a shattered
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from streamlearn.bounds.arguments import whole
from streamlearn.errors import ParameterError
from streamlearn.hypotheses import HypothesisClass, ShatteredTree, shattered_tree
from streamlearn.randomness import Key
from streamlearn.replays.algorithm1 import (
    AdversarialStream,
    checked_insertion,
    checked_rounds,
    informative_rounds,
    laid,
)
from streamlearn.replays.draws import generator_of
from streamlearn.replays.judges import Example, Run, judge_of

_BLOCK = 32  # rounds in a block for each copy of its example (Lemma 5)


def littlestone_adversary(
    cls: HypothesisClass,
    T: int,  # noqa: N803 - the paper's letter
    *,
    learner: Any = None,
    p: float | None = None,
    copies: int = 1,
    candidates: int = 16,
    runs: int = 32,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> AdversarialStream:
    """Draw a stream from the tree adversary of Theorem 2: Algorithm 1 at the nodes of a path down a shattered tree.

    The zero edge of the root is the dummy. Each of the other d - 1 nodes of the path gets a phase of
    ⌊T/(d-1)⌋ rounds in which its example is Algorithm 1's informative one; its label B is the edge the path
    follows. Rounds left over are dummies. A class of dimension 1 has no node to spare for a dummy: its one example is
    shown in every round.

    Parameters
    ----------
    cls
        A class of Littlestone dimension d >= 1 that knows its shattered tree.
    T
        Rounds; with fewer than d - 1 only T nodes get a phase, of one round.
    learner
        None: labels and places are drawn, and the bound holds on average over the draws. Else they are chosen against
        a learner as the theorem does, phase by phase, the stream staying fixed before the learner runs: of
        ``candidates`` draws of the places and both labels, the one with most expected mistakes. A learner is either a
        function law(runs, x) that gives the probability of predicting 1 at x after the examples of ``runs``
        (:func:`subsampled_soa_law` is one), or an agent. An agent with a parameter ``key`` is judged by ``runs``
        clones with fresh keys; any other is taken to draw nothing, so that playing a copy tells its law exactly.
    p
        Algorithm 1's insertion probability; None: the paper's choice for ε = 1/100, δ = 0 and one phase.
    copies
        q: show an informative example q times in a row, from a random place of a block of 32q rounds that stands for a
        round of Algorithm 1. The paper takes q = ⌊0.01/ε⌋ against ε < 1/100 (Lemma 5).
    candidates, runs
        How many draws to choose from, and how many clones to estimate with.
    key, generator
        Where the draws come from; a fresh key by default.

    Returns
    -------
    AdversarialStream
        ``.chosen`` says which law was used.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or d is 0.
    SizeError
        If a class of your own does not say its pivots.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import synthetic
    >>> cls = Thresholds(7)
    >>> stream = synthetic.littlestone_adversary(cls, 600, learner=SOA(cls), p=1.0, key=Key.from_seed(1))
    >>> stream.path, stream.chosen, stream.expected_mistakes
    (((4, False), (6, False), (7, False)), 'against an exact law', 2.0)
    """
    count, d = checked_rounds(T), _dimension(cls)
    tree = shattered_tree(cls)
    dummy: Example | None = None
    if d > 1:
        dummy, tree = (tree.instance, False), tree.child(False)
    phases = min(max(1, d - 1), count)
    length, q = count // phases, whole("copies", copies, 1, "1 shows an informative example once")
    layout = _Layout(
        length, dummy, checked_insertion(length if q == 1 else max(1, length // (_BLOCK * q)), p), q
    )
    draws = generator_of(key, generator)
    if learner is None:
        return _joined(
            count, layout, _descent(tree, phases, lambda x: layout.phase(x, bool(draws.integers(2)), draws))
        )

    judge = judge_of(learner, whole("runs", runs, 1, "it is a number of clones"), draws)
    tries = whole("candidates", candidates, 1, "it is a number of draws")

    def hardest(x: Any) -> _Phase:
        options = [layout.phase(x, y, draws) for _ in range(tries) for y in (False, True)]
        chosen = max(options, key=lambda option: judge.mistakes(option.runs, [option.example]))
        judge.advance(chosen.runs)
        return chosen

    stream = _joined(count, layout, _descent(tree, phases, hardest))
    # Judged anew from the start: what led the choice flatters it where it is an estimate.
    review = judge_of(learner, runs, draws).mistakes(stream.runs, stream.path[-phases:])
    return msgspec.structs.replace(stream, chosen=judge.how, expected_mistakes=review)


class _Phase(NamedTuple):
    """What a node of the tree gets: its example, the places in the phase that show it, and the phase's runs."""

    example: Example
    places: Sequence[int]
    runs: list[Run]


class _Layout(NamedTuple):
    """What all phases share; without a dummy a phase shows its example all the time."""

    length: int
    dummy: Example | None
    p: float
    copies: int

    def phase(self, x: Any, y: bool, draws: np.random.Generator) -> _Phase:
        example = (x, y)
        if self.dummy is None:
            return _Phase(example, range(self.length), [(example, self.length)])
        places = self._places(draws)
        return _Phase(example, places, list(laid(self.length, self.dummy, example, places)))

    def _places(self, draws: np.random.Generator) -> Sequence[int]:
        if self.copies == 1:
            return informative_rounds(self.length, self.p, draws)
        blocks = self.length // (_BLOCK * self.copies)
        if blocks == 0:  # too short to hide anything (Lemma 5, n < 1/ε)
            return range(self.length)
        starts = [
            block * _BLOCK * self.copies + int(draws.integers(_BLOCK // 2 * self.copies))
            for block in informative_rounds(blocks, self.p, draws)
        ]
        return [start + copy for start in starts for copy in range(self.copies)]


def _descent(tree: ShatteredTree, phases: int, phase_of: Callable[[Any], _Phase]) -> Iterator[_Phase]:
    """Yield one phase a node, on the path whose edges are the phases' labels."""
    for _ in range(phases):
        phase = phase_of(tree.instance)
        yield phase
        tree = tree.child(phase.example[1])


def _joined(count: int, layout: _Layout, phases: Iterable[_Phase]) -> AdversarialStream:
    """Put phases one after the other; dummies fill the rounds left."""
    runs: list[Run] = []
    informative: list[int] = []
    path = [] if layout.dummy is None else [layout.dummy]
    start = 0
    for phase in phases:
        runs.extend(phase.runs)
        informative.extend(start + place for place in phase.places)
        path.append(phase.example)
        start += layout.length
    if layout.dummy is not None and start < count:
        runs.append((layout.dummy, count - start))
    return AdversarialStream(tuple(runs), np.array(informative, dtype=np.int64), tuple(path))


def random_path(
    cls: HypothesisClass,
    T: int,  # noqa: N803 - the paper's letter
    *,
    key: Key | None = None,
    generator: np.random.Generator | None = None,
) -> AdversarialStream:
    """Draw a random path down a shattered tree, the example of each node shown many times in a row.

    Every learner, private or not, errs on half of the d nodes on average; a private one as often as
    ``bounds.repetition_lower`` says, for each node. There is no dummy, and every round is informative.

    Parameters
    ----------
    cls
        A class of Littlestone dimension d >= 1 that knows its shattered tree.
    T
        Rounds, divided among the nodes as evenly as can be, earlier ones first; with fewer than d only the first T
        nodes are shown.
    key, generator
        Where the draws come from; a fresh key by default.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or d is 0.
    SizeError
        If a class of your own does not say its pivots.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import synthetic
    >>> synthetic.random_path(Thresholds(7), 7, key=Key.from_seed(2)).runs
    (((4, True), 3), ((2, True), 2), ((1, False), 2))
    """
    count, nodes = checked_rounds(T), min(_dimension(cls), checked_rounds(T))
    draws = generator_of(key, generator)
    path = shattered_tree(cls).path(tuple(bool(label) for label in draws.integers(2, size=nodes)))
    each, more = divmod(count, nodes)
    runs = tuple((example, each + (place < more)) for place, example in enumerate(path))
    return AdversarialStream(runs, np.arange(count), path)


def _dimension(cls: object) -> int:
    if not isinstance(cls, HypothesisClass):
        raise ParameterError(
            f"cls must be a hypothesis class, got {type(cls).__name__}; see streamlearn.hypotheses"
        )
    if cls.dimension == 0:
        raise ParameterError(
            "cls must have Littlestone dimension >= 1, got 0; one hypothesis is learned before it starts"
        )
    return cls.dimension
