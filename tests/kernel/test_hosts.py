"""Several hosts, made of one machine: ranks in host-name and time namespaces of their own."""

import json
import os
import subprocess
from functools import cache
from statistics import median

import pytest
from tests.needs import need

N_ITERATIONS = 400
SHIFT_S = 1000
MEASURE = (
    *("--iterations", str(N_ITERATIONS), "--benchmark", "barrier"),
    *("--benchmark", "allreduce", "--sizes", "8", "--sync", "window"),
)
ELSEWHERE = ("unshare", "--uts", "--time", f"--monotonic={SHIFT_S}", "--fork", "sh", "-c")


@pytest.fixture
def records(any_kernel):
    return records_of(any_kernel)


@cache
def records_of(kernel):
    """Rank 1 believes it is on another host, whose clock is far ahead."""
    if os.geteuid() != 0:
        pytest.skip("namespaces need root")
    need("unshare", package="util-linux")
    probe = subprocess.run([*ELSEWHERE, "hostname elsewhere"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this system allows no host-name or time namespace")
    here = ["-n", "1", str(kernel.binary), *MEASURE]
    there = ["-n", "1", *ELSEWHERE, 'hostname elsewhere; exec "$0" "$@"', *here[2:]]
    done = subprocess.run(
        [*kernel.launcher, *here, ":", *there],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(records, kind):
    return [record for record in records if record["record"] == kind]


def test_each_host_has_its_own_local_ranks(records):
    told = [(r["host"], r["local_rank"], r["tasks_per_node"]) for r in of(records, "rank")]
    assert told == [(os.uname().nodename, 0, 1), ("elsewhere", 0, 1)]


def test_devices_and_transport_are_reported_for_each_host(records):
    hosts = [os.uname().nodename, "elsewhere"]
    assert [record["host"] for record in of(records, "transport")] == hosts
    assert {record["host"] for record in of(records, "device")} == set(hosts)


def test_clocks_far_apart_are_brought_together(records):
    assert of(records, "header")[0]["common_clock"] is False
    rows = of(records, "row")
    assert max(row["skew_ns"]["p50"] for row in rows) < SHIFT_S * 1e9 / 1e3
    # Whoever starts first waits for the others, so an iteration takes as long as starts are apart;
    # on a busy machine that is some ms, and half a round trip is the error of the clocks.
    waits_ns = [row["skew_ns"]["p50"] - 2 * median(row["times_ns"]) for row in rows]
    assert min(waits_ns) < SHIFT_S * 1e9 / 1e6


def test_agreed_starts_are_agreed_on_clocks_far_apart(records):
    (row,) = (row for row in of(records, "row") if row.get("sync") == "window")
    assert len(row["late"]) < N_ITERATIONS
