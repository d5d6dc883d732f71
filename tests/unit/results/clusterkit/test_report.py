"""ClusterKit's report and matrices."""

from pathlib import Path

import pytest

from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "clusterkit"


def test_a_report_gives_extremes_mean_and_the_pairs_that_have_them() -> None:
    results = read_results(SAMPLES / "report-hbv2-32-nodes.txt")
    bandwidth, efficiency, latency = results.tables
    assert (bandwidth.benchmark, latency.benchmark) == ("pairs", "pairs")
    assert bandwidth.rows[0].metrics == {
        "bandwidth_mb_s_min": 40029.0,
        "bandwidth_mb_s_max": 42938.0,
        "bandwidth_mb_s": 42107.0,
    }
    assert bandwidth.rows[0].labels["pair_min"] == "hbv2vmss000006-hbv2vmss00000j"
    assert latency.rows[0].metrics["latency_us_max"] == 1.915
    assert latency.rows[0].labels["pair_max"] == "hbv2vmss000002-hbv2vmss00000a"
    assert bandwidth.conditions["poor_nodes"] == "hbv2vmss000006,hbv2vmss00000b"
    assert bandwidth.conditions["poor_nodes_mb_s"] == "40247"
    assert efficiency.benchmark == ""
    assert efficiency.rows[0].other["Minimum efficiency"] == "0.816 hbv2vmss00000d"
    assert results.n_unread == 0


def test_folded_node_names_are_unfolded() -> None:
    table = read_results(SAMPLES / "report-hbv2-32-nodes.txt").tables[0]
    assert table.n_nodes == len(table.hosts) == 21 + 3 + 6
    assert table.hosts[-6:] == tuple(f"hbv2vmss{i:06d}" for i in range(4, 10))


def test_sizes_and_directions_are_the_documented_defaults_and_said_to_be() -> None:
    bandwidth, _, latency = read_results(SAMPLES / "report-hbv2-32-nodes.txt").tables
    assert bandwidth.rows[0].size_bytes == 32 * 2**20
    assert latency.rows[0].size_bytes == 0
    assert bandwidth.conditions["directions"] == "2"
    assert "default" in bandwidth.conditions["size"]


def test_a_matrix_relative_to_the_fastest_pair_is_no_bandwidth() -> None:
    (table,) = read_results(SAMPLES / "matrix-bandwidth.txt").tables
    assert table.test == "bandwidth"
    assert {name for row in table.rows for name in row.metrics} == {"bandwidth_of_max"}
    first = table.rows[0]
    assert first.labels == {"pair": "0-1", "hosts": "GPU-1 GPU-2"}
    assert first.metrics["bandwidth_of_max"] == 0.98
    assert (table.n_nodes, table.hosts) == (8, ("GPU-1", "GPU-2", "GPU-3"))


def test_a_matrix_of_latencies_holds_each_pair_once_where_both_directions_agree() -> None:
    (table,) = read_results(SAMPLES / "matrix-latency.txt").tables
    pairs = [row.labels["pair"] for row in table.rows]
    assert len(pairs) == len(set(pairs)) == 7 + 6
    assert "1-0" not in pairs
    assert table.rows[1].metrics == {"latency_us": 1.80}


def test_both_directions_of_a_pair_are_kept_where_they_differ() -> None:
    text = b"Rank: 0 1\n0 (a): 0.00 1.50\n1 (b): 1.90 0.00\n"
    (table,) = read_results_text(text, "x").tables
    assert [(r.labels["pair"], r.metrics["latency_us"]) for r in table.rows] == [
        ("0-1", 1.5),
        ("1-0", 1.9),
    ]


def test_a_matrix_of_large_numbers_is_in_mb_s() -> None:
    (table,) = read_results_text(b"Rank: 0 1\n0 (a): 0 24100\n1 (b): 24100 0\n", "x").tables
    assert table.rows[0].metrics == {"bandwidth_mb_s": 24100.0}


@pytest.mark.parametrize("cells", ["0.00", "0.00 1.5 1.6", "0.00 nan", "0.00 -1", "0.00 1_0"])
def test_a_row_that_does_not_fit_its_heading_is_refused(cells: str) -> None:
    text = f"Rank: 0 1\n0 (a): 0.00 1.50\n1 (b): {cells}\n"
    results = read_results_text(text.encode(), "x")
    assert [unread.line for unread in results.unread] == [3]
    assert len(results.tables[0].rows) == 1


def test_prose_about_bandwidth_is_no_report() -> None:
    """The unit tells the tool's line from a sentence that begins like it."""
    text = (SAMPLES / "matrix-latency.txt").read_text() + "Minimum bandwidth: 10 Mbps per school\n"
    results = read_results_text(text.encode(), "x")
    assert [table.test for table in results.tables] == ["latency"]
    assert results.unread[-1].text.startswith("Minimum bandwidth")
