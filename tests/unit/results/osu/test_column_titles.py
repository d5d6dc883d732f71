from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "osu"


def tables_of(text: str) -> tuple[Table, ...]:
    return read_results_text(text.encode(), "x").tables


def test_a_title_that_lost_its_hash_is_understood() -> None:
    # flux-framework: Markdown took the first '#' of the post.
    results = read_results(FIXTURES / "omb_7.2_title_without_hash.txt")
    [table] = results.tables
    assert (table.test, table.benchmark, table.version) == ("osu_latency", "latency", "7.2")
    assert (table.n_ranks, table.memory, len(table.rows)) == (2, "host", 23)
    assert results.n_unread == 0


def test_a_title_behind_the_command_of_the_same_line_is_found() -> None:
    [table] = read_results(FIXTURES / "omb_5.8_title_behind_the_command.txt").tables
    assert (table.test, table.conditions["op"]) == ("osu_get_acc_latency", "get_accumulate")
    assert len(table.rows) == 10


@pytest.mark.parametrize(
    ("header", "test", "benchmark", "directions"),
    [
        ("# Size          Latency (us)", "osu_latency", "latency", None),
        ("Size          Latency (us)", "osu_latency", "latency", None),
        ("\\# Size      Bandwidth (MB/s)", "osu_bw", "bandwidth", "1"),
        ("# Size      Bi-Bandwidth (MB/s)", "osu_bibw", "bidirectional", "2"),
    ],
)
def test_the_columns_name_the_test_where_the_title_is_missing(
    header: str, test: str, benchmark: str, directions: str | None
) -> None:
    [table] = tables_of(f"{header}\n8      1.25\n")
    assert (table.test, table.benchmark, table.n_ranks) == (test, benchmark, 2)
    assert table.conditions.get("directions") == directions
    assert "title is missing" in table.conditions["test_from"]


def test_columns_that_no_test_of_the_suite_prints_together_name_none() -> None:
    [table] = tables_of("Size   Latency (us)   Bandwidth (MB/s)\n8   1.25   6.40\n")
    assert (table.test, table.benchmark) == ("osu", "")


def test_pairs_above_a_header_without_title_are_kept() -> None:
    [table] = tables_of(
        "# [ pairs: 4 ] [ window size: 64 ]\n# Size      MB/s     Messages/s\n"
        "1024   1024.00   1000000.00\n"
    )
    assert (table.test, table.n_ranks, table.conditions["pairs"]) == ("osu_mbw_mr", 8, "4")
    assert "unit_conflict" not in table.conditions


@pytest.mark.parametrize(
    ("header", "could_be"),
    [
        ("# Size       Avg Latency(us)", "osu_latency, a collective"),
        ("# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)", "a collective"),
        ("# Size    Overall(us)   Compute(us)   Pure Comm.(us)", "a non-blocking collective"),
    ],
)
def test_a_header_of_several_tests_says_which_they_are(header: str, could_be: str) -> None:
    values = "   1.25" * header.count("(us)")
    [table] = tables_of(f"{header}\n8{values}\n")
    assert (table.test, table.benchmark) == ("osu", "")
    assert table.conditions["test_could_be"] == could_be


def test_a_bandwidth_without_title_may_be_of_both_directions() -> None:
    [table] = tables_of("# Size      Bandwidth (MB/s)\n8      1.25\n")
    assert table.conditions["test_could_be"] == "osu_bibw"


@pytest.mark.parametrize(
    ("program", "header", "benchmark"),
    [
        ("osu_allreduce", "# Size       Avg Latency(us)", "allreduce"),
        ("osu_bibw", "# Size      Bandwidth (MB/s)", "bidirectional"),
    ],
)
def test_the_launch_line_decides_between_them(program: str, header: str, benchmark: str) -> None:
    [table] = tables_of(f"$ mpirun -np 2 ./{program}\n{header}\n8      1.25\n")
    assert (table.test, table.benchmark) == (program, benchmark)
    assert "test_could_be" not in table.conditions


def test_a_window_above_the_header_means_a_one_sided_test() -> None:
    [table] = tables_of("# Window creation: MPI_Win_create\n# Size   Latency (us)\n8   1.25\n")
    assert (table.test, table.benchmark, table.conditions["op"]) == ("osu", "latency", "one_sided")


def test_other_columns_than_the_title_announces_are_of_another_test() -> None:
    first, second = tables_of(
        "# OSU MPI Latency Test v5.6\n# Size   Latency (us)\n8   1.25\n"
        "# Size   Bandwidth (MB/s)\n8   6.40\n"
    )
    assert (first.test, second.test) == ("osu_latency", "osu_bw")


@pytest.mark.parametrize("prefix", ["> ", ">> ", "[1,0]<stdout>:", "0: "])
def test_prefixes_hide_no_title(prefix: str) -> None:
    lines = ("OSU MPI Latency Test v7.2", "# Size   Latency (us)", "8   1.25", "16   1.30")
    [table] = tables_of("".join(f"{prefix}{line}\n" for line in lines))
    assert table.test == "osu_latency"
    assert [row.size_bytes for row in table.rows] == [8, 16]


def test_runs_side_by_side_are_a_table_each() -> None:
    # The OSU page of SJTU's documentation: three clusters in three columns of one name.
    tables = read_results(FIXTURES / "three_clusters_side_by_side.txt").tables
    assert [table.conditions["column"] for table in tables] == ["1 of 3", "2 of 3", "3 of 3"]
    assert [table.rows[0].metrics for table in tables] == [
        {"latency_us": 0.79},
        {"latency_us": 1.55},
        {"latency_us": 1.27},
    ]


def test_a_first_row_of_six_decimals_that_was_cut_is_no_row() -> None:
    whole = (FIXTURES / "omb_2.0_bw_six_decimals.txt").read_text()
    end = whole.index("3.549325") + len("3.549325")
    for cut in range(end - 5, end):
        with pytest.raises(InputError, match="no table of a known tool"):
            tables_of(whole[:cut])
    assert tables_of(whole[:end])[0].rows[0].metrics == {"bandwidth_mb_s": 3.549325}


def test_an_only_row_that_was_cut_before_somebody_ended_it_is_no_row() -> None:
    head = "# OSU MPI Latency Test v5.6\n# Size   Latency (us)   Validation\n"
    assert tables_of(f"{head}8   1.25   Pass\n")[0].rows
    with pytest.raises(InputError, match="the file ends within this row"):
        tables_of("# OSU MPI Latency Test v5.6\n# Size   Latency (us)\n8   1.2\n")


def test_a_decimal_comma_is_named_as_the_reason() -> None:
    text = "# OSU MPI Latency Test v5.6\n# Size   Latency (us)\n8   1,25\n16   1.30\n"
    results = read_results_text(text.encode(), "x")
    assert [row.size_bytes for row in results.tables[0].rows] == [16]
    assert "decimal comma" in results.unread[0].reason
