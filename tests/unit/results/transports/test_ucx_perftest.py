"""ucx_perftest's last lines."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "ucx-perftest"


def table_of(name: str) -> Table:
    (table,) = read_results(SAMPLES / name).tables
    return table


@pytest.mark.parametrize(
    ("name", "size_bytes"),
    [
        ("tag-lat-1.13.txt", 8),
        ("tag-bw-1.13.txt", 1 << 20),
        ("tag-bw-cuda.txt", 4 << 20),
        ("old-put-lat.txt", 4),
    ],
)
def test_the_size_follows_from_rate_and_time(name: str, size_bytes: int) -> None:
    (row,) = table_of(name).rows
    assert row.size_bytes == size_bytes


def test_a_test_of_latency_has_one() -> None:
    assert table_of("tag-lat-1.13.txt").rows[0].metrics["latency_us"] == 5.255
    assert table_of("old-put-lat.txt").rows[0].metrics["latency_us"] == 0.851
    assert "latency_us" not in table_of("tag-bw-1.13.txt").rows[0].metrics


def test_memory_and_test_are_those_of_the_command() -> None:
    table = table_of("tag-bw-cuda.txt")
    assert (table.test, table.memory, table.benchmark) == ("tag_bw", "gpu", "bandwidth")
