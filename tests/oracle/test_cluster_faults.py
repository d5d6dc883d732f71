"""Hosts that go wrong in the middle of a run: each is named in time, what needs it is marked, and
the rest is measured.

The hosts are namespaces that the tests made; each test mends what it broke, but for those in which
a host dies: they have a cluster of their own.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts, skip_without_namespaces

from weft.bench.live.kernel_records import read_kernel_output
from weft.bench.model import State
from weft.cli import run as run_weft
from weft.cluster.folder import cluster_folder
from weft.cluster.local.start import leftovers
from weft.study.run.loop import GIVE_UP_AFTER
from weft.study.run.store import Failure, StudyRun, read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")
HOSTS = 4
STUDY = """
schema = "weft.study/1"
name = "faults"
title = "A run in which a host goes wrong"
question = "Is it named, and is the rest measured?"
repeats = {repeats}
nodes = [{nodes}]
node_sets = {sets}
tasks_per_node = [{tasks}]
timeout_s = {timeout_s}

[[benchmarks]]
name = "barrier"
options = {{ iterations = 5, warmup = 0 }}
"""
ENDLESS = """
[[benchmarks]]
name = "latency"
sizes = "1M"
options = { iterations = 1000000 }
"""
ENDLESS_RANKS = "--benchmark latency"
LEFT = {"node1", "node2", "node4"}
"""Of four hosts, when the third one is gone."""

TIME_OUT_S = 10
LOOK_S = 15.0
"""A look at the hosts and the ending of what is left, beyond a launch's own time."""

FILES = "find .local/share/weft/clusters -mindepth 2 -name '*[0-9]*'"
"""What a run put on a host."""


@dataclass(frozen=True, slots=True)
class Going:
    """A run that goes on beside the test."""

    process: subprocess.Popen[str]
    directory: Path

    def until(self, happens: Callable[[], object], limit_s: float = 60.0) -> None:
        """Wait for something that the run leads to."""
        deadline = time.monotonic() + limit_s
        while not happens():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it does not come to that"
            time.sleep(0.02)

    def measures(self) -> bool:
        """Whether all ranks of a launch that measures anything have begun."""
        found = (self.directory / "raw").glob("t*.out")
        return any(len(read_kernel_output(path).ranks) > 1 for path in found)

    def ended(self) -> tuple[Any, StudyRun]:
        """What it printed, and what it kept, once it has ended for a launch that failed."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 4, err
        return json.loads(out), read_run(self.directory)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of one cluster for all tests here."""
    skip_without_namespaces()
    need_in_hosts("nsenter", package="util-linux")
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        name = f"faults-{os.getpid()}"
        try:
            assert run_weft(["cluster", "up", "--local", str(HOSTS), "--name", name]) == 0
            yield folder
        finally:
            code = run_weft(["cluster", "down", name])
            assert (code, name in leftovers()) == (0, False)
            assert not cluster_folder(name).exists()


@pytest.fixture
def cluster(state: Path, capsys: pytest.CaptureFixture[str]) -> Virtual:
    """Four hosts, into which the test can reach without ssh."""
    return Virtual(capsys, f"faults-{os.getpid()}")


@contextlib.contextmanager
def going(cluster: Virtual, folder: Path, study: str) -> Iterator[Going]:
    """A run of a study on the cluster."""
    document, directory = folder / "study.toml", folder / "run"
    document.write_text(study)
    words = ("study", "run", str(document), "--cluster", cluster.name, "--dir", str(directory))
    with started(words, directory) as run:
        yield run


@contextlib.contextmanager
def started(words: Sequence[str], directory: Path) -> Iterator[Going]:
    """A verb that measures, beside the test."""
    process = subprocess.Popen(
        [*WEFT, *words, "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield Going(process, directory)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def study(
    *,
    nodes: int = 2,
    sets: int = 2,
    repeats: int = 4,
    tasks: int = 1,
    timeout_s: float = TIME_OUT_S,
) -> str:
    """A study document; the default measures two halves of four hosts in turn."""
    return STUDY.format(nodes=nodes, sets=sets, repeats=repeats, tasks=tasks, timeout_s=timeout_s)


def failures_of(run: StudyRun, host: str, gone_unix_s: float) -> list[Failure]:
    """Of launches that need the host. Every launch is over, no other one failed, and none of them
    that began when the host was gone went well."""
    nodes = {launch.trial.id: launch.trial.nodes for launch in run.launches}
    assert run.complete
    assert run.failures
    assert all(host in nodes[one.trial] for one in run.failures), run.failures
    good = [sample for sample in run.samples if host in nodes[sample.trial]]
    assert all(sample.started_unix_s < gone_unix_s for sample in good), good
    return list(run.failures)


def first_line(failure: Failure) -> str:
    return failure.message.splitlines()[0]


def on_host(cluster: Virtual, host: str, script: str) -> str:
    return cluster.inside(host, "sh", "-c", script)


def test_a_host_without_sshd(cluster: Virtual, tmp_path: Path) -> None:
    with going(cluster, tmp_path, study()) as run:
        run.until(run.measures)
        on_host(cluster, "node3", "kill -9 $(pgrep -o sshd)")
        gone = time.time()
        try:
            said, kept = run.ended()
        finally:
            on_host(cluster, "node3", "$(command -v sshd) -f /run/weft/sshd_config")
    failures = failures_of(kept, "node3", gone)
    assert said["lost_hosts"] == {"node3": len(failures)}
    assert said["n_done"] == 8 - len(failures) >= 4
    assert all("node3 does not answer: nothing listens" in first_line(one) for one in failures)


def test_an_interface_that_is_taken_down(cluster: Virtual, tmp_path: Path) -> None:
    with going(cluster, tmp_path, study()) as run:
        run.until(run.measures)
        began = time.monotonic()
        on_host(cluster, "node2", "ip link set eth0 down")
        gone = time.time()
        try:
            said, kept = run.ended()
        finally:
            on_host(cluster, "node2", "ip link set eth0 up")
    failures = failures_of(kept, "node2", gone)
    assert said["lost_hosts"] == {"node2": len(failures)}
    assert said["n_done"] == 8 - len(failures) >= 4
    assert len(failures) >= 2
    assert all("node2 does not answer" in first_line(one) for one in failures)
    assert sum("was not started" in first_line(one) for one in failures) == len(failures) - 1
    assert time.monotonic() - began < TIME_OUT_S + 3 * LOOK_S


def test_a_rank_that_is_stopped(cluster: Virtual, tmp_path: Path) -> None:
    """The launch that hangs for it is one of two; the other one is measured."""
    with going(cluster, tmp_path, study(sets=1, repeats=1) + ENDLESS) as run:
        run.until(lambda: hosts_of_ranks(run.directory))
        _, host = hosts_of_ranks(run.directory)
        on_host(cluster, host, f"pkill -STOP -f -- '^/.*weft-kernel.*{ENDLESS_RANKS}'")
        said, kept = run.ended()
    (failure,) = kept.failures
    assert said["n_done"] == 1
    assert failure.state is State.HUNG
    assert first_line(failure).startswith(f"host {host}, rank 1: latency")
    assert ", stopped)" in failure.message
    assert failure.lost == ()
    assert "weft-kernel" not in on_host(cluster, host, "ps -eo args")


def hosts_of_ranks(directory: Path) -> list[str]:
    """Where the ranks of the launch without an end run, once all do."""
    for path in directory.glob("raw/t*latency*.out"):
        ranks = read_kernel_output(path).ranks
        return [rank.host for rank in ranks] if len(ranks) == 2 else []
    return []


def test_a_host_whose_shared_memory_is_full(cluster: Virtual, tmp_path: Path) -> None:
    fill = "mount -o remount,size=64k /dev/shm && head -c 65536 /dev/zero > /dev/shm/fill"
    with going(cluster, tmp_path, study(repeats=2, tasks=2)) as run:
        run.until(run.measures)
        on_host(cluster, "node3", fill)
        full = time.time()
        try:
            said, kept = run.ended()
        finally:
            on_host(cluster, "node3", "rm /dev/shm/fill && mount -o remount,size=50% /dev/shm")
    failures = failures_of(kept, "node3", full)
    assert all("on node3 /dev/shm is full" in first_line(one) for one in failures)
    assert said["n_done"] == 4 - len(failures) >= 2
    assert said["lost_hosts"] == {}


def test_a_first_host_whose_home_is_full(cluster: Virtual, tmp_path: Path) -> None:
    """Nothing can be put there for a launch: that is said, with its name and the reason, until
    the run gives up."""
    fill = """
    used=$(df -k --output=used "$1" | tail -n 1)
    mount -o remount,size=$((used + 512))k "$1" || exit 1
    head -c 1M /dev/zero > "$1/fill" || true
    """
    mend = 'rm "$1/fill" && mount -o remount,size=50% "$1"'
    home = str(Path.home())
    with going(cluster, tmp_path, study()) as run:
        run.until(run.measures)
        cluster.inside("node1", "sh", "-c", fill, "sh", home)
        full = time.time()
        try:
            said, kept = run.ended()
        finally:
            cluster.inside("node1", "sh", "-c", mend, "sh", home)
    assert len(kept.failures) == GIVE_UP_AFTER
    assert said["stopped"].startswith(f"{GIVE_UP_AFTER} launches in a row failed")
    assert said["n_done"] == len(kept.done) >= 1
    assert all(sample.started_unix_s < full for sample in kept.samples), kept.samples
    for line in map(first_line, kept.failures):
        assert line.startswith("host node1: ")
        assert "No space left on device" in line


def test_nothing_is_left_on_the_first_host(cluster: Virtual, tmp_path: Path) -> None:
    """Not even after Ctrl-C."""
    with going(cluster, tmp_path, study(sets=1, repeats=1, timeout_s=60) + ENDLESS) as run:
        run.until(lambda: hosts_of_ranks(run.directory))
        assert "latency" in cluster.on("node1", "sh", "-c", FILES).out
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(30) == 130
    assert cluster.on("node1", "sh", "-c", FILES).out == ""
    assert "weft-kernel" not in on_host(cluster, "node1", "ps -eo args")


def test_a_check_in_which_a_host_goes_is_answered_for_the_others(
    cluster: Virtual, tmp_path: Path
) -> None:
    """One launch measures all nodes: it is over, and the hosts that are left are measured again."""
    directory = tmp_path / "run"
    words = ("check", "--cluster", cluster.name, "--dir", str(directory))
    with started(words, directory) as run:
        run.until(
            lambda: "weft-kernel" in on_host(cluster, "node3", "pgrep -fa '^/.*pairs' || true")
        )
        on_host(cluster, "node3", "kill -9 $(pgrep -o sshd); pkill -9 -f '^/.*weft-kernel.*pairs'")
        try:
            out, err = run.process.communicate(timeout=150)
        finally:
            on_host(cluster, "node3", "$(command -v sshd) -f /run/weft/sshd_config")
    assert run.process.returncode == 1, err
    said = json.loads(out)
    (lost,) = [one for one in said["findings"] if one["kind"] == "lost-node"]
    assert lost["sentence"] == "node3 does not answer: nothing listens on its ssh port."
    assert said["coverage"]["nodes"] == HOSTS - 1
    assert "measuring the remaining 3 nodes" in err
    kept, before = read_run(directory), read_run(directory / "earlier" / "1")
    assert {node for launch in kept.launches for node in launch.trial.nodes} == LEFT
    assert before.failures[0].lost == ("node3",)


def test_a_host_that_dies(virtual: Virtual, tmp_path: Path) -> None:
    """What is said then helps: brought up again, the cluster goes on without it."""
    assert virtual.up(HOSTS)[0] == 0
    with going(virtual, tmp_path, study()) as run:
        run.until(run.measures)
        os.kill(virtual.first_process("node4"), signal.SIGKILL)
        gone = time.time()
        try:
            said, kept = run.ended()
        finally:
            code, up = virtual.up(HOSTS)
    failures = failures_of(kept, "node4", gone)
    assert said["lost_hosts"] == {"node4": len(failures)}
    assert said["n_done"] == 8 - len(failures) >= 4
    assert (code, up["good"]) == (1, ["node1", "node2", "node3"])


def test_the_first_host_dies(virtual: Virtual, tmp_path: Path) -> None:
    """Launchers run on it: the next one takes its place."""
    assert virtual.up(3)[0] == 0
    with going(virtual, tmp_path, study(sets=3, repeats=3)) as run:
        run.until(run.measures)
        os.kill(virtual.first_process("node1"), signal.SIGKILL)
        said, kept = run.ended()
    nodes = {launch.trial.id: launch.trial.nodes for launch in kept.launches}
    first, *later = kept.failures
    assert all(one.lost == ("node1",) for one in (first, *later))
    assert all("node1" in nodes[one.trial] for one in later)
    assert said["n_done"] == 9 - len(kept.failures) >= 2
    recipes = (path.read_text() for path in (tmp_path / "run/recipes").glob("t*.txt"))
    assert any(recipe.startswith("# on node2\n") for recipe in recipes)
