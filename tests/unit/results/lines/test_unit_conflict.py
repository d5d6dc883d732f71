import pytest

from weft.results.model import Table
from weft.results.result_file import read_results_text

RATES = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n# Size    MB/s    Messages/s\n"
NCCL = (
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "1048576 262144 float sum -1 {0} 0 {0} 0\n"
)


def table_of(text: str) -> Table:
    [table] = read_results_text(text.encode(), "x").tables
    return table


@pytest.mark.parametrize(("factor", "says"), [(1.0, ""), (0.125, "0.125"), (8.0, "8")])
def test_a_bandwidth_that_is_not_size_times_rate_is_named_by_its_factor(
    factor: float, says: str
) -> None:
    rows = [(size, size * factor) for size in (1024, 2048, 4096)]
    text = RATES + "".join(f"{size}  {value:.2f}  1000000.00\n" for size, value in rows)
    conflict = table_of(text).conditions.get("unit_conflict", "")
    assert conflict.rpartition(" ")[2] == says


def test_one_row_that_is_off_is_no_conflict_of_units() -> None:
    text = RATES + "1024  1024.00  1000000.00\n2048  9999.00  1000000.00\n"
    assert "unit_conflict" not in table_of(text).conditions


def test_gpu_tests_hold_size_over_time() -> None:
    good, bad = "100.0 10.49 18.35", "100.0 83.89 146.8"
    assert "unit_conflict" not in table_of(NCCL.format(good)).conditions
    assert "factor of 8" in table_of(NCCL.format(bad)).conditions["unit_conflict"]


def test_a_header_that_the_rows_refute_is_a_conflict() -> None:
    text = (
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        " 65536      5000             196.10             196.07              0.373974\n"
    )
    conditions = table_of(text).conditions
    assert conditions["unit_conflict"] == "the header says MB/sec, the rows are in Gb/sec"
