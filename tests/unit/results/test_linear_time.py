"""Lines made to make a pattern try every way to split them: reading stays linear."""

import time

import pytest

from weft.core.errors import InputError
from weft.results.result_file import read_results_text

N = 100_000
TABLE = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8                       1.50\n"


@pytest.mark.parametrize(
    "line",
    [
        '"test_info": {\n"test": "RDMA_Write' + "\t" * N,
        '{\n"test_info": {\n"test": "RDMA_Write' + " " * N,
        '{\n"test_info":' + " " * N + "{",
        "|" * N,
        "Rank: " + "0 " * (N // 2) + "x",
        "0 (a): " + "1.0 " * (N // 4) + "x",
        "Examined nodes: n[" + "1," * (N // 2) + "x",
        "  0: 1 bytes 1 times --> " + "1" * N + " Mbps in 1 usec",
        "Begin of Summary section.\n" + "A" * N,
        "Latency   min / avg / max: " + " " * N,
        "| Isolated Network Tests |" + " " * N + "|",
        "Minimum bandwidth: 1 MB/sec " + "a, " * (N // 3) + "(",
        "Average bandwidth: 1" + " " * N + "7 MB/sec",
        "| Network Tests running with Congestion Tests (" + " " * N + "|",
        "Network Tests v1.3\n|" + " " * N + "(8 B | 1 | 1 | usec |",
        "#" + " " * N + "x",
        "1" * N,
        "8 " * (N // 2),
    ],
    ids=lambda line: line[:24].replace("\n", " "),
)
def test_a_line_costs_no_more_than_its_length(line: str) -> None:
    started = time.process_time()
    results = read_results_text(f"{line}\n{TABLE}".encode(), "x")
    assert time.process_time() - started < 2
    assert results.n_lines >= 4


@pytest.mark.parametrize("character", list(" \t-#.|([:,09eE=<>{\"'*/+"))
def test_a_line_of_one_character_is_read_past(character: str) -> None:
    started = time.process_time()
    try:
        read_results_text((character * N + "\n" + TABLE).encode(), "x")
    except InputError:
        assert character == "{", "only a bracket that never closes may swallow the file"
    assert time.process_time() - started < 2
