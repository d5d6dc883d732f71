"""What nccl-tests and rccl-tests call their tests, and what weft calls them."""

import re

from weft.catalog.tools import NCCL_PROGRAMS

BENCHMARK_OF_TEST = {program: name for name, program in NCCL_PROGRAMS.items()}
TEST_OF_COLLECTIVE = {name.replace("_", ""): program for name, program in NCCL_PROGRAMS.items()}
TEST_OF_COLLECTIVE["hypercube"] = "hypercube_perf"
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
