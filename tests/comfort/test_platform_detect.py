"""`weft platform detect`: a fault of the hardware whose files are missing is never called good."""

import random
import shutil
from pathlib import Path

import pytest
from tests.comfort.draws import NOT_BAD, NOT_GOOD, each_draw
from tests.comfort.test_doctor_machine import OPTIONAL, cluster_node, remove

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

FAULTS = {
    "narrow-pcie": (
        {"speed": "8.0 GT/s PCIe", "lanes": 4},
        ("current_link_speed", "current_link_width", "ports/1/rate"),
    ),
    "no-active-port": ({"state": "DOWN", "physical": "LinkUp"}, ("ports/1/state", "ports")),
}
"""By rule: what plants it, and the names of files each of which it takes to show it."""
N_HOSTS = 3


def detect(root: Path) -> int:
    return run(["platform", "detect", "--sysroot", str(root)])


@each_draw
def test_a_fault_without_its_files_is_never_good(
    seeds: range, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        rule = draw.choice(list(FAULTS))
        planted, shown_by = FAULTS[rule]
        root = tmp_path / str(seed)
        tree = cluster_node(root, draw, **planted)
        assert remove(tree.root, draw.choice(shown_by)), rule
        for other in draw.sample(OPTIONAL, draw.randint(0, 2)):
            remove(tree.root, other)
        capsys.readouterr()
        assert detect(root) in NOT_GOOD, (seed, rule)
        assert capsys.readouterr().out.startswith("UNKNOWN  cannot tell: "), (seed, rule)
        shutil.rmtree(root)


@each_draw
def test_a_healthy_machine_is_never_bad(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        root = tmp_path / str(seed)
        cluster_node(root, draw)
        for other in draw.sample(OPTIONAL, draw.randint(0, 3)):
            remove(root, other)
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.is_symlink() and draw.random() < 0.1:
                path.write_bytes(path.read_bytes() + draw.choice([b"\n", b" \n"]))
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
        remove(roots[ill], draw.choice(shown_by))
        assert of_hosts(roots).verdict in (Severity.BAD, Severity.UNKNOWN), (seed, rule)
        shutil.rmtree(tmp_path / str(seed))
