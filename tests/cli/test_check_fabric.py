"""`weft check` with the fabric of real hosts: cables, and the adapters that ranks use."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.test_check import NODES, check, use_mock
from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample
from weft.cli import run
from weft.cli.backend.choice import BackendChoice
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]


def fabric_file(tmp_path: Path, *, hcas_per_node: int = 1) -> Path:
    from weft.topology.fabric import Fabric

    spec = {"schema": "weft.fabric/1", "generate": "fat_tree", "name": "eight", "levels": 2}
    spec |= {"nodes": 8, "hcas_per_node": hcas_per_node, "nodes_per_leaf": 4, "spines": 4}
    spec |= {"cables_per_spine": 1, "routing": {"engine": "dmodk"}}
    rates = {"host_bits_per_s": 10**11, "switch_bits_per_s": 10**11}
    delays = {"host_delay_ps": 5000, "switch_delay_ps": 5000}
    path = tmp_path / "fabric.json"
    path.write_text(json.dumps(Fabric.from_document({**spec, **rates, **delays}).document))
    return path


def test_with_a_fabric_file_hosts_have_cables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    use_mock(monkeypatch, slow_nodes={"n005": 4.0})
    where = tmp_path / "run"
    assert check(where, "--fabric", str(fabric_file(tmp_path))) == 1
    assert "n005, its HCA or its cable n005/hca0[1] <-> leaf-02[1] " in capsys.readouterr().out
    assert read_run(where).fabric_document is not None


@pytest.mark.parametrize(
    ("asked", "rails", "cable"),
    [
        ([], "mlx5_0:1,mlx5_1:1", "n005/mlx5_0[1]"),
        (["--rails", "mlx5_1:1"], "mlx5_1:1", "n005/mlx5_1[1]"),
    ],
)
def test_a_rank_is_held_to_the_adapter_that_its_rail_names(
    asked: list[str],
    rails: str,
    cable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """Though the file lists them the other way round."""
    path = fabric_file(tmp_path, hcas_per_node=2)
    text = path.read_text().replace("/hca0", "/mlx5_1").replace("/hca1", "/mlx5_0")
    path.write_text(text)
    opened = []

    def opens(choice: BackendChoice) -> tuple[MockBackend, tuple[str, ...]]:
        opened.append(choice.rails)
        return MockBackend(seed=1, slow_nodes={"n005": 4.0}), NODES

    monkeypatch.setattr("weft.cli.backend.opening.open_backend", opens)
    assert check(tmp_path / "run", "--fabric", str(path), *asked) == 1
    assert opened[-1] == rails
    document = read_run(tmp_path / "run").fabric_document
    assert document is not None
    (adapters,) = (n["hcas"] for n in document["nodes"] if n["name"] == "n005")
    assert adapters == [f"n005/{rail.partition(':')[0]}" for rail in rails.split(",")]
    if asked:
        assert cable in capsys.readouterr().out


def test_a_rail_that_is_no_adapter_of_the_fabric_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    path = fabric_file(tmp_path, hcas_per_node=2)
    path.write_text(path.read_text().replace("/hca", "/mlx5_"))
    assert check(tmp_path / "run", "--fabric", str(path), "--rails", "mlx5_7:1") == 2
    assert "n001 has no adapter 'mlx5_7:1' in this fabric" in capsys.readouterr().err


def test_a_wrong_fabric_file_is_refused(tmp_path: Path, capsys: Capture) -> None:
    other = ["--nodes", "9", "--fabric", str(fabric_file(tmp_path))]
    assert check(tmp_path / "run", *other) == 2
    said = capsys.readouterr().err
    assert "no node 'n009' in this fabric" in said
    assert "hint: did you mean 'n00" in said
    broken = tmp_path / "broken.json"
    for text in ("{", "[]", "buy milk"):
        broken.write_text(text)
        assert check(tmp_path / "run", "--fabric", str(broken)) == 2
        assert f"weft cannot read this format: {text}" in capsys.readouterr().err
    assert run(["check", "--twin", "fat-tree", "--fabric", str(broken)]) == 2
    assert f"weft cannot read this format: {text}" in capsys.readouterr().err


def test_a_host_that_calls_itself_by_a_name_not_in_the_fabric_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    class Renaming(MockBackend):
        """The second host answers as another than the one it was addressed by."""

        def measure(self, launch: Launch) -> Iterator[Sample]:
            for sample in super().measure(launch):
                pair = sample.pair
                assert pair is not None
                ends = {end: getattr(pair, end).replace("n002", "n002-ib") for end in "ab"}
                yield replace(sample, pair=replace(pair, **ends))

    monkeypatch.setattr("weft.cli.backend.opening.open_backend", lambda _: (Renaming(), NODES))
    fabric = str(fabric_file(tmp_path))
    assert check(tmp_path / "run", "--fabric", fabric) == 2
    said = capsys.readouterr().err
    assert "the fabric has no host 'n002-ib'" in said
    assert "hint: did you mean 'n002'?" in said
