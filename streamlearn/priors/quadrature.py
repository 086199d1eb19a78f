"""Adaptive Gauss quadrature on many panels at once: one call of the integrand a refinement."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats

NODES: Final = 16
_RELATIVE: Final = 1e-14  # two halves may differ from their whole by this much of themselves,
_ABSOLUTE: Final = 1e-17  # or by this much of the whole integral
_LEVELS: Final = 60
_GROWTH: Final = 1024  # panels added before a noisy integrand is taken as it is


@lru_cache(maxsize=4)
def gauss_rule(nodes: int) -> tuple[Floats, Floats]:
    """Return Gauss's nodes and weights on [0, 1].

    Examples
    --------
    >>> from streamlearn.priors.quadrature import gauss_rule
    >>> nodes, weights = gauss_rule(8)
    >>> round(float(weights @ nodes**3), 15)
    0.25
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    return 0.5 * (x + 1.0), 0.5 * w


def integrals(f: Callable[[Floats], Floats], a: Floats, b: Floats) -> Floats:
    """Return the integral of ``f`` over each panel [a_j, b_j] by one Gauss rule of 16 nodes.

    Parameters
    ----------
    f
        The integrand, for arrays of any shape.
    a, b
        Ends of the panels, shape (m,).
    """
    nodes, weights = gauss_rule(NODES)
    width = b - a
    result: Floats = width * (f(a[:, None] + width[:, None] * nodes) @ weights)
    return result


def refine(
    f: Callable[[Floats], Floats],
    edges: Floats,
    seen: Callable[[Floats, Floats], npt.NDArray[np.bool_]] | None = None,
    scale: float = 0.0,
) -> tuple[Floats, Floats]:
    """Return edges fine enough for :func:`integrals`, and the integral of ``f >= 0`` over each panel between.

    A panel is halved until its halves agree with it, to 14 digits or to 17 of the whole integral.

    Parameters
    ----------
    f
        The integrand, >= 0, for arrays of any shape.
    edges
        Increasing; jumps and kinks of ``f`` that are known belong here. Shape (m + 1,), m >= 1.
    seen
        Whether the rule notices all that happens on each panel [a_j, b_j]; a panel where it does not is
        halved however well its halves agree.
    scale
        A quantity the integral is added to, >= 0: 17 digits of it are enough too.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlearn.priors.quadrature import refine
    >>> edges, parts = refine(np.sqrt, np.array([0.0, 1.0]))
    >>> round(float(parts.sum()), 15)
    0.666666666666667
    """
    a, b = edges[:-1], edges[1:]
    whole = integrals(f, a, b)
    done_a: list[Floats] = []
    done_b: list[Floats] = []
    done: list[Floats] = []
    budget = _GROWTH + 4 * a.size
    for level in range(_LEVELS + 1):
        middle = 0.5 * (a + b)
        left, right = integrals(f, a, middle), integrals(f, middle, b)
        halves = left + right
        total = halves.sum() + sum(part.sum() for part in done)
        open_ = np.abs(halves - whole) > _RELATIVE * halves + _ABSOLUTE * (total + scale)
        if seen is not None:
            open_ |= ~seen(a, b)
        open_ &= (a < middle) & (middle < b)  # a panel of adjacent floats has no halves
        budget -= int(open_.sum())
        if budget < 0 or level == _LEVELS:
            open_[:] = False
        kept = ~open_
        done_a += [a[kept], middle[kept]]
        done_b += [middle[kept], b[kept]]
        done += [left[kept], right[kept]]
        if not open_.any():
            break
        a, middle, b = a[open_], middle[open_], b[open_]
        whole = np.concatenate([left[open_], right[open_]])
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    starts, ends, parts = np.concatenate(done_a), np.concatenate(done_b), np.concatenate(done)
    order = np.argsort(starts)
    return np.append(starts[order], ends.max()), parts[order]
