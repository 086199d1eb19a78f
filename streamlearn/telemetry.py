"""Every structlog event this package emits, in one place. Per run or per batch, never per arrival.

The library never configures logging, stays silent until the application has configured structlog, and no
event carries a private value. The names below are stable.
"""

from __future__ import annotations

import sys
from typing import Any, Final

REPLAY_STARTED: Final = "replay.started"
REPLAY_FINISHED: Final = "replay.finished"
LIVE_STARTED: Final = "live.started"
LIVE_STOPPED: Final = "live.stopped"
LIVE_BROKER_LOST: Final = "live.broker_lost"
LIVE_BROKER_BACK: Final = "live.broker_back"
LIVE_MESSAGES_LOST: Final = "live.messages_lost"
LIVE_ALREADY_THERE: Final = "live.already_there"
_WARNINGS: Final = {LIVE_BROKER_LOST, LIVE_BROKER_BACK, LIVE_MESSAGES_LOST, LIVE_ALREADY_THERE}


def emit(event: str, **fields: Any) -> None:
    """Send one event to the application's structlog configuration, if it has one.

    Examples
    --------
    >>> from structlog.testing import capture_logs
    >>> from streamlearn import telemetry
    >>> with capture_logs() as events:
    ...     telemetry.emit(telemetry.REPLAY_STARTED, agents=2)
    >>> events
    [{'agents': 2, 'event': 'replay.started', 'log_level': 'info'}]
    """
    structlog = sys.modules.get("structlog")
    # Unconfigured, structlog would print to standard output, which belongs to the program's results. And
    # whoever configured it has imported it, so there is no need to pay 70 ms for the import here.
    if structlog is not None and structlog.is_configured():
        log = structlog.get_logger("streamlearn")
        (log.warning if event in _WARNINGS else log.info)(event, **fields)
