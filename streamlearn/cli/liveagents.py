"""The agents of a live run, one a key, from the options of a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from streamlearn.cli import options
from streamlearn.errors import ParameterError

if TYPE_CHECKING:
    from streamlearn.base import Agent, Stopper
    from streamlearn.hypotheses import HypothesisClass
    from streamlearn.live import Store
    from streamlearn.planning import Plan
    from streamlearn.prediction import Predictor
    from streamlearn.randomness import Key

STOPPERS: Final = ("optimal", "static", "single-threshold")
PLANNED: Final = ("candidates", "private")
PREDICTORS: Final = ("soa", "subsampled", *PLANNED)
PLAN: Final = "plan"
"""The fact of a store that keeps a predictor's plan: finding it can take long, and a run has only one."""


class Choice(NamedTuple):
    """What a user asked for; None where nothing was said.

    Parameters
    ----------
    agent
        A stopper of ``solve`` or a predictor of ``predict``.
    priors
        The laws, for stoppers.
    cls, epsilon, delta, gamma, max_delay
        As ``solve`` and ``predict`` have them.
    """

    agent: str
    priors: str | None
    cls: str | None
    epsilon: str | None
    delta: float | None
    gamma: float | None
    max_delay: int | None

    @property
    def stops(self) -> bool:
        """Whether the agent is a stopper."""
        return self.agent.partition(":")[0] in STOPPERS

    def check(self) -> None:
        """Refuse options that the agent does not have.

        Raises
        ------
        ParameterError
            If there are some, or there is no such agent, or its class or priors are missing.
        """
        if not self.stops and self.agent not in PREDICTORS:
            raise ParameterError(
                f"--agent {self.agent!r} is unknown; choose {', '.join(STOPPERS)}[:RULE], {', '.join(PREDICTORS)}"
            )
        users = {
            "priors": STOPPERS,
            "cls": PREDICTORS,
            "epsilon": (*STOPPERS, *PLANNED),
            "delta": PLANNED,
            "gamma": ("subsampled",),
            "max_delay": PLANNED,
        }
        for name, agents in users.items():
            if getattr(self, name) is not None and self.agent.partition(":")[0] not in agents:
                option = {"cls": "class"}.get(name, name.replace("_", "-"))
                raise ParameterError(
                    f"--{option} is for {', '.join(agents)}, not for --agent {self.agent}; leave it out"
                )
        if self.stops and self.priors is None:
            raise ParameterError(f"--agent {self.agent} needs the priors, such as '10*uniform(0,1)'")
        if not self.stops and self.cls is None:
            raise ParameterError(f"--agent {self.agent} needs --class, such as thresholds:1000")

    def stopper(self) -> Stopper:
        """Return the stopper, solved."""
        from streamlearn import priors  # noqa: PLC0415 - keeps --help fast

        text = self.epsilon or "1"
        found = options.build_agent(self.agent, priors.parse(str(self.priors)), options.levels([text])[text])
        found.plan.digest  # noqa: B018 - made now, once; all clones share it
        return found

    def predictor(self, store: Store) -> Callable[[str], Agent]:
        """Return what makes the predictor of a key; its draws are the run's own, and the key's own."""
        from streamlearn.cli.predicting import build_predictors  # noqa: PLC0415 - keeps --help fast
        from streamlearn.hypotheses import notation  # noqa: PLC0415 - as above

        hypotheses = notation.parse(str(self.cls))
        planned: dict[str, Any] = {"max_delay": self.max_delay or 0}
        if self.agent in PLANNED:
            planned["plan"] = self._plan(store, hypotheses)
        gammas = None if self.gamma is None else [self.gamma]
        (first,) = build_predictors(hypotheses, [self.agent], gammas, planned, 0).values()
        secret = store.secret()
        return lambda key: _alike(first, secret.derive(key))

    def _plan(self, store: Store, hypotheses: HypothesisClass) -> Plan:
        """Return the plan of this run: the one it was begun with, where it was asked for in the same words."""
        import msgspec  # noqa: PLC0415 - keeps --help fast

        from streamlearn.planning import Plan, candidate_plan, private_plan  # noqa: PLC0415 - as above

        delta = 1e-6 if self.delta is None else self.delta
        asked = [self.agent, hypotheses.digest, self._level(), delta, self.max_delay or 0]
        kept = store.kept(PLAN)
        if kept is not None:
            before, text = msgspec.json.decode(kept, type=tuple[list[Any], str])
            if before == asked:
                return Plan.from_json(text, hypotheses)
        make = private_plan if self.agent == "private" else candidate_plan
        found = make(hypotheses, self._level(), delta, max_delay=self.max_delay or 0)
        if kept is None:
            with store.transaction():
                store.keep(PLAN, msgspec.json.encode((asked, found.to_json())).decode())
        return found

    def _level(self) -> float:
        text = self.epsilon or "1"
        level = options.levels([text])[text]
        if isinstance(level, list):
            raise ParameterError(f"--epsilon must be one number for --agent {self.agent}, got {text!r}")
        return level


def _alike(first: Predictor, key: Key) -> Predictor:
    """Return a fresh predictor with draws of its own; what was planned for the first is shared."""
    from streamlearn.agents import SOA, SubsampledSOA  # noqa: PLC0415 - keeps --help fast

    built: Any = first
    if isinstance(first, SOA):
        return SOA(built.hypotheses)
    if isinstance(first, SubsampledSOA):
        return SubsampledSOA(built.hypotheses, built.gamma, key)
    made: Predictor = type(built)(built.hypotheses, plan=built.plan, key=key, max_delay=built.max_delay)
    return made
