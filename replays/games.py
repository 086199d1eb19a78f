"""The online-learning game: a hypothesis is released before each instance is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from streamlearn.errors import ParameterError
from streamlearn.privacy import Guarantee


@runtime_checkable
class Releasing(Protocol):
    """A predictor that can say its whole current hypothesis."""

    def release(self) -> Callable[[Any], bool]:
        """Return the current hypothesis; it learns no more."""

    def predict_one(self, x: Any, /, **kwargs: Any) -> Any:
        """Return what the current hypothesis says."""

    def learn_one(self, x: Any, y: Any, /, **kwargs: Any) -> None:
        """Take in the label."""


class OnlineLearner:
    """Plays the online-learning game (Definition 1) with a predictor that can release hypotheses.

    In every round the hypothesis is released first and the instance applied to it afterwards, so everybody may see
    how the learner would label anything. That is more than online prediction shows, where only the answer to one's
    own instance is seen; the lower bounds of Theorems 1 and 2 are about this game. Give it to
    :func:`~streamlearn.replays.replay` like any predictor.

    Parameters
    ----------
    agent
        Has ``release()``, ``predict_one`` and ``learn_one``, as SOA and SubsampledSOA. These two say the same in both
        games: where they differ from a learner is what privacy asks of them.

    Attributes
    ----------
    mistake_bound, guarantee
        Those of ``agent``.

    Raises
    ------
    ParameterError
        If ``agent`` cannot release a hypothesis.

    Examples
    --------
    >>> from streamlearn import Key, bounds
    >>> from streamlearn.agents import SOA, SubsampledSOA
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.replays import OnlineLearner, replay_many, synthetic
    >>> stream = synthetic.point3_adversary(3**6, p=1.0, key=Key.from_seed(4))
    >>> learners = {
    ...     "not private": OnlineLearner(SOA(Point3())),
    ...     "(0, 0.01)": OnlineLearner(SubsampledSOA(Point3(), 0.01, Key.from_seed(1))),
    ... }
    >>> {name: result.mistakes for name, result in replay_many(stream, learners).items()}
    {'not private': 1, '(0, 0.01)': 3}
    """

    def __init__(self, agent: Releasing) -> None:
        if not isinstance(agent, Releasing):
            raise ParameterError(
                f"agent must have release(), and {type(agent).__name__} has none: it predicts and shows no hypothesis"
            )
        self.agent = agent
        self.mistake_bound: float | None = getattr(agent, "mistake_bound", None)
        self.guarantee: Guarantee = getattr(agent, "guarantee", Guarantee.none())

    def predict_one(self, x: Any, **numbered: Any) -> bool:
        """Release a hypothesis, and return what it says of the instance then shown; ``round=`` is handed on."""
        hypothesis = self.agent.release()
        if numbered:
            self.agent.predict_one(x, **numbered)
        return hypothesis(x)

    def learn_one(self, x: Any, y: Any, **numbered: Any) -> None:
        """Take in the label; ``round=`` is handed on."""
        self.agent.learn_one(x, y, **numbered)

    def __repr__(self) -> str:
        return f"OnlineLearner({self.agent!r})"
