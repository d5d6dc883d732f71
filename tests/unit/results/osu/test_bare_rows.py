"""Rows of OSU benchmarks below a launch line alone."""

from pathlib import Path

import pytest

from weft.results.osu.column_titles import title_of_program
from weft.results.result_file import read_results, read_results_text

SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "osu"
LAUNCH = "mpirun -np 2 --map-by node ./osu_bw\n"


def test_the_launch_line_says_what_the_columns_are() -> None:
    (table,) = read_results(SAMPLE / "bare-rows-put-bw.txt").tables
    assert (table.test, table.benchmark, len(table.rows)) == ("osu_put_bw", "bandwidth", 7)
    assert table.rows[0].metrics == {"bandwidth_mb_s": 10277.49}
    assert table.conditions["test_from"] == "the launch line; title and header are missing"


@pytest.mark.parametrize(
    "lines",
    [
        "65536 10.00\n131072 11.00\n",
        "65536 10.00\n100000 11.00\n131072 11.50\n262144 12.00\n",
        "65536 10\n131072 11\n262144 12\n524288 13\n",
    ],
    ids=["too few", "sizes that do not double", "no decimals"],
)
def test_other_numbers_are_no_rows(lines: str) -> None:
    with pytest.raises(Exception, match="no table"):
        read_results_text((LAUNCH + lines).encode(), "x")


def test_a_table_with_its_title_is_read_as_ever() -> None:
    text = LAUNCH + "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n8    1.50\n"
    (table,) = read_results_text(text.encode(), "x").tables
    assert (table.version, len(table.rows)) == ("7.4", 1)


@pytest.mark.parametrize("name", ["bw", "bibw", "latency", "put_bw", "get_bw", "put_latency"])
def test_a_program_is_the_test_of_its_title(name: str) -> None:
    title = title_of_program(name)
    assert title is not None
    assert title.test == f"osu_{name}"


def test_sizes_may_begin_at_zero() -> None:
    sizes = [0, 1, 2, 4, 8, 16]
    rows = "".join(f"{size} {1 + 0.01 * i:.2f}\n" for i, size in enumerate(sizes))
    (table,) = read_results_text(
        f"{LAUNCH}{rows}".replace("osu_bw", "osu_latency").encode(), "x"
    ).tables
    assert [row.size_bytes for row in table.rows] == sizes
