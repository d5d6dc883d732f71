"""The tools whose results weft reads, and what their programs are called."""

TOOLS = {
    "osu": "OSU",
    "imb": "IMB",
    "nccl-tests": "nccl-tests",
    "rccl-tests": "rccl-tests",
    "perftest": "perftest",
    "gpcnet": "GPCNeT",
    "clusterkit": "ClusterKit",
    "mpi4py": "mpi4py.bench",
    "hpcc": "HPCC",
    "netpipe": "NetPIPE",
    "fabtests": "fabtests",
    "ucx-perftest": "ucx_perftest",
    "qperf": "qperf",
    "verbs-pingpong": "ibv_rc_pingpong",
    "iperf": "iperf",
    "netperf": "netperf",
    "sockperf": "sockperf",
    "markdown": "tables in Markdown",
}
"""Tool -> its own name. `weft.results.registry` has the readers."""
NCCL_TOOLS = ("nccl-tests", "rccl-tests")
NCCL_PROGRAMS = {
    "allreduce": "all_reduce_perf",
    "allgather": "all_gather_perf",
    "reduce_scatter": "reduce_scatter_perf",
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "alltoall": "alltoall_perf",
    "alltoallv": "alltoallv_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
    "sendrecv": "sendrecv_perf",
}
"""Benchmark -> program of nccl-tests and rccl-tests. `hypercube_perf` and `all_reduce_bias_perf`
have no benchmark of weft's. SOURCE: NVIDIA/nccl-tests, src/*.cu."""
_SAME = (
    *("latency", "barrier", "allreduce", "reduce", "reduce_scatter"),
    *("allgather", "alltoall", "alltoallv", "gather", "scatter"),
)
OSU_PROGRAMS = {
    "bandwidth": "osu_bw",
    "bidirectional": "osu_bibw",
    "message_rate": "osu_mbw_mr",
    "broadcast": "osu_bcast",
    **{name: f"osu_{name}" for name in _SAME},
}
"""Benchmark -> program. SOURCE: OSU Micro-Benchmarks, c/mpi."""


def tool_list() -> str:
    """The tools in a sentence: 'OSU, IMB, ... sockperf or tables in Markdown'."""
    *names, last = TOOLS.values()
    return f"{', '.join(names)} or {last}"
