from __future__ import annotations

import browsing
import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests of a process."""
    with browsing.chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
