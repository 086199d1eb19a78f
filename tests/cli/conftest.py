"""What the tests of all commands share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """Run the command in a process of its own; a user's mistake must come out as one line."""

    def call(*arguments, text="", code=0):
        home = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "200", "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "streamlearn", *map(str, arguments)],
            input=text, capture_output=True, text=True, cwd=tmp_path, env=home, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        if code == 1:
            assert done.stderr.startswith("error: ")
            assert done.stderr.count("\n") == 1
        return done

    return call
