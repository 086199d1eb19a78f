"""Which way of selecting candidates a class supports."""

from __future__ import annotations

from collections.abc import Callable

from streamlearn.errors import ParameterError, SizeError
from streamlearn.hypotheses.base import HypothesisClass, check_class
from streamlearn.selection.base import Scheme
from streamlearn.selection.direct import DirectScheme
from streamlearn.selection.groups import GroupsScheme
from streamlearn.selection.options import OptionsScheme
from streamlearn.selection.paper import PaperScheme

MODES: dict[str, Callable[[HypothesisClass], Scheme]] = {
    "options": OptionsScheme,
    "direct": DirectScheme,
    "groups": GroupsScheme,
    "paper": PaperScheme,
}


def scheme(cls: HypothesisClass, mode: str | None = None) -> Scheme:
    """Return a way of selecting candidates from a class.

    Parameters
    ----------
    cls
        The class.
    mode
        "options", "direct", "groups" or "paper"; by default "options", or "direct" where that is not supported.

    Raises
    ------
    ParameterError
        If there is no such mode.
    SizeError
        If the class does not support it.

    Examples
    --------
    >>> from streamlearn.hypotheses import Point3
    >>> from streamlearn.selection import scheme
    >>> scheme(Point3()).mode, scheme(Point3()).batch(eta=0.05, beta=1e-6)
    ('options', 291)
    """
    check_class(cls)
    if mode is None:
        return _best(cls)
    if mode not in tuple(MODES):  # by equality: what cannot be hashed is refused in words too
        raise ParameterError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    return MODES[mode](cls)


def _best(cls: HypothesisClass) -> Scheme:
    try:
        return OptionsScheme(cls)
    except SizeError as error:
        try:
            return DirectScheme(cls)
        except SizeError:
            raise error from None  # it says what would help where few candidates are wanted
