from hypothesis import given
from hypothesis import strategies as st

from weft.results.model import Row
from weft.results.nccl.job import (
    Device,
    JobFacts,
    completed,
    facts_of_devices,
    guessed_test,
    ranks_of_bandwidths,
)


def device(rank: int, host: str, group: int = 0) -> Device:
    return Device(rank, group, str(1000 + rank), host, "NVIDIA H100 80GB HBM3")


def row(algbw: float, busbw: float, **labels: str) -> Row:
    return Row(1, 1 << 30, {"algbw_gb_s": algbw, "busbw_gb_s": busbw}, labels)


def test_ranks_nodes_and_tasks_per_node_come_from_the_device_list() -> None:
    facts = facts_of_devices([device(rank, f"n{rank // 4}") for rank in range(8)])
    assert (facts.n_ranks, facts.n_nodes, facts.tasks_per_node) == (8, 2, 4)


def test_an_uneven_job_has_no_number_of_tasks_per_node() -> None:
    facts = facts_of_devices([device(0, "a"), device(1, "a"), device(2, "b")])
    assert (facts.n_ranks, facts.n_nodes, facts.tasks_per_node) == (3, 2, None)


def test_processes_that_each_call_themselves_rank_0_are_separate_runs() -> None:
    # NVIDIA/nccl-tests issue 107: mpirun with a build without MPI.
    facts = facts_of_devices([device(0, "a"), device(0, "b")])
    assert (facts.n_ranks, facts.n_nodes) == (1, 1)
    assert facts.conditions["separate_runs"] == "2"


def test_of_several_groups_the_rows_are_about_the_first() -> None:
    # NCCL_TESTS_SPLIT="MOD 4": groups of equal local rank across nodes.
    facts = facts_of_devices([device(rank, f"n{rank // 4}", rank % 4) for rank in range(8)])
    assert (facts.n_ranks, facts.n_nodes, facts.tasks_per_node) == (2, 2, 1)
    assert facts.conditions == {"groups": "4", "ranks_of_all_groups": "8"}


def test_no_list_says_nothing() -> None:
    assert facts_of_devices([]) == JobFacts()


@given(n_ranks=st.integers(2, 32), algbw=st.floats(50.0, 900.0))
def test_the_ranks_of_an_allreduce_follow_from_its_two_bandwidths(
    n_ranks: int, algbw: float
) -> None:
    printed = row(round(algbw, 2), round(algbw * 2 * (n_ranks - 1) / n_ranks, 2))
    assert ranks_of_bandwidths("all_reduce_perf", [printed]) in (n_ranks, None)
    assert n_ranks > 16 or ranks_of_bandwidths("all_reduce_perf", [printed]) == n_ranks


def test_small_bandwidths_and_other_tests_prove_no_number_of_ranks() -> None:
    assert ranks_of_bandwidths("all_reduce_perf", [row(0.01, 0.02)]) is None
    assert ranks_of_bandwidths("sendrecv_perf", [row(100.0, 100.0)]) is None


def test_a_table_without_bus_bandwidths_proves_no_number_of_ranks() -> None:
    lone = Row(1, 1 << 30, {"algbw_gb_s": 100.0})
    assert ranks_of_bandwidths("all_reduce_perf", [lone]) is None
    assert ranks_of_bandwidths("all_reduce_perf", [lone, row(100.0, 175.0)]) == 8


def test_what_was_guessed_does_not_overrule_the_device_list() -> None:
    listed = facts_of_devices([device(0, "a"), device(1, "b")])
    assert completed(listed, 8, is_guessed=True) == listed
    assert completed(listed, 2, is_guessed=False) == listed
    told = completed(listed, 8, is_guessed=False)
    assert (told.n_ranks, told.n_nodes, told.conditions["ranks_listed"]) == (8, None, "2")


def test_columns_that_fit_several_tests_name_none() -> None:
    allgather = [row(100.0, 87.5, redop="none", root="-1")]
    gather = [row(100.0, 87.5, redop="none", root="0")]
    assert guessed_test(allgather, 8) == ("", "")
    assert guessed_test(gather, 8) == ("", "")
    assert guessed_test([row(0.0, 0.0, redop="sum", root="-1")], 8) == ("", "")


def test_a_root_or_a_smaller_bus_bandwidth_tell_reductions_apart() -> None:
    found = [
        guessed_test([row(algbw, busbw, redop="sum", root=root)], 8)[0]
        for algbw, busbw, root in (
            (100.0, 175.0, "-1"),
            (100.0, 87.5, "-1"),
            (100.0, 100.0, "0"),
        )
    ]
    assert found == ["all_reduce_perf", "reduce_scatter_perf", "reduce_perf"]
    assert guessed_test([row(90.0, 90.0, redop="none", root="0")], 8)[0] == "broadcast_perf"
