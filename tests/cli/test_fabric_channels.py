"""`weft fabric channels`: what a person types, and what comes back."""

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.unit.audit.channels.fabric_jobs import TREE
from tests.unit.audit.channels.job_logs import DrawnJob

from weft.cli import run
from weft.topology.subnet.subnet import Subnet

SPREAD = [1, 5, 2, 6, 3, 7, 4, 8]
"""Neighbours in this order are on two leaves, with two spines between them."""
NODES = [f"n{number:03d}" for number in SPREAD]


def fabric_file(folder: Path, **changes: Any) -> str:
    """Eight hosts on two leaves, one cable to each of two spines, all as fast."""
    case = {"nodes": 8, "hcas_per_node": 1, "nodes_per_leaf": 4, "spines": 2, **changes}
    routed = Subnet.of_fabric({**TREE, **case}).route("minhop")
    document, _ = routed.fabric_document("tree", 10**11, 5000)
    path = folder / "fabric.json"
    path.write_text(json.dumps(document))
    return str(path)


def log_file(folder: Path, hosts: list[str] = NODES, **changes: Any) -> str:
    job = DrawnJob(hosts, 2, [(0, 0), (0, 0)], ["hca0:1"], **changes)
    path = folder / "nccl.log"
    path.write_text(job.text())
    return str(path)


def weft(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a call."""
    code = run(["fabric", "channels", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    return (fabric_file(tmp_path), "--log", log_file(tmp_path))


def test_collisions_come_with_their_cost_and_the_order_without_them(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...], tmp_path: Path
) -> None:
    best = tmp_path / "hosts"
    code, out, err = weft(capsys, *files, "-o", str(best))
    assert code == 1
    assert err.endswith(f"\nwritten: {best}\n")
    # Four hosts of a leaf send to the other leaf over two cables: each gets a half.
    lines = out.splitlines()
    assert lines[0] == "BAD  collisions leave 6.2 of 12.5 GB/s busbw"
    assert re.fullmatch(r"  leaf-0[12]\[5\] - spine-01\[[12]\] is wanted 2\.0 times", lines[1])
    assert max(map(len, lines)) <= 80
    assert re.search(r"^as read +leaf by leaf +12\.5 +0$", out, re.MULTILINE)
    assert "Order of hosts with 12.5 GB/s, no collision" in out
    leaf_of = [int(name.removeprefix("n")) > 4 for name in best.read_text().split()]
    assert sum(a != b for a, b in pairwise(leaf_of)) == 1


def test_one_channel_is_printed_cable_by_cable(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    _, out, _ = weft(capsys, *files, "--channel", "1")
    lines = out.splitlines()
    assert lines[0] == "Channel 1 (ring): 8 hops between hosts, 3.12 GB/s at the slowest."
    assert lines[1] == "n001 NET/0 to n005 NET/0: 3.12 GB/s"
    assert lines[2].split(" - ")[0].strip() == "n001 hca0[1]"
    assert lines[5].split(" - ")[1] == "n005 hca0[1]"
    assert lines[3].endswith("  collision")
    code, _, err = weft(capsys, *files, "--channel", "2")
    assert code == 2
    assert "the job has no channel 2" in err


def test_json_and_csv_hold_every_cable(
    capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    _, out, _ = weft(capsys, *files, "--format", "json")
    found = json.loads(out)
    assert (found["schema"], found["severity"]) == ("weft.fabric_channels/1", "bad")
    assert (found["busbw_gb_s"], found["free_busbw_gb_s"]) == (6.25, 12.5)
    assert len(found["hops"]) == 2 * 8
    # All eight hops of a channel change the leaf: two host cables and two between switches.
    assert {len(hop["cables"]) for hop in found["hops"]} == {4}
    assert sum(len(use["channels"]) for use in found["collisions"]) == 2 * 2 * 8
    _, out, _ = weft(capsys, *files, "--format", "csv", "--channel", "0")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 8 * 4
    assert {row["channel"] for row in rows} == {"0"}


def test_a_job_in_order_has_no_collision(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hosts = [f"n{number:03d}" for number in range(1, 9)]
    code, out, _ = weft(capsys, fabric_file(tmp_path), "--log", log_file(tmp_path, hosts))
    assert code == 0
    assert out.startswith("GOOD  no rings of this communicator collide: busbw up to ")
    assert "order of hosts" not in out
    assert "assumed  static routes" in out


def test_where_no_order_helps_it_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One slow cable up from each leaf: every ring has to leave a leaf once."""
    fabric = fabric_file(tmp_path, spines=1, switch_bits_per_s=40 * 10**9)
    hosts = [f"n{number:03d}" for number in range(1, 9)]
    code, out, _ = weft(capsys, fabric, "--log", log_file(tmp_path, hosts))
    assert code == 1
    assert "No order of hosts helps: 2 hops must leave leaf-01 by 1 cable." in out
    assert "No other routing helps in the job's own order" in out


def test_a_truncated_log_leaves_it_open(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hosts = ["n001", "n002", "n005"]
    log = log_file(tmp_path, hosts)
    text = Path(log).read_text()
    Path(log).write_text("\n".join(line for line in text.splitlines() if line[:4] != "n005"))
    code, out, _ = weft(capsys, fabric_file(tmp_path), "--log", log)
    assert code == 5
    assert out.startswith("UNKNOWN  cannot tell: whether channels collide")
    assert "no line of rank 4, rank 5" in out
    assert "busbw" not in out


def test_adaptive_routing_leaves_it_open(
    capsys: pytest.CaptureFixture[str],
    files: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Subnet.read

    def with_groups(paths: list[str]) -> Subnet:
        subnet = read(paths)
        subnet.__dict__["description"] = {**subnet.description, "n_adaptive": 4}
        return subnet

    monkeypatch.setattr(Subnet, "read", with_groups)
    code, out, _ = weft(capsys, *files)
    assert code == 5
    assert "4 switches may route adaptively: static tables do not tell" in out
    assert "weft fabric congestion" in out.splitlines()[0]


@pytest.mark.parametrize(
    ("hosts", "devices", "more", "says"),
    [
        (["n001", "n009"], "hca0:1", (), "host 'n009' of the job is not in the fabric"),
        (["n001", "n002"], "mlx5_7:1", ("--nic", "0=mlx5_8"), "which the fabric does not name"),
        (["n001", "n002"], "hca0:2", ("--nic", "0=hca0:2"), "which the fabric does not name"),
        (["n001", "n002"], "hca0", ("--nic", "hca0"), "expected: [HOSTS:]K=DEVICE"),
        (["n001", "n002"], "hca0", ("--nic", "0=0x1f"), "gives one GUID to many"),
        (
            ["n001", "n002"],
            "hca0",
            ("--nic", "n001:0=0x1f"),
            "no adapter with a LID and a cable has",
        ),
        (["n001", "n002"], "hca0", ("--communicator", "0x1"), "no communicator has the id 0x1"),
        (["n001", "n002"], "hca0", ("--hosts", "n001"), "contradict each other"),
    ],
)
def test_what_is_not_certain_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    hosts: list[str],
    devices: str,
    more: tuple[str, ...],
    says: str,
) -> None:
    job = DrawnJob(hosts, 2, [(0, 0)], [devices])
    log = tmp_path / "nccl.log"
    log.write_text(job.text())
    code, out, err = weft(capsys, fabric_file(tmp_path), "--log", str(log), *more)
    assert (code, out) == (2, "")
    assert says in err


def test_without_tables_the_engine_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = Path(fabric_file(tmp_path))
    document = json.loads(path.read_text())
    del document["lfts"]
    path.write_text(json.dumps(document))
    code, _, err = weft(capsys, str(path), "--log", log_file(tmp_path))
    assert code == 2
    assert "--engine" in err
    code, out, _ = weft(capsys, str(path), "--log", log_file(tmp_path), "--engine", "minhop")
    assert code == 1
    assert re.search(r"^minhop +as given +6\.2 ", out, re.MULTILINE)


def test_neither_a_log_nor_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = weft(capsys, fabric_file(tmp_path))
    assert code == 2
    assert "--log LOG, or --plan PLAN" in err


def plan_file(folder: Path, nets: list[list[int]], **more: Any) -> str:
    """A plan as `weft doctor nccl-plan --format json` prints it."""
    channels = [{"gpus": [0, 1], "nets": pair} for pair in nets]
    ring = {"graph": "ring", "channels": channels, **more}
    plan = {"version": "2.26.5", "gpus_per_node": 2, "nets": ["hca0", "hca1"], "tuner_asked": True}
    plan["plans"] = [{"nodes": 4, "graphs": [ring], "choices": []}]
    path = folder / "plan.json"
    path.write_text(json.dumps({"nodes_of": "x", "plans": [plan]}))
    return str(path)


def test_a_plan_is_laid_on_the_hosts_of_the_job(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fabric = fabric_file(tmp_path, nodes=4, hcas_per_node=2, nodes_per_leaf=2, spines=4)
    plan = plan_file(tmp_path, [[0, 0], [1, 1]], cross_nic=0)
    argv = (fabric, "--plan", plan, "--hosts", "n[001-004]", "--format", "json")
    code, out, _ = weft(capsys, *argv)
    found = json.loads(out)
    assert code == (1 if found["collisions"] else 0)
    hops = [(hop["channel"], hop["src"], hop["dst"], hop["dst_net"]) for hop in found["hops"]]
    ring = [("n001", "n002"), ("n002", "n003"), ("n003", "n004"), ("n004", "n001")]
    assert hops == [(channel, *pair, channel) for channel in (0, 1) for pair in ring]


def test_rings_of_a_plan_that_alternate_stay_on_their_rails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On nodes of odd numbers NCCL exchanges two channels that change adapters inside a node."""
    fabric = fabric_file(tmp_path, nodes=4, hcas_per_node=2, nodes_per_leaf=2, spines=4)
    plan = plan_file(tmp_path, [[0, 1], [1, 0]], cross_nic=2)
    _, out, _ = weft(capsys, fabric, "--plan", plan, "--hosts", "n[001-004]", "--format", "json")
    assert all(hop["src_net"] == hop["dst_net"] for hop in json.loads(out)["hops"])
    plan = plan_file(tmp_path, [[0, 1], [1, 0]], cross_nic=1)
    _, out, _ = weft(capsys, fabric, "--plan", plan, "--hosts", "n[001-004]", "--format", "json")
    assert all(hop["src_net"] != hop["dst_net"] for hop in json.loads(out)["hops"])


@pytest.mark.parametrize(
    ("hosts", "nets", "more", "says"),
    [
        ("n[001-003]", [[0, 0]], {"cross_nic": 0}, "a plan for 4 nodes, and a job on 3"),
        ("n[001-004]", [[0, 1]], {}, "does not tell how nodes join them"),
        ("n[001-004]", [[0]], {"cross_nic": 0}, "no plan with channels"),
        (None, [[0, 0]], {"cross_nic": 0}, "--plan wants the job's hosts"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    hosts: str | None,
    nets: list[list[int]],
    more: dict[str, Any],
    says: str,
) -> None:
    plan = plan_file(tmp_path, nets, **more)
    argv = [fabric_file(tmp_path), "--plan", plan, *(["--hosts", hosts] if hosts else [])]
    code, _, err = weft(capsys, *argv)
    assert code == 2
    assert says in err
