"""From a tool's table to the conditions of an expectation."""

import pytest

from weft.catalog.load import platform
from weft.expect.model import Conditions
from weft.judge.expectation.conditions import (
    Given,
    can_be_fitted,
    conditions_of,
    n_ranks_of,
    setting_of,
)
from weft.results.model import Row, Table


def table(tool: str = "osu", benchmark: str = "latency", **facts: object) -> Table:
    row = Row(1, 8, {"latency_us": 1.0})
    return Table(tool, "t", benchmark, (row,), 1, **facts)  # type: ignore[arg-type]


def setting(made: Table, **given: object) -> Conditions:
    found = setting_of(made, Given(**given), platform("azure-ndv5"))  # type: ignore[arg-type]
    assert found.conditions is not None, found.why_not
    return found.conditions


def test_a_pair_test_that_says_nothing_is_between_two_nodes_and_that_is_said() -> None:
    found = setting_of(table(n_ranks=2), Given())
    assert found.conditions is not None
    assert (found.conditions.n_nodes, found.conditions.tasks_per_node) == (2, 1)
    assert "--nodes 1" in found.remarks[0]


def test_two_ranks_on_one_host_are_inside_a_node() -> None:
    assert setting(table(n_ranks=2, hosts=("a", "a"))).inside_node
    assert setting(table(n_ranks=2), n_nodes=1).inside_node


def test_a_collective_needs_nodes_and_ranks() -> None:
    found = setting_of(table(benchmark="allreduce"), Given())
    assert found.conditions is None
    assert "--nodes N --tasks-per-node T" in found.why_not


@pytest.mark.parametrize(
    ("facts", "given", "nodes", "tasks"),
    [
        ({"n_ranks": 32, "n_nodes": 4}, {}, 4, 8),
        ({"n_ranks": 32}, {"n_nodes": 2}, 2, 16),
        ({"n_ranks": 32}, {"tasks_per_node": 4}, 8, 4),
        ({}, {"n_nodes": 3, "tasks_per_node": 2}, 3, 2),
        ({"n_ranks": 8}, {"n_nodes": 2, "tasks_per_node": 64}, 2, 4),
    ],
)
def test_nodes_and_ranks_come_from_the_file_and_from_you(
    facts: dict[str, int], given: dict[str, int], nodes: int, tasks: int
) -> None:
    found = setting(table(benchmark="allreduce", **facts), **given)
    assert (found.n_nodes, found.tasks_per_node) == (nodes, tasks)


def test_gpus_fill_nodes_of_the_platform() -> None:
    found = setting(table("nccl-tests", "allreduce", n_ranks=32))
    assert (found.n_nodes, found.tasks_per_node) == (4, 8)
    assert (found.memory, found.library) == ("gpu", "nccl")
    assert setting(table("nccl-tests", "allreduce", n_ranks=4)).inside_node


@pytest.mark.parametrize(
    ("tool", "library"), [("perftest", "verbs"), ("osu", "mpi"), ("imb", "mpi")]
)
def test_the_library_follows_from_the_tool(tool: str, library: str) -> None:
    assert setting(table(tool)).library == library


def test_a_matrix_of_pairs_is_the_benchmark_of_its_metric() -> None:
    rows = (Row(1, 2**25, {"bandwidth_mb_s": 42107.0}),)
    pairs = Table("clusterkit", "bandwidth", "pairs", rows, 1, conditions={"directions": "2"})
    assert setting(pairs).benchmark == "bidirectional"
    assert setting(table("clusterkit", "pairs")).benchmark == "latency"


def test_peer_to_peer_and_shared_memory_off_is_traffic_through_the_adapters() -> None:
    variables = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
    made = table("nccl-tests", "allreduce", n_ranks=8)
    assert setting(made, variables=variables).transport == "network"
    assert setting(made, variables={"NCCL_P2P_DISABLE": "1"}).transport == ""


def test_one_algorithm_is_forced_and_a_list_is_a_choice() -> None:
    made = table("nccl-tests", "allreduce", n_ranks=8)
    assert setting(made, variables={"NCCL_ALGO": "Ring"}).algorithm == "Ring"
    assert setting(made, variables={"NCCL_ALGO": "CollnetDirect,NVLS"}).algorithm == ""
    assert setting(made, variables={"NCCL_PROTO": "^LL128"}).protocol == ""


def test_on_a_generation_of_links_gpu_memory_is_judged_as_host_memory() -> None:
    found = setting_of(
        table("perftest", "bandwidth", memory="gpu"),
        Given(),
        platform("generic-hdr"),
        link_class=True,
    )
    assert found.conditions is not None
    assert found.conditions.memory == "host"


def test_a_row_has_its_size_and_the_algorithm_it_prints() -> None:
    row = Row(1, 4096, {"latency_us": 1.0}, {"algorithm": "Tree"})
    found = conditions_of(row, setting(table()))
    assert (found.size_bytes, found.algorithm) == (4096, "Tree")


def test_a_test_that_weft_does_not_model_is_named() -> None:
    found = setting_of(table(benchmark=""), Given())
    assert found.why_not == "weft does not model t"


def test_ranks_are_counted_from_nodes_and_tasks_where_the_file_does_not_say() -> None:
    assert n_ranks_of(table(n_ranks=8), Given()) == 8
    assert n_ranks_of(table(), Given(n_nodes=2, tasks_per_node=4)) == 8
    assert n_ranks_of(table(), Given()) is None


@pytest.mark.parametrize(
    ("tool", "benchmark", "window"),
    [
        # SOURCE: HPC Challenge 1.5 has one message to each neighbour under way, GPCNeT 1.3 eight.
        ("hpcc", "random_ring_bandwidth", 1),
        ("gpcnet", "natural_ring_bandwidth", 8),
        ("osu", "bandwidth", 64),
        ("hpcc", "bandwidth", 64),
    ],
)
def test_windows_are_those_of_the_tool(tool: str, benchmark: str, window: int) -> None:
    made = table(tool, benchmark, n_ranks=2, n_nodes=2)
    assert setting(made).window == window


@pytest.mark.parametrize(
    ("n_ranks", "waiting", "given", "layout"),
    [
        # SOURCE: Intel MPI Benchmarks: "( 94 additional processes waiting in MPI_Barrier)".
        (2, 94, {"n_nodes": 2}, (1, 2)),
        (48, 48, {"tasks_per_node": 48}, (1, 48)),
        (96, 0, {"n_nodes": 2}, (2, 48)),
        (96, 96, {"n_nodes": 4}, (2, 48)),
        (2, 6, {"n_nodes": 2, "tasks_per_node": 1}, (2, 1)),
    ],
)
def test_ranks_of_a_sub_table_fill_one_node_after_the_other(
    n_ranks: int, waiting: int, given: dict[str, int], layout: tuple[int, int]
) -> None:
    conditions = {"waiting": str(waiting)} if waiting else {}
    made = table("imb", "message_rate", n_ranks=n_ranks, conditions=conditions)
    found = setting(made, **given)
    assert (found.n_nodes, found.tasks_per_node) == layout


def test_a_sub_table_on_unknown_nodes_has_no_conditions() -> None:
    made = table("imb", "latency", n_ranks=2, conditions={"waiting": "94"})
    assert setting_of(made, Given()).lacks_layout
    groups = table("imb", "message_rate", n_ranks=2, conditions={"groups": "48"})
    assert setting_of(groups, Given()).lacks_layout
    later = table("imb", "message_rate", n_ranks=2)
    assert setting_of(later, Given(ranks_of_run=96)).lacks_layout
    assert not setting_of(later, Given(ranks_of_run=2)).lacks_layout


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"test_could_be": "osu_bibw"}, "both directions, as the file has no title"),
        ({"test_could_be": "Uniband, Biband"}, "both directions, as the file has no title"),
        ({"dual_port": "ON"}, "two ports"),
        ({"dual_port": "OFF", "directions": "1"}, ""),
        ({"test_could_be": "PingPing"}, ""),
    ],
)
def test_a_rate_may_add_two_directions_or_two_ports(facts: dict[str, str], why: str) -> None:
    made = table("osu", "bandwidth", n_ranks=2, conditions=facts)
    assert setting_of(made, Given()).twice == why


def test_a_stream_in_both_directions_is_bidirectional() -> None:
    made = table("netpipe", "bandwidth", n_ranks=2, conditions={"directions": "2"})
    assert setting(made).benchmark == "bidirectional"


def test_a_fit_takes_latencies_of_two_ranks_in_host_memory() -> None:
    rows = tuple(Row(i, 2**i, {"latency_us": 1.0}) for i in range(8))
    latency = Table("osu", "osu_latency", "latency", rows, 1)
    assert can_be_fitted([latency])
    assert not can_be_fitted([table()]), "one row is no table"
    assert not can_be_fitted([latency, table(benchmark="bandwidth", n_ranks=8)])
    assert not can_be_fitted([Table("osu", "osu_latency", "latency", rows, 1, memory="gpu")])
    assert not can_be_fitted([table(benchmark="bandwidth")])
