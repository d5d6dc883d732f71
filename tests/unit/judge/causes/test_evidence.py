"""What a file itself says for and against causes, and rows that break a cause's own bound."""

import re

import pytest

from weft.catalog.cause import Cause, causes
from weft.catalog.load import platform
from weft.judge.judge import judge_results
from weft.judge.log import log_of
from weft.judge.model import FileJudgement, RowState
from weft.judge.path_class.evidence import evidence_of
from weft.judge.path_class.proof import proofs_in
from weft.results.model import ResultFile, Row, Table
from weft.results.result_file import read_results_text

KERNEL = (
    b"mlx5_core 0000:86:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8"
    b" link at 0000:80:03.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)\n"
)
BW = b"# OSU MPI Bandwidth Test v7.5\n# Size  Bandwidth (MB/s)\n4194304  %.2f\n"
LATENCY = b"# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n1  %.2f\n2  %.2f\n4  %.2f\n"


def judged(content: bytes, name: str = "azure-ndv4", **options: object) -> FileJudgement:
    results = read_results_text(content, "x.txt")
    proofs = proofs_in(content, results.environment)
    return judge_results(
        results,
        platform=name,
        log=log_of(content),
        evidence=evidence_of(results.tables, proofs),
        **options,  # type: ignore[arg-type]
    )


def names(judgement: FileJudgement) -> list[str]:
    return [cause.name for cause in judgement.causes]


def test_the_kernels_line_on_pcie_puts_that_slot_first_and_is_quoted() -> None:
    judgement = judged(KERNEL + BW % 7000.0)
    assert names(judgement)[0] == "pcie-gen3-x8"
    assert "line 1 says so: mlx5_core" in judgement.causes[0].sentence
    assert "limited by 8.0 GT/s PCIe x8" in judgement.causes[0].sentence


def test_a_rate_above_what_that_slot_carries_refutes_it_whatever_the_kernel_says() -> None:
    assert "pcie-gen3-x8" not in names(judged(KERNEL + BW % 15000.0))


@pytest.mark.parametrize("cause", ["sockets", "management-ethernet"])
def test_small_messages_faster_than_tcp_exclude_it_in_another_test_of_the_file(cause: str) -> None:
    slow = BW % 1500.0
    assert "sockets" in names(judged(slow, "azure-hbv2"))
    fast = LATENCY % (1.6, 1.6, 1.6) + slow
    assert cause not in names(judged(fast, "azure-hbv2"))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"mpirun -np 2 --mca btl tcp,self -H a,b osu_bw\n", "sockets"),
        (b"mpiexec -n 2 -env FI_PROVIDER tcp osu_bw\n", "sockets"),
        (b"mpirun -np 2 --mca pml ob1 --mca btl openib,self osu_bw\n", "mpi-provider"),
        (b"+ export FI_PROVIDER=verbs\n", "mpi-provider"),
    ],
)
def test_mpis_own_command_line_counts(line: bytes, cause: str) -> None:
    judgement = judged(line + BW % 1500.0, "azure-hbv2")
    found = {one.name: one for one in judgement.causes}
    assert "line 1 says so" in found[cause].sentence


def test_a_command_line_that_takes_the_adapters_interface_excludes_sockets() -> None:
    line = b"mpirun -np 2 --mca pml cm --mca mtl psm2 -H a,b osu_bw\n"
    found = names(judged(line + BW % 1500.0, "azure-hbv2"))
    assert "sockets" not in found
    assert "mpi-provider" not in found


def perftest(metrics: dict[str, float], **conditions: str) -> ResultFile:
    row = Row(9, 65536, metrics)
    table = Table("perftest", "ib_write_bw", "bandwidth", (row,), 1, conditions=conditions)
    return ResultFile("x.txt", (table,))


def test_a_normal_peak_beside_a_low_average_is_a_stalled_queue_pair() -> None:
    apart = {"bandwidth_peak_mb_s": 24500.0, "bandwidth_mb_s": 11900.0}
    judgement = judge_results(perftest(apart), platform="azure-ndv4")
    assert judgement.causes[0].name == "stalled-queue-pair"
    assert "peak 24500 MB/s, average 11900 MB/s" in judgement.causes[0].sentence


@pytest.mark.parametrize("peak", [11950.0, 13000.0])
def test_a_peak_that_is_low_itself_is_none(peak: float) -> None:
    alike = {"bandwidth_peak_mb_s": peak, "bandwidth_mb_s": 11900.0}
    found = names(judge_results(perftest(alike), platform="azure-ndv4"))
    assert "stalled-queue-pair" not in found
    assert "link-half" in found


def test_perftests_warning_names_the_cpus_frequency() -> None:
    log = log_of(b"Conflicting CPU frequency values detected. CPU Frequency is not max.\n")
    found = judge_results(perftest({"bandwidth_mb_s": 15000.0}), platform="azure-ndv4", log=log)
    assert names(found)[0] == "cpu-frequency-rate"


@pytest.mark.parametrize(
    ("device", "cause"),
    [
        (b"hfi1_0", "verbs-on-another-adapter"),
        (b"efa_0", "verbs-on-another-adapter"),
        (b"irdma0", "pfc"),
    ],
)
def test_device_names_count(device: bytes, cause: str) -> None:
    results = perftest({"bandwidth_mb_s": 9000.0})
    proofs = proofs_in(b" Device         : " + device + b"\n", {})
    evidence = evidence_of(results.tables, proofs)
    found = judge_results(results, platform="azure-ndv4", evidence=evidence)
    assert cause in names(found)


def test_causes_of_roce_are_not_thinkable_on_infiniband() -> None:
    found = names(judge_results(perftest({"bandwidth_mb_s": 15000.0}), platform="azure-ndv4"))
    assert not {"pfc", "wrong-gid"} & set(found)


@pytest.mark.parametrize(("index", "first"), [("0", True), ("3", False)])
def test_a_gid_of_roce_v1_is_named_on_ethernet(index: str, first: bool) -> None:
    results = perftest({"bandwidth_mb_s": 15000.0}, gid_index=index, link_type="Ethernet")
    proofs = proofs_in(b" Link type       : Ethernet\n", {})
    evidence = evidence_of(results.tables, proofs)
    found = judge_results(results, platform="azure-ndv4", evidence=evidence)
    assert (found.causes[0].name == "wrong-gid") is first


def test_rows_above_half_of_a_link_exclude_a_link_at_half_its_rate() -> None:
    rows = [
        Row(i, 2**size, {"bandwidth_mb_s": v}) for i, size, v in ((1, 20, 21000), (2, 23, 12000))
    ]
    table = Table("perftest", "ib_write_bw", "bandwidth", tuple(rows), 1)
    judgement = judge_results(ResultFile("x.txt", (table,)), platform="azure-ndv4")
    assert RowState.LOW in {row.state for row in judgement.rows}
    assert "link-half" not in names(judgement)


def test_the_order_is_that_of_the_number_that_is_shown() -> None:
    judgement = judged(BW % 12000.0)
    scores = [cause.score for cause in judgement.causes]
    assert len(scores) > 1
    assert scores == sorted(scores)


def entry() -> Cause:
    return next(one for one in causes() if one.name == "adapters-lost")


def test_one_entry_stands_for_every_number_of_lost_adapters() -> None:
    found = entry().expanded(platform("azure-ndv5").hcas_per_node)
    assert [one.name for one in found] == [f"adapters-lost-{k}-of-8" for k in range(1, 8)]
    assert found[2].sentence.startswith("3 of 8 adapters")
    assert found[2].instead is not None
    assert found[2].instead.lost_hcas == 3
    assert not any("{" in one.sentence for one in found)
    assert entry().expanded(1) == ()


@pytest.mark.parametrize(
    ("hcas", "left"),
    [
        ("mlx5_ib0", 1),
        ("mlx5_0:1", 1),
        ("=mlx5_0,mlx5_1", 2),
        ("mlx5_0:1,mlx5_1:1,mlx5_2:1", 3),
        ("mlx5", None),
        ("^mlx5_0", None),
    ],
)
def test_a_list_of_adapters_speaks_for_their_number(hcas: str, left: int | None) -> None:
    line = f"node:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to {hcas}"
    found = [
        one.name
        for one in entry().expanded(8)
        if any(re.search(e.pattern, line) for e in one.evidence if e.speaks == "for")
    ]
    assert found == ([] if left is None else [f"adapters-lost-{8 - left}-of-8"])
