"""Generated topology files: of platforms against the published, of tools against their facts."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.unit.doctor.machine_trees import Tree
from tests.unit.doctor.topo.azure_files import PLATFORMS, devices, processors, published

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.doctor.machine.sysroot import Sysroot
from weft.doctor.topo.judge import complaints_of, distances_of, known_of
from weft.doctor.topo.node import node_of_platform, topology_text, with_bridges
from weft.doctor.topo.source.file import node_of_text
from weft.doctor.topo.source.sysfs import node_of_machine
from weft.doctor.topo.xml import read_topology

HWLOC = Path(__file__).resolve().parents[3] / "fixtures" / "fabric" / "hwloc"


def generated(name: str) -> str:
    return topology_text(node_of_platform(platform(name)))


def of_text(text: str) -> str:
    return topology_text(node_of_text(text, "input"))


def rules_of(text: str, name: str | None = None) -> set[str]:
    file = read_topology("topo.xml", text)
    distances = distances_of(file, known_of(platform(name) if name else None))
    assert distances is not None
    return {one.rule.id for one in complaints_of(file, distances)}


@pytest.mark.parametrize("name", PLATFORMS)
def test_files_of_platforms_say_what_the_published_ones_say(name: str) -> None:
    text = generated(name)
    assert processors(text) == published("processors", name)
    assert devices(text) == published("devices", name)


def test_a_fact_that_differs_is_shown() -> None:
    """Otherwise the test above could not fail."""
    text = generated("azure-ndv5")
    moved = text.replace("0104:00:00.0", "0109:00:00.0").replace("ffffffff,ffff", "ffffffff,fffe")
    pairs = zip(devices(moved), published("devices", "azure-ndv5"), strict=True)
    assert [(ours["busid"], theirs["busid"]) for ours, theirs in pairs if ours != theirs] == [
        ("0109:00:00.0", "0104:00:00.0")
    ]
    assert processors(moved)[1] != published("processors", "azure-ndv5")[1]


@pytest.mark.parametrize("name", ["azure-ndv4", "azure-ndv5"])
def test_nothing_is_wrong_with_them(name: str) -> None:
    found = rules_of(generated(name), name)
    assert found == {"topo-made-up-bridges", "topo-adapter-waits"}
    assert rules_of(generated(name)) == {"topo-made-up-bridges"}


def test_a_platform_that_does_not_know() -> None:
    with pytest.raises(InputError, match="does not know where its devices hang"):
        node_of_platform(platform("azure-hbv3"))


# --- what tools print


def lspci(bus: str, class_: str, ids: str, *more: str) -> str:
    """A block as `lspci -Dvvnn` prints it."""
    head = f"{bus} A device [{class_}]: Of somebody [{ids}] (rev a1)"
    return "\n".join([head, "\tControl: I/O+ Mem+", *(f"\t{line}" for line in more), "", ""])


def link(speed: str, lanes: int) -> str:
    return f"\tLnkCap:\tPort #0, Speed {speed}GT/s, Width x{lanes}, ASPM not supported"


def virtual_machine() -> str:
    """The devices of an NDv5 as its guests see them: each on a bus of its own."""
    gpus = {0: ("0001", "0002", "0003", "0008"), 1: ("0009", "000a", "000b", "000c")}
    hcas = {0: ("0101", "0102", "0103", "0104"), 1: ("0105", "0106", "0107", "0108")}
    blocks = []
    for numa in (0, 1):
        node = f"NUMA node: {numa}"
        more = (node, link("32", 16))
        blocks += [lspci(f"{one}:00:00.0", "0302", "10de:2330", *more) for one in gpus[numa]]
        blocks += [lspci(f"{one}:00:00.0", "0207", "15b3:101e", *more) for one in hcas[numa]]
    return "".join(blocks)


def pairs(text: str) -> list[list[str]]:
    """The bus ids below each bridge."""
    bridges = ElementTree.fromstring(text).findall("cpu/pci[@class='0x060400']")
    return [[pci.attrib["busid"] for pci in bridge] for bridge in bridges]


def test_pairs_of_a_virtual_machine_follow_from_its_lspci() -> None:
    """Azure's own bridges, for they pair GPUs and adapters in the order of bus ids."""
    node = with_bridges(node_of_text(virtual_machine(), "lspci"))
    assert pairs(topology_text(node)) == pairs(generated("azure-ndv5"))
    assert rules_of(topology_text(node)) == {"topo-made-up-bridges"}
    bridge = ElementTree.fromstring(topology_text(node)).find("cpu/pci")
    assert bridge is not None
    assert bridge.attrib["link_speed"] == "32.0 GT/s PCIe"
    alone = topology_text(node_of_text(virtual_machine(), "lspci"))
    assert pairs(alone) == []
    assert "topo-gpu-far" in rules_of(alone)


def test_no_bridge_is_made_up_where_its_link_is_not_known() -> None:
    """NCCL would count 12 GB/s for it without a word."""
    text = virtual_machine().replace("LnkCap", "Capabilities: <access denied>")
    with pytest.raises(InputError, match=r"the link of 0001:00:00\.0 is"):
        with_bridges(node_of_text(text, "lspci"))


SWITCHED = "".join(
    [
        lspci("0000:00:01.0", "0604", "8086:352a", "Bus: primary=00, secondary=01, subordinate=04",
              link("32", 16), "NUMA node: 1"),
        lspci("0000:01:00.0", "0604", "1000:c030", "Bus: primary=01, secondary=02, subordinate=04",
              link("32", 16)),
        lspci("0000:02:00.0", "0604", "1000:c030", "Bus: primary=02, secondary=03, subordinate=03",
              link("16", 16)),
        lspci("0000:02:01.0", "0604", "1000:c030", "Bus: primary=02, secondary=04, subordinate=04",
              link("32", 8)),
        lspci("0000:03:00.0", "0302", "10de:2330", "Subsystem: NVIDIA [10de:16c1]", link("32", 16),
              "NUMA node: 1"),
        lspci("0000:04:00.0", "0207", "15b3:1021", link("32", 16), "NUMA node: 1"),
        lspci("0000:05:00.0", "0300", "1a03:2000"),
        lspci("0000:06:00.0", "0200", "8086:1533", link("2.5", 1)),
    ]
)  # fmt: skip


def test_a_tree_of_switches_and_the_slower_end_of_each_link() -> None:
    root = ElementTree.fromstring(of_text(SWITCHED))
    (cpu,) = root
    assert cpu.attrib == {"numaid": "1"}
    by_id = {pci.attrib["busid"]: pci for pci in root.iter("pci")}
    assert len(by_id) == 6
    assert [pci.attrib["busid"] for pci in by_id["0000:01:00.0"]] == [
        "0000:02:00.0",
        "0000:02:01.0",
    ]
    assert by_id["0000:03:00.0"].attrib["link_speed"] == "16.0 GT/s PCIe"
    assert by_id["0000:03:00.0"].attrib["subsystem_device"] == "0x16c1"
    assert by_id["0000:04:00.0"].attrib["link_width"] == "8"
    assert by_id["0000:04:00.0"].attrib["link_speed"] == "32.0 GT/s PCIe"


def test_odd_speeds_and_encodings() -> None:
    odd = SWITCHED.replace("Speed 16GT/s", "Speed 12GT/s")
    by_id = {one.attrib["busid"]: one for one in ElementTree.fromstring(of_text(odd)).iter("pci")}
    assert by_id["0000:03:00.0"].attrib["link_speed"] == "32.0 GT/s PCIe"
    assert "link_speed" not in by_id["0000:02:00.0"].attrib
    hwloc = (HWLOC / "two_packages.v2.xml").read_text()
    assert of_text(hwloc.replace("UTF-8", "UTF-inf")) == of_text(hwloc)


def test_ethernet_next_to_infiniband_is_not_of_the_fabric() -> None:
    """Virtual machines have one for their own traffic; without InfiniBand it may be RoCE."""
    gpu = lspci("0001:00:00.0", "0302", "10de:2330")
    ethernet = lspci("0002:00:00.0", "0200", "15b3:101a")
    infiniband = lspci("0101:00:00.0", "0207", "15b3:101e")
    assert "0002:00:00.0" in of_text(gpu + ethernet)
    assert "0002:00:00.0" not in of_text(gpu + ethernet + infiniband)


def test_the_shorter_format_of_lspci() -> None:
    text = (
        "Slot:\t0001:00:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA [10de]\n"
        "Device:\tGH100 [2330]\nSVendor:\tNVIDIA [10de]\nSDevice:\tDevice [16c1]\nRev:\ta1\n"
        "NUMANode:\t3\n\nSlot:\t01:00.0\nClass:\t0207\nVendor:\t15b3\nDevice:\t101e\n"
    )
    root = ElementTree.fromstring(of_text(text))
    assert [(cpu.attrib["numaid"], cpu[0].attrib["busid"]) for cpu in root] == [
        ("-1", "0000:01:00.0"),
        ("3", "0001:00:00.0"),
    ]
    assert root[1][0].attrib["device"] == "0x2330"


def test_hwloc_of_both_versions() -> None:
    texts = [of_text((HWLOC / f"two_packages.v{n}.xml").read_text()) for n in (1, 2)]
    assert texts[0] == texts[1]
    root = ElementTree.fromstring(texts[0])
    found = [
        (cpu.attrib["numaid"], [pci.attrib["busid"] for pci in cpu.iter("pci")]) for cpu in root
    ]
    assert found == [
        ("0", ["0000:01:00.0", "0000:03:00.0", "0000:04:00.0"]),
        ("2", ["0001:01:00.0", "0001:03:00.0", "0001:04:00.0"]),
    ]
    assert rules_of(texts[0]) <= {"topo-link-speed"}


def machine(root: Path) -> Tree:
    """SWITCHED as a tree of /sys."""
    tree = Tree(root)
    tree.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143")
    tree.write("sys/devices/system/node/node1/cpulist", "48-95")
    folders = {"": "sys/devices/pci0000:00"}
    for above, bus, class_, ids, speed, lanes in (
        ("", "00:01.0", 0x060400, (0x8086, 0x352A), "32.0", 16),
        ("00:01.0", "01:00.0", 0x060400, (0x1000, 0xC030), "32.0", 16),
        ("01:00.0", "02:00.0", 0x060400, (0x1000, 0xC030), "16.0", 16),
        ("01:00.0", "02:01.0", 0x060400, (0x1000, 0xC030), "32.0", 8),
        ("02:00.0", "03:00.0", 0x030200, (0x10DE, 0x2330), "32.0", 16),
        ("02:01.0", "04:00.0", 0x020700, (0x15B3, 0x1021), "32.0", 16),
    ):
        folder = folders[bus] = f"{folders[above]}/0000:{bus}"
        for name, text in (
            ("vendor", f"{ids[0]:#06x}"),
            ("device", f"{ids[1]:#06x}"),
            ("class", f"{class_:#08x}"),
            ("numa_node", "1"),
            ("max_link_speed", f"{speed} GT/s PCIe"),
            ("max_link_width", str(lanes)),
        ):
            tree.write(f"{folder}/{name}", text)
        tree.link(f"sys/bus/pci/devices/0000:{bus}", folder)
    tree.write(f"{folders['03:00.0']}/subsystem_vendor", "0x10de")
    tree.write(f"{folders['03:00.0']}/subsystem_device", "0x16c1")
    return tree


def test_a_machine_tells_what_its_lspci_tells(tmp_path: Path) -> None:
    text = topology_text(node_of_machine(Sysroot(machine(tmp_path).root), "here"))
    root, other = ElementTree.fromstring(text), ElementTree.fromstring(of_text(SWITCHED))
    assert root[0].attrib == {
        "numaid": "1", "affinity": "ffffffff,ffff0000,00000000", "arch": "x86_64",
        "vendor": "GenuineIntel", "familyid": "6", "modelid": "143",
    }  # fmt: skip
    rows = [[pci.attrib for pci in tree.iter("pci")] for tree in (root, other)]
    assert rows[0] == rows[1]


# --- what is no description of a machine


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no PCI device"),
        ("hello\n", "no PCI device"),
        (lspci("0000:00:02.0", "0300", "8086:3e92"), "no GPU and no adapter"),
        ("<topology><object", "no XML"),
        ("<html></html>", "an element 'html'"),
        ("<topology/>", "no 'object'"),
        ('<!DOCTYPE t [<!ENTITY a "b">]><topology/>', "no XML"),
        (lspci("0000:01:00.0", "0302", "10de:2330") * 5000, "more than 4096 devices"),
        (lspci("0000:02:00.0", "0604", "10de:1", "LnkCap: " + "Speed 8GT/s " * 100_000), "no GPU"),
        (
            lspci("0000:01:00.0", "0302", "10de:2330", "Bus: primary=01, secondary=01"),
            "below itself",
        ),
        ("<object>" * 100_000, "nested deeper"),
    ],
)
def test_what_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        of_text(text)


@pytest.mark.parametrize("vendor", ['Genuine"Intel', "<x>", "a\nb", "x" * 254, "\x1b[2J", "é"])
def test_values_that_no_file_can_hold_are_refused(vendor: str) -> None:
    text = (HWLOC / "two_packages.v2.xml").read_text()
    escaped = vendor.replace("<", "&lt;").replace('"', "&quot;").replace("\n", "&#10;")
    hostile = text.replace(
        'name="Backend" value="Synthetic"', f'name="CPUVendor" value="{escaped}"'
    )
    assert hostile != text
    with pytest.raises(InputError, match=r"cannot stand|no XML"):
        of_text(hostile)


def test_what_looks_like_a_command_is_a_value() -> None:
    """Nothing of a machine's description runs, and nothing leaves its quotes."""
    text = (HWLOC / "two_packages.v2.xml").read_text()
    text = text.replace(
        'name="Backend" value="Synthetic"', 'name="CPUVendor" value="$(id);`id`|&amp;"'
    )
    root = ElementTree.fromstring(of_text(text).replace("&", "&amp;"))
    assert root[0].attrib["vendor"] == "$(id);`id`|&"
