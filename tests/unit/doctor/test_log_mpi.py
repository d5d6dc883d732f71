"""What MPI libraries and what is under them say they used, and whether SHARP was triggered."""

from pathlib import Path

import pytest

from weft.bench.logs.log_facts import read_logs
from weft.bench.logs.ranks import JobLog, job_log
from weft.core.finding import Finding
from weft.doctor.log.aspects import aspects
from weft.doctor.log.judge import judge

LANES = "[1.5] [{host}:7:0] ucp_worker.c:1763 UCX  INFO  ep_cfg[1]: tag({lanes})"
LLT = (
    "[{host}:{rank}:588 - comm.c:392] INFO [group#:0] group id:0 tree idx:0 tree_type:LLT "
    "rail_idx:0 group size:{n} quota: (osts:8 user_data_per_ost:1024)"
)
TREE = (
    "[a:0:588 - context.c:867] INFO sharp_job_id:41 resv_key: tree_type:LLT tree_idx:0 treeID:18 "
    "caps:0x5 quota:(osts:167)"
)
ERROR = "[a:0:588 - comm.c:374] ERROR Failed to lock SAT tree(ID:0x40 ret:0x4)"


def read(tmp_path: Path, *lines: str) -> JobLog:
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")
    return job_log(read_logs([str(path)]))


def verdict(log: JobLog) -> Finding:
    return judge(log)[0]


def lanes(tmp_path: Path, names: str, *hosts: str) -> Finding:
    return verdict(read(tmp_path, *(LANES.format(host=host, lanes=names) for host in hosts)))


def test_ucx_over_tcp_between_hosts_is_bad(tmp_path: Path) -> None:
    found = lanes(tmp_path, "self/memory0 tcp/eth0", "a", "b")
    assert found.severity.value == "bad"
    assert found.sentence == (
        "2 of 2 processes used UCX's tcp between hosts, and no RDMA transport"
    )


def test_ucx_over_rdma_is_good(tmp_path: Path) -> None:
    found = lanes(tmp_path, "rc_mlx5/mlx5_0:1", "a", "b")
    assert found.severity.value == "good"
    assert found.sentence == "2 of 2 processes used UCX over rc_mlx5"


def test_ucx_over_tcp_on_one_host_is_no_ones_fault(tmp_path: Path) -> None:
    """Whether there are other hosts, these lines do not tell."""
    assert lanes(tmp_path, "self/memory0 tcp/lo", "a").severity.value == "unknown"


def test_a_process_without_a_host_is_the_one_of_its_number(tmp_path: Path) -> None:
    """libfabric says its process alone: here that is a's, since b has another number."""
    lines = [f"[{host}:000{pid}] select: component cm selected" for host, pid in ("a7", "b8")]
    said = "libfabric:7:1::core:core:fi_fabric_():1819<info> Using tcp provider 2.1, path:x"
    assert verdict(read(tmp_path, said, *lines)).sentence == (
        "1 of 2 processes used libfabric's provider tcp, which is TCP"
    )


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ("libfabric:7:1::core:core:fi_fabric_():1819<info> Using tcp provider 2.1, path:x",) * 2
            + (LANES.format(host="a", lanes="x/y"), LANES.format(host="b", lanes="x/y")),
            "1 of 3 processes used libfabric's provider tcp, which is TCP",
        ),
        (
            (
                "[a:7] select: init of component tcp returned success",
                "[a:7] select: component ob1 selected",
                "[b:7] select: component ob1 selected",
            ),
            "2 of 2 processes used Open MPI's pml ob1 over tcp: TCP between hosts",
        ),
        (
            ("[a:7] select: init returned failure for component ucx",),
            "1 of 1 process could not use Open MPI's pml ucx, and used no other",
        ),
        (
            ("[a:7] PML cm cannot be selected", "[b:7] PML cm cannot be selected"),
            "2 of 2 processes could not use Open MPI's pml cm, and used no other",
        ),
    ],
)
def test_ways_into_tcp(tmp_path: Path, lines: tuple[str, ...], sentence: str) -> None:
    found = verdict(read(tmp_path, *lines))
    assert (found.severity.value, found.sentence) == ("bad", sentence)


def test_layers_that_were_only_tried_are_no_fault(tmp_path: Path) -> None:
    """What Open MPI 5 says where it chooses by itself: it tries all, and cm tries its mtl."""
    log = read(
        tmp_path,
        "[a:7] select: init returned failure for component ofi",
        "[a:7] select: init returned failure for component cm",
        "[a:7] select: init returned failure for component ucx",
        "[a:7] select: component ob1 selected",
        "[a:7] coll:base:comm_select: selecting          sm, priority   0, Disabled",
        "[a:7] coll:base:comm_select: selecting       tuned, priority  30, Enabled",
    )
    assert verdict(log).severity.value == "good"
    (components,) = [aspect for aspect in aspects(log) if aspect.name == "components"]
    assert components.text == (
        "mtl ofi failed, pml cm failed, pml ucx failed, pml ob1 selected, coll tuned usable"
    )


@pytest.mark.parametrize(("other", "severity"), [("cxi", "good"), ("shm", "bad")])
def test_a_process_that_opens_a_fast_provider_too_is_not_accused(
    tmp_path: Path, other: str, severity: str
) -> None:
    """A library may open several: of what it sends over, that says nothing."""
    said = "libfabric:7:1::core:core:fi_fabric_():1819<info> Using {} provider 2.1, path:x"
    hosts = [f"[{host}:000{pid}] select: component cm selected" for host, pid in ("a7", "b8")]
    log = read(tmp_path, *hosts, said.format("tcp"), said.format(other))
    assert verdict(log).severity.value == severity


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ("libfabric:7:1::core:core:fi_fabric_():1808<info> Opened fabric: cxi",),
            "1 of 1 process chose libfabric's cxi",
        ),
        (
            ("[a:7] select: component ucx selected", "[b:7] select: component ucx selected"),
            "2 of 2 processes chose pml ucx",
        ),
        (("==== OFI netmod Capability ====",), "1 of 1 process chose netmod ofi"),
    ],
)
def test_what_was_chosen_is_the_verdict_where_nothing_is_wrong(
    tmp_path: Path, lines: tuple[str, ...], sentence: str
) -> None:
    found = verdict(read(tmp_path, *lines))
    assert (found.severity.value, found.sentence) == ("good", sentence)


def test_a_failed_btl_carries_nothing(tmp_path: Path) -> None:
    lines = [f"[{host}:7] select: component ob1 selected" for host in "ab"]
    lines.append("[a:7] select: init of component ofi returned failure")
    tcp = "[a:7] select: init of component tcp returned success"
    assert verdict(read(tmp_path, *lines, tcp)).sentence == (
        "2 of 2 processes used Open MPI's pml ob1 over tcp: TCP between hosts"
    )
    uct, openib = (tcp.replace("tcp", name) for name in ("uct", "openib"))
    assert verdict(read(tmp_path, *lines, tcp, uct)).severity.value == "bad"
    assert verdict(read(tmp_path, *lines, tcp, openib)).severity.value == "good"


def sharp(log: JobLog) -> str:
    (aspect,) = [aspect for aspect in aspects(log) if aspect.name == "SHARP"]
    return aspect.text


def test_sharp_is_triggered_by_a_group_of_several(tmp_path: Path) -> None:
    log = read(tmp_path, TREE, *(LLT.format(host=h, rank=r, n=2) for r, h in enumerate("ab")))
    assert verdict(log).severity.value == "good"
    assert verdict(log).sentence == "SHARP was triggered (unverified): LLT of 2 members"
    assert sharp(log) == "triggered: LLT of 2 members; trees LLT (unverified)"


@pytest.mark.parametrize("lines", [(TREE,), (TREE, LLT.format(host="a", rank=0, n=1))])
def test_a_tree_that_no_one_uses_is_not_triggered(tmp_path: Path, lines: tuple[str, ...]) -> None:
    log = read(tmp_path, *lines)
    assert verdict(log).sentence == (
        "SHARP gave the job 1 kind of tree and no communicator uses one: it was not triggered "
        "(unverified)"
    )
    assert sharp(log).startswith("not triggered")


def test_why_sharp_was_not_triggered(tmp_path: Path) -> None:
    log = read(tmp_path, TREE, ERROR)
    assert verdict(log).sentence == (
        "SHARP was not triggered (unverified): Failed to lock SAT tree(ID:0x40 ret:0x4)"
    )
    both = read(tmp_path, TREE, LLT.format(host="a", rank=0, n=4), ERROR)
    assert verdict(both).sentence.startswith("SHARP was only in part triggered")
