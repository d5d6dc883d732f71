"""Names that other tools give to benchmarks: which of ours is meant, and by which library."""

from collections.abc import Mapping

from weft.catalog.tools import NCCL_PROGRAMS, OSU_PROGRAMS
from weft.core.errors import InputError, did_you_mean
from weft.expect.model import Library
from weft.expect.prediction import PREDICTABLE


def _predictable(programs: Mapping[str, str]) -> dict[str, str]:
    return {program: name for name, program in programs.items() if name in PREDICTABLE}


NCCL_TESTS = _predictable(NCCL_PROGRAMS)
PERFTEST = {
    f"ib_{verb}_{kind}": benchmark
    for verb in ("write", "send", "read")
    for kind, benchmark in (("bw", "bandwidth"), ("lat", "latency"))
}
OSU = _predictable(OSU_PROGRAMS)
IMB = {"pingpong": "latency", "uniband": "message_rate", "bcast": "broadcast"}
OWN = {name: name for name in PREDICTABLE}
"""weft's own names, which say nothing of the library."""
OTHERS = {"bw": "bandwidth", "bibw": "bidirectional", "all_reduce": "allreduce"}

_LIBRARIES: tuple[tuple[dict[str, str], Library], ...] = (
    (NCCL_TESTS, "nccl"),
    (PERFTEST, "verbs"),
    ({**OSU, **IMB, **OTHERS, **OWN}, "mpi"),
)


def benchmark_names() -> list[str]:
    """All names that `parse_benchmark` knows."""
    return [name for names, _ in _LIBRARIES for name in names]


def parse_benchmark(word: str) -> tuple[str, Library]:
    """(benchmark, library) of a name of ours or another tool's. Raises InputError."""
    plain = word.lower().replace("-", "_")
    for names, library in _LIBRARIES:
        if plain in names:
            return names[plain], library
    raise InputError(
        f"no benchmark '{word}' with a closed form",
        expected="one of " + ", ".join(PREDICTABLE) + "; or a name of OSU, nccl-tests, perftest",
        hint=did_you_mean(plain, benchmark_names()),
    )
