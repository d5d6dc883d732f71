"""`weft check --against RUN` on twins: planted, known, mended; and runs that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.check.launches import FollowUpBackend
from weft.check.suspects.follow_up import FollowUpPlan
from weft.cli import run

Capture = pytest.CaptureFixture[str]
PLANT = ("--plant", "leaf-02[6] rate=0.25")
OTHER = ("--plant", "leaf-03[7] rate=0.25")


@pytest.fixture(autouse=True)
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


def twin(where: Path, *more: str) -> int:
    return run(["check", "--twin", "fat-tree", "--nodes", "16", "--dir", str(where), *more])


def answer(where: Path, capsys: Capture, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    twin(where, "--format", "json", *more)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def test_a_fault_is_known_then_mended_and_another_new(tmp_path: Path, capsys: Capture) -> None:
    first = tmp_path / "first"
    assert twin(first, *PLANT) == 1
    text = capsys.readouterr().out
    # The next command names the leaf of the cable and the run to compare with.
    assert f"weft check --twin fat-tree --nodes 16 --against {first} --only leaf-02" in text
    old = ("--against", str(first))
    assert twin(tmp_path / "again", *PLANT, *old) == 1
    assert capsys.readouterr().out.startswith("BAD  known  1 cable   leaf-02[6] <-> spine-02[2]")
    assert twin(tmp_path / "mended", *OTHER, *old) == 1
    text = capsys.readouterr().out
    assert text.startswith("BAD  new  1 cable   leaf-03[7] <-> spine-03[3]")
    assert "\nmended: 1 cable leaf-02[6] <-> spine-02[2], 25 % of others (" in text
    said = answer(tmp_path / "json", capsys, "--only", "leaf-02", *old)
    assert said["exit_code"] == 0
    assert said["against"]["run"] == str(first)
    (gone,) = said["against"]["gone"]
    assert gone["change"] == "mended"
    assert gone["suspects"][0]["ends"][0] in ("leaf-02[6]", "spine-02[2]")


def test_what_is_no_check_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: Capture
) -> None:
    for against, said in (
        (tmp_path / "nowhere", "not a run directory"),
        (tmp_path / "bench", "this run is no check: it measured no pair"),
    ):
        if against.name == "bench":
            argv = ["bench", "latency", "--mock", "--nodes", "2", "--dir", str(against)]
            assert run(argv) == 0
        assert twin(tmp_path / "run", "--against", str(against)) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_a_check_too_small_to_judge_is_nothing_to_hold_against(
    tmp_path: Path, capsys: Capture
) -> None:
    small = tmp_path / "small"
    assert run(["check", "--mock", "--nodes", "2", "--dir", str(small)]) == 5
    assert twin(tmp_path / "run", "--against", str(small)) == 2
    assert "nothing can be compared with this run: 1 pair of 2 nodes" in capsys.readouterr().err


def test_the_report_tells_the_same_and_says_when_the_earlier_run_is_gone(
    tmp_path: Path, capsys: Capture
) -> None:
    first, second, page = tmp_path / "first", tmp_path / "second", tmp_path / "page.html"
    assert twin(first, *PLANT) == 1
    assert twin(second, *OTHER, "--against", str(first)) == 1
    assert run(["report", str(second), "-o", str(page)]) == 0
    text = page.read_text()
    assert "<h3>Against first</h3>" in text
    cells = [line for line in text.splitlines() if "1 cable leaf-0" in line]
    assert any("mended" in line and "leaf-02[6] &lt;-&gt; spine-02[2]" in line for line in cells)
    assert any("new" in line and "leaf-03[7] &lt;-&gt; spine-03[3]" in line for line in cells)
    first.rename(tmp_path / "elsewhere")
    assert run(["report", str(second), "-o", str(page)]) == 0
    assert "The earlier check cannot be used: not a run directory." in page.read_text()


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_check_that_goes_on_is_held_against_the_earlier_run_whenever_that_was_asked(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, *, asked_first: bool
) -> None:
    first, second, page = tmp_path / "first", tmp_path / "second", tmp_path / "page.html"
    assert twin(first, *PLANT) == 1
    old = ("--against", str(first))
    with monkeypatch.context() as patched:
        patched.setattr(FollowUpBackend, "_planned", interrupted)
        assert twin(second, *OTHER, *(old if asked_first else ())) == 130
    capsys.readouterr()
    assert twin(second, *OTHER, "--resume", *(() if asked_first else old)) == 1
    text = capsys.readouterr().out
    assert text.startswith("BAD  new  1 cable   leaf-03[7] <-> spine-03[3]")
    assert "\nmended: 1 cable leaf-02[6] <-> spine-02[2], 25 % of others (" in text
    assert run(["report", str(second), "-o", str(page)]) == 0
    assert "<h3>Against first</h3>" in page.read_text()


def interrupted(_: FollowUpBackend) -> FollowUpPlan:
    raise KeyboardInterrupt


@pytest.mark.parametrize("plant", ["n003 slow=3", "leaf-01[3] rate=0.5"])
def test_what_is_measured_by_itself_and_still_slow_is_not_mended(
    tmp_path: Path, capsys: Capture, plant: str
) -> None:
    """Pairs of others stand beside the group's: what is slow in all of these is not normal."""
    first = tmp_path / "first"
    assert twin(first, "--plant", plant) == 1
    more = ("--plant", plant, "--only", "n003", "--against", str(first))
    said = answer(tmp_path / "again", capsys, *more)
    assert said["exit_code"] == 1
    assert said["against"]["gone"] == []
    (bad,) = [one for one in said["findings"] if one["severity"] == "bad"]
    assert {end for s in bad["facts"]["suspects"] for end in s["ends"]} & {"n003", "n003/hca0"}


def test_what_nothing_else_was_measured_next_to_is_not_called_mended(
    tmp_path: Path, capsys: Capture
) -> None:
    first, rounds = tmp_path / "first", tmp_path / "rounds"
    assert twin(first, "--plant", "n003 slow=3") == 1
    rounds.write_text("".join(f"2-{other}\n" for other in range(16) if other != 2))
    more = ("--plant", "n003 slow=3", "--schedule", str(rounds), "--against", str(first))
    said = answer(tmp_path / "again", capsys, *more)
    assert [gone["change"] for gone in said["against"]["gone"]] == ["not measured"]
