"""A predictor on one stream, as a mechanism: what everybody but one sees of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from streamlearn.prediction import Predictor
from streamlearn.randomness import Key


def played(
    agent_factory: Callable[[Key], Predictor], changed: int
) -> Callable[[Sequence[tuple[Any, bool]], Key], Hashable]:
    """Return a mechanism that plays a predictor on a stream and tells the answers of all rounds but one.

    Every round is asked twice before its label comes.

    Parameters
    ----------
    agent_factory
        Called with a key; returns a new predictor that draws from it alone.
    changed
        The round whose answers are left out, counted from 0: where the two streams differ that are compared.

    Examples
    --------
    >>> from streamlearn import Key, audit
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> mechanism = audit.played(lambda key: SubsampledSOA(Point3(), 0.5, key), changed=0)
    >>> streams = [(1, True), (1, True)], [(2, True), (1, True)]
    >>> report = audit.statistical(mechanism, *streams, epsilon=1.0, samples=4000, key=Key.from_seed(1))
    >>> report.verdict  # what is retained is seen, so no ε does without δ
    'refuted'
    """

    def mechanism(stream: Sequence[tuple[Any, bool]], key: Key) -> Hashable:
        agent = agent_factory(key)
        seen = []
        for t, (x, y) in enumerate(stream):
            answers = agent.predict_one(x), agent.predict_one(x, round=t)
            if t != changed:
                seen.append(answers)
            agent.learn_one(x, y, round=t)
        return tuple(seen)

    return mechanism
