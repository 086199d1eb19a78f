"""Bounds of a probability from counts, after Clopper and Pearson: wrong no more often than is said, for any n."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlearn.priors.base import Floats

_OUT = 1e-9  # of what is returned: the inverse of the incomplete beta function errs by less

Counts = npt.NDArray[np.int64]


def lower(counts: Counts | int, trials: int, alpha: float) -> Floats:
    """Return what a probability is at least, for each count of successes; wrong with probability at most α.

    Parameters
    ----------
    counts
        Successes k, 0 <= k <= n; of any shape.
    trials
        n >= 1.
    alpha
        α, in (0, 1).

    Examples
    --------
    >>> from streamlearn.audit.clopperpearson import lower
    >>> lower([0, 5, 10], 10, 0.05).round(4).tolist()
    [0.0, 0.2224, 0.7411]
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - 100 ms, and exact audits need none

    k = np.asarray(counts, dtype=np.float64)
    found: Any = np.where(k > 0, betaincinv(np.maximum(k, 1.0), trials - k + 1.0, alpha), 0.0)
    return np.asarray(found * (1.0 - _OUT))


def upper(counts: Counts | int, trials: int, alpha: float) -> Floats:
    """Return what a probability is at most, for each count of successes; wrong with probability at most α.

    Parameters
    ----------
    counts, trials, alpha
        As of :func:`lower`.

    Examples
    --------
    >>> from streamlearn.audit.clopperpearson import upper
    >>> upper([0, 5, 10], 10, 0.05).round(4).tolist()
    [0.2589, 0.7776, 1.0]
    """
    from scipy.special import betainccinv  # noqa: PLC0415 - as above

    k = np.asarray(counts, dtype=np.float64)
    # By the complement: 1 - α has no digits left where α is small.
    found: Any = np.where(k < trials, betainccinv(k + 1.0, np.maximum(trials - k, 1.0), alpha), 1.0)
    return np.asarray(np.minimum(found * (1.0 + _OUT), 1.0))
