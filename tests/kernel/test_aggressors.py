"""Ranks that send while the others measure."""

import pytest

QUICK = ("--iterations", "300", "--warmup", "2")
PATTERNS = (
    *("alltoall", "alltoallv", "allgather", "allreduce", "reduce_scatter", "broadcast", "gather"),
    *("fan_in", "fan_out", "random_ring_bandwidth", "natural_ring_bandwidth", "bidirectional"),
    *("message_rate", "latency", "barrier", "put_incast", "get_broadcast"),
)


def test_aggressors_send_while_each_benchmark_is_measured(kernel):
    groups = ("--benchmark", "allreduce", "--sizes", "8,64", "--benchmark", "barrier")
    beside = ("--aggressor", "alltoall,4096,2", "--aggressor", "put_incast,1024,3")
    # Eight ranks that poll: on two CPUs an iteration takes tens of milliseconds.
    outcome = kernel.run(8, "--iterations", "60", "--warmup", "2", *groups, *beside)
    assert outcome.exit_code == 0, outcome.stderr
    assert [row["benchmark"] for row in outcome.of("row")] == ["allreduce", "allreduce", "barrier"]
    for row in outcome.of("row"):
        assert [one["rank"] for one in row["ranks_ns"]] == [0, 1, 2]
    found = [
        (one["beside"], one["benchmark"], one["size_bytes"], one["n_ranks"])
        for one in outcome.of("aggressor")
    ]
    both = [("alltoall", 4096, 2), ("put_incast", 1024, 3)]
    assert found == [(name, *one) for name in ("allreduce", "barrier") for one in both]
    assert all(one["iterations"] > 0 < one["elapsed_ns"] for one in outcome.of("aggressor"))
    assert outcome.only("header")["n_ranks"] == len(outcome.of("rank")) == 8


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_every_pattern_ends_with_the_measurement_and_spoils_no_message(kernel, pattern, n_ranks):
    size = 0 if pattern == "barrier" else 64
    measured = ("--benchmark", "alltoall", "--sizes", "16", "--validate")
    outcome = kernel.run(
        2 + n_ranks, *QUICK, *measured, "--aggressor", f"{pattern},{size},{n_ranks}"
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.only("row")["n_errors"] == 0
    aggressor = outcome.only("aggressor")
    assert (aggressor["benchmark"], aggressor["n_ranks"]) == (pattern, n_ranks)
    assert aggressor["iterations"] > 0
    assert outcome.only("end")


@pytest.mark.parametrize(
    ("aggressors", "said"),
    [
        (("alltoall,4096,3",), "1 of 4 ranks are left to measure"),
        (("alltoall,4096,2", "fan_in,8,3"), "-1 of 4 ranks are left to measure"),
        (("pairs,4096,2",), "no benchmark 'pairs'"),
        (("storm,4096,2",), "no benchmark 'storm'; there are put_incast, get_broadcast, latency"),
        (("alltoall,4096",), "NAME,BYTES,RANKS[,SL] is expected"),
        (("alltoall,4096,2,1,1",), "NAME,BYTES,RANKS[,SL] is expected"),
        (("alltoall,4096,2,15",), "'15' is not a whole number from 0"),
        (("alltoall,x,2",), "'x' is not a whole number"),
        (("alltoall,4096,1",), "'1' is not a whole number from 2"),
        (("allreduce,6,2",), "6 is not a multiple of 4"),
        (("alltoall,8,2",) * 9, "more than 8 aggressors"),
    ],
)
def test_what_cannot_be_is_said_and_no_rank_is_left_waiting(kernel, aggressors, said):
    words = [word for one in aggressors for word in ("--aggressor", one)]
    outcome = kernel.run(4, "--benchmark", "allreduce", "--sizes", "8", *words)
    assert outcome.exit_code == 2
    assert said in outcome.only("error")["message"]


def test_pairs_have_the_fabric_to_themselves(kernel):
    outcome = kernel.run(4, "--benchmark", "pairs", "--aggressor", "alltoall,8,2")
    assert outcome.exit_code == 2
    assert "pairs have the fabric to themselves" in outcome.only("error")["message"]


def test_a_level_by_ranks_of_another_launcher_is_refused(kernel):
    beside = ("--benchmark", "barrier", "--aggressor", "alltoall,64,2,3")
    outcome = kernel.run(4, *beside, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="9")
    assert outcome.exit_code == 3
    assert "the launcher's variables say rank 0 of 9" in outcome.only("error")["message"]


def test_ranks_of_an_aggressor_have_the_service_level_that_it_asks_for(any_kernel):
    beside = ("--aggressor", "alltoall,64,2,3", "--aggressor", "fan_in,64,2")
    measured = ("--benchmark", "allreduce", "--sizes", "8", "--iterations", "5")
    for own in (None, "1"):
        settings = {} if own is None else {"UCX_IB_SL": own}
        outcome = any_kernel.run(6, *measured, *beside, **settings)
        assert outcome.exit_code == 0, outcome.stderr
        found = [rank["rail_settings"].get("UCX_IB_SL") for rank in outcome.of("rank")]
        assert found == [own, own, "3", "3", own, own]
