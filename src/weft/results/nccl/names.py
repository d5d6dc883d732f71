"""What nccl-tests and rccl-tests call their tests, and what weft calls them."""

import re

BENCHMARK_OF_TEST = {
    "all_reduce_perf": "allreduce",
    "all_gather_perf": "allgather",
    "reduce_scatter_perf": "reduce_scatter",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
    "alltoall_perf": "alltoall",
    "alltoallv_perf": "alltoallv",
    "gather_perf": "gather",
    "scatter_perf": "scatter",
    "sendrecv_perf": "sendrecv",
}
"""Of `hypercube_perf` and `all_reduce_bias_perf` weft has no counterpart."""

TEST_OF_COLLECTIVE = {
    "allreduce": "all_reduce_perf",
    "allgather": "all_gather_perf",
    "reducescatter": "reduce_scatter_perf",
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "alltoall": "alltoall_perf",
    "alltoallv": "alltoallv_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
    "sendrecv": "sendrecv_perf",
    "hypercube": "hypercube_perf",
}
"""By the collective's own name, in lower case, without `_`."""

_TEST = re.compile(
    r"(?<![A-Za-z])(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoallv?|gather|scatter"
    r"|sendrecv|hypercube)_perf(?![A-Za-z])"
)


def test_in(text: str) -> str:
    """The test that a launch line names, or ""."""
    if "_perf" not in text:
        return ""
    match = _TEST.search(text)
    return "" if match is None else f"{match[1]}_perf"


def version_text(code: int) -> str:
    """NCCL's version from its number: 22605 is 2.26.5, and 2708 (before 2.9) is 2.7.8."""
    thousands = 10000 if code >= 10000 else 1000
    return f"{code // thousands}.{code % thousands // 100}.{code % 100}"
