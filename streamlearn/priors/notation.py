"""The command line's notation for priors."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Callable
from typing import Any, Final

from streamlearn.errors import PriorError
from streamlearn.plans import MAX_STAGES
from streamlearn.priors.base import Prior
from streamlearn.priors.continuous import Beta, Exponential, Gamma, Pareto, Uniform, Weibull
from streamlearn.priors.finite import Discrete, PointMass
from streamlearn.priors.gaussian import LogNormal, TruncatedNormal

EXAMPLE: Final = "10*uniform(0,1); lognormal(0,0.5); discrete(0:0.9,5:0.1); 0.7"

_TERM = re.compile(
    r"(?:(?P<repeat>\d{1,9})\s*+\*\s*+)?"  # possessive: no text makes it go back and forth over blanks
    r"(?:(?P<name>[A-Za-z_]\w*+)\s*+\((?P<inside>[^()]*+)\)|(?P<number>[^()*]++))"
)
_MARK = re.compile("[,;()]")


def _normal(mean: float, sd: float) -> Prior:
    return TruncatedNormal(mean, sd)


_LAWS: Final[dict[str, Callable[..., Prior]]] = {
    "beta": Beta,
    "exponential": Exponential,
    "gamma": Gamma,
    "lognormal": LogNormal,
    "normal": _normal,
    "pareto": Pareto,
    "truncated_normal": TruncatedNormal,
    "uniform": Uniform,
    "weibull": Weibull,
}


def parse(text: str) -> list[Prior]:
    """Return the priors that ``text`` lists, one per stage.

    Parameters
    ----------
    text
        Terms separated by commas or semicolons. A term is a number (a value known in advance) or a law with
        its parameters in the order of its class, or by name: ``uniform(0,1)``, ``exponential(1)``,
        ``lognormal(0,0.5)``, ``gamma(2,1)``, ``weibull(1.5)``, ``pareto(2.5)``, ``pareto(2.5,minimum=2)``,
        ``beta(2,5)``, ``truncated_normal(1,1,0,inf)``, ``discrete(value:probability,...)``. ``normal(1,1)``
        is the normal law given that it is >= 0: a value cannot be negative. ``10*`` before a term repeats it
        for ten stages, so ``10*0.7`` is ten stages of 0.7.

    Raises
    ------
    PriorError
        If a term cannot be read; the message shows it, what is known and an example.

    Examples
    --------
    >>> from streamlearn import priors
    >>> priors.parse("2*pareto(2.5); discrete(0:0.9,5:0.1), 0.7")[1:]
    [Pareto(alpha=2.5, minimum=1.0, loc=0.0), Discrete([0.0, 5.0], [0.9, 0.1]), PointMass(0.7)]
    """
    if not isinstance(text, str):
        raise PriorError(f"priors must be text, got {type(text).__name__}; for instance {EXAMPLE!r}")
    stages: list[Prior] = []
    for term in _terms(text):
        repeat, prior = _term(term.strip())
        if len(stages) + repeat > MAX_STAGES:
            raise PriorError(f"{term.strip()!r}: more than {MAX_STAGES} stages; split the problem")
        stages += [prior] * repeat
    return stages


def _terms(text: str) -> list[str]:
    """Return what lies between separators, those within parentheses being none: the next of these closes."""
    cuts = [len(text)]
    inside = False
    for mark in reversed(list(_MARK.finditer(text))):
        if mark[0] in "()":
            inside = mark[0] == ")"
        elif not inside:
            cuts.append(mark.start())
    cuts.append(-1)
    return [text[start + 1 : end] for end, start in itertools.pairwise(cuts)][::-1]


def _term(term: str) -> tuple[int, Prior]:
    match = _TERM.fullmatch(term)
    if match is None:
        raise _unreadable(term, "it is neither a number nor a law with its parameters in parentheses")
    repeat = int(match["repeat"] or 1)
    if repeat == 0:
        raise _unreadable(term, "it is repeated 0 times")
    if match["number"] is not None:
        return repeat, _built(term, PointMass, _number(term, match["number"]))
    name = match["name"].lower()
    parts = [part.strip() for part in match["inside"].split(",")] if match["inside"].strip() else []
    if name == "discrete":
        return repeat, _discrete(term, parts)
    if name not in _LAWS:
        raise _unreadable(term, f"there is no law {name!r}")
    return repeat, _law(term, _LAWS[name], parts)


def _law(term: str, law: Callable[..., Prior], parts: list[str]) -> Prior:
    positional: list[float] = []
    named: dict[str, float] = {}
    for part in parts:
        name, equals, value = part.rpartition("=")
        if equals:
            named[name.strip()] = _number(term, value)
        else:
            positional.append(_number(term, value))
    signature = inspect.signature(law)
    try:
        bound = signature.bind(*positional, **named)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise _unreadable(term, f"{error} (its parameters are {names})") from None
    return _built(term, law, *bound.args, **bound.kwargs)


def _discrete(term: str, parts: list[str]) -> Prior:
    pairs = [part.split(":") for part in parts]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise _unreadable(term, "a discrete law is value:probability, ...")
    values, probs = ([_number(term, pair[i]) for pair in pairs] for i in range(2))
    return _built(term, Discrete, values, probs)


def _built(term: str, law: Callable[..., Prior], *args: Any, **kwargs: Any) -> Prior:
    try:
        return law(*args, **kwargs)
    except PriorError as error:
        raise PriorError(f"{term!r}: {error}") from None


def _number(term: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise _unreadable(term, f"{text.strip()!r} is not a number")
    return value


def _unreadable(term: str, reason: str) -> PriorError:
    known = ", ".join(sorted([*_LAWS, "discrete"]))
    return PriorError(
        f"cannot read the prior {term!r}: {reason}; known laws: {known}, or a number; example: {EXAMPLE}"
    )
