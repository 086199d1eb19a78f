"""The contract of predictors: a bit a round, its label later.

======================================  ==============================================================================
call                                    effect
======================================  ==============================================================================
``predict_one(x)``                      a bit; nothing changes, however often asked
``predict_one(x, round=r)``             the same bit; round r now awaits its label (asked again, nothing changes)
a round asked after its label came      ``RoundError``; nothing changes (each event has a number of its own)
``learn_one(x, y)``                     the label of the oldest round asked by number; without one, of the next in
                                        order
``learn_one(x, y, round=r)``            the label of round r, whatever came in between
a label for a round that awaits none    ``RoundError``; nothing changes (never asked, a duplicate, or given up)
a label that is not 0 or 1              ``LabelError``; nothing changes
``give_up(r)``                          no label is awaited for round r any more, and one that comes is refused
an x that is neither hashable nor a     ``InstanceError``; nothing changes
dict of features
an x the class does not know            the public default hypothesis answers; its label teaches nothing
======================================  ==============================================================================

At most ``MOST_PENDING`` rounds await their label at once; beyond, the oldest is given up, so labels that never come
do not fill the memory.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any, Self

import river.base

from streamlearn.base import Agent
from streamlearn.errors import InstanceError, LabelError, ParameterError
from streamlearn.rounds import Rounds, Tally


class Predictor(Agent, river.base.Classifier):
    """Predicts a bit for every instance. The table of legal calls is at the head of this module.

    A subclass says what it predicts in ``_predict`` and what a label teaches it in ``_learn``.
    """

    _rounds: Rounds

    @abc.abstractmethod
    def _predict(self, x: Any) -> bool:
        """Return the bit for a checked instance."""

    @abc.abstractmethod
    def _learn(self, x: Any, y: bool, round: int | str) -> None:  # noqa: A002 - the field's own word
        """Take in a checked instance with its label; ``round`` is the round's identity, which draws are keyed by."""

    def predict_one(self, x: Any, *, round: int | None = None, **kwargs: Any) -> bool:  # noqa: A002, ARG002 - the contract's own names
        """Return the predicted bit for ``x``.

        Parameters
        ----------
        x
            A dict of features, or any hashable instance.
        round
            The number of the event, where its label may come late or out of order.

        Raises
        ------
        InstanceError
            If ``x`` is neither hashable nor a dict.
        RoundError
            If ``round`` is not a whole number >= 0.
        """
        check_instance(x)
        if round is not None:
            self._rounds.ask(round)
        return self._predict(x)

    def learn_one(self, x: Any, y: Any = None, *, round: int | None = None, **kwargs: Any) -> None:  # noqa: A002, ARG002 - the contract's own names
        """Take in the label of an instance.

        Parameters
        ----------
        x
            The instance that was asked.
        y
            Its label: 0 or 1, of any numeric type, or a boolean.
        round
            The number it was asked with.

        Raises
        ------
        LabelError
            If the label is missing or not binary. Nothing then changes, and the round awaits its label still.
        RoundError
            If no label is awaited for the round.
        InstanceError
            If ``x`` is neither hashable nor a dict.
        """
        check_instance(x)
        label = binary_label(y)
        self._learn(x, label, self._rounds.answer(round))

    def _taught(self, x: Any, y: bool) -> bool:
        """Take in the label of the next round, asked without a number, and return the bit that was due."""
        bit = self.predict_one(x)
        self.learn_one(x, y)
        return bit

    def give_up(self, round: int) -> None:  # noqa: A002 - the field's own word
        """Await no label for a round any more: it is known that none will come.

        Parameters
        ----------
        round
            The number it was asked with.

        Raises
        ------
        RoundError
            If no label is awaited for the round.

        Examples
        --------
        >>> from streamlearn.agents import SOA
        >>> from streamlearn.hypotheses import Point3
        >>> learner = SOA(Point3())
        >>> learner.predict_one(1, round=7), learner.predict_one(2, round=8)
        (False, False)
        >>> learner.give_up(7)
        >>> learner.learn_one(2, True)  # the oldest that awaits one: round 8
        >>> learner.predict_one(2)
        True
        """
        self._rounds.give_up(round)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Return 1 for the predicted bit and 0 for the other: it tells no more than :meth:`predict_one`.

        Raises
        ------
        InstanceError, RoundError
            As :meth:`predict_one`.
        """
        bit = self.predict_one(x, **kwargs)
        return {bit: 1.0, not bit: 0.0}

    def _tally(self) -> Tally:
        """Return what was seen of the rounds."""
        return self._rounds.tally()

    def _closed_before(self, round: int) -> bool:  # noqa: A002 - the field's own word
        """Return whether a round was answered or given up, so that asking for it is refused."""
        return round in self._tally().answered

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a predictor with the same parameters but for those given, which has learned nothing.

        Parameters
        ----------
        new_params
            Parameters by name.
        include_attributes
            Whether what was learned is taken along.

        Raises
        ------
        ParameterError
            If one given is no parameter, or outside its bound.

        Examples
        --------
        >>> from streamlearn.agents import SOA
        >>> from streamlearn.hypotheses import Point3, Thresholds
        >>> SOA(Point3()).clone({"hypotheses": Thresholds(9)})
        SOA(hypotheses=Thresholds(9))
        """
        _check_names("new_params", {} if new_params is None else new_params, self._get_params())
        return super().clone(new_params, include_attributes)

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Change attributes in place, which only a predictor can that has some in river's ``_mutable_attributes``.

        Parameters
        ----------
        new_attrs
            Attributes by name.

        Raises
        ------
        ParameterError
            If one cannot be changed: what was learned and what is promised belong to the parameters as they were.

        Examples
        --------
        >>> from streamlearn.agents import SOA
        >>> from streamlearn.hypotheses import Point3
        >>> SOA(Point3()).mutate({"hypotheses": Point3()})
        Traceback (most recent call last):
            ...
        streamlearn.errors.ParameterError: new_attrs may name nothing, got 'hypotheses'; clone() makes another predictor
        """
        _check_names("new_attrs", new_attrs, self._mutable_attributes)
        super().mutate(new_attrs)

    def _unlearned(self) -> None:
        """Forget all rounds; a subclass also forgets what it learned."""
        self._rounds = Rounds()


def _check_names(argument: str, given: object, known: Iterable[str]) -> None:
    names = sorted(known)
    if not isinstance(given, dict):
        raise ParameterError(f"{argument} must be a dict by name, got {type(given).__name__}")
    for name in given:
        if name not in names:
            raise ParameterError(
                f"{argument} may name {', '.join(names) or 'nothing'}, got {name!r}; clone() makes another predictor"
            )


def check_instance(x: Any) -> None:
    """Refuse what is neither hashable nor a dict.

    Raises
    ------
    InstanceError
        If so.

    Examples
    --------
    >>> from streamlearn.prediction import check_instance
    >>> check_instance({"height": 1.8})
    """
    if type(x).__hash__ is None and not isinstance(x, dict):
        raise InstanceError(
            f"x must be a dict of features or hashable, got {type(x).__name__}; a tuple serves for a list"
        )


def binary_label(y: Any) -> bool:
    """Return a label as a boolean.

    Raises
    ------
    LabelError
        If it is not binary.

    Examples
    --------
    >>> from streamlearn.prediction import binary_label
    >>> binary_label(1.0), binary_label(False)
    (True, False)
    """
    if y is True or y is False:
        return bool(y)
    try:
        if y == 0 or y == 1:  # noqa: PLR1714 - a set would hash what may not be hashable
            return bool(y)
    except (TypeError, ValueError):  # an array of many
        pass
    raise LabelError(
        "y must be 0, 1, False or True; map other labels to these two, and wait for labels that are None"
    )
