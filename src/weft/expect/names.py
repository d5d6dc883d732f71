"""Names that other tools give to benchmarks: which of ours is meant, and by which library."""

from weft.core.errors import InputError, did_you_mean
from weft.expect.model import Library
from weft.expect.prediction import PREDICTABLE

NCCL_TESTS = {
    "all_reduce_perf": "allreduce",
    "all_gather_perf": "allgather",
    "reduce_scatter_perf": "reduce_scatter",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
    "alltoall_perf": "alltoall",
    "sendrecv_perf": "sendrecv",
    "gather_perf": "gather",
    "scatter_perf": "scatter",
}
PERFTEST = {
    f"ib_{verb}_{kind}": benchmark
    for verb in ("write", "send", "read")
    for kind, benchmark in (("bw", "bandwidth"), ("lat", "latency"))
}
OSU = {
    "osu_bw": "bandwidth",
    "osu_bibw": "bidirectional",
    "osu_mbw_mr": "message_rate",
    "osu_bcast": "broadcast",
    **{
        f"osu_{name}": name
        for name in (
            "latency",
            "allreduce",
            "alltoall",
            "alltoallv",
            "allgather",
            "barrier",
            "reduce",
            "reduce_scatter",
            "gather",
            "scatter",
        )
    },
}
IMB = {"pingpong": "latency", "uniband": "message_rate", "bcast": "broadcast"}
OTHERS = {"bw": "bandwidth", "bibw": "bidirectional", "all_reduce": "allreduce"}


def parse_benchmark(word: str) -> tuple[str, Library]:
    """(benchmark, library) of a name of ours or another tool's. Raises InputError."""
    plain = word.lower().replace("-", "_")
    libraries: tuple[tuple[dict[str, str], Library], ...] = (
        (NCCL_TESTS, "nccl"),
        (PERFTEST, "verbs"),
        ({**OSU, **IMB, **OTHERS, **{name: name for name in PREDICTABLE}}, "mpi"),
    )
    for names, library in libraries:
        if plain in names:
            return names[plain], library
    known = [name for names, _ in libraries for name in names]
    raise InputError(
        f"no benchmark '{word}' with a closed form",
        expected="one of " + ", ".join(PREDICTABLE) + "; or a name of OSU, nccl-tests, perftest",
        hint=did_you_mean(plain, known),
    )
