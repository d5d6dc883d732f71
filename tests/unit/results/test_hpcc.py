"""HPC Challenge's hpccoutf.txt."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

SAMPLE = (
    Path(__file__).resolve().parents[2]
    / "fixtures" / "results" / "hpcc" / "hpcc-1.5.0-openmpi-2-ranks.txt"
)  # fmt: skip


def by_test(text: str) -> dict[str, Table]:
    return {table.test: table for table in read_results_text(text.encode(), "x").tables}


def lines_with(*marks: str) -> str:
    lines = SAMPLE.read_text().splitlines()
    return "".join(line + "\n" for line in lines if any(mark in line for mark in marks))


def test_the_summary_gives_six_tests_in_weft_s_units() -> None:
    results = read_results(SAMPLE)
    tables = {table.test: table for table in results.tables}
    assert {t.test: t.benchmark for t in results.tables} == {
        "PingPongLatency": "latency",
        "PingPongBandwidth": "bandwidth",
        "RandomlyOrderedRingLatency": "random_ring_latency",
        "RandomlyOrderedRingBandwidth": "random_ring_bandwidth",
        "NaturallyOrderedRingLatency": "",
        "NaturallyOrderedRingBandwidth": "natural_ring_bandwidth",
        "Summary": "",
    }
    assert tables["PingPongLatency"].rows[0].metrics == {
        "latency_us": 0.157606,
        "latency_us_min": 0.15635,
        "latency_us_max": 0.158863,
    }
    bandwidth = tables["PingPongBandwidth"].rows[0]
    assert bandwidth.size_bytes == 2_000_000
    assert bandwidth.metrics["bandwidth_mb_s_max"] == pytest.approx(14359.4)
    assert tables["PingPongLatency"].rows[0].size_bytes == 8
    assert (results.tables[0].n_ranks, results.tables[0].version) == (2, "1.5.0")
    assert results.tables[0].hosts == ("vm",)


def test_figures_that_are_no_network_s_are_kept_verbatim() -> None:
    summary = {table.test: table for table in read_results(SAMPLE).tables}["Summary"]
    assert summary.rows[0].metrics == {}
    assert summary.rows[0].other["HPL_Tflops"] == "0.000408425"
    assert "MaxPingPongLatency_usec" not in summary.rows[0].other


def test_a_file_cut_before_its_summary_still_has_the_section_s_figures() -> None:
    cut = SAMPLE.read_text().split("Begin of Summary section")[0]
    tables = by_test(cut)
    assert tables["PingPongLatency"].rows[0].metrics == pytest.approx(
        {"latency_us_min": 0.156, "latency_us": 0.158, "latency_us_max": 0.159}
    )
    random_ring = tables["RandomlyOrderedRingBandwidth"].rows[0]
    assert random_ring.metrics == {"bandwidth_mb_s": 13395.033733}
    assert tables["PingPongLatency"].n_ranks == 2


def test_section_and_summary_agree() -> None:
    """Both print what was measured once, so a wrong unit in either would show."""
    whole = by_test(SAMPLE.read_text())
    section = by_test(SAMPLE.read_text().split("Begin of Summary section")[0])
    for test, table in section.items():
        for metric, value in table.rows[0].metrics.items():
            assert whole[test].rows[0].metrics[metric] == pytest.approx(value, rel=1e-2)


def test_figures_that_grep_left_are_enough() -> None:
    tables = by_test(lines_with("PingPong", "OrderedRing"))
    assert tables["RandomlyOrderedRingLatency"].rows[0].metrics == {"latency_us": 0.190359}
    assert tables["PingPongBandwidth"].rows[0].size_bytes == 2_000_000


@pytest.mark.parametrize("value", ["nan", "-1", "inf", "", "1_0", "9" * 400])
def test_a_figure_that_is_none_is_refused(value: str) -> None:
    text = f"Begin of Summary section.\nAvgPingPongLatency_usec={value}\n"
    text += "MaxPingPongLatency_usec=3.5\nnot a pair\nCommWorldProcs=0\n"
    results = read_results_text(text.encode(), "x")
    assert [unread.line for unread in results.unread] == [2, 4, 5]
    assert results.tables[0].rows[0].metrics == {"latency_us_max": 3.5}
    assert results.tables[0].n_ranks is None
