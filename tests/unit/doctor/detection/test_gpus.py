"""GPUs are known by the driver's name, a tool's, or their PCI id."""

from pathlib import Path

from tests.unit.doctor.detection.machines import host_of
from tests.unit.doctor.machine_trees import Tree

from weft.doctor.machine.detection.model import GpuFacts
from weft.doctor.machine.detection.warnings import hardware_health
from weft.doctor.machine.sysroot import Sysroot


def gpus_in(tree: Tree) -> GpuFacts:
    found = host_of(tree).gpus
    assert found is not None
    return found


def h100s(root: Path, n: int = 8) -> Tree:
    tree = Tree(root).machine()
    for number in range(n):
        tree.gpu(number)
    return tree


def test_a_pci_id_is_enough(tmp_path: Path) -> None:
    found = gpus_in(h100s(tmp_path))
    assert (found.title, found.count, str(found.slot)) == ("H100 SXM", 8, "32 GT/s x16")
    assert found.source.endswith("vendor, device: 10de:2330")


def test_the_drivers_name_goes_before_the_id(tmp_path: Path) -> None:
    tree = h100s(tmp_path, 1)
    path = "/proc/driver/nvidia/gpus/0000:40:00.0/information"
    tree.write(path, "Model: \t\t NVIDIA H200\nIRQ:   \t\t 120")
    found = gpus_in(tree)
    assert (found.title, found.source) == ("H200 SXM", path)


def test_nvidia_smi_names_a_gpu_by_its_bus_id(tmp_path: Path) -> None:
    tree = h100s(tmp_path, 1)
    tree.write("commands/nvidia-smi", "NVIDIA A100-SXM4-80GB, 00000000:40:00.0")
    found = gpus_in(tree)
    assert found.title == "A100 SXM4"
    assert found.source.startswith("nvidia-smi --query-gpu")


def test_saved_output_is_enough_without_sys(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.write(
        "commands/nvidia-smi",
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\nGPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)",
    )
    assert (gpus_in(tree).title, gpus_in(tree).count) == ("A100 SXM4", 2)


def test_amd_is_known_by_id_and_by_rocm_smi(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.pci("0000:40:00.0", 0x1002, 0x74A1, 0x120000)
    assert gpus_in(tree).title == "MI300X"
    other = Tree(tmp_path / "b").machine()
    other.pci("0000:40:00.0", 0x1002, 0x1111, 0x120000)
    other.write("commands/rocm-smi", "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI250X")
    assert gpus_in(other).title == "MI250X or MI210"


def test_most_gpus_of_one_product_are_taken_and_others_named(tmp_path: Path) -> None:
    tree = h100s(tmp_path, 3)
    tree.pci("0000:60:00.0", 0x10DE, 0x20B2, 0x030200)
    host = host_of(tree)
    assert host.gpus is not None
    assert (host.gpus.title, host.gpus.count) == ("H100 SXM", 3)
    assert "other GPUs are not counted: 1 x a100-sxm4" in host.notes


def test_an_unknown_gpu_is_no_product(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.pci("0000:40:00.0", 0x10DE, 0x0001, 0x030000)
    host = host_of(tree)
    assert host.gpus is not None
    assert host.gpus.product is None
    assert not host.has_platform
    assert "GPU 'PCI 10de:0001' is no product of the catalogue" in host.notes[0]


def test_a_missing_nvlink_is_a_warning(tmp_path: Path) -> None:
    tree = h100s(tmp_path, 2)
    links = "".join(f"\t Link {i}: 26.562 GB/s\n" for i in range(18))
    lost = links.replace("Link 17: 26.562 GB/s", "Link 17: <inactive>")
    said = f"GPU 0: NVIDIA H100\n{links}GPU 1: NVIDIA H100\n{lost}"
    tree.write("commands/nvidia-smi-nvlink", said)
    host = host_of(tree)
    assert host.gpus is not None
    assert host.gpus.nvlinks == 17
    warnings = hardware_health(Sysroot(tree.root), host).warnings
    assert any("17 active NVLinks, H100 SXM has 18" in one for one in warnings)
