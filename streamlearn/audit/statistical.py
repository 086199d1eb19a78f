"""Statistical audits: a lower bound of ε from samples, for anything that can be called.

Proof: ``statistical.proof.md`` beside this file.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np

from streamlearn.audit import clopperpearson
from streamlearn.audit.exact import claim_of
from streamlearn.audit.report import Report
from streamlearn.errors import ParameterError
from streamlearn.hypotheses.parameters import check_whole
from streamlearn.privacy import Notion
from streamlearn.randomness import KEY_BYTES, Key, checked_key
from streamlearn.rounding import as_float

LEAST_SAMPLES, MOST_SAMPLES = 256, 1 << 40
FIRST_LOOK = 4096
"""Samples at the first look, or a little more; each further one has twice as many."""

MOST_EVENTS = 1024
"""Events that one look chooses from, in either direction."""

_BLOCK = 1024

Mechanism = Callable[[Any, Key], Hashable]


class Arm:
    """Samples of a mechanism on one input, as they come: every other one for choosing, the rest for testing.

    Parameters
    ----------
    mechanism, given
        What is called, with what.
    key
        Every sample has a key of its own, made from this one.
    """

    def __init__(self, mechanism: Mechanism, given: Any, key: Key) -> None:
        self._mechanism = mechanism
        self._given = given
        self._keys = _keys(key)
        self.choosing: Counter[Hashable] = Counter()
        self.testing: Counter[Hashable] = Counter()
        self.each = 0

    def grow(self, each: int) -> None:
        """Draw until there are so many samples of either kind."""
        more, self.each = each - self.each, each
        mechanism, given, keys = self._mechanism, self._given, self._keys
        for counter in (self.choosing, self.testing):
            counter.update(map(mechanism, repeat(given), islice(keys, more)))


class Event(NamedTuple):
    """What is counted, chosen from samples that are not tested.

    Parameters
    ----------
    outcomes
        The event.
    swapped
        Whether it is likelier under the second input.
    """

    outcomes: frozenset[Hashable]
    swapped: bool


class Look(NamedTuple):
    """What one look found.

    Parameters
    ----------
    bound
        ε is at least this, but for the look's share of the error rate.
    text
        How it was found.
    """

    bound: float
    text: str


def statistical(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    samples: int = 1_000_000,
    error: float = 1e-6,
    key: Key | None = None,
    subject: str = "mechanism",
    notion: Notion = "central",
) -> Report:
    """Audit anything callable by sampling it on two neighbouring inputs.

    Events are chosen on one half of the samples and counted on the other; Clopper-Pearson bounds of both chances give a
    lower bound of ε at δ. It is looked at while samples double, and stops as soon as the claim is refuted.

    Parameters
    ----------
    mechanism
        Called as ``mechanism(given, key)`` with a fresh key each time; returns something hashable, all that an observer
        sees. Where outcomes hardly ever repeat, let it return a summary of them.
    first, second
        Two neighbouring inputs.
    epsilon, delta
        What is claimed, 0 <= ε < ∞ and 0 <= δ < 1.
    samples
        Runs in all, over both inputs: 256 or more.
    error
        How often at most a true claim is refuted, in (0, 1).
    key
        Where all draws come from; a fresh secret by default. The same key gives the same report.
    subject
        What the report calls it.
    notion
        Of what kind the claim is, which says what neighbours are: ``"local"``, ``"joint"`` or ``"central"``.

    Raises
    ------
    ParameterError
        If an argument is outside its bound, or the mechanism returns something that cannot be hashed.

    Examples
    --------
    >>> from streamlearn import Key, audit
    >>> def careless(bit, key):  # its ε is 1.1
    ...     return bit if key.bernoulli(7503, 10_000, "truth", 1) else 1 - bit
    >>> report = audit.statistical(careless, 0, 1, epsilon=1.0, samples=200_000, key=Key.from_seed(1))
    >>> report.verdict, round(report.bound, 2)
    ('refuted', 1.02)
    """
    claim = claim_of(epsilon, delta, notion)
    if math.isinf(claim.epsilon) or claim.delta >= 1.0:
        raise ParameterError(
            f"epsilon must be finite and delta below 1, got {epsilon!r} and {delta!r}; nothing is claimed that samples "
            "could refute"
        )
    total = check_whole("samples", samples, LEAST_SAMPLES)
    if total > MOST_SAMPLES:
        raise ParameterError(f"samples must be at most 2^40, got {samples!r}; 1,000,000 are usual")
    rate = as_float(error)
    if rate is None or not 0.0 < rate < 1.0:
        raise ParameterError(f"error must be a number in (0, 1), got {error!r}; 1e-6 is usual")
    source = checked_key(key)
    arms = tuple(
        Arm(mechanism, given, source.derive(f"audit/{place}")) for place, given in enumerate((first, second))
    )
    _check_hashable(mechanism, first, source)
    sizes = looks(total)
    best, drawn = Look(0.0, "no event is likelier under either input than the claim allows"), 0
    for number, (size, share) in enumerate(zip(sizes, shares(len(sizes), rate), strict=True), start=1):
        for arm in arms:
            arm.grow(size // 4)
        drawn = size // 4 * 4
        found = _look(arms, claim.delta, share)
        if found.bound > best.bound:
            best = found._replace(text=f"look {number} of {len(sizes)}: {found.text}")
        if best.bound > claim.epsilon:
            break
    return Report(
        subject=subject,
        claim=claim,
        method="statistical",
        size=drawn,
        counted="samples of two inputs",
        measure="epsilon",
        bound=best.bound,
        error=rate,
        verdict="refuted" if best.bound > claim.epsilon else "not refuted",
        finding=best.text,
        key=source.fingerprint,
    )


def looks(samples: int) -> list[int]:
    """Return how many samples there are at each look: all at the last, half as many at the one before, and so on.

    Parameters
    ----------
    samples
        All.

    Examples
    --------
    >>> from streamlearn.audit.statistical import looks
    >>> looks(40_000)
    [5000, 10000, 20000, 40000]
    """
    sizes = [samples]
    while sizes[0] // 2 >= FIRST_LOOK:
        sizes.insert(0, sizes[0] // 2)
    return sizes


def shares(count: int, error: float) -> list[float]:
    """Return each look's share of the error rate: half of it for the last, a quarter for the one before, and so on.

    Parameters
    ----------
    count
        The number of looks.
    error
        Of all together.

    Examples
    --------
    >>> from streamlearn.audit.statistical import shares
    >>> shares(3, 0.8)
    [0.1, 0.2, 0.4]
    """
    return [math.ldexp(error, place - count) for place in range(count)]


def _look(arms: tuple[Arm, ...], delta: float, share: float) -> Look:
    event = _chosen(arms, delta, share)
    likely, other = reversed(arms) if event.swapped else arms
    trials = likely.each
    counts = [sum(arm.testing[outcome] for outcome in event.outcomes) for arm in (likely, other)]
    bound = float(_bounds(np.array(counts[:1]), np.array(counts[1:]), trials, delta, share)[0])
    under = "second" if event.swapped else "first"
    return Look(
        bound,
        f"an event of {len(event.outcomes):,} outcomes came {counts[0]:,} times in {trials:,} under the {under} input, "
        f"{counts[1]:,} times under the other",
    )


def _chosen(arms: tuple[Arm, ...], delta: float, share: float) -> Event:
    """Return the event that would bound ε best, if the samples for choosing were those that count."""
    outcomes = list({**arms[0].choosing, **arms[1].choosing})
    counts = np.array([[arm.choosing[outcome] for outcome in outcomes] for arm in arms], dtype=np.int64)
    best, value = Event(frozenset(), swapped=False), -math.inf
    for swapped, (likely, other) in enumerate((counts, counts[::-1])):
        order = np.argsort((other + 0.5) / (likely + 0.5), kind="stable")
        tops = np.unique(np.geomspace(1, len(outcomes), MOST_EVENTS).astype(np.int64))
        sums = [np.cumsum(column[order])[tops - 1] for column in (likely, other)]
        bounds = _bounds(sums[0], sums[1], arms[0].each, delta, share)
        place = int(np.argmax(bounds))
        if bounds[place] > value:
            value = float(bounds[place])
            chosen = frozenset(outcomes[int(number)] for number in order[: tops[place]])
            best = Event(chosen, swapped=bool(swapped))
    return best


def _bounds(likely: Any, other: Any, trials: int, delta: float, share: float) -> Any:
    """Return ln((p - δ)/q) for the lower bound p and the upper bound q of the chances; 0 where p is at most δ."""
    p = clopperpearson.lower(likely, trials, share / 2.0) - delta
    q = clopperpearson.upper(other, trials, share / 2.0)
    return np.log(np.maximum(p, 1e-300) / q) * (1.0 - 1e-12)


def _keys(key: Key) -> Iterator[Key]:
    """Yield keys that are independent to whoever lacks the one they are made from."""
    block = 0
    while True:
        secrets = hashlib.shake_256(key.secret + block.to_bytes(8, "big")).digest(KEY_BYTES * _BLOCK)
        for start in range(0, len(secrets), KEY_BYTES):
            yield Key(secrets[start : start + KEY_BYTES])
        block += 1


def _check_hashable(mechanism: Mechanism, given: Any, key: Key) -> None:
    outcome = mechanism(given, key.derive("audit/trial"))
    try:
        hash(outcome)
    except TypeError:
        raise ParameterError(
            f"mechanism must return something hashable, got {type(outcome).__name__}; return a tuple of what is seen"
        ) from None
