"""The exact outcome of a stopper: the oracle for everything simulated or replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamlearn import policy
from streamlearn.base import Stopper
from streamlearn.policy import PolicyValue
from streamlearn.priors import as_priors


def evaluate_policy(stopper: Stopper, priors: Sequence[Any]) -> PolicyValue:
    """Return the exact mean, variance and stopping-time law of a stopper under ``priors``.

    Parameters
    ----------
    stopper
        Any stopper.
    priors
        The laws values follow, one per stage; they need not be those the stopper was built with.

    Returns
    -------
    PolicyValue
        ``.mean``, ``.variance``, ``.mean_stop``, ``.mean_asked``, ``.stop_law`` (n + 1 entries, the last:
        nobody taken).

    Raises
    ------
    PriorError, ParameterError
        If a prior cannot be used or there is not one per stage.

    Notes
    -----
    From the channels' own integers; the formulas are at ``streamlearn.policy.evaluate``.

    Examples
    --------
    >>> import scipy.stats
    >>> from streamlearn.agents import LDPOptimalStopper
    >>> from streamlearn.replays import evaluate_policy
    >>> priors = [scipy.stats.uniform()] * 10
    >>> exact = evaluate_policy(LDPOptimalStopper(priors, epsilon=1.0), priors)
    >>> round(exact.mean, 6), round(exact.mean_stop, 6), round(exact.variance, 6)
    (0.621898, 2.240677, 0.078091)
    """
    return policy.evaluate(stopper.plan, as_priors(priors))
