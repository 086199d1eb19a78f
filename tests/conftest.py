"""What all tests share: reproducible hypothesis runs, and how many tests a whole run has."""

from __future__ import annotations

import hypothesis
import pytest

# A deadline is a timed assertion, and a red run must be red again when it is repeated.
hypothesis.settings.register_profile("streamlearn", deadline=None, derandomize=True)
hypothesis.settings.load_profile("streamlearn")

COLLECTED = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # First, so that -k and -m have not deselected anything yet.
    config.stash[COLLECTED] = len(items)


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> int:
    """How many tests there are, before any is deselected."""
    if request.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        pytest.skip("only a run of the whole suite knows how many tests there are")
    return request.config.stash[COLLECTED]
