"""Tables that people wrote in Markdown."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "markdown"


def tables(name: str) -> tuple[Table, ...]:
    return read_results(SAMPLES / name).tables


def read_text(text: str) -> tuple[Table, ...]:
    return read_results_text(text.encode(), "x").tables


def test_a_title_above_names_the_test_and_commas_are_decimal() -> None:
    found = tables("osu-latency-decimal-commas.txt")
    assert [table.test for table in found] == ["osu_latency"] * 3
    assert found[0].rows[0].metrics["latency_us"] == 1.84
    assert found[1].rows[7].metrics["latency_us"] == 2.44, "a cell with a point among commas"


def test_a_merged_header_is_of_all_its_columns() -> None:
    found = tables("osu-bw-five-runs.txt")
    assert [table.conditions["column"] for table in found] == [
        *("Host to Host", "Host to Device", "Device to Host", "Device to Device", "RCCL")
    ]
    assert [table.memory for table in found] == ["host", "gpu", "gpu", "gpu", "gpu"]
    assert found[4].rows[-1].metrics["bandwidth_mb_s"] == 1527.58


def test_a_column_names_its_test() -> None:
    assert [table.test for table in tables("imb-three-tests.txt")] == [
        *("PingPong", "PingPing", "Sendrecv")
    ]


def test_tables_without_outer_bars() -> None:
    latency, bandwidth = tables("latency-and-bandwidth.txt")
    assert latency.benchmark == "latency"
    assert bandwidth.rows[-1].metrics["bandwidth_mb_s"] == pytest.approx(95.41 * 125)


@pytest.mark.parametrize(
    ("cell", "size_bytes"),
    [("65536", 65536), ("64 KB", 65536), ("64K", 65536), ("1 MiB", 1 << 20), ("2 MB", 2 << 20)],
)
def test_sizes_as_people_write_them(cell: str, size_bytes: int) -> None:
    text = f"| Size | Bandwidth (GB/s) |\n|---|---|\n| {cell} | 11.2 |\n| 4M | 1,234.5 |\n"
    (table,) = read_text(text)
    assert table.rows[0].size_bytes == size_bytes
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(11200)
    assert table.rows[1].metrics["bandwidth_mb_s"] == pytest.approx(1234500)


def test_a_time_without_a_name_is_of_no_benchmark() -> None:
    (table,) = read_text("| Size (B) | t (us) |\n|---|---|\n| 8 | 1.0 |\n| 16 | 1.1 |\n")
    assert table.benchmark == ""


@pytest.mark.parametrize(
    "text",
    [
        "| Size | Colour |\n|---|---|\n| 8 | red |\n| 16 | blue |\n",
        "| Node | Bandwidth (MB/s) |\n|---|---|\n| n1 | 12000 |\n| n2 | 12001 |\n",
        "| Size | Bandwidth (MB/s) |\n|---|---|\n| 8 | n/a |\n| 16 | - |\n",
    ],
)
def test_tables_of_other_things_are_none(text: str) -> None:
    with pytest.raises(Exception, match="no table"):
        read_text(text)
