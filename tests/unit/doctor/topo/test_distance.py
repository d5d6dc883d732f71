"""Distances as NCCL computes them: against the tree itself, and where links leave the tree."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.doctor.topo import v100
from tests.unit.doctor.topo.cases import gpu, nvlink, system

from weft.doctor.topo.distance import Distances
from weft.doctor.topo.graph import Known, PathType, graph_of
from weft.doctor.topo.xml import read_topology

G = ["0001:00:00.0", "0002:00:00.0", "0003:00:00.0", "0004:00:00.0"]
NIC = "0101:00:00.0"


def distances(text: str, known: Known | None = None, level: PathType = PathType.P2C) -> Distances:
    root = read_topology("topo.xml", text).system
    assert root is not None
    return Distances(graph_of(root, known or Known()), gdr_level=level)


def device(bus: str, class_: str = "0x030200", inside: str = "", width: int = 16) -> str:
    link = f'link_speed="16 GT/s" link_width="{width}"'
    return f'<pci busid="{bus}" class="{class_}" {link}>{inside}</pci>'


def nic(bus: str = NIC) -> str:
    return device(bus, "0x020700")


def bridge(number: int, *inside: str, ids: str = "") -> str:
    link = f'link_speed="16 GT/s" link_width="16" {ids}'.rstrip()
    return f'<pci busid="0000:{number:02x}:00.0" class="0x060400" {link}>{"".join(inside)}</pci>'


def two_sockets(first: str, second: str) -> str:
    other = '<cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
    return system(first).replace("</system>", f"{other}{second}</cpu></system>")


def paths(found: Distances) -> dict[tuple[str, str], str]:
    """GPU and adapter -> the type of their path, with * for GPUDirect."""
    return {
        (gpu.name, net.name): found.path(gpu, net).type.name
        + ("*" if found.uses_gdr(gpu, net) else "")
        for gpu in found.graph.gpus
        for net in found.graph.nets
    }


@dataclass(frozen=True)
class Leaf:
    """A device, by the bridges above it, the nearest last."""

    bus: str
    is_gpu: bool
    above: tuple[int, ...]


@st.composite
def trees(draw: st.DrawFn) -> tuple[str, list[Leaf]]:
    """A file of two processors with bridges, GPUs and adapters somewhere below."""
    leaves: list[Leaf] = []
    count = [0]

    def below(above: tuple[int, ...], depth: int) -> str:
        text = ""
        for kind in draw(st.lists(st.sampled_from(["gpu", "nic", "bridge"]), max_size=3)):
            count[0] += 1
            if kind == "bridge" and depth < 4:
                text += bridge(count[0], below((*above, count[0]), depth + 1))
            elif kind != "bridge":
                bus = f"{count[0]:04x}:00:00.0"
                leaves.append(Leaf(bus, kind == "gpu", above))
                text += device(bus, "0x030200" if kind == "gpu" else "0x020700")
        return text

    return two_sockets(below((-1,), 0), below((-2,), 0)), leaves


def by_the_tree(one: Leaf, other: Leaf) -> str:
    """What a path in a tree crosses decides: sockets, a processor, two bridges or one."""
    shared = sum(a == b for a, b in zip(one.above, other.above, strict=False))
    if shared == 0:
        return "SYS"
    if shared == 1:
        return "PHB"
    return "PIX" if shared == len(one.above) == len(other.above) else "PXB"


@given(trees())
def test_in_a_tree_the_nearest_common_ancestor_decides(tree: tuple[str, list[Leaf]]) -> None:
    text, leaves = tree
    found = distances(text)
    gpus = {leaf.bus: leaf for leaf in leaves if leaf.is_gpu}
    nets = {leaf.bus: leaf for leaf in leaves if not leaf.is_gpu}
    assert [one.name for one in found.graph.gpus] == list(gpus)
    assert [one.name for one in found.graph.nets] == list(nets)
    for (a, b), way in paths(found).items():
        expected = by_the_tree(gpus[a], nets[b])
        assert way == expected + ("*" if expected in ("PIX", "PXB") else "")
    for one in found.graph.gpus:
        for other in found.graph.gpus:
            expected = "LOC" if one is other else by_the_tree(gpus[one.name], gpus[other.name])
            assert found.path(one, other).type.name == expected


@pytest.mark.parametrize(
    ("level", "has_gdr"),
    [(PathType.PIX, False), (PathType.PXB, True), (PathType.PHB, True), (PathType.LOC, False)],
)
def test_the_level_decides_on_gpudirect(level: PathType, has_gdr: bool) -> None:
    text = system(bridge(1, bridge(2, device(G[0])), nic()))
    cell = paths(distances(text, level=level))[G[0], NIC]
    # Where GPUDirect is off, data goes through the memory of the processor.
    assert cell == ("PXB*" if has_gdr else "PHB")


def test_a_gpu_beyond_the_sockets_may_meet_an_adapter_where_that_is_said() -> None:
    text = two_sockets(device(G[0]), nic())
    assert paths(distances(text)) == {(G[0], NIC): "SYS"}
    assert paths(distances(text, level=PathType.SYS)) == {(G[0], NIC): "SYS*"}


def test_over_nvlink_and_the_gpu_next_to_the_adapter() -> None:
    text = system(bridge(1, device(G[0]), nic()), bridge(2, device(G[1])))
    assert paths(distances(text))[G[1], NIC] == "PHB"
    switched = distances(text, Known(nvlink_gb_s=240))
    assert paths(switched) == {(G[0], NIC): "PIX*", (G[1], NIC): "PXN*"}
    assert switched.path(*switched.graph.gpus).type is PathType.NVL
    assert switched.path(*switched.graph.gpus).gb_s == 240


def _pair(bus: str, *targets: str) -> str:
    return gpu('sm="70"', *(nvlink(one, 1) for one in targets), bus=bus, device="0x1db1")


def test_over_two_nvlinks_and_no_more() -> None:
    """A chain of four: through one GPU at NVB, through two not at all."""
    a, b, c, d = G
    text = system(_pair(a, b), _pair(b, a, c), _pair(c, b, d), _pair(d, c))
    found = distances(text)
    first, second, third, fourth = found.graph.gpus
    assert found.path(first, second).type is PathType.NVL
    assert found.path(first, third).type is PathType.NVB
    assert found.path(first, fourth).type is PathType.PHB
    assert found.path(first, second).gb_s == 20


@pytest.mark.parametrize("text", [v100.with_switches(), v100.without_switches()])
def test_eight_v100s_reach_each_other_by_at_most_two_nvlinks(text: str) -> None:
    """By the GPU between them over which most goes, where no NVLink joins them."""
    found = distances(text)
    for a, one in enumerate(found.graph.gpus):
        for b, other in enumerate(found.graph.gpus):
            direct, over = v100.LINKS[a][b], zip(v100.LINKS[a], v100.LINKS[b], strict=True)
            cell = found.path(one, other)
            if a != b:
                n_links = direct or max(map(min, over))
                assert (cell.type, cell.gb_s) == (
                    PathType.NVL if direct else PathType.NVB,
                    n_links * v100.LINK_GB_S,
                )


def test_c2c_to_the_processor_and_its_adapter() -> None:
    text = system(gpu('sm="90"', '<c2c bw="9600" count="10"/>'), nic())
    found = distances(text)
    assert paths(found) == {(G[0], NIC): "P2C*"}
    assert paths(distances(text, level=PathType.PXB)) == {(G[0], NIC): "P2C"}


def test_broadcom_switches_of_two_levels_are_one() -> None:
    def ids(subsystem: str) -> str:
        return (
            f'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" '
            f'subsystem_device="{subsystem}"'
        )

    inner = bridge(2, device(G[0]), ids=ids("0x1040"))
    assert paths(distances(system(bridge(1, inner, nic(), ids=ids("0x0040"))))) == {
        (G[0], NIC): "PIX*"
    }
    assert paths(distances(system(bridge(1, inner, nic())))) == {(G[0], NIC): "PXB*"}


def test_the_fewest_lanes_of_a_path_bind() -> None:
    text = system(bridge(1, device(G[0]), device(NIC, "0x020700", width=8)))
    found = distances(text)
    # 16 GT/s x8: lanes x speed / 80 = 8 x 120 / 80.
    assert found.path(found.graph.gpus[0], found.graph.nets[0]).gb_s == 12


def test_what_the_file_switches_off_is_off() -> None:
    text = system(bridge(1, gpu('sm="80" gdr="0"'), nic()))
    assert paths(distances(text)) == {(G[0], NIC): "PHB"}


def test_two_gpus_on_amd_use_peer_to_peer_everywhere() -> None:
    """The way stays SYS, but is not sent through memory a second time."""
    found = distances(two_sockets(device(G[0]), device(G[1])))
    assert found.path(*found.graph.gpus).type is PathType.SYS
