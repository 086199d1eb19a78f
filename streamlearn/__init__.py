"""Online decisions on streams of people who need not trust whoever decides.

Two kinds of decision, one interface (``predict_one`` / ``learn_one``): stop at one person under local
differential privacy, or predict a bit a round under joint differential privacy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from streamlearn._version import __version__

if TYPE_CHECKING:
    from streamlearn import privacy as privacy
    from streamlearn.channels import Channel as Channel
    from streamlearn.channels import Report as Report
    from streamlearn.privacy import Guarantee as Guarantee
    from streamlearn.randomness import Key as Key

_HOME = {
    "Channel": "streamlearn.channels",
    "Report": "streamlearn.channels",
    "Guarantee": "streamlearn.privacy",
    "Key": "streamlearn.randomness",
}
_MODULES = frozenset(
    {
        "agents",
        "audit",
        "bounds",
        "checks",
        "errors",
        "hypotheses",
        "priors",
        "privacy",
        "replays",
        "reporters",
        "state",
    }
)

__all__ = ["Channel", "Guarantee", "Key", "Report", "__version__"]


def __getattr__(name: str) -> object:
    # Names are found on first use: importing streamlearn itself must stay cheap.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"streamlearn.{name}")
    raise AttributeError(f"module 'streamlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
