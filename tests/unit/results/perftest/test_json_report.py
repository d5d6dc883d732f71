import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.model import ResultFile, Table
from weft.results.perftest.json_report import read_json
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "perftest"
VALID = (FIXTURES / "bandwidth.json").read_text()


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def table_of(text: str) -> Table:
    [table] = read_results_text(text.encode(), "result.json").tables
    return table


def test_a_valid_document_says_what_the_text_of_the_run_says() -> None:
    [table] = read("bandwidth.json").tables
    assert (table.tool, table.test, table.benchmark) == (
        "perftest",
        "ib_send_bw",
        "bidirectional",
    )
    [row] = table.rows
    assert row.metrics == {
        "iterations": 4159603.0,
        "bandwidth_mb_s": pytest.approx(363.47e3 / 8),
        "msg_rate_mps": 0.693268,
    }
    assert table.devices == ("mlx5_0",)
    assert table.conditions["mtu"] == "4096"
    assert table.conditions["ibv_wr_api"] == "ON"


def test_the_unquoted_service_level_is_repaired() -> None:
    [table] = read("qos-invalid.json").tables
    assert table.rows[0].labels == {"service_level": "3"}
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(111.71e3 / 8)
    assert table.conditions["queue_pairs"] == "4"


def test_a_document_without_any_quotes_is_repaired() -> None:
    [table] = read("unquoted-latency.json").tables
    assert (table.test, table.benchmark) == ("ib_write_lat", "latency")
    assert table.devices == ("rxe0",)
    assert table.rows[0].metrics["latency_us"] == 2.42
    assert table.rows[0].metrics["latency_us_p999"] == 4.03


def test_a_document_on_one_line_is_the_same() -> None:
    compact = json.dumps(json.loads(VALID), separators=(",", ":"))
    assert "0.693268" in compact
    assert table_of(compact).rows[0].metrics == table_of(VALID).rows[0].metrics


def test_local_and_remote_results_are_distinguished() -> None:
    document = json.loads(VALID)
    document["results_local"] = document["results_remote"] = document["results"]
    result = read_json(json.dumps(document))
    assert result is not None
    assert [table.conditions.get("side") for table in result.tables] == [None, "local", "remote"]


def test_a_bandwidth_whose_unit_nothing_proves_is_remarked_not_guessed() -> None:
    document = json.loads(VALID)
    document["results"]["BW_average"] = 17.0
    result = read_json(json.dumps(document))
    assert result is not None
    assert result.tables == ()
    assert "names no unit" in result.remarks[0]


def test_mebibytes_are_proved_as_well() -> None:
    document = json.loads(VALID)
    document["results"]["BW_average"] = round(65536 * 0.693268e6 / 2**20, 2)
    result = read_json(json.dumps(document))
    assert result is not None
    bandwidth = result.tables[0].rows[0].metrics["bandwidth_mb_s"]
    assert bandwidth == pytest.approx(65536 * 0.693268, rel=1e-6)


@pytest.mark.parametrize(
    "text", ["", "{}", "test_info results", '{"results": {"test_info": 1}}', "[" * 100_000]
)
def test_other_documents_are_not_claimed(text: str) -> None:
    assert read_json(text) is None


def test_a_document_of_many_lines_costs_time_in_proportion() -> None:
    text = '{\n"test_info": {\n' + '"a": 1,\n' * 60_000 + "results\n"
    assert read_json(text) is None


@settings(max_examples=200)
@given(
    name=st.sampled_from(["bandwidth.json", "qos-invalid.json", "unquoted-latency.json"]),
    at=st.integers(0, 900),
    new=st.text(max_size=8),
    skip=st.integers(0, 20),
)
def test_no_damage_raises_anything_but_an_input_error(
    name: str, at: int, new: str, skip: int
) -> None:
    text = (FIXTURES / name).read_text()
    damaged = text[:at] + new + text[at + skip :]
    read_json(damaged)
    try:
        results = read_results_text(damaged.encode("utf-8", "replace"), "x.json")
    except InputError:
        return
    for table in results.tables:
        assert table.tool != "perftest" or table.rows
