"""`weft bench rdma-pairs` over an ssh that runs everything here, with stand-ins for perftest.

Real ssh to hosts apart: tests/oracle/test_rdma_pairs.py. No RDMA device is asked in any test.
"""

import contextlib
import json
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need
from tests.perftest_stand_in import (
    ROWS_BACK,
    ROWS_THERE,
    StandIn,
    averages,
    calls,
    ndv4_ports,
)

from weft.cli import run
from weft.cluster.folder import cluster_folder
from weft.cluster.record import ClusterRecord
from weft.results.result_file import read_results

Capture = pytest.CaptureFixture[str]
Rdma = Callable[..., tuple[int, Any]]

SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
export WEFT_STAND_IN="$WEFT_HOSTS/$2" SSH_CONNECTION="127.0.0.1 9 127.0.0.1 22"
[ -d "$WEFT_STAND_IN" ] || { echo "ssh: Could not resolve hostname $2" >&2; exit 255; }
cd "$WEFT_STAND_IN" || exit 255
PATH="$WEFT_STAND_IN/bin:$WEFT_TOOLS" exec sh -c "$3"
"""
TOOLS = ("sh", "cat", "grep", "sleep", "setsid", "mkdir", "env")
"""What the hosts have beside the stand-ins: a perftest of this machine must not be found."""
NAMES = [port.device for port in ndv4_ports()]


def host(rows: tuple[str, ...], n: int = 8) -> StandIn:
    return StandIn(ndv4_ports()[:n], dict(zip(NAMES, rows, strict=False)))


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the made-up hosts."""
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text(SSH)
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        need(tool, package="coreutils dash grep util-linux")
        (tools / tool).symlink_to(shutil.which(tool) or "")
    monkeypatch.setenv("WEFT_TOOLS", str(tools))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("WEFT_HOSTS", str(tmp_path / "hosts"))
    monkeypatch.chdir(tmp_path)
    # On a busy machine sixteen interpreters take their time to start.
    monkeypatch.setattr("weft.bench.rdma.measure.READY_S", 45)
    monkeypatch.setattr("weft.bench.rdma.measure.SLACK_S", 60.0)
    return tmp_path / "hosts"


@pytest.fixture
def rdma(hosts: Path, capsys: Capture) -> Rdma:
    """Measures between the made-up hosts a and b: the exit code and the record, or the error."""

    def measure(a: StandIn, b: StandIn, *more: str, form: str = "json") -> tuple[int, Any]:
        for name, one in (("a", a), ("b", b)):
            one.write(hosts / name)
        argv = ["bench", "rdma-pairs", "a", "b", "--sysfs", "sys", "--seconds", "5"]
        with free_ports() as first:
            code = run([*argv, "--port", str(first), "--format", form, *more])
        said = capsys.readouterr()
        return code, (json.loads(said.out) if form == "json" and said.out else said.out or said.err)

    return measure


@contextlib.contextmanager
def free_ports() -> Iterator[int]:
    """The first of 16 free TCP ports, below those that the kernel deals. Tests that run beside this
    one get others: who has a stretch holds the port before it."""
    for held in range(20000, 32000, 17):
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(socket.create_server(("", held)))
                for port in range(held + 1, held + 17):
                    socket.create_server(("", port)).close()
            except OSError:
                continue
            yield held + 1
            return
    raise AssertionError("no stretch of free TCP ports")


def ways(record: dict[str, Any], key: str) -> dict[tuple[str, str], Any]:
    """By (rail, from) what a key of its row says."""
    return {(row["rail"], row["from"]): row[key] for row in record["rows"]}


def nothing_is_left(hosts: Path) -> bool:
    """Whether every process of a stand-in is over."""
    pids = [call["pid"] for name in ("a", "b") for call in calls(hosts / name)]
    assert pids
    return not any(Path("/proc", str(pid)).exists() for pid in pids)


def test_all_rails_at_once_in_both_directions(rdma: Rdma, hosts: Path) -> None:
    """The clients of the stand-in wait until all eight are there."""
    a = replace(host(ROWS_THERE), faults={"together": 8})
    b = replace(host(ROWS_BACK), faults={"together": 8})
    code, record = rdma(a, b)
    assert code == 0, record
    gbps = ways(record, "gbps")
    names = [f"{name}:1" for name in NAMES]
    assert [gbps[name, "a"] for name in names] == pytest.approx(averages(ROWS_THERE))
    assert [gbps[name, "b"] for name in names] == pytest.approx(averages(ROWS_BACK))
    sums = [(one["from"], one["to"], one["gbps"]) for one in record["sums"]]
    assert sums == [
        ("a", "b", pytest.approx(sum(averages(ROWS_THERE)))),
        ("b", "a", pytest.approx(sum(averages(ROWS_BACK)))),
    ]
    assert record["rates_gbps"] == 1600
    assert {row["state"] for row in record["rows"]} == {"good"}
    assert nothing_is_left(hosts)


def test_each_side_is_bound_next_to_its_device_and_has_a_port_of_its_own(
    rdma: Rdma, hosts: Path
) -> None:
    assert rdma(host(ROWS_THERE), host(ROWS_BACK))[0] == 0
    ports = []
    for name in ("a", "b"):
        asked = calls(hosts / name)
        assert [call["side"] for call in asked].count("server") == 8
        ports += [call["port"] for call in asked if call["side"] == "server"]
        lines = (hosts / name / "numactl.log").read_text().splitlines()
        bound = {line.split()[0]: line for line in lines}
        for call in asked:
            numa = NAMES.index(str(call["device"])) // 2
            words = bound[str(call["pid"])].split()[1:4]
            assert words[:2] == [f"--cpunodebind={numa}", f"--membind={numa}"]
            assert words[2].endswith("/bin/ib_write_bw")
    assert len(set(ports)) == 16


def test_a_device_of_no_numa_node_is_not_bound(rdma: Rdma, hosts: Path) -> None:
    ports = [replace(ndv4_ports()[0], numa=-1)]
    one = StandIn(ports, {"mlx5_ib0": ROWS_THERE[0]}, tools=("ib_write_bw",))
    code, record = rdma(one, one)
    assert code == 0, record
    assert not record["rows"][0]["client"].startswith("numactl")


def test_people_read_it(rdma: Rdma, tmp_path: Path) -> None:
    code, text = rdma(host(ROWS_THERE, 2), host(ROWS_BACK, 2), "--dir", "kept", form="text")
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == (
        "GOOD  4 of 4 paths carry at least 95 % of their port's rate: a and b, 2 rails, "
        "host memory, 8 MiB messages"
    )
    assert " ".join(lines[3].split()) == "rail NUMA port Gb/s a -> b Gb/s b -> a Gb/s"
    assert lines[1] == "would show: a path below 95 % of its port's rate"
    assert lines[4].split() == ["mlx5_ib0:1", "0", "200", "196.09", "195.96"]
    assert lines[6].split() == ["sum", "400", "392.58", "392.59"]
    kept = sorted(path.name for path in (tmp_path / "kept").glob("*client.txt"))
    assert kept[0] == "a-to-b.mlx5_ib0-1.client.txt"
    (table,) = read_results(tmp_path / "kept" / kept[0]).tables
    assert (table.tool, table.devices) == ("perftest", ("mlx5_ib0",))


def test_a_slow_rail_is_named(rdma: Rdma) -> None:
    slow = (*ROWS_THERE[:3], "8388608 1470 0.00 98.61 0.001469")
    code, record = rdma(host(slow, 4), host(ROWS_BACK, 4))
    assert code == 1
    low = {way for way, state in ways(record, "state").items() if state != "good"}
    assert low == {("mlx5_ib3:1", "a")}
    assert ways(record, "state")["mlx5_ib3:1", "a"] == "low"


def test_more_than_the_port_can_do_is_impossible(rdma: Rdma) -> None:
    ports = [replace(ndv4_ports()[0], rate="100 Gb/sec (4X EDR)")]
    one = StandIn(ports, {"mlx5_ib0": ROWS_THERE[0]})
    code, record = rdma(one, one)
    assert (code, record["rows"][0]["state"]) == (1, "impossible")


def test_a_rail_that_is_down_is_named_and_the_others_are_measured(rdma: Rdma) -> None:
    b = host(ROWS_BACK, 3)
    ports = [replace(port, state="1: DOWN") if i == 1 else port for i, port in enumerate(b.ports)]
    code, record = rdma(host(ROWS_THERE, 3), replace(b, ports=ports))
    assert code == 1
    states = ways(record, "state")
    assert {states["mlx5_ib1:1", end] for end in "ab"} == {"down"}
    assert {states[f"mlx5_ib{i}:1", end] for i in (0, 2) for end in "ab"} == {"good"}
    assert ways(record, "cause")["mlx5_ib1:1", "a"] == "mlx5_ib1:1 of b is DOWN"


def test_faults_of_rails_are_named_and_the_others_are_measured(rdma: Rdma, hosts: Path) -> None:
    """Each rail has another fault on its way from a to b."""
    faults = {
        "a": ["refused", "queue pair", "client finds nothing", "silent", "crashes at the end", ""],
        "b": ["", "", "", "", "", "server finds nothing", ""],
    }
    sides = {
        name: replace(one, faults=dict(zip(NAMES, faults[name], strict=False)))
        for name, one in (("a", host(ROWS_THERE, 7)), ("b", host(ROWS_BACK, 7)))
    }
    code, record = rdma(sides["a"], sides["b"])
    assert code == 4
    causes = ways(record, "cause")
    for i, said in enumerate(
        (
            "nothing answered on b:",
            "the queue pair cannot reach the other port",
            "perftest does not find the device",
            "its client printed no row",
            "messages were lost",
            "perftest does not find the device",
        )
    ):
        assert causes[f"mlx5_ib{i}:1", "a"].startswith(said)
        assert ways(record, "remedy")[f"mlx5_ib{i}:1", "a"]
    states = ways(record, "state")
    assert states.pop(("mlx5_ib6:1", "a")) == "good"
    assert {state for way, state in states.items() if way[1] == "a"} == {"failed"}
    assert {state for way, state in states.items() if way[1] == "b"} == {"good"}
    assert nothing_is_left(hosts)


def test_a_server_that_never_listens_is_named_and_ended(
    rdma: Rdma, hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.bench.rdma.measure.READY_S", 1)
    b = replace(host(ROWS_BACK, 2), faults={"mlx5_ib1": "server hangs"})
    code, record = rdma(host(ROWS_THERE, 2), b)
    assert code == 4
    assert ways(record, "cause")["mlx5_ib1:1", "a"] == "its server on b did not listen within 1 s"
    assert ways(record, "state")["mlx5_ib0:1", "a"] == "good"
    assert nothing_is_left(hosts)


def test_a_client_that_hangs_is_named_within_its_time_and_ended(
    rdma: Rdma, hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.bench.rdma.measure.SLACK_S", -4.0)
    a = replace(host(ROWS_THERE, 1), faults={"mlx5_ib0": "client hangs"})
    monkeypatch.setattr("weft.cluster.remote.Ssh.run", patient(), raising=True)
    code, record = rdma(a, host(ROWS_BACK, 1))
    assert code == 4
    assert ways(record, "cause")["mlx5_ib0:1", "a"] == "its client was not done in 1 s"
    assert nothing_is_left(hosts)


def patient() -> Any:
    """Ssh.run that has time though the slack of the measurement is gone."""
    from weft.cluster.remote import Ssh

    original = Ssh.run

    def run_(self: Ssh, host: str, command: Any, *, timeout_s: float, stdin: bytes = b"") -> Any:
        del timeout_s
        return original(self, host, command, timeout_s=20.0, stdin=stdin)

    return run_


def with_gpus(one: StandIn, order: list[int]) -> StandIn:
    """GPUs beside the rails, below the same bridges: rail i and GPU order[i] meet."""
    ports = [
        replace(port, pci=f"pci000{i // 2}:00/000{i // 2}:00:0{i % 2}.0/000{i}:01:00.0")
        for i, port in enumerate(one.ports)
    ]
    gpus = [
        (f"pci000{i // 2}:00/000{i // 2}:00:0{i % 2}.0/00{order[i]}0:02:00.0", port.numa)
        for i, port in enumerate(ports)
    ]
    return replace(one, ports=ports, gpus=gpus)


def test_messages_of_a_gpu_come_from_the_one_next_to_the_rail(rdma: Rdma, hosts: Path) -> None:
    orders = {"a": [1, 0, 3, 2], "b": [3, 2, 1, 0]}
    a, b = with_gpus(host(ROWS_THERE, 4), orders["a"]), with_gpus(host(ROWS_BACK, 4), orders["b"])
    code, record = rdma(a, b, "--memory", "gpu")
    assert code == 0, record
    assert record["least_share"] == 0.9
    for name, order in orders.items():
        for call in calls(hosts / name):
            wanted = order[NAMES.index(str(call["device"]))]
            assert f"--use_cuda={wanted}" in call["args"]  # type: ignore[operator]
            assert call["order"] == "PCI_BUS_ID"
    assert ways(record, "from_gpu")["mlx5_ib0:1", "a"] == 1
    assert ways(record, "to_gpu")["mlx5_ib0:1", "a"] == 3


def test_a_perftest_without_cuda_is_named(rdma: Rdma) -> None:
    a, b = with_gpus(host(ROWS_THERE, 2), [0, 1]), with_gpus(host(ROWS_BACK, 2), [0, 1])
    b = replace(b, faults=dict.fromkeys(NAMES, "no cuda"))
    code, record = rdma(a, b, "--memory", "gpu")
    assert code == 4
    assert set(ways(record, "cause").values()) == {"ib_write_bw is built without CUDA"}


@pytest.mark.parametrize(
    ("b", "more", "code", "said"),
    [
        (replace(host(ROWS_BACK, 2), tools=("numactl",)), (), 3, "b: no ib_write_bw"),
        (replace(host(ROWS_BACK, 2), tools=("ib_write_bw",)), (), 3, "b: no numactl"),
        (host(ROWS_BACK, 2), ("--memory", "gpu"), 3, "a: no NVIDIA GPU on its PCI bus"),
        (host(ROWS_BACK, 1), (), 2, "b has 1 ports (InfiniBand: mlx5_ib0:1)"),
        (StandIn([], {}), (), 3, "b: no RDMA port in /sys/class/infiniband"),
        (host(ROWS_BACK, 2), ("--rails", "mlx5_ib9"), 2, "a: no rail 'mlx5_ib9'"),
        (host(ROWS_BACK, 2), ("--rails", "mlx5_ib0,mlx5_ib0"), 2, "--rails 'mlx5_ib0,mlx5_ib0'"),
        (host(ROWS_BACK, 2), ("--seconds", "4"), 2, "Invalid value for '--seconds'"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_runs(
    rdma: Rdma, hosts: Path, b: StandIn, more: tuple[str, ...], code: int, said: str
) -> None:
    ended, error = rdma(host(ROWS_THERE, 2), b, *more)
    assert ended == code
    assert said in error
    assert not calls(hosts / "a")


def test_a_port_that_somebody_listens_on_is_said(rdma: Rdma) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, error = rdma(host(ROWS_THERE, 1), host(ROWS_BACK, 1), "--port", str(port))
    assert code == 2
    assert f"b: TCP port {port} is taken" in error


def test_rails_are_chosen_by_name(rdma: Rdma) -> None:
    code, record = rdma(host(ROWS_THERE, 4), host(ROWS_BACK, 3), "--rails", "mlx5_ib2,mlx5_ib0:1")
    assert code == 0
    assert [row["rail"] for row in record["rows"][:2]] == ["mlx5_ib2:1", "mlx5_ib0:1"]


@pytest.mark.usefixtures("hosts")
@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", "b c", "$(touch x)", "b;touch x"])
def test_a_name_of_a_host_reaches_no_shell(name: str, tmp_path: Path, capsys: Capture) -> None:
    for pair in ((name, "a"), ("a", name)):
        assert run(["bench", "rdma-pairs", "--", *pair]) == 2
        assert "is no host name" in capsys.readouterr().err
    assert not list(tmp_path.glob("**/x"))


@pytest.mark.usefixtures("hosts")
def test_one_host_is_no_pair(capsys: Capture) -> None:
    assert run(["bench", "rdma-pairs", "a", "a"]) == 2
    assert "'a' twice" in capsys.readouterr().err


def test_a_benchmark_is_still_a_benchmark(capsys: Capture) -> None:
    assert run(["bench", "rdma-pair"]) == 2
    assert "no benchmark 'rdma-pair'" in capsys.readouterr().err


def test_hosts_of_a_cluster_are_those_it_has(
    rdma: Rdma, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = cluster_folder("mine")
    folder.mkdir(parents=True)
    ClusterRecord(
        name="mine",
        hosts=("a", "b"),
        all_hosts=("a", "b"),
        ssh_config=None,
        agreed={},
        n_cpus=1,
        machines={},
        virtual=False,
        asked={},
    ).write(folder)
    code, record = rdma(host(ROWS_THERE, 1), host(ROWS_BACK, 1), "--cluster", "mine")
    assert code == 0, record
    assert run(["bench", "rdma-pairs", "a", "bb", "--cluster", "mine"]) == 2
    assert "no host 'bb' in cluster 'mine'" in capsys.readouterr().err
