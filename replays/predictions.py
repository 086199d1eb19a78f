"""What a replay found about one predictor."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from streamlearn.privacy import Guarantee
from streamlearn.replays.scores import Interval

_NORMAL = 1.959963984540054  # the normal law's 97.5 % quantile


class PredictionResult(msgspec.Struct, frozen=True):
    """How one predictor fared on a stream.

    Parameters
    ----------
    agent
        Its name.
    rounds
        Events predicted.
    wrong
        The events, counted from 0, on which the prediction was wrong; increasing.
    informative
        The stream's informative events, if it says which they are.
    guarantee
        What the predictor promises; nothing where it does not say.
    mistake_bound
        The most mistakes, or the most on average, that it promises on a realisable stream; None where it does not say,
        or labels were late.

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> from streamlearn.replays import replay
    >>> result = replay([(x, x >= 6) for x in range(1, 8)], SOA(Thresholds(7)))
    >>> result.rounds, result.mistakes <= result.mistake_bound
    (7, True)
    """

    agent: str
    rounds: int
    wrong: npt.NDArray[np.int64]
    informative: npt.NDArray[np.int64] | None = None
    guarantee: Guarantee = Guarantee.none()
    mistake_bound: float | None = None

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions."""
        return len(self.wrong)

    @property
    def score(self) -> float:
        """The share of right predictions."""
        return 1.0 - self.mistakes / self.rounds

    @property
    def informative_mistakes(self) -> int | None:
        """The wrong predictions on informative events; None where the stream does not say which they are."""
        return None if self.informative is None else int(np.isin(self.wrong, self.informative).sum())

    @property
    def interval(self) -> Interval:
        """A 95 % interval of :attr:`score` if events were independent (Wilson); streams often are not."""
        z2, n, p = _NORMAL**2, self.rounds, self.score
        centre = (p + z2 / (2 * n)) / (1 + z2 / n)
        half = math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return Interval(centre - half, centre + half)

    def curve(self, points: int = 200) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return event counts and the mistakes made by then: two arrays of at most ``points`` entries."""
        counts = np.unique(np.linspace(1, self.rounds, min(points, self.rounds)).astype(np.int64))
        return counts, np.searchsorted(self.wrong, counts, side="left")

    def as_dict(self) -> dict[str, Any]:
        """Return the figures and the running curve as plain JSON types."""
        counts, mistakes = self.curve()
        return {
            "agent": self.agent,
            "guarantee": str(self.guarantee),
            "rounds": self.rounds,
            "mistakes": self.mistakes,
            "score": self.score,
            "interval": list(self.interval),
            "mistake_bound": self.mistake_bound,
            "informative_rounds": None if self.informative is None else len(self.informative),
            "informative_mistakes": self.informative_mistakes,
            "curve": {"rounds": counts.tolist(), "mistakes": mistakes.tolist()},
        }

    def summary(self) -> str:
        """Return the figures as a few lines of text."""
        lines = [
            f"{self.agent}: {self.guarantee}",
            f"  {self.mistakes} mistakes in {self.rounds} rounds ({self.score:.2%} right)",
        ]
        if self.informative is not None:
            lines.append(f"  on the {len(self.informative)} informative rounds: {self.informative_mistakes}")
        if self.mistake_bound is not None:
            lines.append(f"  at most {self.mistake_bound:g} promised, if some hypothesis fits the stream")
        return "\n".join(lines)
