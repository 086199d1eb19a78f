"""What happened that costs somebody privacy: facts, apart from what they cost.

A ledger keeps these for good, so names and fields are never removed and never change their meaning. What they cost is
worked out when it is asked for: a better theorem lowers the price of what has long happened.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

import msgspec

from streamlearn.channels import Channel
from streamlearn.errors import ParameterError
from streamlearn.privacy.guarantees import Guarantee, Notion
from streamlearn.privacy.theorems import convert, group

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
_STRENGTH: tuple[Notion, ...] = ("local", "central", "joint")  # each implies the next


class Answered(msgspec.Struct, frozen=True, tag="answered", forbid_unknown_fields=True):
    """A person sent a bit that a channel drew.

    Parameters
    ----------
    person
        Who, by a name that the ledger's keeper gives; never derived from a value.
    stream
        In which stream of decisions.
    event
        About what: the report's event id. The same question about it again repeats the bit, and costs nothing.
    law
        By which law: :attr:`streamlearn.Channel.tag`.

    Examples
    --------
    >>> from streamlearn import Channel
    >>> from streamlearn.privacy import Answered
    >>> law = Channel.randomized_response(round=1, threshold=0.5, epsilon=1.0).tag
    >>> Answered(person="p7", stream="job 1", event="a17", law=law).stream
    'job 1'
    """

    person: Name
    stream: Name
    event: Name
    law: str


class Recorded(msgspec.Struct, frozen=True, tag="recorded", forbid_unknown_fields=True):
    """A record of a person's entered a stream whose agent keeps a guarantee for every record.

    Parameters
    ----------
    person, stream, event
        As in :class:`Answered`; the event is the record.
    notion, epsilon, delta
        What is kept for one record, by the whole run of the agent; finite.

    Examples
    --------
    >>> from streamlearn.privacy import Recorded
    >>> Recorded("p7", "site 1", "e9", "joint", 1.0, 1e-6).notion
    'joint'
    """

    person: Name
    stream: Name
    event: Name
    notion: Literal["joint", "central"]
    epsilon: float
    delta: float = 0.0


Spending: TypeAlias = Answered | Recorded


def check(happened: object) -> Spending:
    """Return what happened if its fields are what they should be.

    Raises
    ------
    ParameterError
        If they are not.
    """
    if not isinstance(happened, Answered | Recorded):
        raise ParameterError(
            f"only Answered and Recorded can be written into a ledger, not {type(happened).__name__}"
        )
    try:
        checked: Spending = msgspec.convert(msgspec.to_builtins(happened), Spending)
    except msgspec.MsgspecError as error:
        raise ParameterError(f"{type(happened).__name__}: {error}") from None
    if isinstance(checked, Answered):
        Channel.from_tag(checked.law)
    elif math.isinf(Guarantee(checked.notion, checked.epsilon, checked.delta).epsilon):
        raise ParameterError(
            "epsilon must be finite: records of an agent that promises nothing cannot be accounted for"
        )
    return checked


def parts(happened: Iterable[Spending]) -> list[Guarantee]:
    """Return what each part of what happened to one person promises that person, all under one notion.

    Reports are a part each. The records of one stream, under one guarantee, are one part: their run saw them together.

    Parameters
    ----------
    happened
        Distinct events of one person.

    Examples
    --------
    >>> from streamlearn.privacy import Recorded
    >>> from streamlearn.privacy.spending import parts
    >>> [str(it) for it in parts(Recorded("p7", "site 1", event, "joint", 1.0) for event in ("e9", "f2"))]
    ['2-joint differential privacy per person']
    """
    found: list[Guarantee] = []
    records: Counter[tuple[str, Guarantee]] = Counter()
    for it in happened:
        if isinstance(it, Answered):
            found.append(Guarantee("local", Channel.from_tag(it.law).realised_epsilon, 0.0, "person"))
        else:
            records[it.stream, Guarantee(it.notion, it.epsilon, it.delta, "event")] += 1
    found += [group(guarantee, count) for (_, guarantee), count in records.items()]
    notions = {it.notion for it in found}
    weakest: Notion = next((it for it in reversed(_STRENGTH) if it in notions), "local")
    return [convert(it, weakest) for it in found]
