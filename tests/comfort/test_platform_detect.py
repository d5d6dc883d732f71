"""`weft platform detect`: a fault of the hardware whose files are missing is never called good."""

import random
import shutil
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_BAD, NOT_GOOD, each_draw
from tests.comfort.machines import (
    FORMS,
    Faults,
    cluster_node,
    hide,
    hide_some,
    ill_machine,
    odd_bytes,
)

from weft.catalog.document import to_toml
from weft.cli import run
from weft.cli.platform.detect import Detection
from weft.core.finding import Severity
from weft.doctor.machine.detection.commands import SavedCommands
from weft.doctor.machine.detection.differences import majority_of
from weft.doctor.machine.detection.document import platform_of
from weft.doctor.machine.detection.host import read_host
from weft.doctor.machine.detection.warnings import hardware_health
from weft.doctor.machine.sysroot import Sysroot

FAULTS: Faults = {
    "narrow-pcie": (
        {"speed": "8.0 GT/s PCIe", "lanes": 4},
        ("current_link_speed", "current_link_width", "ports/1/rate"),
    ),
    "no-active-port": ({"state": "DOWN", "physical": "LinkUp"}, ("ports/1/state", "ports")),
}
N_HOSTS = 3
ODD_COMMANDS = {
    "nvidia-smi": (
        "name, pci.bus_id, serial\nNVIDIA H100 80GB HBM3, 00000000:40:00.0, 1653\n",
        "NVIDIA H100 80GB HBM3, 00000000:40:00.0\nNVIDIA-SMI has warned: driver persistence\n",
    ),
    "lscpu": (
        "Architektur:  x86_64\nCPU(s):  192\nSockel:  2\nKerne pro Sockel:  48\n",
        "Architecture :  x86_64\nProcesseur(s) :  192\nSocket(s) :  2\nFutur champ :  1,5\n",
    ),
    "lspci": ("0000:10:00.0 Netzwerkcontroller [0207]: Mellanox [15b3:1021] (rev 01)\n",),
    "ibv_devinfo": ("hca_id:\tmlx5_0\n\ttransport:\t\tInfiniBand (0)\n\tnew_field:\t\t7\n",),
}
"""Output of other locales, versions and options of each command."""


def detect(root: Path) -> int:
    return run(["platform", "detect", "--sysroot", str(root)])


@each_draw
def test_a_fault_without_its_files_is_never_good(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        rule, shown_by = ill_machine(root, draw, FAULTS)
        form = draw.choice(FORMS)
        assert hide(root, draw.choice(shown_by), form), rule
        hide_some(root, draw, 2)
        capsys.readouterr()
        assert detect(root) in NOT_GOOD, (seed, rule, form.__name__)
        first = capsys.readouterr().out
        assert first.startswith("UNKNOWN  cannot tell: "), (seed, rule, form.__name__)
        shutil.rmtree(root)


@each_draw
def test_a_healthy_machine_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        tree = cluster_node(root, draw)
        hide_some(root, draw, 3)
        odd_bytes(root, draw, [b"\n", b" \n"])
        for name in draw.sample(list(ODD_COMMANDS), draw.randint(0, 2)):
            tree.write(f"commands/{name}", draw.choice(ODD_COMMANDS[name]))
        assert detect(root) in NOT_BAD, seed
        shutil.rmtree(root)


def of_hosts(roots: list[Path]) -> Detection:
    """As of hosts over ssh: what most have, and the health of the host that stands for all."""
    trees = {root.name: Sysroot(root) for root in roots}
    found = {name: read_host(tree, SavedCommands(tree)) for name, tree in trees.items()}
    chosen, differences = majority_of(found)
    health = hardware_health(trees[chosen], found[chosen])
    platform = platform_of(found[chosen])
    assert to_toml(platform)
    return Detection(
        found[chosen], platform, health, "", None, chosen, len(roots), tuple(differences)
    )


@each_draw
def test_one_host_of_several_without_its_files_is_never_good(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        rule = draw.choice(list(FAULTS))
        planted, shown_by = FAULTS[rule]
        ill = draw.randrange(N_HOSTS)
        roots = [tmp_path / str(seed) / f"n{number}" for number in range(N_HOSTS)]
        for number, root in enumerate(roots):
            cluster_node(root, random.Random(seed), **(planted if number == ill else {}))
        assert of_hosts(roots).verdict is Severity.BAD, (seed, rule)
        hide(roots[ill], draw.choice(shown_by), draw.choice(FORMS))
        assert of_hosts(roots).verdict in (Severity.BAD, Severity.UNKNOWN), (seed, rule)
        shutil.rmtree(tmp_path / str(seed))
