"""From runs to histories: order, fabrics, clocks, repeats of a twin, shifts."""

import dataclasses
from pathlib import Path

import pytest
from tests.run_histories import DAY_S, FIRST_S, write_history, write_run

from weft.core.errors import ExitCode
from weft.study.history.history import histories_of
from weft.study.history.history_findings import (
    change_text,
    exit_code_of_histories,
    judge_history,
)
from weft.study.history.history_run import HistoryRun, read_history_run
from weft.study.history.run_folders import find_runs
from weft.study.history.shifts import shifts_of


def test_runs_are_in_order_of_time_whatever_their_names(tmp_path: Path) -> None:
    for name, day in (("a", 2), ("b", 0), ("c", 1)):
        write_run(tmp_path / name, FIRST_S + day * DAY_S, {8: 10.0})
    assert [run.name for run in find_runs([tmp_path]).runs] == ["b", "c", "a"]
    given = find_runs([tmp_path / name for name in "acb"], as_given=True)
    assert [run.name for run in given.runs] == ["a", "c", "b"]


def test_only_runs_without_a_kept_row_are_read(tmp_path: Path) -> None:
    for name, day in (("a", 2), ("b", 0), ("c", 1)):
        write_run(tmp_path / name, FIRST_S + day * DAY_S, {8: 10.0})
    kept, read = dataclasses.replace(read_history_run(tmp_path / "c"), n_over=77), []

    def reading(path: Path) -> HistoryRun:
        read.append(path.name)
        return read_history_run(path)

    found = find_runs(
        [tmp_path], read=reading, kept_row=lambda path: kept if path.name == "c" else None
    )
    assert read == ["a", "b"]
    assert [(run.name, run.n_over) for run in found.runs] == [("b", 1), ("c", 77), ("a", 1)]


def test_a_clock_that_went_backwards_has_no_place_in_time(tmp_path: Path) -> None:
    where = write_run(tmp_path / "run", FIRST_S, {8: 10.0})
    (samples,) = (where / "samples").glob("*.jsonl")
    late, early = f'"started_unix_s":{FIRST_S + 1}', f'"started_unix_s":{FIRST_S - 3 * DAY_S}'
    text = samples.read_text()
    assert late in text
    samples.write_text(text.replace(late, early))
    assert read_history_run(where).no_time == "its clock went backwards"


def test_a_value_is_the_median_of_launches_not_of_iterations(tmp_path: Path) -> None:
    run = read_history_run(write_run(tmp_path / "run", FIRST_S, {8: 10.0}, n_launches=3))
    assert list(run.values.values()) == [10.0]
    assert run.n_over == 3


def test_of_two_copies_the_one_with_more_launches_stays(tmp_path: Path) -> None:
    write_run(tmp_path / "early-copy", FIRST_S, {8: 10.0}, n_launches=1)
    write_run(tmp_path / "whole", FIRST_S, {8: 10.0}, n_launches=3)
    found = find_runs([tmp_path])
    assert [run.name for run in found.runs] == ["whole"]
    assert found.left_out[0].reason == f"a copy of {tmp_path / 'whole'}"


def test_repeats_of_a_simulation_count_once(tmp_path: Path) -> None:
    runs = [
        read_history_run(write_run(tmp_path / str(n), FIRST_S + n * DAY_S, {8: 10.0}))
        for n in range(20)
    ]
    twins = [dataclasses.replace(run, kind="twin") for run in runs]
    assert len(histories_of(runs)[0].runs) == 20
    (history,) = histories_of(twins)
    assert (len(history.runs), history.n_repeated) == (1, 19)
    assert exit_code_of_histories([judge_history(history)]) == ExitCode.NO_VERDICT


def test_only_the_cell_that_moved_is_accused(tmp_path: Path) -> None:
    write_history(tmp_path, 30, range(15, 30), factor=1.3)
    (history,) = histories_of(find_runs([tmp_path]).runs)
    (shift,) = shifts_of(history)
    assert [one.cell.size_bytes for one in shift.cells] == [65536]
    assert shift.most.slower == pytest.approx(1.3, rel=0.02)
    assert shift.in_force
    assert [one.text for one in shift.changed] == ["adaptive routing off -> on"]


def test_no_run_is_no_verdict() -> None:
    assert exit_code_of_histories([]) == ExitCode.NO_VERDICT


@pytest.mark.parametrize(
    ("slower", "text"),
    [
        (1.18, "18 % slower"),
        (0.8, "20 % faster"),
        (1.99, "2.0x slower"),
        (5.0, "5.0x slower"),
        (0.25, "4.0x faster"),
    ],
)
def test_a_change_is_said_by_the_time_that_a_message_takes(slower: float, text: str) -> None:
    assert change_text(slower) == text


def test_conditions_are_cells_of_their_own(tmp_path: Path) -> None:
    where = write_run(tmp_path / "run", FIRST_S, {8: 10.0})
    plan = where / "plan.jsonl"
    assert '"arm":{}' in plan.read_text()
    plan.write_text(plan.read_text().replace('"arm":{}', '"arm":{},"condition":{"jobs":"two"}'))
    (cell,) = read_history_run(where).values
    assert cell.arm == "jobs=two"
