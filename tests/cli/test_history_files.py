"""`weft history --html --openmetrics --grafana`: the page, the metrics and the dashboard of a
history in which one node gets slow."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.check_histories import Night, measured_check, slow_node, write_nights

from weft.api.export.history_openmetrics import NAMES
from weft.cli import run

SINCE_S = 1_794_700_800
"""Sunday 2026-11-15, 00:00 UTC."""
READERS = Path(os.environ.get("WEFT_EXPORT_READERS", Path(sys.prefix) / "opt/exports"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    base = measured_check(folder / "base", nodes=8)
    nights = [Night(base)] * 13 + [Night(base, slow_node("n003", 1.2))] * 7
    write_nights(folder / "runs", nights, seed=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        words = ["--html", "page.html", "--openmetrics", "weft.prom", "--grafana", "grafana.json"]
        files = [word if word.startswith("--") else str(folder / word) for word in words]
        assert run(["history", str(folder / "runs"), *files]) == 1
    return folder


def test_the_page_has_a_line_a_component_the_worst_first(written: Path) -> None:
    text = (written / "page.html").read_text()
    rows = re.findall(r"<tr>\s*<th scope=\"row\">(\w+)</th><td>([^<]*)</td>", text)
    assert rows[0] == ("slow", "node n003")
    nodes = [name for state, name in rows[1:] if name.startswith("node")]
    assert sorted(nodes) == [f"node n00{i}" for i in (1, 2, 4, 5, 6, 7, 8)]
    assert {state for state, _ in rows[1:]} == {"good"}
    assert "Sunday 2026-11-15" in text
    assert "more pairs without a finding have no line of their own" in text


def gauges(written: Path) -> dict[str, float]:
    lines = (written / "weft.prom").read_text().splitlines()
    values = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in values}


def of(found: dict[str, float], name: str, *labels: str) -> list[float]:
    return [
        value
        for key, value in found.items()
        if key.startswith(f"{name}{{") and all(label in key for label in labels)
    ]


def test_the_metrics_tell_the_slow_node_and_since_when(written: Path) -> None:
    found = gauges(written)
    node = ('kind="node"', 'name="n003"')
    assert of(found, "weft_component_state", *node, 'state="slow"') == [1]
    assert of(found, "weft_component_state", *node, 'state="good"') == [0]
    assert of(found, "weft_component_slow_since_seconds", *node) == [SINCE_S]
    (ratio,) = of(found, "weft_component_slower_ratio", *node, 'metric="bandwidth"')
    assert ratio == pytest.approx(1.2, rel=0.03)
    assert of(found, "weft_history_verdict", 'verdict="bad"') == [1]
    assert of(found, "weft_history_components", 'kind="node"', 'state="good"') == [7]
    assert of(found, "weft_component_accusing_checks", *node) == [7]
    assert not any('run="' in key for key in found)


def test_every_query_of_the_dashboard_names_a_metric_and_labels_that_weft_writes(
    written: Path,
) -> None:
    dashboard = json.loads((written / "grafana.json").read_text())
    queries = [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
    queries += [one["definition"] for one in dashboard["templating"]["list"]]
    written_names = {key.partition("{")[0] for key in gauges(written)}
    named = {name for query in queries for name in re.findall(r"weft_\w+", query)}
    assert named == written_names == {f"weft_{name}" for name in NAMES}
    labels = {label for key in gauges(written) for label in re.findall(r"(\w+)=\"", key)}
    for query in queries:
        assert set(re.findall(r"(\w+)(?:=~|!=|=)\"", query)) <= labels, query
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids) == len(set(places))
    assert dashboard["id"] is None
    assert all(panel["datasource"]["uid"] == "${DS_PROMETHEUS}" for panel in dashboard["panels"])


def test_both_parsers_of_prometheus_read_the_metrics(written: Path) -> None:
    if not (READERS / "prometheus_client").is_dir():
        pytest.skip(f"no prometheus_client in {READERS} (make exports)")
    code = """
from prometheus_client import parser
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
text = open("weft.prom").read()
found, older = list(strict(text)), list(parser.text_string_to_metric_families(text))
assert {one.type for one in found} == {one.type for one in older} == {"gauge"}
print(*sorted(one.name for one in found))
"""
    environment = {**os.environ, "PYTHONPATH": str(READERS)}
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=written, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert said.stdout.split() == sorted(f"weft_{name}" for name in NAMES)


def test_files_of_no_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "runs/check-1").mkdir(parents=True)
    (tmp_path / "runs/check-1/run.toml").write_text('schema = "weft.run/0"\n')
    page = tmp_path / "page.html"
    assert run(["history", str(tmp_path / "runs"), "--html", str(page)]) == 2
    assert not page.exists()
