"""What `weft judge FILE` says of runs made here whose path is known: shared memory, TCP over
loopback, TCP over a shaped cable between two namespaces; NetPIPE and HPCC by two MPIs.

perftest needs an RDMA device: tests/cli/test_bench_rdma_pairs.py runs it where there is one.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need
from tests.oracle.test_real_tools import HPCC_INPUT
from tests.oracle.two_hosts import ADDRESSES, ENVIRONMENT, TwoHosts, two_hosts, why_not

from weft.cli import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
Capture = pytest.CaptureFixture[str]
SMALL = ("-n", "20", "-l", "1", "-u", "16")
LARGE = ("-n", "3", "-l", "2097152", "-u", "4194304")
LARGER = ("-n", "3", "-l", "4194304", "-u", "8388608")
"""The bucket of a limit must be small beside a message."""
MOST_S = 60
TIMED_OUT = 124
FILLED = 0.8
"""From this share on, the rows show the cable. Below it the CPU limits: it moves the messages, and
wakes the shaper too late."""
RATES_GBPS = (1, 10, 25)


@dataclass(frozen=True)
class Mpi:
    """An MPI of Debian: its launcher, its NetPIPE, and how it is kept to TCP on one device."""

    launcher: tuple[str, ...]
    netpipe: str
    package: str
    tcp: tuple[str, ...]
    environment: Mapping[str, str]

    def argv(self, *words: str) -> list[str]:
        """Two ranks of NetPIPE, launched with these words."""
        return [*self.launcher, *words, "-np", "2", self.netpipe]


MPIS = {
    "openmpi": Mpi(
        ("mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"),
        "NPopenmpi",
        "netpipe-openmpi openmpi-bin",
        ("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include"),
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ),
    "mpich": Mpi(
        ("mpiexec.hydra",),
        "NPmpich2",
        "netpipe-mpich2 mpich",
        ("-genv", "UCX_TLS", "tcp,self", "-genv", "MPIR_CVAR_NOLOCAL", "1", "-genv",
         "UCX_NET_DEVICES"),
        {},
    ),
}  # fmt: skip
both = pytest.mark.parametrize("name", MPIS)


@dataclass(frozen=True)
class Said:
    """The answer about a file: its first line and the facts of its path."""

    sentence: str
    severity: str
    facts: Mapping[str, Any]

    @property
    def transports(self) -> set[str]:
        """The transports that the file leaves."""
        return set(self.facts["transports"])

    @property
    def classes(self) -> set[str]:
        """The classes whose rate fits."""
        return {fit["class"] for fit in self.facts["fits"]}


def judged(file: Path, capture: Capture) -> Said:
    """What weft says of a file."""
    assert run(["judge", str(file), "--format", "json"]) in (0, 1, 5)
    record = json.loads(capture.readouterr().out)
    path = next(one for one in record["findings"] if "transports" in one["facts"])
    return Said(path["sentence"], path["severity"], path["facts"])


def printed(argv: Sequence[str], mpi: Mpi, folder: Path) -> str:
    """All that a run prints, as a user's log has it; NetPIPE writes its rows on both streams."""
    environment = {**ENVIRONMENT, **mpi.environment, "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    limited = ["timeout", "--kill-after=10", str(MOST_S), *argv]
    done = subprocess.run(
        limited, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=MOST_S + 20, check=False,
    )  # fmt: skip
    if done.returncode == TIMED_OUT:
        pytest.skip(f"{argv[-5:]} did not end in {MOST_S} s: this machine is too busy")
    assert done.returncode == 0, f"{argv}\n{done.stdout}"
    return done.stdout


def installed(name: str) -> Mpi:
    mpi = MPIS[name]
    need(mpi.launcher[0], mpi.netpipe, package=mpi.package)
    return mpi


def netpipe(
    name: str,
    words: Sequence[str],
    folder: Path,
    hosts: TwoHosts | None = None,
    large: Sequence[str] = LARGE,
) -> Path:
    """The log of NetPIPE's small and large messages."""
    mpi = installed(name)
    file = folder / f"run-{len(list(folder.iterdir()))}.txt"
    text = ""
    for sizes in (SMALL, large):
        argv = [*mpi.argv(*words), *sizes]
        text += printed(hosts.on_left(argv) if hosts else argv, mpi, folder)
    file.write_text(text)
    return file


def over_cable(name: str, hosts: TwoHosts) -> list[str]:
    """The words that start a rank on each host, over the cable."""
    agent = str(hosts.agent)
    if name == "openmpi":
        where = ",".join(f"{address}:1" for address in ADDRESSES)
        return [*MPIS[name].tcp, "eth0", "--mca", "oob_tcp_if_include", "eth0",
                "--mca", "plm_rsh_agent", agent, "--host", where]  # fmt: skip
    where = ",".join(ADDRESSES)
    return [*MPIS[name].tcp, "eth0", "-launcher", "rsh", "-launcher-exec", agent,
            "-iface", "eth0", "-hosts", where]  # fmt: skip


@contextmanager
def cable(folder: Path) -> Iterator[TwoHosts]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with two_hosts(folder) as hosts:
        yield hosts


@both
def test_shared_memory_is_inside_one_host(name: str, tmp_path: Path, capsys: Capture) -> None:
    said = judged(netpipe(name, (), tmp_path), capsys)
    # Where two ranks wait for a CPU, shared memory is as slow as sockets.
    assert "memory" in said.transports, said
    assert_inside_one_host(said)


@both
def test_loopback_is_sockets_inside_one_host(name: str, tmp_path: Path, capsys: Capture) -> None:
    said = judged(netpipe(name, (*MPIS[name].tcp, "lo"), tmp_path), capsys)
    assert "sockets" in said.transports, said
    assert_inside_one_host(said)


def assert_inside_one_host(said: Said) -> None:
    """Of one host, over no network, with no class of a link."""
    assert said.transports <= {"memory", "sockets"}, said
    assert "inside one host" in said.sentence or said.severity == "warning", said
    assert said.severity != "good"
    assert not said.classes, said


def test_hpcc_in_shared_memory_names_no_fabric(tmp_path: Path, capsys: Capture) -> None:
    mpi = installed("openmpi")
    need("hpcc")
    (tmp_path / "hpccinf.txt").write_text(HPCC_INPUT)
    printed([*mpi.launcher, "-np", "2", "hpcc"], mpi, tmp_path)
    said = judged(tmp_path / "hpccoutf.txt", capsys)
    # HPCC prints no host: on a busy machine its latency may be that of a network, too.
    assert "memory" in said.transports, said
    assert said.severity != "good"


@both
def test_a_cable_without_a_limit_is_sockets_or_left_open(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    with cable(tmp_path) as hosts:
        said = judged(netpipe(name, over_cable(name, hosts), tmp_path, hosts), capsys)
    assert_tcp_between_hosts(said)


@pytest.mark.parametrize("gbps", RATES_GBPS)
@both
def test_the_class_of_a_shaped_cable(name: str, gbps: int, tmp_path: Path, capsys: Capture) -> None:
    large = LARGE if gbps == 1 else LARGER
    with cable(tmp_path) as hosts:
        words = over_cable(name, hosts)
        open_ = judged(netpipe(name, words, tmp_path, hosts, large), capsys)
        hosts.limit(gbps)
        said = judged(netpipe(name, words, tmp_path, hosts, large), capsys)
    assert_tcp_between_hosts(said)
    reached, without = (8 * one.facts["plateau_gb_s"] for one in (said, open_))
    if reached < FILLED * gbps:
        assert said.severity != "good", said
        assert f"tcp-{gbps}gbe" not in said.classes, said
        why = f"single messages reach {reached:.3g} of {gbps} Gb/s, {without:.3g} without a limit"
        pytest.skip(f"the cable is not filled: {why}")
    assert f"tcp-{gbps}gbe" in said.classes, said
    slower = {f"tcp-{rate}gbe" for rate in RATES_GBPS if rate < gbps}
    assert said.classes.isdisjoint(slower), said
    if gbps == 1:
        # RDMA has no such rate.
        assert said.classes == {"tcp-1gbe"}
        assert "of 1 Gb/s" in said.sentence or "of 1 GbE" in said.sentence


def assert_tcp_between_hosts(said: Said) -> None:
    """Never RDMA alone, never inside one host; nothing GOOD that may be RDMA."""
    assert "sockets" in said.transports, said
    assert "memory" not in said.transports or said.severity == "warning", said
    assert "inside one host" not in said.sentence, said
    assert said.severity != "good" or said.transports == {"sockets"}, said
