"""`weft check` end to end on twins, schedule by schedule: the planted fault is named, alone."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.check_answer import accused, answer_of
from tests.unit.check.schedule.fields import planes

from weft.check.pipeline import wiring_of
from weft.check.trials import SURVEY
from weft.check.verdict.verdict import judge_check
from weft.cli import run
from weft.study.run.store import read_run
from weft.topology.fabric import Fabric

Capture = pytest.CaptureFixture[str]
TREE = ("--twin", "fat-tree", "--nodes", "16")
SLOW_CABLE = ("--plant", "leaf-02[6] rate=0.25")


@pytest.fixture(autouse=True)
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


@pytest.mark.parametrize(
    "schedule",
    ["full", "leaf", "rails", "reflections:3", "random:4", "cover:1", "bisect:n[005-008]"],
)
def test_a_slow_cable_is_named_alone_under_every_schedule(
    schedule: str, tmp_path: Path, capsys: Capture
) -> None:
    answer = answer_of(tmp_path, capsys, *TREE, "--schedule", schedule, *SLOW_CABLE)
    assert accused(answer) == [{"cable leaf-02[6] - spine-02[2]"}]
    assert answer["exit_code"] == 1
    assert schedule in shlex.split(answer["next_command"])


@pytest.mark.parametrize("schedule", ["leaf", "rails", "reflections:4", "random:4", "cover:2"])
def test_a_healthy_tree_is_good_under_every_schedule(
    schedule: str, tmp_path: Path, capsys: Capture
) -> None:
    answer = answer_of(tmp_path, capsys, *TREE, "--schedule", schedule)
    assert (answer["exit_code"], accused(answer)) == (0, [])


@pytest.mark.parametrize("good", ["", "|n[005-008]", "|n[009-016]"])
def test_the_slow_one_of_a_suspect_group_is_distinguished_from_the_others(
    good: str, tmp_path: Path, capsys: Capture
) -> None:
    schedule = ("--schedule", f"bisect:n[001-004]{good}")
    answer = answer_of(tmp_path, capsys, *TREE, *schedule, "--plant", "n003 slow=3")
    assert accused(answer) == [{"node n003", "cable n003/hca0[1] - leaf-01[3]"}]
    assert answer["exit_code"] == 1


def test_a_suspect_group_without_a_fault_is_good(tmp_path: Path, capsys: Capture) -> None:
    """What is slow elsewhere is not measured."""
    schedule = ("--schedule", "bisect:n[001-004]|n[005-008]")
    answer = answer_of(tmp_path, capsys, *TREE, *schedule, "--plant", "n012 slow=3")
    assert (answer["exit_code"], accused(answer)) == (0, [])


@pytest.mark.parametrize("schedule", ["full", "rails", "cover:2", "reflections:3"])
def test_a_plane_that_is_slow_as_a_whole_is_named_as_a_rail(
    schedule: str, tmp_path: Path, capsys: Capture
) -> None:
    plants = [w for i in range(1, 7) for w in ("--plant", f"n{i:03d}/hca3[1] rate=0.5")]
    twin = ("--twin", "azure-ndv4", "--nodes", "6", "--schedule", schedule)
    answer = answer_of(tmp_path, capsys, *twin, *plants)
    assert accused(answer) == [{"rail 3"}]
    assert answer["exit_code"] == 1
    assert not answer["coverage"]["cables_never_crossed"]


@pytest.mark.parametrize(
    ("schedule", "plant"),
    [("reflections:3", "leaf-01[5] rate=0.4"), ("reflections:2", "leaf-01[5] rate=0.4")],
)
def test_what_the_survey_left_as_a_tie_the_follow_up_tells_apart(
    schedule: str, plant: str, tmp_path: Path, capsys: Capture
) -> None:
    answer = answer_of(tmp_path, capsys, *TREE, "--schedule", schedule, "--plant", plant)
    done = read_run(tmp_path / "run")
    survey = [sample for sample in done.samples if sample.trial == SURVEY]
    (before,) = judge_check(survey, wiring_of(done)).accusations
    assert {"cable leaf-01[5] - spine-01[1]"} < {one.name for one in before.components}
    assert accused(answer) == [{"cable leaf-01[5] - spine-01[1]"}]
    assert answer["planted"][0]["named"] == "yes"


def test_a_pair_whose_planes_never_meet_is_refused_by_name(tmp_path: Path, capsys: Capture) -> None:
    fabric, rounds = tmp_path / "planes.json", tmp_path / "rounds"
    fabric.write_text(json.dumps(planes(nodes=12, per_leaf=3, spines=3).document))
    rounds.write_text("0-2 4-6\n1-2\n")
    argv = ["check", "--mock", "--nodes", "12", "--fabric", str(fabric), "--dry-run"]
    assert run([*argv, "--schedule", str(rounds)]) == 2
    said = capsys.readouterr().err
    assert f"--schedule {rounds}: no path from n001/hca1 to n002/hca0" in said
    rounds.write_text("0-2 4-6\n1-3\n")
    assert run([*argv, "--schedule", str(rounds)]) == 0
    assert "3 of 132 pairs of 24 ranks in 2 rounds" in capsys.readouterr().out
    twin = ["check", "--twin", "generic-edr", "--fabric", str(fabric)]
    assert run([*twin, "--dir", str(tmp_path / "run")]) == 2
    assert "'n001/hca0' is unreachable from 'n001/hca1'" in capsys.readouterr().err


def test_pairs_of_unlike_rails_are_counted_apart(tmp_path: Path, capsys: Capture) -> None:
    rounds = tmp_path / "rounds"
    rounds.write_text("0-8 1-9 2-11 3-10\n")
    argv = ["check", "--twin", "azure-ndv4", "--nodes", "2", "--schedule", str(rounds), "--dry-run"]
    assert run(argv) == 0
    said = "2 of 8 pairs and 2 of unlike rails of 16 ranks in 1 round"
    assert said in capsys.readouterr().out


class TestMixedNodes:
    """Nodes 1, 4, 6 and 7 of eight have a second adapter."""

    @pytest.fixture
    def fabric(self, tmp_path: Path) -> str:
        document = Fabric.from_document(
            {
                "schema": "weft.fabric/1", "generate": "fat_tree", "name": "mixed", "levels": 2,
                "nodes": 8, "hcas_per_node": 2, "nodes_per_leaf": 2, "spines": 4,
                "cables_per_spine": 1, "routing": {"engine": "dmodk"},
                "host_bits_per_s": 2 * 10**11, "switch_bits_per_s": 2 * 10**11,
                "host_delay_ps": 5000, "switch_delay_ps": 5000,
            }
        ).document  # fmt: skip
        gone = {f"n{i:03d}/hca1" for i in (2, 3, 5, 8)}
        path = tmp_path / "mixed.json"
        path.write_text(json.dumps(without(document, gone)))
        return str(path)

    @pytest.mark.parametrize(
        ("plant", "named"),
        [
            ("n004/hca1[1] rate=0.4", "HCA   n004/hca1 or its cable n004/hca1[1] <-> leaf-02[4]"),
            ("n004 slow=2", "node   n004"),
            ("n005 slow=2", "node   n005, its HCA or its cable n005/hca0[1] <-> leaf-03[1]"),
            ("leaf-02[6] rate=0.3", "cable   leaf-02[6] <-> spine-02[2]"),
        ],
    )
    @pytest.mark.parametrize("schedule", ["full", "cover:2", "rails"])
    def test_a_fault_is_named_alone(
        self, schedule: str, plant: str, named: str, fabric: str, tmp_path: Path, capsys: Capture
    ) -> None:
        argv = ["check", "--twin", "azure-ndv4", "--fabric", fabric, "--schedule", schedule]
        argv += ["--plant", plant, "--no-report", "--dir", str(tmp_path / "run")]
        assert run(argv) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(f"BAD  1 {named}   ")
        assert not [line for line in lines[1:] if line.startswith(("BAD", "WARNING"))]

    def test_all_pairs_are_those_of_nodes_and_of_second_adapters(
        self, fabric: str, tmp_path: Path, capsys: Capture
    ) -> None:
        answer = answer_of(tmp_path, capsys, "--twin", "azure-ndv4", "--fabric", fabric)
        assert answer["exit_code"] == 0
        pairs = {frozenset((row["from"], row["to"])) for row in answer["readings"]}
        # 8 x 7 / 2 of first adapters, 4 x 3 / 2 of second ones.
        assert len(pairs) == 28 + 6


def without(document: dict[str, Any], hcas: set[str]) -> dict[str, Any]:
    """A fabric document whose nodes lack some adapters."""
    every = [hca for node in document["nodes"] for hca in node["hcas"]]
    kept = [i for i, hca in enumerate(every) if hca not in hcas]
    nodes = [
        {**node, "hcas": [h for h in node["hcas"] if h not in hcas]} for node in document["nodes"]
    ]
    links = [
        link
        for link in document["links"]
        if not {link[end].rpartition("[")[0] for end in "ab"} & hcas
    ]
    tables = {name: [row[i] for i in kept] for name, row in document["lfts"].items()}
    return {**document, "nodes": nodes, "links": links, "lfts": tables}
