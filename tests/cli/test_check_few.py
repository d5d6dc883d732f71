"""`weft check` of few nodes, end to end on twins: what they do not tell is told of nobody."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.check_answer import answer_of

from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


def accused_nodes(answer: dict[str, Any]) -> set[str | None]:
    """The nodes that findings accuse or point at; None for what is nobody's."""
    suspects = [one for f in answer["findings"] for one in f["facts"].get("suspects", ())]
    return {one["node"] for one in suspects}


def test_of_three_nodes_of_eight_rails_the_slow_one_is_reported_and_no_cable(
    tmp_path: Path, capsys: Capture
) -> None:
    """Two of them are under one leaf: no pair of that distance is without the slow one."""
    answer = answer_of(
        tmp_path, capsys, "--twin", "azure-ndv4", "--nodes", "3", "--plant", "n002 slow=3"
    )
    assert answer["exit_code"] == 1
    assert accused_nodes(answer) == {"n002"}
    pairs = [f for f in answer["findings"] if f["kind"] == "suspect-pair"]
    assert pairs[0]["severity"] == "bad"
    assert all("n002" in f"{a} {b}" for f in pairs for a, b in f["facts"]["pairs"])
    assert any(line.startswith("n002 is in all slow pairs") for line in pairs[0]["evidence"])
    assert {f["kind"] for f in answer["findings"]} == {"suspect-pair", "suspect-node"}


def test_of_three_nodes_one_slow_rail_is_reported(tmp_path: Path, capsys: Capture) -> None:
    twin = ("--twin", "azure-ndv4", "--nodes", "3")
    answer = answer_of(tmp_path, capsys, *twin, "--plant", "leaf-02[3] rate=0.25")
    assert answer["exit_code"] == 1
    bad, warning = answer["findings"]
    # Port 3 of the second leaf is the third adapter of its first node.
    assert bad["facts"]["pairs"] == [["n001:2", "n003:18"], ["n002:10", "n003:18"]]
    assert {one["name"] for one in warning["facts"]["suspects"]} == {
        "HCA n003/hca2",
        "cable n003/hca2[1] - leaf-02[3]",
    }


@pytest.mark.parametrize("n", [2, 3])
def test_few_healthy_nodes_are_not_called_good(n: int, tmp_path: Path, capsys: Capture) -> None:
    """Their platform guesses latency, so two slow ones would look the same."""
    answer = answer_of(tmp_path, capsys, "--twin", "azure-ndv4", "--nodes", str(n))
    assert answer["exit_code"] == 5
    assert {f["severity"] for f in answer["findings"]} == {"unknown"}
    assert answer["would_show"] == []


def test_a_suspect_whose_good_nodes_are_all_far_is_distinguished_from_the_distance(
    tmp_path: Path, capsys: Capture
) -> None:
    """All known-good nodes are under one leaf, so every pair four links apart has the suspect."""
    twin = ("--twin", "fat-tree", "--nodes", "16", "--schedule", "bisect:n001|n[005-008]")
    answer = answer_of(tmp_path, capsys, *twin, "--plant", "n001 slow=3")
    assert answer["exit_code"] == 1
    (finding,) = (f for f in answer["findings"] if f["severity"] in ("bad", "warning"))
    # Nothing else under its leaf was measured, so its leaf may be it, too.
    assert {one["name"] for one in finding["facts"]["suspects"]} == {
        "node n001",
        "cable n001/hca0[1] - leaf-01[1]",
        "switch leaf-01",
    }
    assert answer["planted"][0]["named"] == "tie"


def test_where_only_longer_paths_are_slow_no_one_is_sent_to_the_adapters_first(
    tmp_path: Path, capsys: Capture
) -> None:
    """All cables up from the suspects' leaf: no other pair of that distance is measured."""
    twin = ("--twin", "fat-tree", "--nodes", "16", "--schedule", "bisect:n[001-004]|n[005-008]")
    plants = [word for port in range(5, 9) for word in ("--plant", f"leaf-01[{port}] rate=0.4")]
    (finding,) = answer_of(tmp_path, capsys, *twin, *plants)["findings"]
    assert (finding["kind"], finding["severity"]) == ("below-expected", "bad")
    assert finding["sentence"].startswith("All pairs 4 links apart at 200 Gb/s deliver ")
    assert finding["evidence"][0] == (
        "pairs 2 links apart at 200 Gb/s are as expected: look at the longer paths first"
    )


def test_a_distance_that_one_node_alone_has_is_reported_with_the_node(
    tmp_path: Path, capsys: Capture
) -> None:
    """Latency depends on the distance, so that nothing but the platform tells it of n001."""
    twin = ("--twin", "fat-tree", "--nodes", "16", "--schedule", "bisect:n001|n[005-008]")
    found = answer_of(tmp_path, capsys, *twin, "--plant", "n001 slow=30")["findings"]
    (far,) = (f for f in found if f["kind"] == "suspect-pair")
    assert far["severity"] == "warning"
    assert "slower than expected: latency" in far["sentence"]
    assert far["evidence"][1].startswith("n001 is in all slow pairs, and pairs without it are as")


def test_of_two_nodes_the_slow_rail_is_reported_and_all_that_it_may_be(
    tmp_path: Path, capsys: Capture
) -> None:
    argv = ["check", "--twin", "azure-ndv4", "--nodes", "2", "--plant", "n002/hca3[1] rate=0.4"]
    assert run([*argv, "--no-report", "--dir", str(tmp_path / "run")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("BAD      Pair n001:3 - n002:11 is slower than expected: bandwidth ")
    assert lines[1].startswith("WARNING  1 of 5   1 rail and 2 HCAs and 2 cables   40 % of others ")
    assert "planted: n002/hca3[1] rate=0.4; named: tie" in lines


def ring(n: int) -> dict[str, Any]:
    """Switches in a ring, a node at each."""
    rate = {"bits_per_s": 200_000_000_000, "delay_ps": 50_000}
    to_nodes = [(f"n{i:03d}/hca0[1]", f"sw-{i:02d}[1]") for i in range(1, n + 1)]
    around = [(f"sw-{i:02d}[11]", f"sw-{i % n + 1:02d}[12]") for i in range(1, n + 1)]
    return {
        "schema": "weft.fabric/1",
        "name": "ring",
        "nodes": [{"name": f"n{i:03d}", "hcas": [f"n{i:03d}/hca0"]} for i in range(1, n + 1)],
        "switches": [{"name": f"sw-{i:02d}", "ports": 16, "level": 1} for i in range(1, n + 1)],
        "links": [{"a": a, "b": b, **rate} for a, b in (*to_nodes, *around)],
        "routing": {"engine": "updn"},
    }


@pytest.mark.parametrize(
    ("n", "slow"), [(6, ("n001", "n002")), (7, ("n001", "n002")), (7, ("n006", "n007"))]
)
def test_two_slow_nodes_of_a_ring_are_named_with_the_switch_that_fits_as_well(
    n: int, slow: tuple[str, str], tmp_path: Path, capsys: Capture
) -> None:
    """A switch and the cable of a ring cross nearly all that two neighbours send."""
    file = tmp_path / "ring.json"
    file.write_text(json.dumps(ring(n)))
    words = [word for node in slow for word in ("--plant", f"{node} slow=3")]
    answer = answer_of(tmp_path, capsys, "--twin", "fat-tree", "--fabric", str(file), *words)
    assert answer["exit_code"] == 1
    bad = [f["facts"].get("suspects", []) for f in answer["findings"] if f["severity"] == "bad"]
    named = [{one["node"] for one in suspects} for suspects in bad if suspects]
    assert named
    assert all(nodes & {*slow} for nodes in named)


FAULTS = [
    *(f"n{node:03d} slow={factor}" for node in range(1, 6) for factor in (1.05, 1.3, 2, 10)),
    *(f"leaf-0{leaf}[{port}] rate={share}" for leaf in (1, 2) for port in range(1, 7)
      for share in (0.95, 0.5, 0.1)),
    *(f"leaf-0{leaf}[{port}] down" for leaf in (1, 2) for port in range(4, 7)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_fault_of_few_nodes_is_called_good_and_no_other_node_is_accused(
    n: int, tmp_path: Path, capsys: Capture
) -> None:
    twin = ("--twin", "fat-tree", "--nodes", str(n))
    nodes = [f"n{node:03d}" for node in range(1, n + 1)]
    plants = [[fault] for fault in FAULTS]
    plants += [[f"{node} slow=3" for node in nodes], [f"{node} slow=3" for node in nodes[:2]]]
    for number, faults in enumerate(plants):
        words = [word for fault in faults for word in ("--plant", fault)]
        argv = ["check", *twin, *words, "--dir", str(tmp_path / str(number)), "--no-report"]
        code = run([*argv, "--format", "json"])
        text = capsys.readouterr().out
        if code in (2, 4):
            # The fabric of so few nodes lacks the place, or no path is left.
            continue
        assert code in (1, 5), faults
        answer = json.loads(text)
        bad = [f for f in answer["findings"] if f["severity"] == "bad"]
        slow = {fault.split()[0] for fault in faults}
        if slow <= set(nodes):
            suspects = [f["facts"]["suspects"] for f in bad if "suspects" in f["facts"]]
            assert all({one["node"] for one in of} & slow for of in suspects), (faults, bad)
