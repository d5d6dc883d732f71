"""`weft history` over weeks of checks: planted nodes, cables, pairs and drifts, and damaged runs.

The readings are those of a twin, which plants the cable itself; each night adds noise and the other
faults to them (tests/check_histories.py).
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.check_histories import (
    Night,
    measured_check,
    night_run,
    slow_node,
    slow_pair,
    write_check,
    write_nights,
)

from weft.check.history import kept_rows
from weft.cli import run
from weft.study.history.history_run import HistoryRun
from weft.study.run.store import StudyRun

CABLE = "leaf-01[5] <-> spine-02[1]"
N, AT = 20, 13
"""Checks of a history, and the first with the fault: Sunday 2026-11-15."""
N_QUIET = 28
"""So many that a step of the whole fabric would show, too: with 20 checks weft cannot tell."""

Capture = pytest.CaptureFixture[str]
Bases = dict[str, StudyRun]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Bases:
    folder = tmp_path_factory.mktemp("bases")
    slow_cable = ("--plant", "leaf-01[5] rate=0.85")
    return {
        "sound": measured_check(folder / "sound", nodes=8),
        "cable": measured_check(folder / "cable", *slow_cable, nodes=8),
    }


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def history(capsys: Capture, *argv: str | Path) -> tuple[int, dict]:
    code = run(["history", *map(str, argv), "--format", "json"])
    (found,) = json.loads(capsys.readouterr().out)["histories"]
    return code, found


def moved(found: dict) -> list[dict]:
    """The findings about components that are accused now."""
    some = [one for one in found["findings"] if "component" in one["facts"]]
    return [one for one in some if one["severity"] in ("bad", "warning", "unknown")]


def with_fault(sound: StudyRun, night: Night) -> list[Night]:
    return [Night(sound)] * AT + [night] * (N - AT)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("node", "n003"), ("pair", "n002 - n007"), ("cable", CABLE)],
)
def test_a_planted_component_is_named_with_its_date_and_what_changed_there(
    kind: str, name: str, bases: Bases, tmp_path: Path, capsys: Capture
) -> None:
    settings = {"kernel": "6.99"}
    night = {
        "node": Night(bases["sound"], slow_node("n003", 1.08), settings),
        "pair": Night(bases["sound"], slow_pair("n002", "n007", 1.15), settings),
        "cable": Night(bases["cable"], settings=settings),
    }[kind]
    write_nights(tmp_path / "runs", with_fault(bases["sound"], night), seed=7)
    code, found = history(capsys, tmp_path / "runs")
    (step,) = moved(found)
    facts = step["facts"]
    assert code == 1
    assert step["severity"] == "bad"
    assert (facts["component"], facts["name"], facts["in_force"]) == (kind, name, True)
    assert facts["date"] == "2026-11-15"
    assert "since Sunday 2026-11-15 (check-013)" in step["sentence"]
    assert any(one.startswith("kernel ") and one.endswith("-> 6.99") for one in facts["changed"])
    assert not any("kernel" in one["sentence"] and "without" in one["sentence"]
                   for one in found["findings"])  # fmt: skip


def test_a_node_that_drifts_is_a_warning_without_a_date(
    bases: Bases, tmp_path: Path, capsys: Capture
) -> None:
    drift = [Night(bases["sound"], slow_node("n005", 1 + 0.1 * i / N)) for i in range(N)]
    write_nights(tmp_path / "runs", drift, seed=3)
    _, found = history(capsys, tmp_path / "runs")
    (warned,) = moved(found)
    assert (warned["severity"], warned["facts"]["name"]) == ("warning", "n005")
    assert "node n005 drifts: " in warned["sentence"]


def test_a_repaired_node_is_a_note_and_its_accusations_are_counted(
    bases: Bases, tmp_path: Path, capsys: Capture
) -> None:
    sound, slow = Night(bases["sound"]), Night(bases["sound"], slow_node("n003", 1.3))
    paths = write_nights(tmp_path / "runs", [sound] * 10 + [slow] * 8 + [sound] * 10, seed=5)
    code, found = history(capsys, tmp_path / "runs")
    notes = [one for one in found["findings"] if one["facts"].get("name") == "n003"]
    assert code == 0
    assert {one["severity"] for one in notes} == {"good", "note"}
    (accused,) = [one for one in notes if one["kind"] == "anomaly"]
    assert accused["facts"]["runs"] == [str(path) for path in paths[10:18]]
    assert accused["sentence"].startswith("node n003: accused by 8 of 28 checks (8 as bad)")


def test_healthy_checks_are_good_and_say_which_step_would_have_shown(
    bases: Bases, tmp_path: Path, capsys: Capture
) -> None:
    write_nights(tmp_path / "runs", [Night(bases["sound"])] * N_QUIET, seed=11)
    code, found = history(capsys, tmp_path / "runs")
    assert code == 0
    assert not moved(found)
    for kind in ("node", "cable", "pair"):
        assert any(f"of any {kind} " in one for one in found["would_show"])
    few = shutil.copytree(tmp_path / "runs", tmp_path / "few")
    for path in sorted(few.iterdir())[8:]:
        shutil.rmtree(path)
    code, found = history(capsys, few)
    assert code == 5
    assert any("no component is in enough of 8 checks" in o["sentence"] for o in found["findings"])


def test_damaged_runs_are_left_out_by_name(bases: Bases, tmp_path: Path, capsys: Capture) -> None:
    old, half, unset, *_ = write_nights(tmp_path / "runs", [Night(bases["sound"])] * 5)
    change(old, 'schema = "weft.run/1"', 'schema = "weft.run/0"')
    change(unset, "started_unix_s = 1793750400.0", "started_unix_s = 86400.0")
    samples = next((half / "samples").iterdir())
    lines = samples.read_text().splitlines(keepends=True)
    samples.write_text("".join(one for one in lines if '"done"' not in one.split(",")[0]))
    run(["history", str(tmp_path / "runs")])
    text = " ".join(capsys.readouterr().out.split())
    assert f"left out: 1 run ({old}): cannot be read" in text
    assert "weft.run/0" in text
    assert f"({unset}): its clock was not set" in text
    assert f"({half}): no launch is complete" in text


def test_a_kept_row_is_judged_again_where_a_file_of_the_run_changed(
    bases: Bases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_nights(tmp_path / "runs", [Night(bases["sound"])])
    judged: list[StudyRun] = []
    real = kept_rows.row_of

    def counting(one: StudyRun) -> HistoryRun:
        judged.append(one)
        return real(one)

    monkeypatch.setattr(kept_rows, "row_of", counting)
    first = kept_rows.read_row(path)
    assert kept_rows.read_row(path) == first
    assert len(judged) == 1
    assert len(first.components.slowness) > 2 * 8
    slow = night_run(Night(bases["sound"], slow_node("n001", 2)), 0, np.random.default_rng(1))
    shutil.rmtree(path)
    again = kept_rows.read_row(write_check(path, slow))
    assert len(judged) == 2
    assert {one.component.name for one in again.components.accused} == {"n001"}
    for kept in kept_rows.kept_folder().iterdir():
        kept.write_text("{")
    assert kept_rows.read_row(path) == again


def change(run_dir: Path, old: str, new: str) -> None:
    path = run_dir / "run.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
