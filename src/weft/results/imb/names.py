"""Names of the Intel MPI Benchmarks and of their columns, in weft's words."""

import re
from typing import NamedTuple

from weft.results.lines.columns import Column


class Test(NamedTuple):
    """What a benchmark's name says: weft's name ("" where it has none), how many times the size
    its throughput counts over its slowest time (0: not so computed), and conditions."""

    benchmark: str
    n_times: int
    conditions: dict[str, str]


_PLAIN = {
    "pingpong": Test("latency", 1, {"directions": "1"}),
    "pingpongspecificsource": Test("latency", 1, {"directions": "1"}),
    "pingpinganysource": Test("latency", 1, {"op": "pingping"}),
    "pingpongany": Test("latency", 1, {"directions": "1"}),
    "pingponganysource": Test("latency", 1, {"directions": "1"}),
    "pingping": Test("latency", 1, {"op": "pingping"}),
    "pingpingspecificsource": Test("latency", 1, {"op": "pingping"}),
    "sendrecv": Test("sendrecv", 2, {"directions": "2"}),
    "sendrecv_replace": Test("sendrecv", 2, {"directions": "2", "op": "replace"}),
    "exchange": Test("exchange", 4, {"directions": "2"}),
    "uniband": Test("message_rate", 0, {"directions": "1"}),
    "biband": Test("message_rate", 0, {"directions": "2"}),
    "unirandom": Test("message_rate", 0, {"pattern": "random", "directions": "1"}),
    "birandom": Test("message_rate", 0, {"pattern": "random", "directions": "2"}),
    "corrunirandom": Test("message_rate", 0, {"pattern": "random", "directions": "1"}),
    "corrbirandom": Test("message_rate", 0, {"pattern": "random", "directions": "2"}),
    "allreduce": Test("allreduce", 0, {}),
    "reduce": Test("reduce", 0, {}),
    "reduce_local": Test("", 0, {"op": "reduce_local"}),
    "reduce_scatter": Test("reduce_scatter", 0, {}),
    "reduce_scatter_block": Test("reduce_scatter", 0, {}),
    "allgather": Test("allgather", 0, {}),
    "allgatherv": Test("allgather", 0, {}),
    "gather": Test("gather", 0, {}),
    "gatherv": Test("gather", 0, {}),
    "scatter": Test("scatter", 0, {}),
    "scatterv": Test("scatter", 0, {}),
    "alltoall": Test("alltoall", 0, {}),
    "alltoallv": Test("alltoallv", 0, {}),
    "bcast": Test("broadcast", 0, {}),
    "barrier": Test("barrier", 0, {}),
}
_ONE_SIDED = re.compile(
    r"(?P<side>unidir|bidir|all|one|truly)?_?(?:passive_)?(?:put_|get_)?"
    r"(?P<op>put|get|accumulate|get_accumulate|fetch_and_op|compare_and_swap)"
)
_COLUMNS = {
    "#repetitions": "iterations",
    "t[usec]": "latency_us",
    "t_min[usec]": "latency_us_min",
    "t_max[usec]": "latency_us_max",
    "t_avg[usec]": "latency_us",
    "t_ovrl[usec]": "overall_us",
    "t_pure[usec]": "pure_comm_us",
    "t_CPU[usec]": "compute_us",
    "overlap[%]": "overlap_percent",
    "Mbytes/sec": "bandwidth_mb_s",
    "Msg/sec": "msg_rate_mps",
}


def column_of(name: str) -> Column:
    """What a column of this name holds."""
    if name == "#bytes":
        return Column(name, "size")
    if name == "Group":
        return Column(name, "label", "group")
    metric = _COLUMNS.get(name)
    if metric is None:
        return Column(name, "other")
    return Column(name, "metric", metric, 1, 10**6 if metric == "msg_rate_mps" else 1)


def test_of(name: str) -> Test:
    """What the name of a benchmark says, whatever its case."""
    lower = name.lower().removesuffix("-gpu")
    conditions: dict[str, str] = {}
    if lower.endswith(("mt", "_mt")) and lower.removesuffix("mt").rstrip("_") in _PLAIN:
        lower = lower.removesuffix("mt").rstrip("_")
        conditions["op"] = "multithreaded"
    known = _PLAIN.get(lower)
    if known is not None:
        return known._replace(conditions=known.conditions | conditions)
    plain = lower.removesuffix("_pure")
    if plain.startswith("i") and plain[1:] in _PLAIN:
        return Test("", 0, {"blocking": "no"})
    one_sided = _ONE_SIDED.match(lower)
    if one_sided is not None:
        return _one_sided(one_sided["op"], one_sided["side"])
    return Test("", 0, {})


def is_known(name: str) -> bool:
    """Whether a benchmark of the suite has this very name."""
    return name.lower() in _PLAIN


def _one_sided(op: str, side: str | None) -> Test:
    conditions = {"op": op} | ({"directions": "2"} if side == "bidir" else {})
    return Test("latency" if side in {"unidir", "bidir"} else "", 0, conditions)
