"""`weft check --drain FILE --evidence DIR`: only a node that two checks in a row accuse; and
`--within`, after which a check ends without a verdict."""

import json
import time
from pathlib import Path

import pytest

from weft.cli import run
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]
SLOW = ("--plant", "n003 slow=3")
TWIN = ("--quick", "--twin", "fat-tree", "--nodes", "6")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check(tmp_path: Path, name: str, *options: str) -> tuple[int, str]:
    """The exit code and the drain list of a check in runs/NAME."""
    (tmp_path / "runs").mkdir(exist_ok=True)
    drain, runs = tmp_path / "drain.sh", tmp_path / "runs"
    words = ("--drain", str(drain), "--evidence", str(runs), "--dir", str(runs / name))
    code = run(["check", *TWIN, *options, *words])
    return code, drain.read_text()


def test_the_second_check_in_a_row_that_accuses_a_node_drains_it(tmp_path: Path) -> None:
    code, first = check(tmp_path, "monday", *SLOW)
    assert code == 1
    assert "scontrol" not in first
    assert "n003: no earlier check measured it" in first
    code, second = check(tmp_path, "tuesday", *SLOW, "--seed", "2")
    today = time.strftime("%Y-%m-%d", time.gmtime())
    (line,) = [one for one in second.splitlines() if one.startswith("scontrol")]
    assert code == 1
    assert line.startswith("scontrol update NodeName=n003 State=DRAIN 'Reason=weft check: n003")
    assert line.endswith(f", by tuesday of {today} and monday of {today}'")


def test_a_good_check_between_two_bad_ones_takes_the_evidence_away(tmp_path: Path) -> None:
    check(tmp_path, "monday", *SLOW)
    assert (
        check(tmp_path, "tuesday", "--seed", "2")[1]
        == "# weft check: bad nodes, for Slurm\n# none\n"
    )
    _, text = check(tmp_path, "wednesday", *SLOW, "--seed", "3")
    assert "scontrol" not in text
    assert "n003: bad in wednesday of " in text
    assert "but not in tuesday of " in text


def test_a_cable_between_switches_drains_nobody(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        _, text = check(tmp_path, name, "--plant", "leaf-01[4] rate=0.25")
    assert "scontrol" not in text


def test_a_check_that_measured_all_and_gave_no_verdict_is_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    where = ("--dir", str(tmp_path / "runs/monday"))
    with monkeypatch.context() as patch:
        patch.setattr("weft.cli.check.command.judge_run", lambda *_: time.sleep(600))
        assert run(["check", *TWIN, *SLOW, "--within", "5s", *where]) == 5
    assert read_run(tmp_path / "runs/monday").complete
    code, text = check(tmp_path, "tuesday", *SLOW, "--seed", "2")
    assert code == 1
    assert "n003: no earlier check measured it" in text
    assert "scontrol" not in text


def test_evidence_alone_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", *TWIN, "--evidence", str(tmp_path), "--dir", str(tmp_path / "r")]) == 2
    assert "--evidence has no effect alone" in capsys.readouterr().err


def test_a_check_that_takes_too_long_is_unknown_and_drains_nobody(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain = tmp_path / "drain.sh"
    monkeypatch.setattr("weft.cli.check.command.measure_remaining", lambda *_: time.sleep(60))
    begun = time.monotonic()
    argv = ["check", *TWIN, *SLOW, "--within", "2s", "--drain", str(drain), "--format", "json"]
    code = run([*argv, "--dir", str(tmp_path / "run")])
    record = json.loads(capsys.readouterr().out)
    assert time.monotonic() - begun < 30
    assert code == record["exit_code"] == 5
    assert record["findings"][0]["severity"] == "unknown"
    assert "did not end within 2.0 s" in record["findings"][0]["sentence"]
    assert not drain.exists()
    assert run(["check", *TWIN, "--within", "0s", "--dry-run"]) == 2
