"""The command line as a user meets it: real processes, real files, real pipes."""

from __future__ import annotations

import fcntl
import gzip
import json
import math
import os
import pty
import signal
import stat
import struct
import subprocess
import sys
import termios

import pytest
from instances import UNIFORMS

from streamlearn.agents import LDPOptimalStopper
from streamlearn.reporters import Reporter, ReportingPlan

TEN = "10*uniform(0,1)"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "bids.csv"
    rows = [f"{auction},{(auction * 37 + person * 11) % 23}" for auction in range(60) for person in range(4)]
    path.write_text("auction,bid\n" + "\n".join(rows) + "\n")
    return path


# --- solve -------------------------------------------------------------------------------------------------


def test_solve_prints_stages_and_benchmarks(run):
    out = run("solve", TEN, "--epsilon", 1).stdout
    for figure in ("0.6218977514", "0.8610982122", "0.9090909091", "local differential privacy"):
        assert figure in out
    assert out.count("ask") == 9


def test_solve_json_and_plan(run, tmp_path):
    found = json.loads(run("solve", TEN, "-e", 1, "--json", "--plan", "plan.json").stdout)
    assert found["value"] == pytest.approx(0.621897751356224999, rel=1e-14)
    assert [row["case"] for row in found["stages"]] == ["ask"] * 9 + ["accept"]
    assert ReportingPlan.load(tmp_path / "plan.json") == LDPOptimalStopper(UNIFORMS, 1.0).plan


def test_solve_takes_a_level_per_person_and_every_agent(run):
    assert run("solve", "uniform(0,1); 0.4", "-e", "1,2").stdout
    for agent in ("static", "single-threshold", "single-threshold:half-max", "single-threshold:0.5"):
        assert json.loads(run("solve", TEN, "-a", agent, "--json").stdout)["value"] < 0.7


def test_solve_prints_what_prophets_would_get(run):
    stuck = "discrete(0:0.6,1:0.3,10:0.1); discrete(0.5:0.2,1:0.5,2:0.3); discrete(0:0.7,3:0.2,5:0.1)"
    found = json.loads(run("solve", stuck, "-e", 4, "--benchmarks", "--json").stdout)["benchmarks"]
    assert found["private_prophet"]["value"] == pytest.approx(2.688691645621, abs=1e-12)
    assert found["private_prophet"]["status"] == found["binary_prophet"]["status"] == "certified"
    assert found["binary_prophet"]["value"] == pytest.approx(2.680327573338, abs=1e-12)
    assert found["ldp_online"] == pytest.approx(2.193688101083, abs=1e-12)
    assert found["static"] <= found["ldp_online"] <= found["online"] <= found["prophet"]
    out = run("solve", stuck, "-e", "4,4,4", "--benchmarks").stdout
    assert "2.68869" in out
    assert "certified" in out
    rounded = run("solve", "2*uniform(0,1)", "--benchmarks").stdout
    assert " to " in rounded
    assert "bounded, laws rounded to cells" in rounded
    assert "prophet, any reports" not in run("solve", stuck).stdout


def test_solve_learns_from_a_log(run, log):
    found = run("solve", "--log", log, "-e", 1).stdout
    assert "biased up" in found


def test_a_long_table_shows_its_ends(run):
    short, long = run("solve", "100*uniform(0,1)").stdout, run("solve", "100*uniform(0,1)", "--all").stdout
    assert "…" in short
    assert len(long.splitlines()) > len(short.splitlines()) + 50


# --- report ------------------------------------------------------------------------------------------------


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    LDPOptimalStopper(UNIFORMS, 1.0).plan.save(path)
    return path


def test_report_prints_one_bit_and_repeats_it(run, plan):
    bits = {run("report", "--plan", plan, "--round", 3, text="0.7\n").stdout for _ in range(3)}
    assert len(bits) == 1
    assert bits <= {"0\n", "1\n"}


def test_a_repeated_answer_is_not_taken_for_a_new_one(run, plan):
    assert run("report", "--plan", plan, "--round", 3, text="0.7").stderr == ""
    assert "the same bit again" in run("report", "--plan", plan, "--round", 3, text="0.1").stderr


def test_report_refuses_a_second_round_of_the_same_value(run, plan):
    run("report", "--plan", plan, "--round", 3, text="0.7")
    error = run("report", "--plan", plan, "--round", 4, text="0.7", code=1).stderr
    assert "0.7" not in error


def test_a_limit_lasts_until_it_is_set_anew(run, tmp_path):
    half = tmp_path / "half.json"
    LDPOptimalStopper(UNIFORMS, 0.5).plan.save(half)
    ask = ("report", "--plan", half, "--memory", "m.json", "--round")
    run(*ask, 8, "--max-epsilon", 0.5, text="0.7")
    run(*ask, 9, text="0.7", code=1)  # the memory's own limit, not the default
    assert "--set-limit" in run(*ask, 9, "--max-epsilon", 1, text="0.7", code=1).stderr
    run(*ask, 9, "--max-epsilon", 1, "--set-limit", text="0.7")
    run(*ask, 8, "--event-id", "b", "--total-epsilon", 1.2, "--set-limit", text="0.7", code=1)
    run(*ask, 8, "--event-id", "b", "--total-epsilon", 1.5, "--set-limit", text="0.7")


def test_two_names_of_one_memory_share_its_limit(run, plan, tmp_path):
    run("report", "--plan", plan, "--round", 2, "--event-id", "other", "--memory", "real.json", text="0.7")
    (tmp_path / "link.json").symlink_to("real.json")
    run("report", "--plan", plan, "--round", 3, "--memory", "link.json", text="0.7")
    assert (tmp_path / "link.json").is_symlink()
    run("report", "--plan", plan, "--round", 4, "--memory", "real.json", text="0.7", code=1)


def test_reports_at_once_lose_no_ledger_entry(plan, tmp_path):
    command = [
        sys.executable,
        "-m",
        "streamlearn",
        "report",
        "--plan",
        plan,
        "--round",
        "1",
        "--memory",
        "m.json",
    ]
    running = [
        subprocess.Popen(
            [*command, "--event-id", f"e{i}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        for i in range(4)
    ]
    for one in running:
        with one:
            assert one.communicate("0.7", timeout=120)[0] in {"0\n", "1\n"}
    ledger = Reporter.load(tmp_path / "m.json").ledger
    assert {entry.event_id for entry in ledger.entries} == {f"e{i}" for i in range(4)}


@pytest.mark.parametrize(
    ("redirection", "words"), [("<&-", "nothing"), (">/dev/full", "written"), (">&-", "closed")]
)
def test_closed_and_full_ends(plan, tmp_path, redirection, words):
    line = f"{sys.executable} -m streamlearn report --plan {plan} --round 1 --memory m.json {redirection}"
    done = subprocess.run(
        ["bash", "-c", line if "<" in redirection else f"echo 0.7 | {line}"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_interrupt_is_quiet(tmp_path):
    solve = subprocess.Popen(
        [sys.executable, "-m", "streamlearn", "solve", "200000*uniform(0,1)", "--all"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    with solve:
        assert solve.stdout.read(1)  # it has begun to print: far more follows than a pipe holds
        solve.send_signal(signal.SIGINT)
        assert b"Traceback" not in solve.communicate(timeout=120)[1]
    assert solve.returncode == 130


def test_report_refuses_what_exceeds_the_limit(run, plan):
    run("report", "--plan", plan, "--round", 1, "--max-epsilon", 0.5, text="0.7", code=1)


def test_the_last_stage_needs_no_value(run, plan):
    assert run("report", "--plan", plan, "--round", 10).stdout == "1\n"


def test_a_clients_memory_is_its_own(run, plan, tmp_path):
    memory = tmp_path / "client.json"
    run("report", "--plan", plan, "--round", 1, "--memory", memory, "--event-id", "a17", text="0.7")
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    assert "0.7" not in memory.read_text()


@pytest.mark.parametrize(
    "text", ["", "secret-3.25", "nan", "inf", "-3.25", "1e999", "3_25", "٣", "3.25\n3.25"]
)
def test_an_unusable_value_is_not_quoted(run, plan, text):
    error = run("report", "--plan", plan, "--round", 1, text=text, code=1).stderr
    assert "3.25" not in error
    assert "value" in error


@pytest.mark.parametrize(
    "content", ["", "{}", "[1", '{"format":"streamlearn/reporting-plan","version":2}', "\x00"]
)
def test_a_bad_plan(run, tmp_path, content):
    (tmp_path / "bad.json").write_text(content)
    run("report", "--plan", "bad.json", "--round", 1, text="0.7", code=1)
    run("report", "--plan", "missing.json", "--round", 1, text="0.7", code=1)
    run("report", "--plan", tmp_path, "--round", 1, text="0.7", code=1)


def test_a_round_beyond_the_plan(run, plan):
    assert "1..10" in run("report", "--plan", plan, "--round", 11, text="0.7", code=1).stderr


# --- replay and sweep --------------------------------------------------------------------------------------


def test_replay_scores_the_later_part(run, log):
    found = json.loads(run("replay", log, "-e", 0.5, "-e", 2, "--learn", 20, "--json").stdout)
    assert found["learned_from"] == 20
    assert {result["episodes"] for result in found["results"].values()} == {40}
    assert len(found["results"]) == 3 * 2 + 1
    assert found["results"]["without privacy"]["of_reference"][0] == 1.0


def test_replay_prints_a_table_and_writes_a_figure(run, log, tmp_path):
    out = run("replay", log, "--plot", "out.png", "-e", 0, "-e", 1).stdout
    assert "optimal, ε = 1" in out
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_replay_reads_gzip_and_standard_input(run, log, tmp_path):
    expected = run("replay", log, "--learn", 20, "--json").stdout
    packed = tmp_path / "bids.csv.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert run("replay", packed, "--learn", 20, "--json").stdout == expected
    assert run("replay", "-", "--learn", 20, "--json", text=log.read_text()).stdout == expected


def test_replay_skips_malformed_rows_on_request(run, log):
    log.write_text(log.read_text().replace("\n5,", "\n5,x", 1))
    assert "bids.csv" in run("replay", log, code=1).stderr
    found = json.loads(run("replay", log, "--on-error", "skip", "--json", "--learn", 20).stdout)
    assert sum(found["left_out"]["skipped_rows"].values()) == 1


def test_the_same_agent_twice_is_one(run, log):
    run("replay", log, "-a", "optimal", "-a", "optimal", "-e", 1, "-e", 2, "-e", 1, "--plot", "twice.png")


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_fits_its_terminal(log, width):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    replay = subprocess.Popen(
        [sys.executable, "-m", "streamlearn", "replay", log, "-e", "1"],
        stdout=child, stderr=subprocess.DEVNULL, env={**os.environ, "COLUMNS": str(width)},
    )  # fmt: skip
    os.close(child)
    shown = b""
    with replay, os.fdopen(parent, "rb", buffering=0) as terminal:
        while chunk := _read(terminal):
            shown += chunk
    starts = ("agent", "optimal", "static", "single", "without")
    table = [line for line in shown.decode().splitlines() if line.startswith(starts)]
    assert len(table) == 5
    assert max(map(len, table)) <= width


def _read(terminal):
    try:
        return terminal.read(4096)
    except OSError:  # the other end has closed
        return b""


def test_sweep_is_exact_under_priors(run, tmp_path):
    found = json.loads(
        run("sweep", TEN, "-a", "optimal", "-e", 1, "-e", 5, "--json", "--plot", "s.svg").stdout
    )
    assert [row["expected reward"] for row in found["rows"]] == pytest.approx(
        [0.621897751356225, 0.850956213631354]
    )
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")


def test_sweep_on_a_log(run, log):
    found = json.loads(run("sweep", "--log", log, "--json", "--learn", 20).stdout)
    assert len(found["results"]) == 3 * 12 + 1


# --- mistakes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve"],
        ["solve", TEN, "--log", "x.csv"],
        ["solve", "gauss(1)"],
        ["solve", "normal(0,1"],
        ["solve", "pareto(1)"],
        ["solve", "0*uniform(0,1)"],
        ["solve", TEN, "-e", "-1"],
        ["solve", TEN, "-e", "nan"],
        ["solve", TEN, "-e", "1,2"],
        ["solve", TEN, "-e", "much"],
        ["solve", TEN, "-a", "best"],
        ["solve", TEN, "-a", "single-threshold:mean"],
        ["solve", TEN, "--plan", "no/such/place/plan.json"],
        ["sweep", TEN, "--plot", "curve.txt"],
        ["sweep", TEN, "--plot", "no/such/curve.png"],
        ["demo", "--out", "bids.csv"],
        ["report", "--plan", "bids.csv", "--round", "1"],
        ["sweep", TEN, "-e", "inf", "--plot", "curve.png"],
        ["replay", "missing.csv"],
        ["replay", "."],
        ["replay", "bids.csv", "--value", "price"],
        ["replay", "bids.csv", "--learn", "all"],
        ["replay", "bids.csv", "--learn", "60"],
        ["replay", "bids.csv", "--horizon", "5"],
        ["replay", "-"],
    ],
)
def test_a_mistake_gets_one_line(run, log, arguments):
    assert log.exists()
    run(*arguments, code=1)


@pytest.mark.parametrize(
    "arguments", [["solv"], ["solve", "--nope"], ["report"], ["replay", "x", "--horizon", "0"]]
)
def test_wrong_usage_exits_with_2(run, arguments):
    run(*arguments, code=2)


def test_a_failed_command_leaves_no_file(run, tmp_path):
    before = sorted(tmp_path.iterdir())
    run("solve", "pareto(0.5)", "--plan", "plan.json", code=1)
    run("sweep", TEN, "--plot", "curve.txt", code=1)
    assert sorted(tmp_path.iterdir()) == before


def test_a_closed_pipe_is_no_traceback(tmp_path):
    solve = subprocess.Popen(
        [sys.executable, "-m", "streamlearn", "solve", "20000*uniform(0,1)", "--all"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    with solve:
        solve.stdout.readline()
        solve.stdout.close()
        assert solve.stderr.read() == b""
    assert solve.returncode != 0


def test_help_and_version(run):
    assert "report" in run("--help").stdout
    for command in ("solve", "report", "replay", "sweep", "demo"):
        shown = " ".join(run(command, "--help").stdout.replace("echo 0.7 | ", "").split())
        assert f"Example: streamlearn {command}" in shown
    assert run("--version").stdout.startswith("streamlearn ")


def test_demo_runs_on_real_data(run, tmp_path):
    out = run("demo", "--out", "shown").stdout
    assert "Current Population Survey" in out
    assert (tmp_path / "shown" / "demo.png").exists()
    scored = json.loads(
        run("replay", "shown/earnings.csv", "--pooled", "-e", 1, "-a", "optimal", "--json").stdout
    )
    result = scored["results"]["optimal, ε = 1"]
    assert 0.5 < result["of_reference"][0] < 1.0
    assert math.isfinite(result["reward"][1][0])
