"""What is said of a machine follows from what its /sys, /proc and /dev hold."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.seeds import drawn
from tests.unit.doctor.machine_trees import Tree, aws, hdr_functions, ndr, slingshot

from weft.catalog.libraries.setting_rules import machine_rules
from weft.doctor.machine.adapters import AdapterKind
from weft.doctor.machine.checks import Problem, problems
from weft.doctor.machine.machine import Machine, read_machine
from weft.doctor.machine.summary import machine_lines
from weft.doctor.machine.sysroot import Sysroot

TREES = {"ndr": ndr, "hdr": hdr_functions, "slingshot": slingshot, "efa": aws}


def machine_of(tree: Tree) -> Machine:
    return read_machine(Sysroot(tree.root))


def found_in(tree: Tree) -> dict[str, Problem]:
    return {one.rule.id: one for one in problems(machine_of(tree))}


def bare(tmp_path: Path) -> Tree:
    """One NDR adapter."""
    tree = Tree(tmp_path).machine()
    tree.hca(0)
    return tree


@pytest.mark.parametrize("name", TREES)
def test_a_machine_without_faults_has_none(name: str, tmp_path: Path) -> None:
    assert found_in(TREES[name](tmp_path)) == {}


def test_eight_rails_and_two_ethernet_functions_are_distinguished(tmp_path: Path) -> None:
    machine = machine_of(ndr(tmp_path))
    assert [one.name for one in machine.fast] == [f"mlx5_{number}" for number in range(8)]
    assert [one.kind for one in machine.adapters].count(AdapterKind.ETHERNET) == 2
    first = machine.fast[0]
    assert (first.ports[0].rate_gbps, first.ports[0].lid) == (400, 1)
    assert [(key.index, key.value, key.is_full) for key in first.ports[0].p_keys] == [
        (0, 0x8001, True),
        (1, 0x7FFF, False),
    ]
    assert first.pci is not None
    assert first.pci.address == "0000:10:00.0"
    assert first.node == "/dev/infiniband/uverbs0"
    assert len(machine.gpus) == 8
    lines = machine_lines(machine, problems(machine))
    assert lines[0] == "GOOD  8 InfiniBand adapters ready"
    assert any("8 InfiniBand 400 Gb/sec (4X NDR) active: mlx5_[0-7]" in line for line in lines)
    assert any("full membership at index 0" in line for line in lines)


@pytest.mark.parametrize("name", [*TREES, "none"])
def test_it_is_never_more_than_eleven_lines(name: str, tmp_path: Path) -> None:
    tree = TREES[name](tmp_path) if name in TREES else Tree(tmp_path).machine()
    machine = machine_of(tree)
    lines = machine_lines(machine, problems(machine))
    assert len(lines) == 10 + lines[1].startswith("would show: ")
    assert not any("\n" in line for line in lines)


def test_a_slot_of_half_the_rate_is_named_with_what_it_carries(tmp_path: Path) -> None:
    """16 lanes of 16 GT/s: 16 x 16 x 128/130 = 252 Gb/s, below NDR's 400."""
    tree = Tree(tmp_path).machine()
    tree.hca(0, speed="16.0 GT/s PCIe", most_speed="32.0 GT/s PCIe")
    happens = found_in(tree)["narrow-pcie"].happens
    assert "16 GT/s x16 carries 252 Gb/s, the port 400 Gb/s" in happens


def test_full_membership_elsewhere_than_at_0_is_found_among_128(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    keys = ["0x7fff"] + ["0x0000"] * 126 + ["0x8105"]
    tree.hca(0, keys=keys)
    found = found_in(tree)["limited-at-0"]
    assert "0x7fff" in found.happens
    assert "index 127" in found.happens
    assert "NCCL_IB_PKEY=127" in found.fix
    # UCX refuses a value with the upper bit, and by itself takes the first full member's.
    assert "UCX looks for 0x8105 by itself" in found.fix
    assert "UCX_IB_PKEY=" not in found.fix


Spoil = Callable[[Tree], object]
FAULTS: dict[str, Spoil] = {
    "no-driver": lambda tree: tree.pci("0000:77:00.0", 0x15B3, 0x1021, 0x020700),
    "no-node": lambda tree: (tree.root / "dev/infiniband/uverbs0").unlink(),
    "no-active-port": lambda tree: port(tree, "state", "1: DOWN", "phys_state", "2: Polling"),
    "port-down": lambda tree: tree.hca(1, state="DOWN", physical="Polling"),
    "no-subnet-manager": lambda tree: port(tree, "state", "2: INIT"),
    "slower-port": lambda tree: tree.hca(1, rate="HDR"),
    "limited-at-0": lambda tree: port(tree, "pkeys/0", "0x7fff", "pkeys/1", "0x8001"),
    "no-full-member": lambda tree: port(tree, "pkeys/0", "0x7fff"),
    "narrow-pcie": lambda tree: device(tree, "current_link_width", "8"),
    "trained-down-pcie": lambda tree: device(tree, "max_link_speed", "64.0 GT/s PCIe"),
    "far-processors": lambda tree: device(tree, "local_cpulist", "96-127"),
    "errors-counted": lambda tree: port(tree, "counters/symbol_error", "12"),
    "locked-memory": lambda tree: tree.machine(locked="65536", locked_hard="65536"),
    "small-shm": lambda tree: tree.machine(shm="rw,size=65536k"),
    "few-handles": lambda tree: (
        tree.write("proc/self/cgroup", "0::/job"),
        tree.write("sys/fs/cgroup/job/rdma.max", "mlx5_0 hca_handle=2 hca_object=2000"),
    ),
    "no-gpu-direct": lambda tree: (tree.gpu(0), tree.nvidia()),
    "iommu-translates": lambda tree: tree.gpu(0, iommu="DMA-FQ"),
    "no-userfaultfd": lambda tree: (
        tree.machine(kernel="5.3.18-150300.59.87_11.0.78-cray_shasta_c"),
        tree.cxi(0),
        tree.write("proc/sys/vm/unprivileged_userfaultfd", "0"),
    ),
    "userfaultfd-of-user-mode": lambda tree: (
        tree.cxi(0),
        tree.write("proc/sys/vm/unprivileged_userfaultfd", "0"),
    ),
    "numa-balancing": lambda tree: tree.write("proc/sys/kernel/numa_balancing", "1"),
    "acs-redirects": lambda tree: (tree.gpu(0), bridge(tree, 0x1D)),
    "small-read-request": lambda tree: device(tree, "config", config(read_request=2)),
    "no-routable-gid": lambda tree: port(tree, "link_layer", "Ethernet"),
    "node-closed": lambda tree: (tree.root / "dev/infiniband/uverbs0").chmod(0),
}
"""What is done to a machine without faults, by the rule that must see it."""


def port(tree: Tree, *pairs: str) -> None:
    for name, text in zip(pairs[::2], pairs[1::2], strict=True):
        tree.write(f"sys/class/infiniband/mlx5_0/ports/1/{name}", text)


def device(tree: Tree, name: str, text: str | bytes) -> None:
    tree.write(f"sys/bus/pci/devices/0000:10:00.0/{name}", text)


def config(read_request: int, acs_control: int | None = None) -> bytes:
    """A configuration space: the list at 0x34 leads to PCI Express at 0x60, whose Device Control is
    at 8; extended capabilities begin at 0x100. SOURCE: torvalds/linux, pci_regs.h.
    """
    space = bytearray(4096)
    space[0x34] = 0x40
    space[0x40:0x42] = bytes((0x01, 0x60))
    space[0x60:0x62] = bytes((0x10, 0x00))
    space[0x68:0x6A] = (read_request << 12 | 1 << 4 | 1 << 5).to_bytes(2, "little")
    if acs_control is not None:
        space[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")
        space[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
        space[0x14E:0x150] = acs_control.to_bytes(2, "little")
    return bytes(space)


def bridge(tree: Tree, acs_control: int) -> None:
    tree.pci("0000:05:00.0", 0x1000, 0xC030, 0x060400)
    tree.write("sys/bus/pci/devices/0000:05:00.0/config", config(5, acs_control))


def test_every_rule_has_a_fault() -> None:
    assert set(FAULTS) == set(machine_rules())


@pytest.mark.parametrize("rule", FAULTS)
def test_each_fault_is_found_and_nothing_else(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = bare(tmp_path)
    assert found_in(tree) == {}
    FAULTS[rule](tree)
    if rule == "node-closed":  # root may open everything
        monkeypatch.setattr(os, "access", lambda path, _mode: bool(Path(path).stat().st_mode & 6))
    found = found_in(tree)
    assert set(found) == {rule}
    assert "{" not in found[rule].happens + found[rule].fix


@pytest.mark.parametrize(
    ("state", "physical", "is_known"),
    [
        ("4: ACTIVE", "5: LinkUp", True),
        ("1: DOWN", "5: LinkUp", True),
        ("", "3: Disabled", True),
        ("", "5: LinkUp", False),
        ("N/A", "5: LinkUp", False),
        ("N/A", "N/A", False),
        ("6: Neu", "", False),
    ],
)
def test_a_state_is_known_by_the_words_of_the_kernel(
    state: str, physical: str, is_known: bool, tmp_path: Path
) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0)
    tree.write("sys/class/infiniband/mlx5_0/ports/1/state", state)
    tree.write("sys/class/infiniband/mlx5_0/ports/1/phys_state", physical)
    machine = read_machine(Sysroot(tmp_path))
    assert machine.adapters[0].ports[0].is_known == is_known
    if not is_known:
        assert not any(one.rule.id.endswith(("-port", "-down")) for one in problems(machine))


def test_what_allows_it_keeps_a_rule_silent(tmp_path: Path) -> None:
    """CAP_IPC_LOCK is bit 14: memory may be locked whatever the limit says."""
    tree = Tree(tmp_path).machine(locked="65536", capabilities="0000000000004000")
    tree.hca(0)
    tree.gpu(0, iommu="identity")
    tree.nvidia(opened=True)
    assert found_in(tree) == {}


def test_the_same_in_a_container_is_mended_by_starting_it_otherwise(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine(locked="65536", shm="rw,size=65536k")
    tree.hca(0, node=False)
    tree.write(".dockerenv", "")
    found = found_in(tree)
    assert "--device=/dev/infiniband" in found["no-node"].fix
    assert "--ulimit memlock=-1" in found["locked-memory"].fix
    assert "--shm-size" in found["small-shm"].fix


def damage(tree: Tree, rng: random.Random) -> None:
    """Some files are lost, hold anything, become folders, pipes or links."""
    files = sorted(path for path in tree.root.rglob("*") if path.is_file())
    for path in rng.sample(files, k=rng.randrange(1, 40)):
        kind = rng.randrange(6)
        if kind < 3:
            path.write_bytes(rng.choice(ODD))
            continue
        path.unlink()
        if kind == 3:
            path.mkdir()
        elif kind == 4:
            os.mkfifo(path)
        elif kind == 5:
            path.symlink_to(rng.choice(("/dev/zero", "..", path.name, "/proc/self/mem")))


ODD = (
    b"", b"\0", b"\xff\xfe", b"-1", b"0x", b"9" * 5000, b"1e999", b"nan", b"\x1b[2J", b": : :",
    b"Unknown", b"0-", b"-", b"0-99999999999999999999", b"a\nb\nc\n" * 100, b"inf GT/s", b"  ",
    bytes(range(256)) * 16, b"64.0 GT/s PCIe", b"4: ACTIVE", "٣".encode(), b"Max locked memory x y",
)  # fmt: skip


@pytest.mark.parametrize("seed", drawn(range(60), 15))
def test_whatever_the_files_hold_ten_or_eleven_lines_come_out(seed: int, tmp_path: Path) -> None:
    tree = bare(tmp_path)
    tree.hca(1, layer="Ethernet", n_keys=2)
    tree.cxi(0)
    tree.efa(3)
    tree.gpu(0, iommu="DMA")
    tree.nvidia()
    device(tree, "config", config(2))
    damage(tree, random.Random(seed))
    machine = machine_of(tree)
    found = problems(machine)
    lines = machine_lines(machine, found)
    assert len(lines) == 10 + lines[1].startswith("would show: ")
    assert all(line.isprintable() for line in lines)
    json.dumps(machine.to_record(), allow_nan=False)
    assert all("{" not in one.happens + one.fix for one in found)
