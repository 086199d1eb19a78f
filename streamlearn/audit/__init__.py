"""Audits of privacy: claims are put to the test, on the real objects and through their public methods.

*Exact*: a key whose draws take every value in turn gives the law of a channel, a mechanism, a reporter or a predictor
on all small streams, in fractions. *Statistical*: for anything callable, a lower bound of ε from samples. Both return
a :class:`Report`. ``docs/auditing.md`` shows how.

Examples
--------
>>> from streamlearn import Channel, audit
>>> print(audit.exact_channel(Channel.randomized_response(1, 0.5, epsilon=1.0)).verdict)
holds
"""

from __future__ import annotations

from streamlearn.audit.branching import BranchingKey, law
from streamlearn.audit.exact import exact_channel, exact_mechanism
from streamlearn.audit.joint import Enumeration, exact
from streamlearn.audit.playing import played
from streamlearn.audit.report import Report
from streamlearn.audit.statistical import statistical
from streamlearn.audit.stoppers import exact_stopper

__all__ = [
    "BranchingKey",
    "Enumeration",
    "Report",
    "exact",
    "exact_channel",
    "exact_mechanism",
    "exact_stopper",
    "law",
    "played",
    "statistical",
]
