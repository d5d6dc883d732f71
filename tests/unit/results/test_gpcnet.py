"""GPCNeT's tables, plain and verbose."""

from pathlib import Path

import pytest

from weft.results.model import ResultFile, Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "results" / "gpcnet"
MIB_IN_MB = 1.048576

HEADING = """\
+------------------------------------------------------------------------------+
|                            Isolated Network Tests                            |
+---------------------------------+--------------+--------------+--------------+
|                            Name |          Avg |          99% |        Units |
+---------------------------------+--------------+--------------+--------------+
"""


def slingshot() -> ResultFile:
    return read_results(SAMPLES / "slingshot-64-nodes-v1.3.txt")


def read_rows(*rows: str, heading: str = HEADING) -> ResultFile:
    return read_results_text((heading + "\n".join(rows) + "\n").encode(), "out.txt")


def only(tables: tuple[Table, ...], test: str, benchmark: str) -> Table:
    (table,) = [t for t in tables if t.test == test and t.benchmark == benchmark]
    return table


def test_network_test_names_weft_benchmarks_sizes_and_units() -> None:
    first_run = slingshot().tables[:8]
    assert [(t.test, t.benchmark, t.rows[0].size_bytes) for t in first_run] == [
        ("RR Two-sided Lat", "random_ring_latency", 8),
        ("RR Get Lat", "random_ring_latency", 8),
        ("RR Two-sided BW", "random_ring_bandwidth", 131072),
        ("RR Put BW", "random_ring_bandwidth", 131072),
        ("RR Two-sided BW+Sync", "random_ring_bandwidth", 131072),
        ("Nat Two-sided BW", "natural_ring_bandwidth", 131072),
        ("Multiple Allreduce", "allreduce", 8),
        ("Multiple Alltoall", "alltoall", 4096),
    ]
    latency, put = first_run[0].rows[0], first_run[3]
    assert latency.metrics == {"latency_us": 2.9, "latency_us_p99": 4.4}
    assert put.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(4910.4 * MIB_IN_MB)
    assert put.rows[0].metrics["bandwidth_mb_s_p99"] == pytest.approx(2582.1 * MIB_IN_MB)
    assert put.conditions["op"] == "put"
    assert first_run[4].conditions["sync"] == "barrier"


def test_all_nodes_run_network_test_and_thirteen_are_victims_of_the_load_test() -> None:
    tables = slingshot().tables
    assert (tables[0].n_ranks, tables[0].n_nodes, tables[0].tasks_per_node) == (2048, 64, 32)
    victim = tables[8]
    assert (victim.n_ranks, victim.n_nodes, victim.tasks_per_node) == (416, 13, 32)
    assert victim.conditions["nodes_total"] == "64"
    assert victim.conditions["congestor_nodes"] == "51"
    assert victim.conditions["nodes_per_congestor_min"] == "12"
    assert {table.version for table in tables} == {"1.3"}


def test_load_test_tells_isolated_from_congested_and_gives_the_impact() -> None:
    tables = slingshot().tables[8:]
    bandwidth = only(tables, "RR Two-sided BW+Sync", "random_ring_bandwidth")
    isolated, congested = bandwidth.rows
    assert (isolated.labels["state"], congested.labels["state"]) == ("isolated", "congested")
    assert isolated.metrics["bandwidth_mb_s"] == pytest.approx(4061.4 * MIB_IN_MB)
    assert congested.metrics["bandwidth_mb_s_p99"] == pytest.approx(2820.6 * MIB_IN_MB)
    impact = only(tables, "RR Two-sided BW+Sync", "congestion_impact")
    assert impact.rows[0].metrics == {"impact": 1.0, "impact_p99": 1.0}


def test_what_is_not_gpcnets_is_reported_by_line() -> None:
    results = slingshot()
    texts = {unread.line: unread.text for unread in results.unread}
    assert texts[34] == "cxi0 tx 587019953"
    assert results.n_unread == len(texts) == 8


def test_verbose_columns_are_found_by_their_headings() -> None:
    (table,) = read_results(SAMPLES / "verbose-1790-nodes-v1.3.txt").tables
    assert table.rows[0].metrics == {
        "latency_us_min": 1.2,
        "latency_us_max": 22.2,
        "latency_us": 1.5,
        "latency_us_worst_rank": 4.7,
        "latency_us_p99": 3.6,
        "latency_us_p999": 5.1,
    }
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (14320, 1790, 8)


def test_verbose_congestors_have_a_row_a_victim_and_no_known_nodes() -> None:
    results = read_results(SAMPLES / "verbose-load-placeholder-v1.3.txt")
    incast = only(results.tables, "Two-sided Incast", "fan_in")
    assert [(r.labels["state"], r.labels.get("victim")) for r in incast.rows] == [
        ("isolated", None),
        ("congested", "RR Two-sided Lat"),
        ("congested", "RR Two-sided BW+Sync"),
        ("congested", "Multiple Allreduce"),
    ]
    assert incast.n_nodes is None
    assert results.n_unread == 0


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("| RR Two-sided Lat (8 B) |   nan |  4.4 |  usec |", "'nan' is no measurement"),
        ("| RR Two-sided Lat (8 B) |   2.9 | -100000000.0 | usec |", "'-100000000.0' is no"),
        ("| RR Two-sided Lat (8 B) |   2.9 |  usec |", "3 columns where the heading has 4"),
        ("| RR Two-sided Lat (8 B) |   2.9 |  4.4 |  furlongs |", "no unit that GPCNeT prints"),
        ("| Something | 2.9 | 4.4 | usec |", "no test with a size in bytes"),
    ],
)
def test_a_damaged_row_is_refused_and_the_next_one_read(row: str, reason: str) -> None:
    results = read_rows(row, "| Multiple Allreduce (8 B) | 25.3 | 27.7 | usec |")
    assert [(u.line, u.text) for u in results.unread] == [(6, row)]
    assert reason in results.unread[0].reason
    assert results.tables[0].rows[0].metrics["latency_us"] == 25.3


def test_a_test_no_one_knows_is_kept_without_a_benchmark() -> None:
    (table,) = read_rows("| RR Atomic Lat (8 B) | 2.9 | 4.4 | usec |").tables
    assert (table.test, table.benchmark) == ("RR Atomic Lat", "")


def test_an_unknown_column_is_kept_verbatim() -> None:
    heading = HEADING.replace("|          99% |", "|       Median |          99% |")
    (table,) = read_rows(
        "| Multiple Allreduce (8 B) | 25.3 | 24.0 | 27.7 | usec |", heading=heading
    ).tables
    assert table.rows[0].other == {"Median": "24.0"}
    assert table.rows[0].metrics == {"latency_us": 25.3, "latency_us_p99": 27.7}


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "0: ", "\x1b[32m"])
def test_launcher_prefixes_and_colours_change_nothing(prefix: str) -> None:
    text = (SAMPLES / "slingshot-64-nodes-v1.3.txt").read_text()
    marked = "".join(prefix + line + "\n" for line in text.splitlines())
    assert read_results_text(marked.encode(), "x").tables == slingshot().tables


def test_a_table_without_the_program_s_heading_says_nothing_of_nodes() -> None:
    (table,) = read_rows("| Multiple Allreduce (8 B) | 25.3 | 27.7 | usec |").tables
    assert (table.version, table.n_nodes, table.n_ranks) == ("", None, None)


def test_no_nodes_are_not_zero_nodes() -> None:
    heading = "Network Tests v1.3\n  Test with 0 MPI ranks (0 nodes)\n" + HEADING
    (table,) = read_rows(
        "| Multiple Allreduce (8 B) | 25.3 | 27.7 | usec |", heading=heading
    ).tables
    assert (table.n_nodes, table.n_ranks, table.tasks_per_node) == (None, None, None)
