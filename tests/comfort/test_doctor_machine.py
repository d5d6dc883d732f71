"""`weft doctor`: a fault of a machine whose files are missing is never called good."""

import random
import shutil
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_GOOD, each_draw
from tests.comfort.machines import (
    FORMS,
    Faults,
    cluster_node,
    hide,
    hide_some,
    ill_machine,
    odd_bytes,
)

from weft.cli import run

FAULTS: Faults = {
    "no-active-port": ({"state": "DOWN", "physical": "Polling"}, ("ports/1/state", "ports")),
    "no-full-member": ({"keys": ("0x7fff",)}, ("pkeys",)),
    "narrow-pcie": (
        {"speed": "8.0 GT/s PCIe", "lanes": 4},
        ("current_link_speed", "current_link_width", "ports/1/rate"),
    ),
    "locked-memory": ({"locked": True}, ("limits",)),
    "no-driver": ({}, ("sys/bus",)),
}


@each_draw
def test_a_fault_without_its_files_is_never_good(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        rule, shown_by = ill_machine(root, draw, FAULTS)
        if rule == "no-driver":
            shutil.rmtree(root / "sys/class/infiniband")
        assert run(["doctor", "--sysroot", str(root)]) == 1, (seed, rule)
        form = draw.choice(FORMS)
        assert hide(root, draw.choice(shown_by), form), rule
        hide_some(root, draw, 2)
        capsys.readouterr()
        assert run(["doctor", "--sysroot", str(root)]) in NOT_GOOD, (seed, rule, form.__name__)
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith(("UNKNOWN  cannot tell: ", "BAD   ")), (seed, first)
        shutil.rmtree(root)


@each_draw
def test_a_healthy_machine_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        tree = cluster_node(root, draw)
        hide_some(root, draw, 3)
        odd_bytes(root, draw, [b"\n", b" \n", b"\0"])
        tree.write(f"sys/class/infiniband/{draw.choice(['x', '.hidden'])}/unknown", "?")
        assert run(["doctor", "--sysroot", str(root)]) == 0, seed
        shutil.rmtree(root)
