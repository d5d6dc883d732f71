"""A check in which hosts go: named, and the others judged."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.lost_hosts import CAUSE, MEETING, NODES, REMEDY, LostHostsBackend, use

from weft.bench.live.failure import HangError
from weft.check.trials import ALONE, SURVEY, TOGETHER
from weft.cli import run
from weft.core.errors import BenchmarkError
from weft.study.run.run_folder import EARLIER
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]


def check(where: Path, *more: str) -> int:
    return run(["check", "--mock", "--dir", str(where), *more])


@pytest.mark.parametrize("when", [MEETING, SURVEY])
def test_a_host_that_goes_is_named_and_the_others_are_judged(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, {"n003": when}, slow_nodes={"n005": 4.0})
    where = tmp_path / "run"
    drain = tmp_path / "drain.sh"
    assert check(where, "--drain", str(drain)) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == f"BAD  n003 does not answer: {CAUSE}."
    assert any(line.startswith("BAD  1 node   n005") for line in lines)
    assert "OK   6 of 8 nodes   pairs 21 of 21 measured" in said.out
    assert f"\nnext: n003: {REMEDY}; once it answers: weft check " in said.out
    assert "--only" not in said.out
    told = f"n003 does not answer: {CAUSE}: measuring the remaining 7 nodes"
    assert f"{told} (earlier readings: {where / EARLIER / '1'})" in said.err
    drained = drain.read_text()
    assert "scontrol update NodeName=n003 State=DRAIN 'Reason=weft check: n003 does" in drained
    assert "NodeName=n005" in drained
    page = (where / "report.html").read_text()
    assert f"n003 does not answer: {CAUSE}" in page
    assert f"next: n003: {REMEDY}" in page


def test_what_was_measured_until_then_is_a_run_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, {"n003": SURVEY, "n004": MEETING})
    where = tmp_path / "run"
    assert check(where) == 1
    first, kept = read_run(where / EARLIER / "2"), read_run(where)
    assert {node for one in kept.launches for node in one.trial.nodes} == {*NODES} - {
        "n003",
        "n004",
    }
    assert [one.host for one in kept.lost] == ["n004", "n003"]
    assert kept.complete
    assert not kept.failures
    assert [one.lost for one in first.failures if one.trial == SURVEY] == [("n003",)]
    assert (where / EARLIER / "1" / "raw" / "meeting.out").exists()


def test_every_reader_of_the_run_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, {"n003": SURVEY})
    where = tmp_path / "run"
    assert check(where, "--format", "json") == 1
    first = json.loads(capsys.readouterr().out)
    (lost,) = [one for one in first["findings"] if one["kind"] == "lost-node"]
    assert lost["severity"] == "bad"
    assert lost["facts"] == {"node": "n003", "cause": CAUSE, "remedy": REMEDY, "surveyed": False}
    assert lost["remedy"] == f"n003: {REMEDY}"
    assert run(["report", str(where), "-o", str(tmp_path / "page.html")]) == 0
    assert f"n003 does not answer: {CAUSE}" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    assert check(where, "--resume", "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["findings"] == first["findings"]
    use(monkeypatch, {})
    assert check(tmp_path / "later", "--against", str(where)) == 0
    assert f"mended: n003 does not answer: {CAUSE}" in capsys.readouterr().out


def test_junit_has_a_failed_case_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, {"n003": SURVEY})
    assert check(tmp_path / "run", "--format", "junit") == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert [(case.get("classname"), case.get("name")) for case in failed] == [
        ("weft check.node", "n003")
    ]
    assert len(list(suite.iter("testcase"))) == 8


@pytest.mark.parametrize(
    ("when", "ways"), [(ALONE, "alone and under load"), (TOGETHER, "under load")]
)
def test_a_host_that_goes_after_the_survey_leaves_its_readings(
    when: str, ways: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    opened = use(monkeypatch, {"n003": when}, slow_nodes={"n005": 4.0})
    where = tmp_path / "run"
    assert check(where) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert len(opened) == 1
    assert f"BAD n003 does not answer: {CAUSE}. " in out
    assert "lost after the survey, whose readings of it are judged" in out
    assert "1 node n005 latency +" in out
    assert "OK 6 of 8 nodes pairs 28 of 28 measured" in out
    assert f"caveat: suspects were not measured again {ways}: a host was lost" in out
    page = (where / "report.html").read_text()
    assert "launches failed" not in page
    assert f"n003 does not answer: {CAUSE}" in page


@pytest.mark.parametrize("dying", [("n003",), ("n003", "n002")])
def test_two_hosts_of_which_one_or_both_go_are_no_answer(
    dying: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(LostHostsBackend, "name", "live")
    use(monkeypatch, dict.fromkeys(dying, SURVEY), NODES[1:3])
    assert check(tmp_path / "run") == 4
    err = capsys.readouterr().err
    assert f"n003 does not answer: {CAUSE}" in err
    assert "check the others without n003" in err
    assert not (tmp_path / "run" / EARLIER).exists()


def test_one_goes_after_the_other_and_in_the_end_there_is_no_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    backends = use(monkeypatch, {"n002": MEETING, "n003": SURVEY}, NODES[:3])
    assert check(tmp_path / "run") == 4
    assert "check the others without n002, n003" in capsys.readouterr().err
    assert len(backends) >= 2


def test_what_the_options_ask_for_cannot_be_measured_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use(monkeypatch, {"n003": SURVEY})
    assert check(tmp_path / "run", "--only", "n003") == 4
    assert "check the others without n003" in capsys.readouterr().err


def test_a_hang_without_a_lost_host_stays_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def hang(self: LostHostsBackend, trial: str, nodes: Sequence[str]) -> None:
        if trial == SURVEY:
            raise HangError("pairs hung", where="host n003, rank 2")

    monkeypatch.setattr(LostHostsBackend, "_die", hang)
    backends = use(monkeypatch, {})
    assert check(tmp_path / "run") == 4
    assert "host n003, rank 2: pairs hung" in capsys.readouterr().err
    assert len(backends) == 1


def test_a_quick_check_has_no_time_for_a_second_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(LostHostsBackend, "name", "live")
    backends = use(monkeypatch, {"n003": SURVEY})
    assert check(tmp_path / "run", "--quick") == 4
    assert "check the others without n003" in capsys.readouterr().err
    assert len(backends) == 1


def test_hosts_that_no_one_named_are_all_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """As inside a Slurm job: the command for after the repair has the host that was gone."""
    monkeypatch.setattr(LostHostsBackend, "name", "live")
    use(monkeypatch, {"n003": SURVEY})
    assert check(tmp_path / "run", "--no-report") == 1
    assert "weft check --hosts 'n[001-008]' " in capsys.readouterr().out


def test_hosts_that_go_on_going_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Every time it is measured, one more of many hosts is gone."""

    def die(self: LostHostsBackend, trial: str, nodes: Sequence[str]) -> None:
        if trial == SURVEY:
            raise BenchmarkError(f"{nodes[0]} does not answer", lost=(nodes[0],))

    monkeypatch.setattr(LostHostsBackend, "_die", die)
    use(monkeypatch, {})
    assert check(tmp_path / "run") == 4
    assert "check the others without n001, n002, n003, n004" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "run" / EARLIER).iterdir()) == ["1", "2", "3"]
