"""Plans that real libraries of NCCL tell, laid on a fabric by `weft fabric channels`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.test_nccl_libraries import library

from weft.cli import run

pytestmark = pytest.mark.slow
N_NODES = 64


def channels(
    version: str, n_nodes: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """The report about azure-ndv5's rails."""
    made = {
        "plan": ("doctor", "nccl-plan", str(library(version)), "--platform", "azure-ndv5",
                 "--nodes", str(n_nodes), "--format", "json"),
        "fabric": ("fabric", "generate", "azure-ndv5", "--nodes", str(N_NODES)),
    }  # fmt: skip
    for name, argv in made.items():
        assert run(list(argv)) == 0
        (folder / name).write_text(capsys.readouterr().out)
    nics = [word for hca in range(8) for word in ("--nic", f"{hca}=mlx5_ib{hca}")]
    hosts = f"n[001-{n_nodes:03d}]"
    argv = ["fabric", "channels", str(folder / "fabric"), "--plan", str(folder / "plan")]
    run([*argv, "--hosts", hosts, *nics, "--engine", "minhop", "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("version", ["2.18.3", "2.26.5", "2.28.3"])
def test_rings_of_an_even_number_of_nodes_stay_on_their_rails(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight adapters of 400 Gb/s; a rail's leaf has as many cables up as down."""
    found = channels(version, N_NODES, tmp_path, capsys)
    assert len(found["hops"]) == 8 * N_NODES
    assert all(hop["src_net"] == hop["dst_net"] for hop in found["hops"])
    assert found["busbw_gb_s"] == found["free_busbw_gb_s"] == 8 * 400 / 8
    assert found["severity"] == "good"


def test_of_an_odd_number_one_hop_of_each_ring_changes_rails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NCCL exchanges two channels on nodes of odd numbers: from the last node to the first, both
    even, none."""
    found = channels("2.26.5", 5, tmp_path, capsys)
    crossing = [hop for hop in found["hops"] if hop["src_net"] != hop["dst_net"]]
    assert {(hop["src"], hop["dst"]) for hop in crossing} == {("n005", "n001")}
    assert len(crossing) == 8
