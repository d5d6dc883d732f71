"""ucx_perftest's last lines."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

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


def test_a_size_of_no_power_of_two_is_the_roundest_that_the_digits_allow() -> None:
    """1671.351 us at 46743.62 MiB/s are 81,919,9xx bytes: the digits leave 33 either way."""
    heading = "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |"
    text = (
        "|              |              |       overhead (usec)        |   bandwidth (MB/s)  |\n"
        f"{heading}\n"
        "Final:                  1000      0.240  1675.942  1671.351    46615.58   46743.62"
        "         597         598\n"
    )
    (row,) = read_results_text(text.encode(), "x").tables[0].rows
    exact = 1671.351 * 46743.62 * 2**20 / 1e6
    assert row.size_bytes == pytest.approx(exact, rel=1e-6)
    assert row.size_bytes is not None
    assert row.size_bytes % 100 == 0
