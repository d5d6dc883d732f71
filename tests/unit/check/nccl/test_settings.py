"""Versions that differ between nodes, NCCL's own log, and groups under one switch."""

from pathlib import Path

import pytest

from weft.bench.model import State
from weft.check.nccl import groups
from weft.check.nccl.outcomes import GroupOutcome
from weft.check.nccl.settings import log_findings, version_findings
from weft.core.finding import Severity

SIZE = 1 << 30


def alone(host: str, version: str) -> GroupOutcome:
    return GroupOutcome("node", "t000-nodes-alone-1", (host,), State.OK, "ended", version=version)


def pair(a: str, b: str) -> GroupOutcome:
    return GroupOutcome("pair", "t001-survey", (a, b), State.OK, "ended", round=0)


def group(*hosts: str, busbw: float | None = 300.0, reason: str = "") -> GroupOutcome:
    figures = {} if busbw is None else {SIZE: busbw}
    state = State.FAILED if busbw is None else State.OK
    return GroupOutcome(
        "group", "t004-groups", hosts, state, "ended", busbw_gb_s=figures, reason=reason
    )


def log_of(hosts: tuple[str, str], network: str) -> str:
    """The lines of NCCL 2.20 for one GPU of each host (NCCL_DEBUG=INFO)."""
    lines = []
    for rank, host in enumerate(hosts):
        said = f"{host}:10{rank}:10{rank} [0] NCCL INFO "
        found = "No device found." if network == "Socket" else "Using [0]mlx5_0:1/IB [RO]"
        comm = f"comm 0x5 rank {rank} nranks 2 cudaDev 0 nvmlDev 0 busId 4000 commId 0x7 - Init"
        lines += [
            f"{said}NET/IB : {found}",
            f"{said}Using network {network}",
            f"{said}{comm} START",
            f"{said}Channel 00/0 : {rank}[0] -> {1 - rank}[0] [send] via NET/{network}/0/GDRDMA",
            f"{said}{comm} COMPLETE",
        ]
    return "\n".join(["NCCL version 2.20.5+cuda12.4", *lines]) + "\n"


def test_nodes_of_one_version_are_no_finding() -> None:
    assert not [*version_findings([alone("n1", "2.20.5"), alone("n2", "2.20.5")])]


def test_the_node_of_another_version_comes_first_with_a_next_step() -> None:
    nodes = [alone(f"n{i}", "2.18.3" if i == 3 else "2.20.5") for i in range(1, 6)]
    (found,) = version_findings(nodes)
    assert found.severity is Severity.WARNING
    assert found.sentence.startswith("Nodes run 2 versions of NCCL: 2.18.3 on n3; 2.20.5 on n1, n2")
    assert found.next_command is not None


def test_a_fall_back_to_sockets_of_one_pair_names_it(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for a, b, network in (("n1", "n2", "Socket"), ("n3", "n4", "IB")):
        file = tmp_path / "raw" / f"t001-survey.r01.000.{a}-{b}.out"
        file.write_text(log_of((a, b), network))
    of = [pair("n1", "n2"), pair("n3", "n4")]
    (found,) = log_findings(tmp_path, of, is_fast=False)
    assert found.severity is Severity.BAD
    assert found.sentence.startswith("NCCL's log of 1 of 2 pairs: 2 of 2 ranks used NET/Socket")
    assert found.evidence[-1] == "pairs: n1 - n2"
    assert found.next_command == "weft doctor log raw/t001-survey.r01.000.n1-n2.out"


@pytest.mark.parametrize(("is_fast", "severity"), [(True, Severity.BAD), (False, Severity.WARNING)])
def test_sockets_of_all_pairs_are_bad_where_a_platform_has_a_faster_network(
    is_fast: bool, severity: Severity, tmp_path: Path
) -> None:
    """A cluster may have Ethernet only."""
    (tmp_path / "raw").mkdir()
    for a, b in (("n1", "n2"), ("n3", "n4")):
        file = tmp_path / "raw" / f"t001-survey.r01.000.{a}-{b}.out"
        file.write_text(log_of((a, b), "Socket"))
    of = [pair("n1", "n2"), pair("n3", "n4")]
    (found,) = log_findings(tmp_path, of, is_fast=is_fast)
    assert found.severity is severity
    assert found.sentence.startswith("NCCL's log of all pairs: 2 of 2 ranks used NET/Socket")


def test_a_run_without_logs_has_no_finding_of_them(tmp_path: Path) -> None:
    assert not [*log_findings(tmp_path, [pair("n1", "n2")], is_fast=True)]


def test_a_slow_group_without_a_bad_node_is_a_warning() -> None:
    of = [group("n1", "n2"), group("n3", "n4"), group("n5", "n6", busbw=200.0), group("n7", "n8")]
    (found,) = groups.findings(of, set())
    assert found.severity is Severity.WARNING
    assert "2 nodes (n5, n6) under one switch deliver 67 % of other such groups" in found.sentence
    assert not [*groups.findings(of, {"n6"})]


def test_a_group_that_fails_together_is_a_warning_with_its_reason() -> None:
    (found,) = groups.findings([group("n1", "n2", busbw=None, reason="did not end in 60 s")], set())
    assert found.severity is Severity.WARNING
    assert found.sentence.endswith("none of them is accused: did not end in 60 s.")
