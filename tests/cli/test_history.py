"""`weft history`: dates of steps with the settings that changed there, in every format."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.run_histories import DAY_S, FIRST_S, write_history, write_run

from weft.cli import run

Capture = pytest.CaptureFixture[str]


def asked(capsys: Capture, *argv: str | Path) -> tuple[int, str]:
    code = run(["history", *map(str, argv)])
    return code, capsys.readouterr().out


def record_of(capsys: Capture, *argv: str | Path) -> dict:
    asked_for = run(["history", *map(str, argv), "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    return {**record, "code": asked_for}


def test_a_setting_that_was_on_for_a_while_is_dated_and_named(
    tmp_path: Path, capsys: Capture
) -> None:
    write_history(tmp_path, 30, range(12, 21))
    code, text = asked(capsys, tmp_path)
    lines = " ".join(text.split())
    assert code == 1
    assert text.startswith("BAD  2020-01-23  alltoall 64 KiB, 2 nodes x 1 rank: 25 % slower")
    assert "from run-021 on; changed there: adaptive routing on -> off" in lines
    assert "from run-012 on, and back later; changed there: adaptive routing off -> on" in lines
    assert "2020-01-14 to 2020-01-22 9 runs" in lines


def test_a_slow_time_that_is_over_is_no_bad_verdict(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 30, range(12, 21), factor=1.25)
    code, text = asked(capsys, tmp_path)
    assert code == 0
    assert "NOTE  2020-01-14  alltoall 64 KiB" in text
    assert "BAD" not in text


def test_a_step_without_a_recorded_setting_says_so(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 30, range(15, 30), factor=1.25, recorded=False)
    code, text = asked(capsys, tmp_path)
    assert code == 1
    assert "no recorded setting changed there" in " ".join(text.split())


def test_a_quiet_history_says_what_would_have_shown(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 30, range(10, 20), factor=1.0)
    code, text = asked(capsys, tmp_path)
    lines = " ".join(text.split())
    assert code == 0
    assert "GOOD  no step in 30 runs and 2 cells" in text
    assert "would show: a step of" in text
    assert "adaptive routing changed (off -> on) without a step; one of" in lines


def test_few_runs_are_undecided_with_the_number_that_would_tell(
    tmp_path: Path, capsys: Capture
) -> None:
    write_history(tmp_path, 9, range(4, 9))
    code, text = asked(capsys, tmp_path)
    assert code == 5
    assert "not enough runs, 9; what would tell: 15 runs or more" in " ".join(text.split())
    assert run(["history", str(tmp_path), "--fail-on", "bad"]) == 0


def test_a_strange_last_run_is_not_called_a_step(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 20, range(0))
    slow = {8: 50.0, 65536: 500.0}
    write_run(
        tmp_path / "run-020", FIRST_S + 20 * DAY_S, slow, evidence={"adaptive_routing": "off"}
    )
    code, text = asked(capsys, tmp_path)
    assert code == 5
    assert "the last 1 run (run-020) is an outlier or a step begins there" in " ".join(text.split())


def test_several_settings_at_one_step_are_all_named(tmp_path: Path, capsys: Capture) -> None:
    for number in range(24):
        on = number >= 12
        write_run(
            tmp_path / f"run-{number:03d}",
            FIRST_S + number * DAY_S,
            {8: 10 + number % 3 * 0.1, 65536: (125 if on else 100) + number % 4 * 0.5},
            evidence={"adaptive_routing": "on" if on else "off"},
            environment={"UCX_TLS": "rc"} if on else {},
        )
    code, text = asked(capsys, tmp_path)
    lines = " ".join(text.split())
    assert code == 1
    assert "changed there: UCX_TLS unset -> rc, adaptive routing off -> on" in lines
    assert "what would tell which: 5 runs with UCX_TLS back at unset" in lines


def test_hosts_of_another_name_are_a_history_of_their_own(tmp_path: Path, capsys: Capture) -> None:
    for number in range(20):
        hosts = "node" if number < 10 else "cn"
        values = {8: 10 + number % 3 * 0.1, 65536: 100.0 + number % 4}
        where = tmp_path / f"run-{number:03d}"
        write_run(where, FIRST_S + number * DAY_S, values, hosts=hosts)
    apart = record_of(capsys, tmp_path)
    assert [one["n_runs"] for one in apart["histories"]] == [10, 10]
    assert apart["code"] == 5
    together = record_of(capsys, tmp_path, "--one-fabric")
    assert [one["n_runs"] for one in together["histories"]] == [20]
    changes = together["histories"][0]["setting_changes"]
    assert [one["change"] for one in changes] == ["host names node* -> cn*"]


def test_copies_torn_runs_and_wrong_clocks_are_left_out(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 20, range(0))
    shutil.copytree(tmp_path / "run-003", tmp_path / "copy-of-003")
    write_run(tmp_path / "no-clock", 86_400.0, {8: 10.0, 65536: 100.0})
    write_run(tmp_path / "ahead", 4e9, {8: 10.0, 65536: 100.0})
    write_run(tmp_path / "no-launch", FIRST_S + 0.5, {8: 10.0}, complete=False)
    torn = write_run(tmp_path / "torn", FIRST_S + 0.25, {8: 10.0})
    (torn / "run.toml").write_text((torn / "run.toml").read_text()[:60])
    other = write_run(tmp_path / "other-schema", FIRST_S + 0.75, {8: 10.0})
    text = (other / "run.toml").read_text()
    (other / "run.toml").write_text(text.replace("weft.run/1", "weft.run/9"))
    (tmp_path / "notes").mkdir()
    record = record_of(capsys, tmp_path)
    reasons = {Path(one["run"]).name: one["reason"] for one in record["left_out"]}
    assert reasons.pop("torn").startswith("cannot be read: not TOML")
    # Of a run and its copy either may stay; the first by name does.
    assert reasons == {
        "run-003": f"a copy of {tmp_path / 'copy-of-003'}",
        "no-clock": "its clock was not set",
        "ahead": "its clock is ahead of this machine's",
        "no-launch": "no launch is complete",
        "other-schema": "cannot be read: schema 'weft.run/9'",
    }
    assert record["histories"][0]["n_runs"] == 20


def test_a_run_given_twice_counts_once(tmp_path: Path, capsys: Capture) -> None:
    paths = write_history(tmp_path, 20, range(0))
    record = record_of(capsys, tmp_path, paths[0], tmp_path)
    assert record["histories"][0]["n_runs"] == 20
    assert record["left_out"] == []


def test_a_figure_of_zero_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 20, range(0))
    write_run(tmp_path / "zero", FIRST_S + 0.5, {8: 0.0})
    record = record_of(capsys, tmp_path)
    assert record["left_out"][0]["reason"] == "latency_us_p50 of alltoall is 0"


def test_a_directory_without_runs_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["history", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
    assert run(["history", str(tmp_path / "nowhere")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_a_named_run_that_is_damaged_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    torn = write_run(tmp_path / "torn", FIRST_S, {8: 10.0})
    (torn / "run.toml").write_text("schema = ")
    assert run(["history", str(torn)]) == 2
    assert "not TOML" in capsys.readouterr().err


def test_csv_has_a_row_a_run_and_cell(tmp_path: Path, capsys: Capture) -> None:
    write_history(tmp_path, 24, range(12, 24), factor=1.3)
    assert run(["history", str(tmp_path), "--format", "csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 48
    assert [row["stretch"] for row in rows[::2]] == ["1"] * 12 + ["2"] * 12


def test_runs_without_times_can_be_taken_as_given(tmp_path: Path, capsys: Capture) -> None:
    paths = write_history(tmp_path, 24, range(12, 24), factor=1.3)
    for path in paths:
        text = (path / "run.toml").read_text()
        kept = [line for line in text.splitlines() if not line.startswith("started_unix_s")]
        (path / "run.toml").write_text("\n".join(kept))
    code, text = asked(capsys, *paths)
    assert code == 5
    assert "it states no time" in " ".join(text.split())
    # Without its time a run is known by its figures only: they differ.
    code, text = asked(capsys, "--order", "given", *paths)
    assert code == 1
    assert text.startswith("BAD  run 13  alltoall 64 KiB")


def test_figures_that_change_without_a_date_are_not_called_quiet(
    tmp_path: Path, capsys: Capture
) -> None:
    """A setting that is on every other day: no run begins it, and nothing is GOOD."""
    runs = [
        write_run(
            tmp_path / f"r{day:02}",
            FIRST_S + day * DAY_S,
            {4096: 100.0 * (1.2 if day % 2 else 1.0) * (1 + 0.002 * (day % 5))},
            evidence={"adaptive_routing": "on" if day % 2 else "off"},
        )
        for day in range(30)
    ]
    code = run(["history", *map(str, runs)])
    out = capsys.readouterr().out
    assert code == 5, out
    assert out.startswith("UNKNOWN  cannot tell: when the figures changed: "), out
    assert "GOOD" not in out


def test_a_drift_is_not_called_quiet(tmp_path: Path, capsys: Capture) -> None:
    draw = np.random.default_rng(1)
    runs = [
        write_run(
            tmp_path / f"r{day:02}",
            FIRST_S + day * DAY_S,
            {4096: 100.0 * (1 + 0.006 * day) * draw.normal(1, 0.01)},
        )
        for day in range(40)
    ]
    run(["history", *map(str, runs)])
    out = capsys.readouterr().out
    assert "drifts: " in out, out
    assert "GOOD" not in out
    assert "would show" not in out


def test_a_step_too_small_for_a_finding_is_a_note(tmp_path: Path, capsys: Capture) -> None:
    """A twin's figures are exact: another version moves them by what matters to nobody."""
    runs = [
        write_run(
            tmp_path / f"r{day:02}",
            FIRST_S + day * DAY_S,
            {4096: 100.0 if day < 15 else 100.2, 8192: 180.0},
        )
        for day in range(30)
    ]
    code = run(["history", *map(str, runs)])
    out = capsys.readouterr().out
    assert code == 0, out
    assert out.startswith("NOTE  2020-01-17  a step of less than 1 % from r15 on"), out
    assert "BAD" not in out
    assert "GOOD" not in out
