import pytest

from weft.results.osu.titles import title_of


@pytest.mark.parametrize(
    ("line", "test", "benchmark", "version"),
    [
        ("# OSU MPI Latency Test v3.1.1", "osu_latency", "latency", "3.1.1"),
        ("# OSU MPI Latency Test", "osu_latency", "latency", ""),
        ("# OSU MPI Bandwidth Test v5.4.1", "osu_bw", "bandwidth", "5.4.1"),
        ("# OSU MPI Bi-Directional Bandwidth Test", "osu_bibw", "bidirectional", ""),
        ("# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5", "osu_bibw", "bidirectional", "7.5"),
        ("# OSU MPI Multiple Bandwidth / Message Rate Test v3", "osu_mbw_mr", "message_rate", "3"),
        ("# OSU MPI Multi Latency Test v5.6", "osu_multi_lat", "latency", "5.6"),
        ("# OSU MPI Multi-threaded Latency Test v5.6", "osu_latency_mt", "latency", "5.6"),
        ("# OSU MPI Multi-process Latency Test v7.4", "osu_latency_mp", "latency", "7.4"),
        ("# OSU MPI Barrier Latency Test v7.4", "osu_barrier", "barrier", "7.4"),
        ("# OSU MPI Allreduce Latency Test v7.4", "osu_allreduce", "allreduce", "7.4"),
        ("# OSU MPI Reduce Latency Test v7.4", "osu_reduce", "reduce", "7.4"),
        ("# OSU MPI Reduce_scatter Latency Test v5", "osu_reduce_scatter", "reduce_scatter", "5"),
        ("# OSU MPI Broadcast Latency Test v5", "osu_bcast", "broadcast", "5"),
        ("# OSU MPI Allgather Latency Test v5", "osu_allgather", "allgather", "5"),
        ("# OSU MPI Allgatherv Latency Test v5", "osu_allgatherv", "allgather", "5"),
        ("# OSU MPI Gather Latency Test v5", "osu_gather", "gather", "5"),
        ("# OSU MPI Scatter Latency Test v5", "osu_scatter", "scatter", "5"),
        (
            "# OSU MPI All-to-All Personalized Exchange Latency Test v7.0",
            "osu_alltoall",
            "alltoall",
            "7.0",
        ),
        (
            "# OSU MPI All-to-Allv Personalized Exchange Latency Test v7.0",
            "osu_alltoallv",
            "alltoallv",
            "7.0",
        ),
        ("# OSU MPI Non-blocking Allreduce Latency Test v7.4", "osu_iallreduce", "", "7.4"),
        ("# OSU MPI Init Test v7.4", "osu_init", "startup", "7.4"),
        ("# OSU MPI Bandwidth Congestion In Test v7.4", "osu_bw_fan_in", "fan_in", "7.4"),
        ("# OSU MPI Bandwidth Congestion Out Test v7.4", "osu_bw_fan_out", "fan_out", "7.4"),
        ("# OSU MPI Latency Test Persistent v7.5", "osu_latency_persistent", "latency", "7.5"),
        ("# OSU MPI Latency Test (Version 2.1)", "osu_latency", "latency", "2.1"),
        ("# OMB-Py MPI Bi-Directional Bandwidth Test", "osu_bibw", "bidirectional", ""),
        ("# OSU MPI Throughput Input Test v9", "osu_throughput_input", "", "9"),
    ],
)
def test_titles_name_test_benchmark_and_version(
    line: str, test: str, benchmark: str, version: str
) -> None:
    title = title_of(line)
    assert title is not None
    assert (title.test, title.benchmark, title.version) == (test, benchmark, version)


@pytest.mark.parametrize(
    ("line", "test", "benchmark", "op"),
    [
        ("# OSU MPI_Put Latency Test v7.4", "osu_put_latency", "latency", "put"),
        ("# OSU MPI_Get Bandwidth Test v5.3", "osu_get_bw", "bandwidth", "get"),
        (
            "# OSU One Sided MPI_Put Bi-directional Bandwidth Test v3.1",
            "osu_put_bibw",
            "bidirectional",
            "put",
        ),
        (
            "# OSU MPI One Sided MPI_Accumulate Latency Test v3.5",
            "osu_acc_latency",
            "latency",
            "accumulate",
        ),
        ("# OSU MPI_Accumulate latency Test v5", "osu_acc_latency", "latency", "accumulate"),
        ("# OSU MPI_Fetch_and_op latency Test v5", "osu_fop_latency", "latency", "fetch_and_op"),
    ],
)
def test_one_sided_tests_say_their_operation(line: str, test: str, benchmark: str, op: str) -> None:
    title = title_of(line)
    assert title is not None
    assert (title.test, title.benchmark, title.conditions["op"]) == (test, benchmark, op)


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        ("# OSU MPI Latency Test v7.4", "host"),
        ("# OSU MPI-CUDA Latency Test v7.4", "gpu"),
        ("# OSU MPI-ROCM Latency Test v7.4", "gpu"),
        ("# OSU MPI-SYCL Broadcast Latency Test v7.5", "gpu"),
        ("# OSU MPI-CUDA MANAGED Latency Test v7.4", "gpu"),
        ("# OSU NCCL-CUDA Allreduce Latency Test v7.5", "gpu"),
    ],
)
def test_a_title_says_whose_memory(line: str, memory: str) -> None:
    title = title_of(line)
    assert title is not None
    assert title.memory == memory


@pytest.mark.parametrize(
    "line",
    [
        " OSU MPI Latency Test v7.2",
        "OSU MPI Latency Test",
        "## OSU MPI Latency Test v7.2",
        "\\# OSU MPI Latency Test v7.2",
        "OSU MPI-CUDA Bandwidth Test v7.2",
    ],
)
def test_a_title_whose_hash_was_lost_or_changed_is_one(line: str) -> None:
    title = title_of(line)
    assert title is not None
    assert title.test in ("osu_latency", "osu_bw")


@pytest.mark.parametrize(
    "line",
    [
        "# Size  Latency (us)",
        "# nThread 1",
        "OSU Latency Test",
        "OSU MPI was built with gcc 12",
        "The OSU MPI Latency Test says",
        "OSU MPI Latency Test results of node 7 are below",
    ],
)
def test_other_lines_are_no_titles(line: str) -> None:
    assert title_of(line) is None
