"""Among hosts the majority is the machine, and each host that differs is named."""

from pathlib import Path
from typing import Any

from tests.unit.doctor.detection.machines import host_of
from tests.unit.doctor.machine_trees import Tree

from weft.doctor.machine.detection.differences import majority_of
from weft.doctor.machine.detection.model import HostHardware


def host(root: Path, *, memory_kib: int = 500_000_000, n: int = 2, **hca: Any) -> HostHardware:
    tree = Tree(root).machine(memory_kib=memory_kib)
    for number in range(n):
        tree.hca(number, n_keys=1, **hca)
    return host_of(tree)


def sentences(found: dict[str, HostHardware]) -> list[str]:
    return [one.sentence for one in majority_of(found)[1]]


def test_equal_hosts_do_not_differ(tmp_path: Path) -> None:
    found = {name: host(tmp_path / name) for name in ("a1", "a2", "a3")}
    assert majority_of(found) == ("a1", [])


def test_the_host_that_differs_is_named_with_both_values(tmp_path: Path) -> None:
    found = {name: host(tmp_path / name) for name in ("a1", "a2", "a4")}
    found = {"a0": host(tmp_path / "a0", rate="HDR", lanes=8), **found}
    chosen, differences = majority_of(found)
    assert chosen == "a1"
    assert [one.sentence for one in differences] == [
        "a0 has link InfiniBand HDR (200 Gb/s); 3 hosts have InfiniBand NDR (400 Gb/s)",
        "a0 has slots PCIe Gen5 x8; 3 hosts have PCIe Gen5 x16",
    ]


def test_hosts_with_the_same_difference_are_one_line(tmp_path: Path) -> None:
    found = {name: host(tmp_path / name) for name in ("a1", "a2", "a3")}
    found |= {name: host(tmp_path / name, n=1) for name in ("a4", "a5")}
    assert sentences(found)[0] == "a[4-5] have rails 1; 3 hosts have 2"


def test_a_little_less_memory_is_the_same_memory(tmp_path: Path) -> None:
    found = {
        name: host(tmp_path / name, memory_kib=kib)
        for name, kib in (("a1", 500_000_000), ("a2", 499_000_000), ("a3", 250_000_000))
    }
    assert sentences(found) == ["a3 has memory 256 GB; 2 hosts have 511 GB"]


def test_of_two_hosts_the_first_is_the_measure(tmp_path: Path) -> None:
    found = {"b": host(tmp_path / "b"), "a": host(tmp_path / "a", n=1)}
    chosen, differences = majority_of(found)
    assert chosen == "b"
    assert differences[0].sentence == "a has rails 1; 1 host has 2"
