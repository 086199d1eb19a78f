"""Every decoder of the package, with documents that it reads: what :mod:`fuzzing` is let loose on."""

from __future__ import annotations

from typing import Any

import msgspec
from fuzzagents import CUBE, KEY, combined_plan, fresh, of_agents, plan, reporting_plan, saved
from fuzzing import SECRET, Decoder
from fuzzlogs import of_logs, written
from fuzznotations import of_notations

from streamlearn.errors import MessageError, PlanError, StateError
from streamlearn.hypotheses import instances
from streamlearn.live import ExampleMessage, Message, ReportMessage
from streamlearn.live.messages import Reader
from streamlearn.live.predictors import PredictorSession
from streamlearn.live.stoppers import StopperSession
from streamlearn.planning import Plan
from streamlearn.privacy import Answered, Ledger, Recorded
from streamlearn.reporters import Reporter, ReportingPlan

# --- a person's memory, and everybody's ledger


def memory() -> bytes:
    reporter = Reporter(max_epsilon=2.0, key=KEY)
    for channel in reporting_plan():
        if channel.epsilon <= 1.0:
            reporter.report(value=0.7, channel=channel, event_id="a17")
    return msgspec.json.encode(reporter.state_dict())


def remembered(data: bytes) -> Reporter:
    return Reporter.load(written(data, "memory.json"))


def ledger() -> bytes:
    book = Ledger()
    book.record(Answered("p7", "job 1", "a17", reporting_plan()[1].tag))
    for event in ("e1", "e2"):
        book.record(Recorded("p7", "site 1", event, "joint", 1.0, 1e-6))
    return book.to_json()


# --- live streams


def read_report(data: bytes) -> Any:
    return Reader(ReportMessage)(Message("reports", (1,), data, "job 1"))[1]


def read_report_by_job(data: bytes) -> Any:
    return Reader(ReportMessage, key_field="job")(Message("reports", (1,), data, "job 1"))[1]


def read_example(data: bytes) -> Any:
    return Reader(ExampleMessage)(Message("examples", (1,), data, "site"))[1]


REPORTS = (
    b'{"round":1,"bit":0,"event_id":"a17","key":"job 1"}',
    b'{"round":20,"bit":1,"secret":%s}' % SECRET.encode(),
    b'{"round":20,"bit":1,"event_id":"a17","job":"%s"}' % SECRET.encode(),
)
EXAMPLES = (
    b'{"event_id":"a17","x":{"height":%s,"name":"%s"},"key":"site"}' % ((SECRET.encode(),) * 2),
    b'{"event_id":"a17","x":[1,["%s",null]],"y":true}' % SECRET.encode(),
    b'{"event_id":"a17","y":0}',
)


def stopping(data: bytes) -> StopperSession:
    return StopperSession("run", "job 1", fresh("LDPOptimalStopper"), data)


def predicting(data: bytes) -> PredictorSession:
    no_events: Any = None
    return PredictorSession("run", "site", fresh("SOA"), no_events, 10, data)


SESSION_OF_STOPPER = (b'{"agent":%b,"ids":["a17",null],"early":{"3":[1,"b2"]}}' % saved("LDPOptimalStopper"),)
SESSION_OF_PREDICTOR = (b'{"agent":%b,"asked":3,"open":1,"early":0}' % saved("SOA"),)


def instance(data: bytes) -> tuple[Any] | None:
    """Return an instance, alone in a tuple: it may be None."""
    try:
        plain = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return (instances.from_plain(plain),)


DECODERS: list[Decoder] = [
    Decoder(
        "reporting plan",
        ReportingPlan.from_json,
        lambda it: it.to_json().encode(),
        (reporting_plan().to_json().encode(),),
        PlanError,
    ),
    Decoder(
        "private plan",
        lambda data: Plan.from_json(data, CUBE),
        lambda it: it.to_json().encode(),
        (plan().to_json().encode(), combined_plan().to_json().encode()),
    ),
    *of_agents(),
    Decoder(
        "reporter's memory",
        remembered,
        lambda it: msgspec.json.encode(it.state_dict()),
        (memory(),),
        StateError,
    ),
    Decoder("privacy ledger", Ledger.from_json, Ledger.to_json, (ledger(),), StateError),
    Decoder("report message", read_report, msgspec.json.encode, REPORTS, MessageError, discreet=True),
    Decoder(
        "report by job",
        read_report_by_job,
        lambda it: (
            b'{"job":%b,%b' % (msgspec.json.encode(it.key), msgspec.json.encode(it)[1:])
            if it.key
            else msgspec.json.encode(it)
        ),
        REPORTS,
        MessageError,
        discreet=True,
    ),
    Decoder("example message", read_example, msgspec.json.encode, EXAMPLES, MessageError, discreet=True),
    Decoder("session of a stopper", stopping, StopperSession.dump, SESSION_OF_STOPPER, StateError),
    Decoder("session of a predictor", predicting, PredictorSession.dump, SESSION_OF_PREDICTOR, StateError),
    *of_logs(),
    *of_notations(),
    Decoder(
        "instance",
        instance,
        lambda it: msgspec.json.encode(instances.to_plain(it[0])),
        (b'{"tuple":["a",1,{"set":[1,{"float":"inf"}]}]}',),
        StateError,
    ),
]
