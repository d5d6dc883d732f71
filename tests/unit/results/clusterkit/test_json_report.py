"""ClusterKit's lists of links."""

from pathlib import Path

import pytest

from weft.results.clusterkit.json_report import read_json
from weft.results.result_file import read_results

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "clusterkit"


def test_links_of_nodes_become_pairs_with_their_names_and_lines() -> None:
    (table,) = read_results(SAMPLES / "links.json").tables
    assert (table.tool, table.benchmark, table.test) == ("clusterkit", "pairs", "bandwidth")
    assert [
        (r.labels["pair"], r.labels["hosts"], r.metrics["bandwidth_mb_s"]) for r in table.rows
    ] == [
        ("1-0", "node-2 node-1", 24310.5),
        ("2-0", "node-3 node-1", 24288.1),
        ("2-1", "node-3 node-2", 12101.7),
    ]
    assert [row.line for row in table.rows] == [5, 6, 6]


def test_the_form_that_others_search_for_is_read() -> None:
    result = read_json('{"test": "latency", "Nodes": [{"Links": []}, {"Links": [[0,1.83]]}]}')
    assert result is not None
    (row,) = result.tables[0].rows
    assert (row.labels["pair"], row.metrics) == ("1-0", {"latency_us": 1.83})


def test_a_square_matrix_and_triples_are_read() -> None:
    square = read_json('{"Links": [[0, 24000.5], [24000.5, 0]]}')
    triples = read_json('{"Links": [[0, 1, 24000.5]]}')
    assert square is not None
    assert triples is not None
    assert square.tables[0].rows[0].metrics == triples.tables[0].rows[0].metrics
    assert [row.labels["pair"] for row in square.tables[0].rows] == ["0-1"]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"Links": 3}',
        '{"Links": [[0, NaN]]}',
        '{"Links": [[0, -5.0]]}',
        '{"Links": [["a", 5.0]]}',
        '{"Links": [[0, true]]}',
        '{"Links": [[0, 5.0]',
        '{"links": [[0, 1]]}',
        '{"Links": ' + "[" * 100_000,
    ],
)
def test_other_documents_are_not_clusterkits(text: str) -> None:
    assert read_json(text) is None
