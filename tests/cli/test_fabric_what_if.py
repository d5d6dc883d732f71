"""`weft fabric what-if`: the verdict of a change, its losses, jobs and order of work."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.audit.change_risk.work_order import WorkOrder, WorkPlanner, expected_states
from weft.cli import run
from weft.core.work.progress import WorkUnderWay

FIXTURES = Path(__file__).parents[1] / "fixtures" / "fabric"
FILES = [
    str(FIXTURES / "small" / "opensm-subnet.lst"),
    str(FIXTURES / "opensm" / "opensm-lfts.dump"),
]
"""Four leaves of four hosts, two spines, two cables between each leaf and spine."""

Capture = pytest.CaptureFixture[str]


def said(capsys: Capture, *more: str) -> tuple[int, dict[str, Any]]:
    code = run(["fabric", "what-if", *FILES, *more, "--format", "json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out)


def refused(capsys: Capture, *more: str) -> str:
    assert run(["fabric", "what-if", *FILES, *more]) == 2
    return capsys.readouterr().err


def jobs_file(folder: Path) -> str:
    path = folder / "jobs"
    path.write_text("11 c[101-104]-[001-004]\n12 c101-[001-004]\n")
    return str(path)


def test_without_a_spine_the_whole_machine_is_slower_and_a_leaf_is_not(
    tmp_path: Path, capsys: Capture
) -> None:
    more = ("--without", "spine01", "--without-cable", "leaf000[5]")
    code, found = said(capsys, *more, "--jobs", jobs_file(tmp_path))
    assert (code, found["severity"]) == (0, "warning")
    assert (found["cut_off"], found["credit_loop"], found["pairs_without_path"]) == ([], [], 0)
    jobs = {job["job"]: job for job in found["jobs"]}
    # Leaf000 keeps one cable of 200 Gb/s for four hosts of 100 Gb/s each.
    assert jobs["12"]["slowdown_mean"] == 0.0
    assert jobs["11"]["slowdown_worst"] == pytest.approx(1.0)
    assert found["bisection"]["loss"] > 0.05
    assert found["n_changed_entries"] > 0


def test_without_a_leaf_its_hosts_are_cut_off_and_drained_first(
    tmp_path: Path, capsys: Capture
) -> None:
    code, found = said(capsys, "--without", "leaf001", "--jobs", jobs_file(tmp_path))
    assert (code, found["severity"]) == (1, "bad")
    hosts = [f"c102-00{n}" for n in range(1, 5)]
    assert [it["host"] for it in found["cut_off"]] == hosts
    assert found["steps"] == [{"changes": ["take out leaf001"], "drain": hosts}]
    jobs = {job["job"]: job for job in found["jobs"]}
    assert jobs["11"]["cut_off"] == hosts
    assert jobs["12"]["cut_off"] == []


def test_a_host_taken_out_on_purpose_is_not_cut_off(capsys: Capture) -> None:
    _, found = said(capsys, "--without", "c102-001")
    assert found["cut_off"] == []
    assert found["severity"] != "bad"


def test_cables_that_leave_a_leaf_one_by_one_are_one_safe_step(capsys: Capture) -> None:
    code, found = said(capsys, "--without-cable", "leaf000 - spine00")
    assert code == 0
    assert len(found["changes"]) == 2
    assert [len(step["changes"]) for step in found["steps"]] == [2]
    assert found["order_unsafe"] is None


def test_a_new_cable_comes_before_the_old_ones_go(capsys: Capture) -> None:
    # Leaf000 has ports 5 to 8 upwards; all of them go, and one of their spines' cables comes back.
    code, found = said(
        capsys,
        *("--without-cable", "leaf000 - spine00", "--without-cable", "leaf000[7]"),
        *("--without-cable", "leaf000[8]", "--add", "leaf000[5] spine01[1]"),
    )
    assert found["cut_off"] == []
    assert len(found["changes"]) == 5
    steps = [change for step in found["steps"] for change in step["changes"]]
    assert found["order_unsafe"] is None
    at = steps.index("plug in leaf000[5] - spine01[1]")
    gone = [steps.index(it) for it in steps if it.startswith("unplug leaf000[")]
    # Its port has to be free before, and the last other cable goes after.
    assert min(gone) < at < max(gone)
    assert code == 0


def test_a_swap_of_the_only_leaf_of_hosts_has_no_safe_order(capsys: Capture) -> None:
    ends = ", ".join(f"new[{n}] c101-00{n}[1]" for n in range(1, 5))
    ups = ", ".join(f"new[{5 + n}] spine0{n // 2}[{1 + n % 2}]" for n in range(4))
    code, found = said(capsys, "--without", "leaf000", "--add", f"switch new 8: {ends}, {ups}")
    assert (code, found["cut_off"]) == (1, [])
    assert found["order_unsafe"] is not None
    assert found["steps"][0]["drain"] == [f"c101-00{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--without", "spine09"), "the nearest names: spine0"),
        (("--without-cable", "leaf000[12]"), "is none of its 8 ports"),
        (("--without-cable", "leaf000[5]-spine01[7]"), "is cabled to spine0"),
        (("--without-cable", "leaf000"), "names no cable"),
        (("--add", "leaf000[5] spine01[1]"), "has a cable to"),
        (("--add", "leaf000"), "is no cable to add"),
        (("--add", "switch spine00 8: spine00[1] leaf000[5]"), "there is a 'spine00' already"),
        (("--without", "spine00", "--without", "spine00"), "asked for 2 times"),
        ((), "give a change"),
    ],
)
def test_a_change_that_cannot_be_is_refused(
    capsys: Capture, more: tuple[str, ...], what: str
) -> None:
    assert what in refused(capsys, *more)


@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_longer_than_the_screen(capsys: Capture, tmp_path: Path, width: int) -> None:
    more = ("--without", "spine01", "--without-cable", "leaf000[5]")
    run(["fabric", "what-if", *FILES, *more, "--jobs", jobs_file(tmp_path)])
    text = capsys.readouterr().out
    assert text.startswith("WARNING  job 11 would be slower by ")
    assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_as_many_states_are_announced_as_are_tried_where_all_is_safe(
    n: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = list[WorkUnderWay]()
    plan = WorkPlanner.plan

    def watched(planner: WorkPlanner) -> WorkOrder:
        order = plan(planner)
        works.append(planner.work)
        return order

    monkeypatch.setattr(WorkPlanner, "plan", watched)
    hosts = [f"c10{leaf}-00{host}" for leaf in (1, 2) for host in (1, 2, 3, 4)]
    more = [word for host in hosts[:n] for word in ("--without", host)]
    said(capsys, *more)
    (work,) = works
    assert (work.done, work.total) == (expected_states(n), expected_states(n))
