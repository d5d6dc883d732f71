"""`weft check`: the verdict on a mock of known faults, and on a simulated fabric."""

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.check.external_evidence import platform_choice as machine
from weft.cli import run
from weft.core.finding import FindingKind
from weft.report.verdict import judge
from weft.study.run.store import read_run

REAL = Path(__file__).parent.parent / "fixtures" / "fabric"
REAL_FILES = (str(REAL / "small" / "opensm-subnet.lst"), str(REAL / "opensm" / "opensm-lfts.dump"))
NODES = tuple(f"n{i:03d}" for i in range(1, 9))
Capture = pytest.CaptureFixture[str]


ONE_HOST = ["--mock", "--nodes", "1", "--tasks-per-node", "3"]


def use_mock(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...] = NODES, **script: object
) -> None:
    """Let the verb open a mock that follows a script."""
    opened = lambda choice: (MockBackend(**script), nodes)  # type: ignore[arg-type]  # noqa: E731
    monkeypatch.setattr("weft.cli.backend.opening.open_backend", opened)


def check(where: Path, *more: str) -> int:
    return run(["check", "--mock", "--dir", str(where), *more])


def test_a_healthy_set_of_nodes_is_good_and_the_next_command_comes_last(
    tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    assert check(where, "--nodes", "8") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("OK   8 of 8 nodes   pairs 28 of 28 measured, ")
    assert lines[-1] == f"report: {where / 'report.html'}"
    unknown = "whether all are slow alike is not known without --platform"
    assert lines[0].endswith(f"   {unknown}")
    page = (where / "report.html").read_text()
    assert f"No component of 8 nodes is slower than its kind; {unknown}." in page


def test_a_platform_tells_whether_all_are_slow_alike(tmp_path: Path, capsys: Capture) -> None:
    where = tmp_path / "run"
    assert run(["check", "--twin", "fat-tree", "--nodes", "8", "--dir", str(where)]) == 0
    assert "slow alike" not in capsys.readouterr().out
    page = (where / "report.html").read_text()
    assert "No component of 8 nodes is slower than its kind." in page


def test_a_slow_node_is_named_and_the_exit_code_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    assert check(tmp_path / "run") == 1
    out = capsys.readouterr().out
    bad, *_, last = out.splitlines()
    # Four times the latency of 1.5 us, within the mock's noise of one per cent.
    columns = re.fullmatch(
        r"BAD  1 node   n005   latency \+(\d+) % \((\S+) where others take (\S+) us\)   "
        r"(\d+) of (\d+) readings over it slow, 0 of (\d+) others",
        bad,
    )
    assert columns is not None, bad
    percent, measured, expected, n_slow, n_over, n_others = map(float, columns.groups())
    assert abs(percent - 300) < 10
    assert abs(measured / expected - 4) < 0.1
    assert n_slow == n_over >= 7
    assert n_others >= 21
    assert "still slow" in out
    assert "\nOK   7 of 8 nodes   pairs 28 of 28 measured" in out
    assert "\nnext: drain the node; " in out
    assert last == f"report: {tmp_path / 'run' / 'report.html'}"


def test_the_json_holds_findings_coverage_and_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    assert check(tmp_path / "run", "--format", "json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["findings"][0]["facts"]["suspects"][0]["ends"] == ["n005"]
    assert answer["coverage"]["pairs"] == 28
    assert answer["seconds"] >= 0
    assert answer["planted"] == []
    assert answer["report"] == str(tmp_path / "run" / "report.html")
    assert answer["schema"] == "weft.check/1"
    assert answer["next_command"] == f"weft check --against {tmp_path / 'run'}"
    slow = [row for row in answer["readings"] if row["mark"] == "slow"]
    assert slow
    assert all("n005" in (row["from"], row["to"]) for row in slow)


def test_the_csv_has_a_row_a_reading(tmp_path: Path, capsys: Capture) -> None:
    assert check(tmp_path / "run", "--nodes", "6", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 15 * 3
    assert {row["metric"] for row in rows} == {"latency_us", "bandwidth_mb_s"}


def test_the_matrix_has_a_row_and_a_column_a_node(tmp_path: Path, capsys: Capture) -> None:
    assert check(tmp_path / "run", "--nodes", "6", "--matrix") == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.startswith("n00")]
    assert [row[0] for row in rows] == [f"n{i:03d}" for i in range(1, 7)]
    assert all(row[1:].count("-") == 1 and len(row) == 7 for row in rows)


def test_a_matrix_too_wide_for_a_screen_says_so(tmp_path: Path, capsys: Capture) -> None:
    assert check(tmp_path / "run", "--nodes", "33", "--matrix") == 0
    assert "does not fit a screen" in capsys.readouterr().out


def test_both_launches_are_in_the_run_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    check(tmp_path / "run")
    done = read_run(tmp_path / "run")
    assert done.complete
    alone = [s for s in done.samples if s.trial == done.launches[1].trial.id]
    assert {s.pair.n_concurrent for s in alone if s.pair} == {1}


def test_an_interrupted_check_is_resumed_to_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    where = tmp_path / "run"

    class Interrupted(MockBackend):
        def measure(self, launch):  # type: ignore[no-untyped-def]
            if "alone" in launch.trial.id:
                raise KeyboardInterrupt
            yield from super().measure(launch)

    opened = lambda choice: (Interrupted(slow_nodes={"n005": 4.0}), NODES)  # noqa: E731
    monkeypatch.setattr("weft.cli.backend.opening.open_backend", opened)
    assert check(where) == 130
    assert "--resume" in capsys.readouterr().err
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    assert check(where, "--resume") == 1
    captured = capsys.readouterr()
    assert "1 of 3 launches were done before" in captured.err
    assert captured.out.startswith("BAD  1 node   n005")


def test_a_launch_that_fails_is_a_benchmark_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, failing=["pairs"])
    assert check(tmp_path / "run") == 4
    assert "the check did not finish: " in capsys.readouterr().err


def test_a_dry_run_measures_nothing(tmp_path: Path, capsys: Capture) -> None:
    assert check(tmp_path / "run", "--nodes", "8", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "all pairs: 28 of 28 pairs of 8 nodes in 8 rounds" in out
    assert "their cables are unknown (--fabric names them)" in out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--mock", "--nodes", "1"], "one node has no pair to measure"),
        (["--mock", "--small", "1M", "--large", "8"], "does not make a small and a large message"),
        (["--mock", "--small", "0"], "does not make a small and a large message"),
        (["--mock", "--large", "much"], "'much' is not a size"),
        (["--mock", "--resume"], "--resume needs --dir"),
        (["--mock", "--schedule", "ful"], "did you mean 'full'?"),
        (["--mock", "--schedule", "cover:0"], "'cover:0' has no number of times"),
        (["--mock", "--schedule", "cover"], "--schedule cover without a fabric"),
        (["--mock", "--schedule", "no/such.txt"], "no file 'no/such.txt'"),
        (["--mock", "--budget", "soon"], "'soon' is not a time"),
        (["--mock", "--only", "n077"], "no node or switch 'n077' in this check"),
        (["--mock", "--schedule", "bisect:n001|n001"], "n001 is on both sides"),
        ([*ONE_HOST, "--schedule", "bisect:n001:0"], "3 pairs: too few to know the normal figure"),
        (
            [*ONE_HOST, "--schedule", "leaf"],
            "--schedule leaf on one host: its ranks cross no cable",
        ),
    ],
)
def test_wrong_input_is_said_to_be_wrong(argv: list[str], said: str, capsys: Capture) -> None:
    assert run(["check", *argv]) == 2
    assert said in capsys.readouterr().err


class TestTwin:
    """The real engine: a fault is named whose place the diagnosis does not know."""

    @pytest.fixture(autouse=True)
    def _engine(self) -> None:
        pytest.importorskip("weft._engine", reason="the engine is not built")

    def twin(self, where: Path, capsys: Capture, *plants: str, nodes: int = 16) -> tuple[int, dict]:
        argv = ["check", "--twin", "fat-tree", "--nodes", str(nodes), "--dir", str(where)]
        argv += [word for plant in plants for word in ("--plant", plant)]
        code = run([*argv, "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    def test_a_healthy_twin_is_good(self, tmp_path: Path, capsys: Capture) -> None:
        code, answer = self.twin(tmp_path / "run", capsys)
        assert code == 0
        assert answer["findings"][0]["kind"] == "healthy"
        assert answer["findings"][0]["facts"]["disturbed"] == 0

    def test_a_fabric_slower_than_its_platform_is_bad_and_the_run_remembers_which(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        run_dir = tmp_path / "r"
        argv = ["check", "--twin", "generic-edr", "--nodes", "8", "--dir", str(run_dir)]
        assert run([*argv, "--platform", "generic-hdr"]) == 1
        out = capsys.readouterr().out
        assert out.startswith("BAD  All pairs deliver")
        assert "platform generic-hdr (named with --platform)" in out
        assert machine.of_run(run_dir, ()) is not None
        again = ["check", "--twin", "generic-edr", "--nodes", "8", "--platform", "generic-hdr"]
        answer = self.twin(tmp_path / "named", capsys, "leaf-01[1] rate=0.25")[1]
        assert "--platform" not in answer["next_command"]
        argv = [*again, "--plant", "leaf-01[1] rate=0.25", "--dir", str(tmp_path / "again")]
        assert run([*argv, "--format", "json"]) == 1
        answer = json.loads(capsys.readouterr().out)
        assert "--platform generic-hdr" in answer["next_command"]
        kept = judge(read_run(run_dir)).findings[0]
        assert kept.kind is FindingKind.BELOW_EXPECTED

    def test_an_unknown_platform_is_refused_before_anything_is_measured(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        argv = ["check", "--twin", "fat-tree", "--platform", "fat-tre"]
        assert run([*argv, "--dir", str(tmp_path / "r")]) == 2
        assert "fat-tree" in capsys.readouterr().err
        assert not (tmp_path / "r").exists()

    def test_a_slow_cable_is_named_with_both_ends(self, tmp_path: Path, capsys: Capture) -> None:
        code, answer = self.twin(tmp_path / "run", capsys, "leaf-02[6] rate=0.25")
        assert code == 1
        (finding,) = (f for f in answer["findings"] if f["severity"] == "bad")
        (suspect,) = finding["facts"]["suspects"]
        assert "leaf-02[6]" in suspect["ends"]
        assert any(end.startswith("spine-") for end in suspect["ends"])
        assert answer["planted"] == [{"fault": "leaf-02[6] rate=0.25", "named": "yes"}]

    def test_a_slow_node_is_a_tie_with_its_cable(self, tmp_path: Path, capsys: Capture) -> None:
        code, answer = self.twin(tmp_path / "run", capsys, "n007 slow=3")
        assert code == 1
        (finding,) = (f for f in answer["findings"] if f["severity"] == "bad")
        assert {s["part"] for s in finding["facts"]["suspects"]} == {"node", "cable"}
        assert answer["planted"] == [{"fault": "n007 slow=3", "named": "tie"}]

    def test_a_cable_that_is_down_is_named(self, tmp_path: Path, capsys: Capture) -> None:
        code, answer = self.twin(tmp_path / "run", capsys, "leaf-02[6] down")
        assert code == 1
        assert "carries nothing" in answer["findings"][0]["sentence"]
        assert answer["planted"][0]["named"] in ("yes", "tie")

    @pytest.mark.parametrize(
        ("plant", "named"),
        [
            ("leaf-03[7] rate=0.25", "1 HCA   n005/hca6 or its cable n005/hca6[1] <-> leaf-03[7] "),
            ("n005 slow=3", "1 node   n005 "),
        ],
    )
    def test_rails_tell_a_node_from_its_cables(
        self, tmp_path: Path, capsys: Capture, plant: str, named: str
    ) -> None:
        """A slow node slows all eight of its rails, a slow cable one."""
        argv = ["check", "--twin", "azure-ndv4", "--nodes", "6", "--dir", str(tmp_path / "run")]
        assert run([*argv, "--plant", plant]) == 1
        assert capsys.readouterr().out.startswith(f"BAD  {named}")

    def test_a_fault_out_of_reach_is_said_to_be(self, tmp_path: Path, capsys: Capture) -> None:
        """Eight nodes under one leaf: nothing goes up, so nothing is known of the way up."""
        argv = ["check", "--twin", "frontera", "--nodes", "8", "--dir", str(tmp_path / "run")]
        assert run([*argv, "--plant", "leaf-01[51] rate=0.25"]) == 0
        out = capsys.readouterr().out
        assert "named: no pair crosses it" in out
        assert "18 of 26 cables are not judged: no pair crosses them" in out

    def test_a_dry_run_is_short_and_only_json_has_the_whole_scenario(
        self, tmp_path: Path, capsys: Capture
    ) -> None:
        argv = ["check", "--twin", "fat-tree", "--nodes", "16", "--plant", "random", "--dry-run"]
        argv += ["--dir", str(tmp_path / "run")]
        assert run(argv) == 0
        text = capsys.readouterr().out
        assert len(text.splitlines()) < 10
        assert "on 16 nodes of fat-tree-16, 1 rank a node, 2 message sizes, with planted" in text
        assert run([*argv, "--format", "json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["dry_run"] is True
        assert answer["summary"] in text
        assert answer["trials"][0]["scenario"]["schema"] == "weft.scenario/1"
        assert not (tmp_path / "run").exists()

    def test_two_faults_are_both_named(self, tmp_path: Path, capsys: Capture) -> None:
        code, answer = self.twin(tmp_path / "run", capsys, "leaf-02[6] rate=0.25", "n014 slow=3")
        assert code == 1
        assert [one["named"] for one in answer["planted"]] == ["yes", "tie"]
        assert len([f for f in answer["findings"] if f["severity"] == "bad"]) == 2

    @pytest.mark.parametrize("node", ["n014", "n077"])
    def test_what_fills_a_cable_next_to_a_slow_receiver_waits_even_alone(
        self, node: str, tmp_path: Path, capsys: Capture
    ) -> None:
        """Two hosts fill a cable of twice their rate: the test of it holds the slow one, too."""
        argv = ["check", "--twin", "frontera", "--nodes", "132", "--schedule", "cover:3"]
        argv += ["--plant", f"{node}/hca0[1] lanes=1/2", "--dir", str(tmp_path / "run")]
        assert run([*argv, "--no-report", "--format", "json"]) == 1
        findings = json.loads(capsys.readouterr().out)["findings"]
        (bad,) = (f for f in findings if f["severity"] == "bad")
        assert bad["sentence"].startswith(f"Node {node}, its HCA or its cable {node}/hca0[1]")

    def test_a_twin_of_a_real_fabric_names_its_cable(self, tmp_path: Path, capsys: Capture) -> None:
        fabric = [word for file in REAL_FILES for word in ("--fabric", file)]
        planted = "MF0;leaf002:MQM8700/U1[7] rate=0.2"
        argv = ["check", "--twin", "azure-hbv3", *fabric, "--plant", planted]
        assert run([*argv, "--dir", str(tmp_path / "run")]) == 1
        captured = capsys.readouterr()
        # Leaf 2's port 7 leads to spine 1's port 5, by the file.
        assert "MF0;leaf002:MQM8700/U1[7] <-> MF0;spine01:MQM8700/U1[5] " in captured.out
        assert "named: yes" in captured.out
        assert "OK   16 of 16 nodes   pairs 120 of 120 measured" in captured.out
        assert run([*argv, "--nodes", "17", "--dir", str(tmp_path / "more")]) == 2
        assert "17 nodes of a fabric of 16" in capsys.readouterr().err

    def test_real_hosts_have_the_cables_that_their_tools_print(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        hosts = tuple(f"c{101 + leaf}-{host:03d}" for leaf in range(4) for host in range(1, 5))
        use_mock(monkeypatch, slow_nodes={"c102-003": 4.0}, nodes=hosts)
        fabric = [word for file in REAL_FILES for word in ("--fabric", file)]
        assert check(tmp_path / "run", *fabric) == 1
        assert "MF0;leaf001:MQM8700/U1[3] <-> c102-003/HCA-1[1]" in capsys.readouterr().out


@pytest.mark.parametrize("schedule", ["full", "reflections:9", "random:5", "rails"])
def test_ranks_of_one_host_make_pairs_under_every_schedule_without_a_fabric(
    schedule: str, tmp_path: Path, capsys: Capture
) -> None:
    argv = ["--nodes", "1", "--tasks-per-node", "6", "--schedule", schedule]
    assert check(tmp_path / "run", *argv, "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["coverage"]["endpoints"] == "ranks"
    assert answer["coverage"]["pairs"] == answer["coverage"]["pairs_possible"] == 15


def test_more_ranks_than_cpus_meet_in_rounds_that_have_a_cpu_for_each(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert run(["check", "--tasks-per-node", "8", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(
        "plan     all pairs: 28 of 28 pairs of 8 ranks in 28 rounds"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tasks-per-node", "1"], "one node has no pair to measure"),
        (["--tasks-per-node", "8", "--twin", "fat-tree"], "contradict each other"),
        (["--tasks-per-node", "4", "--rails", "mlx5_0,mlx5_1"], "with 2 --rails"),
        (["--hosts", "n[1-4]", "--rails", "mlx5_0,mlx5_1,mlx5_0:1"], "'mlx5_0:1' is named twice"),
        (["--hosts", "n[1-4]", "--rails", "mlx5_0:1,,mlx5_1:1"], "names an empty device"),
        (["--hosts", "n[1-4]", "--rails", ""], "names an empty device"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(
    more: list[str], message: str, capsys: Capture
) -> None:
    assert run(["check", "--dry-run", *more]) == 2
    assert message in capsys.readouterr().err
