"""Titles of the OSU micro-benchmarks: which test, on which memory, over what."""

import re
from functools import lru_cache
from typing import NamedTuple

_TITLE = re.compile(
    r"\s*(?P<mark>\\?#{1,6}\s{0,4})?(?P<suite>OSU|OMB-Py) "
    r"(?P<stack>MPI|OpenSHMEM|UPC\+\+|UPC|NCCL|RCCL|XCCL|One Sided)?"
    r"(?:-(?P<device>\w{1,20}))?(?P<name>.*?)(?: Test)?"
    r"(?:,? \(?(?:v|Version )?(?P<version>\d[\w.]{0,20})\)?)?$"
)
_GPU_DEVICES = {"CUDA", "ROCM", "SYCL", "OPENACC", "HIP"}


class Title(NamedTuple):
    """What a title says. `memory` is "gpu" where it announces a device, "host" where it does not;
    a line about the buffers below may correct it."""

    test: str
    benchmark: str
    version: str
    memory: str
    conditions: dict[str, str]


_KNOWN: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (r"bi-?directional bandwidth", "osu_bibw", "bidirectional", {"directions": "2"}),
    (r"multiple bandwidth */ *message rate", "osu_mbw_mr", "message_rate", {"directions": "1"}),
    (r"bandwidth congestion in|fan[- _]?in", "osu_bw_fan_in", "fan_in", {}),
    (r"bandwidth congestion out|fan[- _]?out", "osu_bw_fan_out", "fan_out", {}),
    (r"multi-?threaded latency", "osu_latency_mt", "latency", {"op": "multithreaded"}),
    (r"multi-?process latency", "osu_latency_mp", "latency", {"op": "multiprocess"}),
    (r"multi(?:[- ]?pairs?)? latency", "osu_multi_lat", "latency", {"op": "multi_pair"}),
    (r"bandwidth", "osu_bw", "bandwidth", {"directions": "1"}),
    (r"latency", "osu_latency", "latency", {}),
    (r"init", "osu_init", "startup", {}),
    (r"hello world", "osu_hello", "", {}),
)
_COLLECTIVES = (
    (r"all-?to-?allv\b|all-to-all(?:v| vector) personalized", "alltoallv"),
    (r"all-?to-?allw", "alltoallw"),
    (r"all-?to-?all", "alltoall"),
    (r"allreduce|all-reduce", "allreduce"),
    (r"allgatherv", "allgatherv"),
    (r"allgather", "allgather"),
    (r"reduce_?scatter_?block", "reduce_scatter_block"),
    (r"reduce[_-]?scatter", "reduce_scatter"),
    (r"reduce", "reduce"),
    (r"broadcast|bcast", "bcast"),
    (r"gatherv", "gatherv"),
    (r"gather", "gather"),
    (r"scatterv", "scatterv"),
    (r"scatter", "scatter"),
    (r"barrier", "barrier"),
)
_BENCHMARK_OF = {
    "bcast": "broadcast",
    "allgatherv": "allgather",
    "gatherv": "gather",
    "scatterv": "scatter",
    "reduce_scatter_block": "reduce_scatter",
    "alltoallw": "",
}
_ONE_SIDED = re.compile(
    r"(?<![a-z])(?:mpi)?_?"
    r"(put|get_accumulate|get_acc|get|accumulate|acc|compare_and_swap|fetch_and_op)\b"
)


@lru_cache(maxsize=256)
def title_of(line: str) -> Title | None:
    """What a title says, or None where the line is none."""
    if "OSU " not in line[:32] and "OMB-Py " not in line[:32]:
        return None
    match = _TITLE.match(line[:300])
    if match is None or (match["mark"] is None and not _names_a_test(match)):
        return None
    stack, device = match["stack"] or "", (match["device"] or "").upper()
    name = match["name"].strip().lower()
    test, benchmark, conditions = _test_of(name)
    if stack in {"NCCL", "RCCL", "XCCL"}:
        test = test.replace("osu_", "osu_xccl_", 1)
        conditions["library"] = stack
        memory = "gpu"
    else:
        memory = "gpu" if device in _GPU_DEVICES else "host"
    if stack and stack not in {"MPI", "One Sided", "NCCL", "RCCL", "XCCL"}:
        conditions["library"] = stack
    if match["suite"] != "OSU":
        conditions["suite"] = match["suite"]
    return Title(test, benchmark, match["version"] or "", memory, conditions)


def _names_a_test(match: re.Match[str]) -> bool:
    """Whether a title that lost its '#' is one: it names a stack, and ends as titles do. Prose
    about the suite does not."""
    end = match.string[match.end("name") :].lstrip(" ,")
    return bool(match["stack"]) and end.startswith("Test") and len(match["name"]) < 80


def _test_of(name: str) -> tuple[str, str, dict[str, str]]:
    """(OSU's name of the test, weft's, conditions) of the name in a title, in lower case."""
    conditions: dict[str, str] = {}
    if "persistent" in name:
        conditions["persistent"] = "yes"
    if "non-blocking" in name or "nonblocking" in name:
        conditions["blocking"] = "no"
    name = name.removeprefix("managed ")
    if "neighbo" in name:
        conditions["neighbourhood"] = "yes"
    for pattern, collective in _COLLECTIVES:
        if re.search(pattern, name) and not _ONE_SIDED.match(name):
            return _collective(collective, conditions)
    one_sided = _ONE_SIDED.search(name)
    if one_sided:
        return _one_sided(one_sided[1], name, conditions)
    for pattern, test, benchmark, extra in _KNOWN:
        if re.search(pattern, name):
            suffix = "_persistent" if "persistent" in conditions else ""
            return test + suffix, benchmark, conditions | extra
    words = re.sub(r"[^a-z0-9]+", "_", name).strip("_")
    return f"osu_{words}" if words else "osu", "", conditions


def _collective(collective: str, conditions: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    overlapped = conditions.get("blocking") == "no"
    benchmark = "" if overlapped else _BENCHMARK_OF.get(collective, collective)
    prefix = "i" if overlapped else ""
    if "neighbourhood" in conditions:
        return f"osu_{prefix}neighbor_{collective}", "", conditions
    suffix = "_persistent" if "persistent" in conditions else ""
    return f"osu_{prefix}{collective}{suffix}", benchmark, conditions


def _one_sided(op: str, name: str, conditions: dict[str, str]) -> tuple[str, str, dict[str, str]]:
    short = {"accumulate": "acc", "get_accumulate": "get_acc", "compare_and_swap": "cas"}
    short |= {"fetch_and_op": "fop"}
    conditions["op"] = op
    if "bandwidth" in name:
        both = "bi" in name.replace("bandwidth", "")
        conditions["directions"] = "2" if both else "1"
        benchmark = "bidirectional" if both else "bandwidth"
        return f"osu_{short.get(op, op)}_{'bibw' if both else 'bw'}", benchmark, conditions
    return f"osu_{short.get(op, op)}_latency", "latency", conditions
