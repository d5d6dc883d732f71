"""What breaks in the middle ends the launch, promptly and with a reason."""

import json
import os
import signal
import subprocess
import time

import pytest

LATENCY = ("--benchmark", "latency", "--sizes", "8", "--iterations", "5")


def test_a_rank_that_dies_takes_the_launch_along(any_kernel):
    outcome = any_kernel.run(2, *LATENCY, WEFT_TEST_CRASH_RANK="1")
    assert outcome.exit_code != 0
    assert outcome.of("rank") != []
    assert outcome.of("end") == []


@pytest.mark.parametrize("benchmark", ["pairs", "barrier"])
def test_the_other_benchmarks_die_as_well(kernel, benchmark):
    outcome = kernel.run(2, "--benchmark", benchmark, WEFT_TEST_CRASH_RANK="0")
    assert outcome.exit_code != 0
    assert outcome.of("end") == []


def is_running(pid):
    """Whether a process still does anything; one that only waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_end(pids, within_s=5.0):
    """Whether processes end soon: a launcher may be gone a moment before its ranks are."""
    until = time.monotonic() + within_s
    while any(is_running(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(is_running(pid) for pid in pids)


def read_pids(process):
    """Process numbers of the two ranks, as their records tell them."""
    pids = []
    while len(pids) < 2:
        line = process.stdout.readline()
        assert line, "the launch ended early"
        if '"record":"rank"' in line:
            pids.append(json.loads(line)["pid"])
    return pids


def test_a_rank_that_hangs_hangs_the_launch_until_it_is_reported_to_end(any_kernel):
    process = any_kernel.start(2, *LATENCY, WEFT_TEST_HANG_RANK="1")
    try:
        pids = read_pids(process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.terminate()
        rest, _ = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert '"record":"end"' not in rest
    assert all_end(pids)


def test_a_kernel_reported_to_end_dies_promptly(kernel):
    process = kernel.start(2, *LATENCY, WEFT_TEST_HANG_RANK="0")
    try:
        pids = read_pids(process)
        os.kill(pids[0], signal.SIGTERM)
        process.wait(timeout=15)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert all_end(pids)


def test_memory_that_runs_out_names_rank_host_and_size(kernel):
    limit = ("prlimit", f"--as={2 << 30}")
    done = subprocess.run(
        [*limit, *kernel.launcher, "-n", "2", kernel.binary, "--benchmark", "alltoall",
         "--sizes", str(1 << 30)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert f"on {os.uname().nodename}: memory: a message buffer of" in done.stderr
    assert "bytes cannot be allocated" in done.stderr
    assert '"record":"error"' in done.stdout


def test_garbage_between_the_records_is_only_a_test_hook(kernel):
    outcome = kernel.run(2, *LATENCY, WEFT_TEST_GARBAGE="1")
    assert outcome.exit_code == 0
    assert "not text" in outcome.stdout
    assert outcome.records[-1]["record"] == "end"
    assert "not text" not in kernel.run(2, *LATENCY).stdout
