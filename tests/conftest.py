"""What all tests share: reproducible runs, whatever their order, and how many tests a whole run has."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
import structlog

# A deadline is a timed assertion, and a red run must be red again when it is repeated.
hypothesis.settings.register_profile("streamlearn", deadline=None, derandomize=True)
hypothesis.settings.load_profile("streamlearn")


def pytest_runtest_teardown() -> None:
    # capture_logs leaves structlog configured, and every later replay in the same process would print its events.
    structlog.reset_defaults()


COLLECTED = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # First, so that -k and -m have not deselected anything yet.
    config.stash[COLLECTED] = len(items)


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> int:
    """How many tests there are, before any is deselected."""
    # A worker of pytest-xdist is told what to collect: so the arguments count, not where they come from.
    if [Path(argument).name for argument in request.config.args] != request.config.getini("testpaths"):
        pytest.skip("only a run of the whole suite knows how many tests there are")
    return request.config.stash[COLLECTED]
