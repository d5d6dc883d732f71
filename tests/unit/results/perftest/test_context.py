"""What the lines around the rows of strangers' files say, where some of them are missing."""

from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.results.model import ResultFile, Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "perftest"
GBITS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROW = " 65536      5000             47.22              18.58             0.035434\n"


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def table_of(text: str) -> Table:
    [table] = read_results_text(text.encode(), "x").tables
    return table


def test_parameters_are_kept_where_the_title_is_missing() -> None:
    results = read("parameters-without-title.txt")
    [table] = results.tables
    said = {k: table.conditions[k] for k in ("link_type", "gid_index", "mtu", "cqe_poll_batch")}
    assert said == {
        "link_type": "Ethernet",
        "gid_index": "4",
        "mtu": "4096",
        "cqe_poll_batch": "Dynamic",
    }
    assert (table.test, table.n_nodes) == ("", 2)
    assert "-b the bandwidth is of both directions" in table.conditions["test_could_be"]
    assert [row.line for row in table.rows] == [16]
    assert "bandwidth_peak_mb_s" not in table.rows[0].metrics
    assert results.n_unread == 0


def test_peak_and_average_are_metrics_of_their_own() -> None:
    metrics = table_of(GBITS + ROW).rows[0].metrics
    assert metrics["bandwidth_peak_mb_s"] == pytest.approx(5902.5)
    assert metrics["bandwidth_mb_s"] == pytest.approx(2322.5)


def test_the_launch_line_names_device_queue_pairs_and_gid() -> None:
    launch = "ib_write_bw -d hfi1_0:1 -q 4 --gid-index 3 -b node2\n"
    table = table_of(launch + GBITS + ROW)
    assert table.devices == ("hfi1_0",)
    assert (table.conditions["queue_pairs"], table.conditions["gid_index"]) == ("4", "3")
    assert table.conditions["directions"] == "2"


def test_both_ends_on_one_host_are_one_node() -> None:
    [table] = read("both-directions-on-one-host.txt").tables
    assert (table.n_nodes, table.tasks_per_node) == (1, 2)
    assert (table.benchmark, table.conditions["directions"]) == ("bidirectional", "2")


def test_a_message_rate_that_the_header_does_not_name_is_proved() -> None:
    [table] = read("header-without-message-rate.txt").tables
    assert table.rows[0].metrics["msg_rate_mps"] == 0.011041
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(92.62e3 / 8)


def test_a_fifth_value_that_proves_nothing_is_refused() -> None:
    header = GBITS.replace("   MsgRate[Mpps]", "")
    text = header + " 65536 5000 47.22 18.58 7.000000\n" + header + " 65536 5000 47.22 18.58\n"
    results = read_results_text(text.encode(), "x")
    assert [line.reason for line in results.unread] == ["5 columns where the header has 4"]


def test_bold_numbers_of_a_post_are_numbers() -> None:
    tables = read("bold-numbers.txt").tables
    rates = [table.rows[0].metrics["bandwidth_mb_s"] for table in tables]
    assert rates == pytest.approx([5544.28 * 1.048576, 920.13 * 1.048576])


def test_raw_ethernet_is_no_test_of_infiniband() -> None:
    table = table_of(
        "                    Send Latency Test\n Connection type : RawEth\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
        " 64       1000          0.81           2.58         0.85\n"
    )
    assert table.test == "raw_ethernet_lat"


def test_a_message_rate_that_was_cut_makes_no_row() -> None:
    whole = GBITS + ROW.rstrip()
    assert len(table_of(whole).rows) == 1
    for missing in range(1, 9):
        for end in ("", "\n"):
            with pytest.raises(InputError):
                read_results_text((whole[:-missing] + end).encode(), "x")
