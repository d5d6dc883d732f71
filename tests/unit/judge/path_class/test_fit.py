"""Which path classes rows leave: by latency, by rate, by what the file itself says."""

from typing import Any

import pytest

from weft.catalog.paths.path_class import PathClass, PathFamily, path_classes
from weft.judge.path_class.evidence import evidence_of
from weft.judge.path_class.fit import fit_of
from weft.judge.path_class.proof import proofs_in
from weft.judge.path_class.statement import statement_of
from weft.results.model import Row, Table


def latency(*rows: tuple[int, float]) -> Table:
    read = tuple(Row(i, size, {"latency_us": us}) for i, (size, us) in enumerate(rows, 1))
    return Table("osu", "osu_latency", "latency", read, 1, n_ranks=2, memory="host")


def bandwidth(*rows: tuple[int, float], tool: str = "osu", memory: str = "host") -> Table:
    read = tuple(Row(i, size, {"bandwidth_mb_s": mb_s}) for i, (size, mb_s) in enumerate(rows, 1))
    return Table(tool, "osu_bw", "bandwidth", read, 1, n_ranks=2, memory=memory)


def stream(mb_s: float) -> Table:
    """A flat plateau."""
    return bandwidth(*((1 << i, mb_s) for i in (16, 18, 20, 22)))


def sentence(*tables: Table, head: bytes = b"") -> str:
    evidence = evidence_of(tables, proofs_in(head, {}))
    finding = statement_of("f", evidence, fit_of(evidence))
    return f"{finding.severity.value.upper()} {finding.sentence}"


def transports(*tables: Table) -> set[str]:
    return set(fit_of(evidence_of(tables)).transports)


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        (0.3, {"memory"}),
        (1.1, {"memory", "rdma"}),
        (3.0, {"rdma"}),
        (10.0, {"rdma", "sockets"}),
        (57.0, {"sockets"}),
    ],
)
def test_the_smallest_latency_separates_memory_rdma_and_sockets(
    us: float, expected: set[str]
) -> None:
    assert transports(latency((0, us), (8, us * 1.01))) == expected


RDMA = [
    (family, one)
    for family in path_classes().of_transport("rdma")
    for one in family.classes
    if not family.named_only and not one.uncommon
]


@pytest.mark.parametrize(("family", "one"), RDMA, ids=[one.name for _, one in RDMA])
def test_a_filled_link_is_among_the_classes_that_fit(family: PathFamily, one: PathClass) -> None:
    assert family.latency_us is not None
    us = family.latency_us.low * 1.3
    evidence = evidence_of([latency((8, us)), stream(0.95 * one.gb_s * 1e3)])
    fits = {fit.path_class.name: fit.share for fit in fit_of(evidence).links}
    assert fits[one.name] == pytest.approx(0.95)


def test_a_link_is_good_only_where_the_rows_exclude_sockets_and_one_host() -> None:
    assert sentence(latency((8, 3.0)), stream(12_100)).startswith("GOOD 97 % of 100 Gb/s")
    assert sentence(latency((8, 1.0)), stream(12_100)).startswith("GOOD 97 % of 100 Gb/s")
    falling = bandwidth((1 << 16, 12_100), (1 << 20, 11_000), (1 << 21, 10_500), (1 << 22, 10_000))
    assert sentence(latency((8, 1.0)), falling).startswith("NOTE 97 % of 100 Gb/s")
    assert sentence(stream(12_100)).startswith("NOTE 97 % of 100 Gb/s: a link like EDR")
    said = sentence(latency((8, 9.0)), stream(12_100))
    assert said.startswith("NOTE 96.8 Gb/s, 9.0 us at 8 B: EFA or kernel sockets; fits EFA 100 or")


def test_a_rate_between_classes_says_all_that_fits_with_their_share() -> None:
    said = sentence(latency((8, 1.1)), stream(6_125))
    assert said.startswith("NOTE 49 Gb/s, 1.1 us at 8 B: RDMA; fits 50 GbE (RoCE) at 98 %")
    assert "FDR InfiniBand at 90 %" in said
    said = sentence(latency((8, 3.0)), stream(10_330))
    assert "83 % of 100 Gb/s" in said
    assert "below the usual 90 %" in said


def test_a_bus_or_a_half_is_named_where_no_link_is_filled() -> None:
    said = sentence(latency((8, 3.0)), stream(7_100))
    assert "a faster link behind PCIe Gen3 x8" in said


def test_a_curve_that_still_rises_names_no_link() -> None:
    said = sentence(latency((8, 3.0)), bandwidth((1024, 3000), (2048, 5000)))
    assert said.endswith("the largest row is 2 KiB: too small to show the rate of the link")


def test_a_launch_line_that_asks_for_tcp_is_bad() -> None:
    head = b"$ mpirun --mca btl tcp,self -np 2 ./osu_latency\n"
    said = sentence(latency((8, 57.0)), head=head)
    assert said.startswith("BAD 57 us at 8 B: kernel sockets (the command line in the file asks")
    both = b"$ mpirun --mca btl self,vader,tcp -np 2 ./osu_latency\n"
    assert sentence(latency((8, 0.4)), head=both).startswith("NOTE 0.40 us")


def test_an_adapter_that_the_file_names_leaves_its_family() -> None:
    table = bandwidth((1 << 20, 12_100), (1 << 22, 12_150), tool="perftest")
    assert "100 GbE (RoCE)" in sentence(table, head=b" Link type       : Ethernet\n")
    assert "EDR" not in sentence(table, head=b" Link type       : Ethernet\n")
    assert "EDR" in sentence(table, head=b" Link type       : IB\n")
    slow = bandwidth((1 << 20, 900.0), (1 << 22, 905.0), tool="perftest")
    assert "Omni-Path through verbs" in sentence(slow, head=b"ib_write_bw -d hfi1_0\n")


def test_peak_far_above_the_average_is_a_stall_and_no_rate() -> None:
    row = Row(1, 65536, {"bandwidth_mb_s": 2322.0, "bandwidth_peak_mb_s": 5900.0})
    table = Table("perftest", "ib_write_bw", "bandwidth", (row,), 1)
    assert sentence(table).startswith("WARNING peak 47.2 and average 18.6 Gb/s differ by 2.5x")


def test_gpus_are_joined_by_links_inside_a_node_and_by_adapters_between() -> None:
    def allreduce(busbw: float, **facts: Any) -> Table:
        rows = tuple(Row(i, 1 << 30, {"busbw_gb_s": busbw}) for i in (1, 2))
        return Table("nccl-tests", "all_reduce_perf", "allreduce", rows, 1, memory="gpu", **facts)

    one = allreduce(47.5, n_ranks=2, n_nodes=1)
    assert "2 links of NVLink2 at 95 %" in sentence(one)
    named = allreduce(235.0, n_ranks=8, n_nodes=1, devices=("A100-SXM4-40GB",))
    assert "8 A100-SXM4-40GB of one node: fits 12 links of NVLink3 at 78 %" in sentence(named)
    nvls = allreduce(470.0, n_ranks=8, n_nodes=1, devices=("NVIDIA H100 80GB HBM3",))
    assert "the NVSwitches reduce (NVLS)" in sentence(nvls)
    two = allreduce(97.0, n_ranks=16)
    assert "16 GPUs on two nodes or more" in sentence(two)
    assert "800 Gb/s a node at 97 %" in sentence(two)
    card = allreduce(7.2, n_ranks=2, n_nodes=1)
    assert "no NVLink: fits PCIe" in sentence(card)


def test_a_link_on_one_lane_is_named_only_where_no_other_class_fits_and_never_good() -> None:
    said = sentence(latency((8, 3.0)), stream(970.0))
    assert "SDR InfiniBand" in said
    assert "1x" not in said
    said = sentence(latency((8, 3.0)), stream(480.0))
    assert said.startswith("NOTE 96 % of 4 Gb/s, 3.0 us at 8 B: RDMA over DDR 1x InfiniBand")


def test_a_request_for_tcp_that_the_rows_refute_accuses_no_one() -> None:
    head = b"$ mpirun --mca btl tcp,self -np 2 ./osu_latency\n"
    said = sentence(latency((0, 2.4), (8, 2.4)), head=head)
    assert said.startswith("NOTE 2.4 us at 0 B: RDMA")
    assert "kernel sockets" not in said
