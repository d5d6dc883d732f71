"""`weft check --bidirectional`: both ways at once are planned, measured and judged beside each way
by itself, on a twin and on real processes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]
TWIN = ("--twin", "fat-tree", "--nodes", "16", "--bidirectional")


def check(where: Path, capsys: Capture, *argv: str) -> dict[str, Any]:
    code = run(["check", "--dir", str(where), "--no-report", "--format", "json", *argv])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == answer["exit_code"]
    return answer


@pytest.mark.usefixtures("_engine")
class TestTwin:
    @pytest.fixture
    def _engine(self) -> None:
        pytest.importorskip("weft._engine", reason="the engine is not built")

    def test_it_is_in_the_plan_and_its_cost(self, tmp_path: Path, capsys: Capture) -> None:
        """Beside the 276 ms without, 22 windows of 8 x 1 MiB at 196 Gb/s and 4 us in each of 16
        rounds (122 ms), and a barrier of four steps of 2 us (0.1 ms)."""
        assert run(["check", *TWIN, "--dry-run", "--dir", str(tmp_path / "run")]) == 0
        said = re.search(r"about (\d+) ms of fabric time", capsys.readouterr().out)
        assert said is not None
        assert abs(int(said[1]) - 398) <= 3

    def test_a_healthy_cable_carries_twice_as_much(self, tmp_path: Path, capsys: Capture) -> None:
        answer = check(tmp_path / "run", capsys, *TWIN)
        assert answer["exit_code"] == 0
        assert answer["findings"][0]["kind"] == "healthy"
        norms = {(n["metric"], n["hop_class"]): n for n in answer["norms"]}
        classes = {hop_class for _, hop_class in norms}
        assert len(classes) == 2
        for hop_class in classes:
            one = norms["bandwidth_mb_s", hop_class]
            both = norms["bidirectional_mb_s", hop_class]
            assert both["expected"] == pytest.approx(2 * one["expected"], rel=0.02)
            assert both["expectation"]["state"] == "normal"

    def test_a_slow_cable_is_named_by_it_and_the_next_command_measures_it_again(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        answer = check(tmp_path / "run", capsys, *TWIN, "--plant", "leaf-02[6] rate=0.25")
        assert answer["planted"] == [{"fault": "leaf-02[6] rate=0.25", "named": "yes"}]
        assert "bandwidth_mb_s" in answer["findings"][0]["facts"]["metrics"]
        assert " --bidirectional" in answer["next_command"]

    def test_where_switches_choose_a_leaf_filled_in_both_directions_is_no_slow_stretch(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        planted = ("--adaptive", "--plant", "leaf-02[6] rate=0.5")
        answer = check(tmp_path / "run", capsys, *TWIN, *planted)
        assert answer["exit_code"] == 1
        assert answer["planted"][0]["named"] == "tie"
        assert not any("All pairs were slow" in one["sentence"] for one in answer["findings"])


def test_real_processes_send_in_both_directions_at_once(tmp_path: Path, capsys: Capture) -> None:
    argv = ("--tasks-per-node", "5", "--bidirectional", "--large", "64K")
    answer = check(tmp_path / "run", capsys, *argv)
    assert answer["exit_code"] in (1, 5), "five ranks are few"
    found = [row for row in answer["readings"] if row["metric"] == "bidirectional_mb_s"]
    survey = [row for row in found if row["trial"] == found[0]["trial"]]
    ends = {frozenset((row["from"], row["to"])) for row in survey}
    assert len(ends) == len(survey) == 10
    assert all(row["value"] > 0 for row in found)
    assert "bidirectional_mb_s" in {norm["metric"] for norm in answer["norms"]}
