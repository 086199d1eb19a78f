"""The standard optimal algorithm, and its subsampled, jointly private form.

Proof: ``soa.proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec

from streamlearn import state
from streamlearn.errors import ParameterError, StateError
from streamlearn.hypotheses import HypothesisClass, Point3, VersionSpace
from streamlearn.prediction import Predictor
from streamlearn.privacy import Guarantee
from streamlearn.randomness import Key, checked_key
from streamlearn.rounding import OUT_OF, as_float
from streamlearn.rounds import Rounds, RoundsState
from streamlearn.state import register


class SOAState(msgspec.Struct, forbid_unknown_fields=True):
    """The whole state of either predictor.

    Parameters
    ----------
    rounds
        Rounds that await their label.
    space
        The version space, as its class writes it; None where nothing is consistent.
    contradictions
        Labels that no remaining hypothesis agrees with.
    unknown
        Labels of instances that the class does not know.
    """

    rounds: RoundsState
    space: Any
    contradictions: int
    unknown: int


class _VersionSpacePredictor(Predictor):
    """Predicts with the hypotheses consistent with the examples taken in."""

    hypotheses: HypothesisClass
    contradictions: int
    unknown: int
    _space: VersionSpace | None

    def _begin(self) -> None:
        self._rounds = Rounds()
        self._space = self.hypotheses.version_space()
        self.contradictions = 0
        self.unknown = 0

    def _predict(self, x: Any) -> bool:
        space = self._space
        return self.hypotheses.default(x) if space is None else space.predict(x)

    def _taught(self, x: Any, y: bool) -> bool:
        bit = self._predict(x)
        self._learn(x, y, self._rounds.answer(None))
        return bit

    @property
    def realisable(self) -> bool:
        """Whether some hypothesis agrees with every example taken in; each must be of an instance the class knows."""
        return self.contradictions == self.unknown == 0

    def release(self) -> Released:
        """Return the current hypothesis, for the online-learning game (Definition 1): it learns no more."""
        return Released(self.hypotheses, self._space)

    def state_dict(self) -> dict[str, Any]:
        """Return the version space and the pending rounds as plain JSON types. The key is not part of it."""
        space = None if self._space is None else self._space.to_plain()
        return state.pack(self, SOAState(self._rounds.state(), space, self.contradictions, self.unknown))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state; refused unless it came from a predictor built alike."""
        body, space = _unpack(self, state)
        self._rounds = Rounds.restored(body.rounds)  # refuses before anything changes
        self._space = space
        self.contradictions, self.unknown = body.contradictions, body.unknown

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._get_params().items())
        return f"{type(self).__name__}({given})"


def _unpack(predictor: _VersionSpacePredictor, saved: dict[str, Any]) -> tuple[SOAState, VersionSpace | None]:
    body = state.unpack(predictor, saved, SOAState)
    if min(body.contradictions, body.unknown) < 0:
        raise StateError("the saved counts must be >= 0; the state was edited")
    return body, None if body.space is None else predictor.hypotheses.from_plain(body.space)


class Released:
    """A hypothesis as it was released: a function from instances to bits.

    Parameters
    ----------
    hypotheses
        The class it came from.
    space
        The version space it answers for; None for the public default hypothesis.

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> learner = SOA(Thresholds(7))
    >>> h = learner.release()
    >>> learner.learn_one(5, False)
    >>> h(3), learner.release()(3)
    (True, False)
    """

    __slots__ = ("_hypotheses", "_space")

    def __init__(self, hypotheses: HypothesisClass, space: VersionSpace | None) -> None:
        self._hypotheses = hypotheses
        self._space = space

    def __call__(self, x: Any) -> bool:
        """Return the bit for an instance."""
        return self._hypotheses.default(x) if self._space is None else self._space.predict(x)


@register("SOA")
class SOA(_VersionSpacePredictor):
    """The standard optimal algorithm: at most d mistakes on a realisable stream, and no privacy.

    It predicts 0 where the hypotheses that say 0 have the whole Littlestone dimension left, and 1 otherwise (before
    Definition 7), and keeps those that agree with the label. An example that no remaining hypothesis agrees with is
    counted in ``contradictions`` and left out; so on a stream that no hypothesis realises it keeps predicting by the
    examples before.

    Parameters
    ----------
    hypotheses
        The class, of :mod:`streamlearn.hypotheses` or one of your own.

    Attributes
    ----------
    contradictions
        Examples left out.
    unknown
        Labelled instances that the class does not know: no hypothesis says anything of them, so no bound does.

    Raises
    ------
    ParameterError
        If ``hypotheses`` is no hypothesis class.

    Examples
    --------
    >>> from streamlearn.agents import SOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> learner = SOA(Thresholds(1000))
    >>> mistakes = 0
    >>> for x in range(1, 1001, 7):
    ...     mistakes += learner.predict_one(x) != (x >= 613)
    ...     learner.learn_one(x, x >= 613)
    >>> mistakes <= learner.mistake_bound
    True
    """

    def __init__(self, hypotheses: HypothesisClass) -> None:
        self.hypotheses = _checked(hypotheses)
        self._begin()

    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002, ARG002 - the contract's own names
        space = self._space
        if space is None:
            return
        kept = space.restrict(x, y)
        if kept is None:
            self.contradictions += 1
        elif kept is not space:
            self._space = kept
        elif not self.hypotheses.knows(x):
            self.unknown += 1

    @property
    def mistake_bound(self) -> int:
        """The most mistakes on any realisable stream: the Littlestone dimension d."""
        return self.hypotheses.dimension

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is promised."""
        return Guarantee.none()

    @property
    def parameters_digest(self) -> str:
        """The digest of the class."""
        return self.hypotheses.digest

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"hypotheses": Point3()}


@register("SubsampledSOA")
class SubsampledSOA(_VersionSpacePredictor):
    """SOA on a random subset of the examples: (0, γ)-jointly differentially private (Fact 5).

    Each labelled example is retained with probability γ, by a keyed draw of its round; the prediction is SOA's on
    what was retained. Where nothing is consistent with that, the public default hypothesis answers from then on.

    Parameters
    ----------
    hypotheses
        The class.
    gamma
        The probability of retaining an example, 0 < γ <= 1.
    key
        Where the draws come from; a fresh secret by default. Runs with the same key draw alike.

    Attributes
    ----------
    contradictions, unknown
        As of :class:`SOA`, among the examples retained.

    Raises
    ------
    ParameterError
        If ``hypotheses`` is no hypothesis class, γ is outside (0, 1] or ``key`` is no :class:`~streamlearn.Key`.

    Examples
    --------
    >>> from streamlearn import Key
    >>> from streamlearn.agents import SubsampledSOA
    >>> from streamlearn.hypotheses import Thresholds
    >>> learner = SubsampledSOA(Thresholds(1000), gamma=0.01, key=Key.from_seed(1))
    >>> learner.mistake_bound, str(learner.guarantee)
    (900.0, '(0, 0.01)-joint differential privacy per event')
    """

    def __init__(self, hypotheses: HypothesisClass, gamma: float, key: Key | None = None) -> None:
        self.hypotheses = _checked(hypotheses)
        self.gamma = gamma
        rate = as_float(gamma)
        if rate is None or not 0.0 < rate <= 1.0:
            raise ParameterError(
                f"gamma must lie in (0, 1], got {gamma!r}; it is the chance of retaining an example"
            )
        self.key = checked_key(key)
        self._rate = rate
        self._retain_below = math.floor(Fraction(rate) * OUT_OF)  # rounded down: never retained more often
        if not self._retain_below:
            raise ParameterError(
                f"gamma must be at least 2^-64, got {gamma!r}; below, nothing would ever be retained"
            )
        self._begin()

    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002 - the contract's own name
        space = self._space
        if space is None or self.key.uniform64("SubsampledSOA/retain", round) >= self._retain_below:
            return
        self._space = space.restrict(x, y)
        if self._space is None:
            self.contradictions += 1
        elif self._space is space and not self.hypotheses.knows(x):
            self.unknown += 1

    @property
    def mistake_bound(self) -> float:
        """The most expected mistakes on any realisable stream: d/γ."""
        return self.hypotheses.dimension * (OUT_OF / self._retain_below)

    @property
    def guarantee(self) -> Guarantee:
        """(0, γ)-joint differential privacy of the other people's view, in any one labelled example."""
        return Guarantee("joint", 0.0, self._rate, "event")

    @property
    def parameters_digest(self) -> str:
        """The digests of the class, γ and the key: with another key a restored run would draw otherwise."""
        return f"{self.hypotheses.digest}/{self._rate.hex()}/{self.key.fingerprint}"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"hypotheses": Point3(), "gamma": 0.5, "key": Key.from_seed(1)}


def _checked(hypotheses: HypothesisClass) -> HypothesisClass:
    if not isinstance(hypotheses, HypothesisClass):
        raise ParameterError(
            f"hypotheses must be a hypothesis class, got {type(hypotheses).__name__}; "
            "streamlearn.hypotheses has some, and Finite takes a table"
        )
    return hypotheses
