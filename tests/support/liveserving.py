"""The command serve, in a process of its own or, where nothing is killed, in this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import livestreams
import pytest

from streamlearn import cli

PRIORS = "0.01; 4*uniform(0,1)"
BODIES = livestreams.reports(40)


def lines(bodies):
    return b"".join(json.dumps(body).encode() + b"\n" for body in bodies)


def start(tmp_path, *arguments, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "streamlearn", "serve", *map(str, arguments)],
        cwd=tmp_path, env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}, **streams,
    )  # fmt: skip


def serve(tmp_path, *arguments, sent=b"", code=0):
    with start(
        tmp_path, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        out, err = process.communicate(sent, timeout=60)
    assert process.returncode == code, err
    assert b"Traceback" not in err
    return out, err.decode()


def inside(folder, *arguments):
    """Run a command in this process; return its status, and what it says."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["streamlearn", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code or 0, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def refused(folder, *arguments):
    """Run a command that says in one line why it does not work, and return that."""
    code, _, err = inside(folder, *arguments)
    assert code == 1, err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err
