"""iperf3's JSON."""

import json
from pathlib import Path

import pytest

from weft.results.result_file import read_results
from weft.results.sockets.iperf_json import read_json

SAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "iperf" / "iperf3-3.12.json"


def test_the_received_rate_of_all_streams() -> None:
    (table,) = read_results(SAMPLE).tables
    received = json.loads(SAMPLE.read_text())["end"]["sum_received"]["bits_per_second"]
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(received / 8e6)
    assert (table.version, table.n_nodes, table.rows[0].size_bytes) == ("3.12", 1, 131072)


def test_an_error_is_a_remark_and_no_rate() -> None:
    document = {"start": {"test_start": {}}, "end": {}, "error": "unable to connect to server"}
    found = read_json(json.dumps(document))
    assert found is not None
    assert found.tables == ()
    assert found.remarks == ("the tool reports: unable to connect to server",)


@pytest.mark.parametrize("end", [None, [], {"sum_received": {"bits_per_second": "nan"}}, {"x": 1}])
def test_a_document_without_a_rate_has_no_table(end: object) -> None:
    found = read_json(json.dumps({"start": {"test_start": {}}, "end": end}))
    assert found is None or found.tables == ()


def test_other_documents_are_none() -> None:
    assert read_json('{"results": []}') is None
