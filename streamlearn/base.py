"""The contracts: what an agent is, and the sequences of calls that are legal.

Stopping, for a stopper of horizon n that has not stopped (``round`` is the round it waits for, 1..n):

======================  =======================  ==========================================================
state                   call                     effect
======================  =======================  ==========================================================
waiting, round <= n     ``channel``              the channel of ``round``
waiting, round <= n     ``predict_one(report)``  True iff the bit is 1; nothing changes, however often asked
waiting, round <= n     ``learn_one(report)``    bit 1: stopped; bit 0: ``round`` grows by one
waiting                 report of another round  ``ReportError``; nothing changes
waiting                 bit not 0 or 1           ``ReportError``; nothing changes
waiting                 bit the channel cannot   ``ReportError``; nothing changes (a constant channel has
                        send                     only one)
past n, not stopped     any of the three         ``HorizonError``; nothing changes
stopped                 ``channel``              the constant 0 of ``round``: nobody is asked any more
stopped                 ``predict_one(any)``     False
stopped                 ``learn_one(any)``       ignored
======================  =======================  ==========================================================
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import msgspec
from river.base import Base

from streamlearn import state
from streamlearn.channels import Case, Channel, Report
from streamlearn.errors import HorizonError, ReportError, StateError, brief
from streamlearn.plans import ReportingPlan
from streamlearn.priors.base import Floats
from streamlearn.privacy import Guarantee


class Agent(Base, abc.ABC):
    """What decides. It sees reports or instances, never a private value behind a report.

    ``predict_one`` changes nothing and draws nothing: asked twice, it answers the same. ``learn_one``
    returns None. Every constructor argument is stored under its own name, and ``clone()`` gives a fresh
    agent built alike.
    """

    kind: ClassVar[str]
    """The name its saved states carry, given by :func:`streamlearn.state.register`."""

    @abc.abstractmethod
    def predict_one(self, x: Any, **kwargs: Any) -> bool:
        """Return the decision for ``x``; no state changes."""

    @abc.abstractmethod
    def learn_one(self, x: Any, y: Any = None, **kwargs: Any) -> None:
        """Take in ``x`` (and ``y`` where there is one)."""

    @property
    @abc.abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised to whom; ``Guarantee.none()`` when nothing is."""

    @property
    @abc.abstractmethod
    def parameters_digest(self) -> str:
        """A short name of the constructor's parameters, equal for agents built alike."""

    @abc.abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the whole state as plain JSON types."""

    @abc.abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a state that :meth:`state_dict` returned.

        Raises
        ------
        StateError
            If the state is malformed, newer, or belongs to another agent or to other parameters.
        """


class StopperState(msgspec.Struct, forbid_unknown_fields=True):
    """A stopper's whole state.

    Parameters
    ----------
    round
        The round it waits for, 1-based.
    stopped
        Whether somebody was taken.
    """

    round: int
    stopped: bool


class Stopper(Agent):
    """Takes the first person whose report is 1, irrevocably.

    A subclass chooses the channels: it passes each stage's case to ``_begin`` and builds the channel of
    one round in ``_channel``. The table of legal calls is at the head of this module.

    Attributes
    ----------
    priors
        The laws it was built for, as they were given.
    horizon
        The number of stages, n.
    round
        The round waited for, 1..n (n + 1: everybody has passed).
    stopped
        Whether somebody was taken.
    cases
        What each stage does with its person: ``"ask"``, ``"accept"`` or ``"skip"``.
    """

    priors: Sequence[Any]
    cases: list[Case]
    round: int
    stopped: bool

    def _begin(self, cases: list[Case]) -> None:
        self.cases = cases
        self.horizon = len(cases)
        self.round = 1
        self.stopped = False
        self._plan: list[ReportingPlan] = []  # filled when first asked for, and shared by all clones

    @property
    @abc.abstractmethod
    def value(self) -> float:
        """The expected true value taken, under the priors."""

    @property
    @abc.abstractmethod
    def thresholds(self) -> Floats:
        """What each stage's value is compared with, shape (n,)."""

    @abc.abstractmethod
    def _channel(self, round: int) -> Channel:  # noqa: A002 - the field's own word
        """Return the channel of one round in 1..n."""

    @property
    def plan(self) -> ReportingPlan:
        """The channels of all rounds: what clients need, public before anybody arrives."""
        if not self._plan:
            self._plan.append(ReportingPlan([self._channel(i) for i in range(1, self.horizon + 1)]))
        return self._plan[0]

    @property
    def channel(self) -> Channel:
        """The channel of the person awaited now."""
        if self.stopped:
            return Channel.constant(self.round, bit=0)
        self._check_horizon()
        return self._channel(self.round)

    def predict_one(self, x: Report, **kwargs: Any) -> bool:  # noqa: ARG002 - river's harness forwards keywords
        """Return whether to take this person. Nothing changes.

        Parameters
        ----------
        x
            The person's report.

        Raises
        ------
        ReportError
            If the report is for another round or carries a bit its channel cannot send.
        HorizonError
            If all rounds have passed.
        """
        if self.stopped:
            return False
        return self._bit(x) == 1

    def learn_one(self, x: Report, y: Any = None, **kwargs: Any) -> None:  # noqa: ARG002 - river's signature
        """Advance by one person: stop if the report is 1.

        Parameters
        ----------
        x
            The person's report.
        y
            Feedback; a stopper has no use for it.

        Raises
        ------
        ReportError, HorizonError
            As :meth:`predict_one`; nothing then changes.
        """
        if self.stopped:
            return
        if self._bit(x) == 1:
            self.stopped = True
        else:
            self.round += 1

    def _bit(self, report: Report) -> int:
        """Return the report's bit, checked against the round's channel."""
        if not isinstance(report, Report):
            raise ReportError(f"x must be a Report, got {type(report).__name__}; a Reporter makes one")
        position = self.round - 1
        if report.round != self.round or position >= self.horizon:
            self._check_horizon()
            raise ReportError(
                f"report is for round {report.round!r}, this stopper waits for round {self.round}; "
                "send each round's report once, in order"
            )
        bit = report.bit
        case = self.cases[position]
        if case == "ask":
            if type(bit) is int and 0 <= bit <= 1:
                return bit
            raise ReportError(f"bit of round {report.round} must be 0 or 1, as an int")
        if type(bit) is not int or bit != (case == "accept"):
            raise ReportError(
                f"the channel of round {report.round} is the constant {int(case == 'accept')} and the report "
                "says otherwise; the client must follow the plan"
            )
        return bit

    def _check_horizon(self) -> None:
        if self.round > self.horizon:
            raise HorizonError(
                f"all {self.horizon} rounds have passed and nobody was taken; clone() starts a new episode"
            )

    @property
    def guarantee(self) -> Guarantee:
        """ε-LDP for every person's report, with ε the most any stage of the plan really spends."""
        return Guarantee.local(self.plan.epsilon)

    @property
    def parameters_digest(self) -> str:
        """The digest of the plan: a stopper's behaviour is its plan."""
        return self.plan.digest

    def state_dict(self) -> dict[str, Any]:
        """Return the round and whether somebody was taken, as plain JSON types."""
        return state.packed(self, {"round": self.round, "stopped": self.stopped})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take on a saved state; refused unless it came from a stopper with the same plan."""
        body = unpack_stopper(self, state)
        self.round = body.round
        self.stopped = body.stopped

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a stopper at round 1 with the same parameters.

        Without ``new_params`` the solved plan is shared, so a clone costs a microsecond.
        """
        if new_params:
            return super().clone(new_params, include_attributes)
        fresh = copy.copy(self)
        if not include_attributes:
            fresh.round = 1
            fresh.stopped = False
        return fresh

    def __repr__(self) -> str:
        # river's repr would print the priors, and an empirical prior is a log of private values.
        return f"{type(self).__name__}(horizon={self.horizon}, round={self.round}, stopped={self.stopped})"


def lasting(given: Any) -> Any:
    """Return an argument as it is, but an iterator as a list: it is stored, and will be read again."""
    return list(given) if isinstance(given, Iterator) else given


def unpack_stopper(stopper: Stopper, saved: dict[str, Any]) -> StopperState:
    """Return a stopper's saved body, checked against its horizon."""
    body = state.unpack(stopper, saved, StopperState)
    if not 1 <= body.round <= stopper.horizon + (not body.stopped):
        raise StateError(
            f"round must lie in 1..{stopper.horizon} (one more where all have passed and nobody was taken), "
            f"got {brief(body.round)}; the state was edited or cut"
        )
    return body
