"""Results people asked about in public: the judge says what the thread found out."""

from pathlib import Path

from weft.core.finding import FindingKind, Severity
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement, RowState
from weft.results.result_file import read_results

JUDGED = Path(__file__).parent / "fixtures" / "judged"


def judged(name: str, **options: object) -> FileJudgement:
    return judge_results(read_results(JUDGED / name), **options)  # type: ignore[arg-type]


def line_of(judgement: FileJudgement, link_class: str) -> str:
    (line,) = [one for one in judgement.generic if f"{link_class}:" in one]
    return line


def test_251_more_than_two_edr_adapters_carry_is_the_tree_between_two_nodes() -> None:
    judgement = judged("thread_v100_two_edr.txt")

    assert not judgement.is_bad
    # 2 x 12.5 GB/s x 2 x 7/8 = 43.75: two suffice for a tree; a ring needs 41.55 / 12.5 of them.
    assert "between 2 nodes needs 2 to 4 adapters on each node" in line_of(judgement, "generic-edr")
    assert "counts 1.750 times: more than their rate is no error" in judgement.generic[-1]
    assert "NCCL_ALGO=Ring" in judgement.generic[-1]


def test_251_on_a_machine_with_one_such_adapter_is_beyond_it_and_says_so() -> None:
    judgement = judged("thread_v100_two_edr.txt", platform="azure-ndv2")

    assert judgement.findings[0].kind is FindingKind.BEYOND_LIMIT
    assert "more adapters" in judgement.causes[0].sentence


def test_182_runs_that_never_met_say_nothing_of_the_network() -> None:
    judgement = judged("thread_a100_pcie_no_mpi.txt")

    (why,) = [f for f in judgement.findings if f.kind is FindingKind.MIS_SETTING]
    assert why.severity is Severity.WARNING
    assert "2 runs in one table, each with its own rank 0" in why.sentence
    assert "MPI=1" in why.sentence
    assert not judgement.is_bad
    assert judgement.generic == ()


def test_293_small_sizes_are_not_held_against_adapters_and_two_strays_are_named() -> None:
    judgement = judged("thread_a100_pcie_pair.txt")

    strays = [(row.row.size_bytes, row.value) for row in judgement.rows if row.odd]
    assert strays == [(128, 27.34), (256, 34.31)]
    assert judgement.generic == ()
    assert not judgement.is_bad


def test_119_is_what_four_hdr_adapters_carry_as_a_ring() -> None:
    for platform in (None, "generic-hdr"):
        judgement = judged(
            "thread_three_nodes_hdr.txt", platform=platform, n_nodes=3, tasks_per_node=8
        )

        assert "needs 3 to 4 adapters on each node" in line_of(judgement, "generic-hdr")
        assert "without SHARP" in line_of(judgement, "generic-hdr")
        assert not judgement.is_bad


def test_119_without_nodes_asks_for_them() -> None:
    judgement = judged("thread_three_nodes_hdr.txt")

    assert "24 GPUs on two nodes or more" in judgement.findings[0].sentence
    assert any("--nodes N --tasks-per-node T" in line for line in judgement.findings[0].evidence)


def test_232_one_gpu_a_node_is_bound_by_its_own_pcie_whatever_the_adapters() -> None:
    judgement = judged(
        "thread_h100_one_gpu_a_node.txt", platform="azure-ndv5", n_nodes=2, tasks_per_node=1
    )

    assert {row.state for row in judgement.rows} == {RowState.NORMAL}
    assert "limited by PCIe of 48 GB/s" in judgement.findings[0].sentence


def test_232_between_single_gpus_a_tree_gains_nothing() -> None:
    judgement = judged("thread_h100_one_gpu_a_node.txt", n_nodes=2, tasks_per_node=1)

    # 41.31 / 25 GB/s: two, and no fewer, since both algorithms move the buffer once.
    assert "needs 2 adapters on each node" in line_of(judgement, "generic-hdr")
    assert not any("no error" in line for line in judgement.generic)
