"""OpenMetrics text against its own grammar, and its figures against the run's."""

import re
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend
from tests.process_calls import call
from tests.unit.study.conftest import FACTOR, RunStudy

from weft.api.export.openmetrics import openmetrics_text
from weft.study.comparison.table import table_of
from weft.study.run.store import read_run

# SOURCE: OpenMetrics 1.0, "ABNF": names, escapes in label values, numbers.
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|NaN|Inf)"
GAUGE = re.compile(rf"(?P<name>[a-zA-Z_:][\w:]*)\{{(?P<labels>(?:{LABEL}(?:,{LABEL})*)?)\}} "
                   rf"(?P<value>{NUMBER})")  # fmt: skip
META = re.compile(r"# (?P<what>TYPE|UNIT|HELP) (?P<name>\S+) (?P<text>.*)")


def families(text: str) -> dict[str, dict[str, float]]:
    """Gauges by family and labels; asserts the rules of the format."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    found: dict[str, dict[str, float]] = {}
    now = ""
    for line in lines[:-2]:
        meta = META.fullmatch(line)
        if meta is not None:
            if meta["what"] == "TYPE":
                now = meta["name"]
                assert now not in found, "a family is in one piece"
                assert meta["text"] == "gauge"
                found[now] = {}
            assert meta["name"] == now
            if meta["what"] == "UNIT":
                assert now.endswith(f"_{meta['text']}")
            continue
        gauge = GAUGE.fullmatch(line)
        assert gauge is not None, line
        assert gauge["name"] == now
        assert gauge["labels"] not in found[now]
        found[now][gauge["labels"]] = float(gauge["value"])
    return found


def test_a_median_is_in_seconds_with_its_cell_in_labels(run_study: RunStudy) -> None:
    run = run_study(factors=FACTOR, repeats=3)
    found = families(openmetrics_text([run]))["weft_latency_seconds"]
    rows = table_of(run).rows
    assert len(found) == len(rows) == 8
    for row in rows:
        parts = (f'benchmark="{row.cell.benchmark}"', f'arm="{row.arm}"',
                 f'size_bytes="{row.cell.size_bytes}"', 'statistic="p50"')  # fmt: skip
        (value,) = [v for labels, v in found.items() if all(p in labels for p in parts)]
        assert value == pytest.approx(row.summary.median * 1e-6)


def test_rates_are_in_bytes_a_second(run_study: RunStudy) -> None:
    run = run_study(benchmarks='[[benchmarks]]\nname = "bandwidth"\nsizes = "64K"\n', repeats=1)
    (value,) = families(openmetrics_text([run]))["weft_bandwidth_bytes_per_second"].values()
    assert value == pytest.approx(table_of(run).rows[0].summary.median * 1e6)


def test_launches_are_counted_by_state(run_study: RunStudy) -> None:
    run = run_study(backend=MockBackend(hanging=["t000-latency.r00"]), repeats=3)
    counts = families(openmetrics_text([run]))["weft_launches"]
    by_state = {labels.rpartition("state=")[2]: n for labels, n in counts.items()}
    assert by_state == {'"done"': 5, '"unfinished"': 0, '"failed"': 0, '"hung"': 1}


def test_the_names_of_runs_may_hold_anything(run_study: RunStudy) -> None:
    run = run_study('a "b" \\ \n{},=', repeats=1)
    found = families(openmetrics_text([run]))
    (labels,) = found["weft_run_info"]
    assert r"a \"b\" \\ \n{},=" in labels


def test_of_two_runs_every_family_is_in_one_piece(run_study: RunStudy) -> None:
    runs = [run_study(name, repeats=1) for name in ("a", "b")]
    assert len(families(openmetrics_text(runs))["weft_run_info"]) == 2


def test_the_bad_component_of_a_check_is_a_gauge(tmp_path: Path) -> None:
    words = ["check", "--twin", "fat-tree", "--nodes", "6", "--plant", "n003 slow=2"]
    made = call([*words, "--dir", str(tmp_path / "run"), "--no-report"], limit_s=100)
    assert made.code == 1, made.err
    found = families(openmetrics_text([read_run(tmp_path / "run")]))
    ((labels, one),) = found["weft_check_bad"].items()
    assert one == 1
    assert 'kind="node",name="n003"' in labels
