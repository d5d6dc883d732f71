"""What the script prints of a tree reads as the tree itself does."""

import subprocess
from pathlib import Path

import pytest
from tests.unit.doctor.detection.machines import host_of
from tests.unit.doctor.machine_trees import Tree, aws, hdr_functions, ndr, slingshot

from weft.core.errors import InputError
from weft.doctor.machine.detection.collection import SCRIPT, CollectedTree, read_collection
from weft.doctor.machine.detection.commands import SavedCommands
from weft.doctor.machine.detection.host import read_host
from weft.doctor.machine.detection.model import HostHardware
from weft.doctor.machine.detection.warnings import hardware_health
from weft.doctor.machine.sysroot import Sysroot


def collected(tree: Tree) -> CollectedTree:
    argv = ["sh", "-s", "--", str(tree.root)]
    end = subprocess.run(argv, input=SCRIPT, capture_output=True, text=True, check=True)
    return read_collection(end.stdout, "a")


def read(tree: CollectedTree) -> HostHardware:
    return read_host(tree, SavedCommands(tree))


def full(root: Path) -> Tree:
    tree = Tree(root).machine()
    tree.hca(0, n_keys=1, lanes=8)
    tree.hca(1, n_keys=1, state="DOWN", physical="Polling")
    tree.gpu(0)
    tree.cores(4)
    tree.interface(0)
    tree.interface(1)
    bus = "sys/devices/pci0000:00"
    tree.link(f"{bus}/0000:71:00.0/net/eth1/master", f"{bus}/0000:70:00.0/net/eth0")
    tree.write("proc/sys/kernel/hostname", "node001.site")
    tree.write("proc/driver/nvidia/gpus/0000:40:00.0/information", "Model: NVIDIA H200\nIRQ: 1")
    tree.write("commands/ibv_devinfo", "hca_id:\tmlx5_0\n\tactive_mtu:\t2048 (4)")
    return tree


def ethernet(root: Path) -> Tree:
    tree = full(root)
    for file, text in (("state", "1: DOWN"), ("phys_state", "3: Disabled")):
        tree.write(f"sys/class/infiniband/mlx5_0/ports/1/{file}", text)
    return tree


@pytest.mark.parametrize("build", [ndr, hdr_functions, slingshot, aws, full, ethernet])
def test_a_host_reads_the_same_from_afar(build: object, tmp_path: Path) -> None:
    tree: Tree = build(tmp_path)  # type: ignore[operator]
    near, far = host_of(tree), read(collected(tree))
    for part in ("name", "rails", "idle", "others", "processors", "gpus", "notes"):
        assert getattr(far, part) == getattr(near, part), part


def test_warnings_are_the_same_from_afar(tmp_path: Path) -> None:
    tree = full(tmp_path)
    far = collected(tree)
    health = hardware_health(far, read(far))
    assert health == hardware_health(Sysroot(tree.root), host_of(tree))
    assert len(health.warnings) == 2


def test_a_list_that_is_cut_short_is_refused() -> None:
    with pytest.raises(InputError, match="cut short"):
        read_collection("file\t/proc/meminfo\tMemTotal: 1 kB\n", "a")


@pytest.mark.parametrize(
    "line",
    [
        "file\t/etc/passwd\troot",
        "file\t/sys/../etc/passwd",
        "link\t/sys/class/infiniband/mlx5_0/device\t/etc",
        "link\t/sys/class/infiniband/mlx5_0/device\t/sys/../etc",
        "file /sys/x y",
        "\0\0",
        "link\t/sys/a\t/sys/b\nlink\t/sys/b\t/sys/a",
    ],
)
def test_hostile_lines_open_nothing(line: str) -> None:
    """A tree in memory has no way to a file of this machine."""
    tree = read_collection(f"{line}\nend\t/sys\t\n", "a")
    assert tree.text("/etc/passwd") == ""
    assert tree.text("/sys/a/x") == ""
    assert tree.names("/sys/class/infiniband/mlx5_0/device") == ()


def test_a_script_of_a_missing_folder_says_so(tmp_path: Path) -> None:
    argv = ["sh", "-s", "--", str(tmp_path / "missing")]
    end = subprocess.run(argv, input=SCRIPT, capture_output=True, text=True, check=False)
    assert end.returncode == 66
    assert "no folder" in end.stderr
