"""`weft doctor`: a fault of a machine whose files are missing is never called good."""

import random
import shutil
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_GOOD, each_draw
from tests.unit.doctor.machine_trees import Tree

from weft.cli import run

FAULTS = {
    "no-active-port": ({"state": "DOWN", "physical": "Polling"}, "ports/1/state"),
    "no-full-member": ({"keys": ("0x7fff",)}, "pkeys"),
    "narrow-pcie": ({"speed": "8.0 GT/s PCIe", "lanes": 4}, "current_link_speed"),
    "locked-memory": ({}, "limits"),
    "no-driver": ({}, "sys/bus"),
}
"""By rule: what plants it, and the name of the files that show it."""
OPTIONAL = ("fw_ver", "board_id", "counters", "gids", "numa_node", "local_cpulist")


def cluster_node(root: Path, draw: random.Random, **hca: object) -> Tree:
    locked = "65536" if hca.pop("locked", False) else "unlimited"
    tree = Tree(root).machine(locked=locked, locked_hard=locked)
    for number in range(draw.randint(1, 4)):
        rate = draw.choice(["HDR", "NDR"])
        tree.hca(number, n_keys=2, rate=rate, **hca)  # type: ignore[arg-type]
    return tree


def remove(root: Path, name: str) -> int:
    """Take away every file or folder whose path ends so."""
    found = [path for path in sorted(root.rglob("*")) if str(path).endswith(f"/{name}")]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
    return len(found)


@each_draw
def test_a_fault_without_its_files_is_never_good(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        rule = draw.choice(list(FAULTS))
        planted, shown_by = FAULTS[rule]
        root = tmp_path / str(seed)
        more = {"locked": True} if rule == "locked-memory" else {}
        tree = cluster_node(root, draw, **planted, **more)
        if rule == "no-driver":
            shutil.rmtree(root / "sys/class/infiniband")
            assert run(["doctor", "--sysroot", str(root)]) == 1, rule
        assert run(["doctor", "--sysroot", str(root)]) == 1, (seed, rule)
        assert remove(tree.root, shown_by), rule
        for other in draw.sample(OPTIONAL, draw.randint(0, 2)):
            remove(tree.root, other)
        capsys.readouterr()
        assert run(["doctor", "--sysroot", str(root)]) in NOT_GOOD, (seed, rule)
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith(("UNKNOWN  cannot tell: ", "BAD   ")), (seed, first)
        shutil.rmtree(root)


@each_draw
def test_a_healthy_machine_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        tree = cluster_node(root, draw)
        for other in draw.sample(OPTIONAL, draw.randint(0, 3)):
            remove(root, other)
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.is_symlink() and draw.random() < 0.1:
                path.write_bytes(path.read_bytes() + draw.choice([b"\n", b" \n", b"\0"]))
        tree.write(f"sys/class/infiniband/{draw.choice(['x', '.hidden'])}/unknown", "?")
        assert run(["doctor", "--sysroot", str(root)]) == 0, seed
        shutil.rmtree(root)
