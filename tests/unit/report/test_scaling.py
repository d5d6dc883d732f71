"""Runs on several numbers of nodes: what their page draws."""

from pathlib import Path
from statistics import median

from tests.mock_backend import MockBackend
from tests.unit.report.test_page import Measure, Page

from weft.core.units import format_significant
from weft.report.page import write_report
from weft.study.run.store import read_run


def page_of(run_dir: Path) -> Page:
    write_report([run_dir], run_dir / "page.html")
    return Page(run_dir / "page.html")


def test_several_numbers_of_nodes_are_drawn_an_arm_a_line(tmp_path: Path, measure: Measure) -> None:
    run_dir = measure(tmp_path / "run", "scales", backend=MockBackend(effects={"sharp=off": 2.0}))
    page = page_of(run_dir)
    caption = "allreduce: busbw_gb_s, 2 ranks a node"
    header, *rows = page.tables[caption]
    # In the order of the study, not of the alphabet.
    assert header == ["nodes", "sharp=on", "sharp=off"]
    assert [row[0] for row in rows] == ["2", "4", "8"]
    samples = read_run(run_dir)
    trials = {launch.trial.id: launch.trial for launch in samples.launches}
    on_four = [
        sample.metrics["busbw_gb_s"]
        for sample in samples.samples
        if sample.size_bytes == 64 << 10
        and (trial := trials[sample.trial]).benchmark == "allreduce"
        and (len(trial.nodes), trial.tasks_per_node) == (4, 2)
        and trial.arm == {"sharp": "off"}
    ]
    assert rows[1][2] == format_significant(median(on_four))
    assert "latency: latency_us_p50, 1 rank a node" in page.tables
    spec = next(spec for spec in page.specs if "bus bandwidth on 8 nodes" in spec["description"])
    values = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["data"]["values"]
    assert [value["nodes"] for value in values] == [2, 4, 8, 2, 4, 8]


def test_two_numbers_of_nodes_make_no_curve(tmp_path: Path, measure: Measure) -> None:
    assert "By number of nodes" not in page_of(measure(tmp_path / "run", "arms")).text
