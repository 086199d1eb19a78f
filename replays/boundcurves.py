"""Bounds as curves over the length of a stream: which there are, and what each says of a class and a privacy level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypedDict

import numpy as np

from streamlearn import bounds
from streamlearn.errors import ParameterError
from streamlearn.priors.base import Floats

Kind = Literal["lower", "upper", "quoted lower", "quoted upper", "detail"]

MOST_ROUNDS: Final = 10**300
"""The longest stream: its length must fit a double."""


class Setting(NamedTuple):
    """What bounds are asked for.

    Parameters
    ----------
    d
        The class's Littlestone dimension.
    dummy
        Whether some example leaves both labels open at another instance, as (3, 0) does in POINT3. A class of
        dimension 2 or more always has one.
    epsilon, delta
        The learner's privacy.
    gammas
        Retention probabilities of subsampled SOA.
    constant
        What to multiply the bounds of others with.
    candidate, head_start
        B and D of Theorem 3's predictor; None where there is no such plan.

    Examples
    --------
    >>> from streamlearn.replays.boundcurves import Setting
    >>> Setting(d=1, dummy=True).epsilon
    0.01
    """

    d: int
    dummy: bool
    epsilon: float = bounds.EPSILON_0
    delta: float = 0.0
    gammas: Sequence[float] = (0.01,)
    constant: float = 1.0
    candidate: float | None = None
    head_start: float = 0.0


class Curve(NamedTuple):
    """One bound over stream lengths.

    Attributes
    ----------
    name
        How it is asked for.
    kind
        ``"lower"``, ``"upper"``, the same ``"quoted"`` from others without their constant, or a ``"detail"``.
    source
        The theorem.
    values
        Expected mistakes, shape (lengths,).
    """

    name: str
    kind: Kind
    source: str
    values: Floats


class _Rule(NamedTuple):
    kind: Kind
    source: str
    of: Callable[[Sequence[int], Setting], Any]


class _Privacy(TypedDict):
    epsilon: float
    delta: float


def _privacy(at: Setting) -> _Privacy:
    return {"epsilon": at.epsilon, "delta": at.delta}


def _needs_dummy(at: Setting) -> None:
    if not (at.dummy or at.d >= 2):
        raise ParameterError(
            "it needs an example that leaves both labels open elsewhere, which this class of dimension "
            f"{at.d} is not known to have; ask for repetition"
        )


def _at_epsilon_0(at: Setting) -> None:
    if at.epsilon > bounds.EPSILON_0:
        raise ParameterError(
            f"epsilon must be at most {bounds.EPSILON_0}, the ε of Theorem 1, got {at.epsilon:g}; "
            "ask for algorithm1, which holds for every ε"
        )


def _repetition(lengths: Sequence[int], at: Setting) -> Any:
    if at.d == 0:
        raise ParameterError(
            "the class has dimension 0: one hypothesis forces no mistake; take a larger class"
        )
    return bounds.repetition_lower(lengths, **_privacy(at))


def _forced(lengths: Sequence[int], at: Setting) -> Any:
    if at.d <= 1 and at.dummy:
        return bounds.point3_lower(lengths, **_privacy(at))
    return bounds.littlestone_lower(lengths, at.d, **_privacy(at))


def _algorithm1(constants: Any) -> Callable[[Sequence[int], Setting], Any]:
    def of(lengths: Sequence[int], at: Setting) -> Any:
        _needs_dummy(at)
        return bounds.algorithm1_lower(lengths, **_privacy(at), constants=constants)

    return of


def _theorem1(constants: Any) -> Callable[[Sequence[int], Setting], Any]:
    def of(lengths: Sequence[int], at: Setting) -> Any:
        _needs_dummy(at)
        _at_epsilon_0(at)
        return bounds.theorem1_lower(lengths, delta=at.delta, constants=constants)

    return of


def _theorem2(lengths: Sequence[int], at: Setting) -> Any:
    return bounds.littlestone_lower(lengths, at.d, **_privacy(at), constants="paper")


def _theorem3(lengths: Sequence[int], at: Setting) -> Any:
    if at.candidate is None:
        raise ParameterError("Theorem 3 needs a plan's B (and D); give --candidate and --head-start")
    return np.full(len(lengths), bounds.private_predictor_upper(at.candidate, at.d, at.head_start))


def _leakage(lengths: Sequence[int], at: Setting) -> Any:
    """Return the most that the stages before the last tell of the bit B, at the paper's p."""
    told = [bounds.leakage(T, bounds.paper_probability(T, **_privacy(at)), **_privacy(at)) for T in lengths]
    return np.array([stages[-1] if len(stages) else 0.0 for stages in told])


def _quoted(name: str) -> _Rule:
    kind, _, claim = bounds.QUOTED[name].claim.partition(",")
    return _Rule(
        "quoted lower" if kind == "lower" else "quoted upper",
        f"[{name}]{claim}",
        lambda lengths, at: bounds.quoted(name, lengths, constant=at.constant, d=at.d, **_privacy(at)),
    )


_RULES: Final[dict[str, _Rule]] = {
    "repetition": _Rule(
        "lower", "one label repeated (group privacy), what counts on streams one can run", _repetition
    ),
    "algorithm1": _Rule("lower", "Theorem 1, on Algorithm 1's stream, tight constants", _algorithm1("tight")),
    "algorithm1-paper": _Rule(
        "lower", "Theorem 1, on Algorithm 1's stream, as printed", _algorithm1("paper")
    ),
    "theorem1": _Rule("lower", "Theorem 1, closed form, tight constants", _theorem1("tight")),
    "theorem1-paper": _Rule("lower", "Theorem 1, closed form, as printed", _theorem1("paper")),
    "theorem2-paper": _Rule("lower", "Theorem 2, as printed", _theorem2),
    "forced": _Rule("lower", "the largest lower bound we can show", _forced),
    "soa": _Rule("upper", "SOA: d, no privacy", lambda lengths, at: _level(lengths, bounds.soa_upper(at.d))),
    "theorem3": _Rule("upper", "Theorem 3: 3B + 12d + 2D", _theorem3),
    "trivial": _Rule("upper", "T, every round wrong", lambda lengths, _: np.array(lengths, dtype=np.float64)),
    **{name.lower(): _quoted(name) for name in bounds.QUOTED},
    "stages": _Rule(
        "detail",
        "Algorithm 1's stages ⌊log₃ T⌋",
        lambda lengths, _: np.array([float(bounds.stages(T)) for T in lengths]),
    ),
    "p": _Rule(
        "detail",
        "Algorithm 1's insertion probability",
        lambda lengths, at: bounds.paper_probability(lengths, **_privacy(at)),
    ),
    "leakage": _Rule("detail", "Algorithm 1: what is told of its bit by the last stage, at most", _leakage),
}

SUBSAMPLED: Final = "subsampled"
"""The name of the curves d/γ, one for each γ."""

NAMES: Final = (*_RULES, SUBSAMPLED)
"""All curves."""

USUAL: Final = (
    "repetition",
    "algorithm1",
    "theorem1",
    "theorem2-paper",
    "forced",
    "soa",
    SUBSAMPLED,
    "trivial",
)
"""The curves of a table, where they apply."""


def curves(names: Sequence[str], lengths: Sequence[int], at: Setting) -> list[Curve]:
    """Return some curves.

    Parameters
    ----------
    names
        Members of :data:`NAMES`; ``"subsampled"`` gives one curve for each γ.
    lengths
        Stream lengths, whole numbers from 1 to 10^300.
    at
        The class and the privacy.

    Raises
    ------
    ParameterError
        If there is no such curve, or it says nothing about the setting.

    Examples
    --------
    >>> from streamlearn.replays.boundcurves import Setting, curves
    >>> for curve in curves(["repetition", "subsampled"], [1, 1000], Setting(d=1, dummy=True, gammas=[0.1, 1])):
    ...     print(curve.name, curve.kind, curve.values.round(2).tolist())
    repetition lower [0.5, 69.56]
    d/0.1 upper [10.0, 10.0]
    d/1 upper [1.0, 1.0]
    """
    found: list[Curve] = []
    for name in names:
        if name == SUBSAMPLED:
            found += [_subsampled(lengths, at.d, gamma) for gamma in at.gammas]
            continue
        if name not in _RULES:
            raise ParameterError(f"there is no curve {name!r}; choose among {', '.join(NAMES)}")
        rule = _RULES[name]
        try:
            values = rule.of(lengths, at)
        except ParameterError as error:
            raise ParameterError(f"curve {name}: {error}") from None
        found.append(Curve(name, rule.kind, rule.source, np.asarray(values, dtype=np.float64)))
    return found


def usual(lengths: Sequence[int], at: Setting) -> tuple[list[Curve], dict[str, str]]:
    """Return the curves of :data:`USUAL` that say something about a setting, and why the others do not.

    Theorem 3's is one of them where there is a plan.

    Parameters
    ----------
    lengths, at
        As for :func:`curves`.

    Examples
    --------
    >>> from streamlearn.replays.boundcurves import Setting, usual
    >>> found, left_out = usual([1000], Setting(d=1, dummy=True, epsilon=1.0))
    >>> [curve.name for curve in found], sorted(left_out)
    (['repetition', 'algorithm1', 'forced', 'soa', 'd/0.01', 'trivial'], ['theorem1', 'theorem2-paper'])
    """
    found: list[Curve] = []
    left_out: dict[str, str] = {}
    for name in (*USUAL, *(["theorem3"] if at.candidate is not None else [])):
        try:
            found += curves([name], lengths, at)
        except ParameterError as error:
            left_out[name] = str(error).removeprefix(f"curve {name}: ")
    return found, left_out


def grid(longest: int, points: int) -> list[int]:
    """Return whole numbers from 1 to ``longest``, evenly spaced in their logarithms, at most so many.

    Parameters
    ----------
    longest
        The last, at least 1.
    points
        How many, at least 2.

    Examples
    --------
    >>> from streamlearn.replays.boundcurves import grid
    >>> grid(10**6, 7), grid(3, 50)
    ([1, 10, 100, 1000, 10000, 100000, 1000000], [1, 2, 3])
    """
    steps = math.log(longest) / (points - 1)
    inner = {min(longest, max(1, round(math.exp(steps * step)))) for step in range(1, points - 1)}
    return sorted({1, longest, *inner})


def _subsampled(lengths: Sequence[int], d: int, gamma: float) -> Curve:
    values = _level(lengths, bounds.subsampled_soa_upper(d, gamma))
    return Curve(f"d/{gamma:g}", "upper", f"subsampled SOA, γ = {gamma:g}: d/γ (Fact 5)", values)


def _level(lengths: Sequence[int], value: float) -> Floats:
    return np.full(len(lengths), value)
