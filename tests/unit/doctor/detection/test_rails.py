"""Rails, their rates and their slots follow from what the kernel writes."""

from pathlib import Path

import pytest
from tests.unit.doctor.detection.machines import host_of
from tests.unit.doctor.machine_trees import Tree, aws, hdr_functions, ndr, slingshot

from weft.catalog.machine.generic import link_of
from weft.doctor.machine.detection.rails import class_of_rate, infiniband_link


@pytest.mark.parametrize(
    ("rate", "name", "gbps"),
    [
        ("200 Gb/sec (4X HDR)", "hdr", 200),
        ("100 Gb/sec (2X HDR)", "hdr100", 100),
        ("200 Gb/sec (2X NDR)", "ndr200", 200),
        ("400 Gb/sec (4X NDR)", "ndr", 400),
        ("800 Gb/sec (4X XDR)", "xdr", 800),
        ("100 Gb/sec (4X EDR)", "edr", 100),
        ("56 Gb/sec (4X FDR)", "fdr", 54.5454),
        ("40 Gb/sec (4X QDR)", "qdr", 32),
        ("40 Gb/sec (4X FDR10)", "fdr10", 40),
        ("20 Gb/sec (4X DDR)", "ddr", 16),
        ("10 Gb/sec (4X)", "sdr", 8),
        ("50 Gb/sec (1X HDR)", "hdr-1x", 50),
    ],
)
def test_a_rate_of_infiniband_is_a_link_of_data(rate: str, name: str, gbps: float) -> None:
    """Through QDR 8 of 10 bits are data: IBTA. The kernel counts all of them."""
    link = infiniband_link(rate, float(rate.split(maxsplit=1)[0]))
    assert (link.name, link.gbps) == (name, gbps)
    assert link_of(link.name)[1].gbps == gbps


def test_lanes_that_trained_down_are_another_rate() -> None:
    assert infiniband_link("14 Gb/sec (1X FDR)", 14).gbps == pytest.approx(54.5454 / 4)


@pytest.mark.parametrize("gbps", [0, -5, 1e9, float("nan")])
def test_a_rate_that_is_none_is_no_rate(gbps: float) -> None:
    assert class_of_rate("roce", gbps).gbps == 0


def test_every_network_has_its_class(tmp_path: Path) -> None:
    builders = {"ndr": ndr, "hdr": hdr_functions, "slingshot11": slingshot, "efa-100": aws}
    for link, build in builders.items():
        host = host_of(build(tmp_path / link))
        assert {rail.link for rail in host.rails} == {link}
    assert len(host_of(Tree(tmp_path / "ndr")).rails) == 8


def test_roce_and_iwarp_are_told_apart_by_the_kind_of_node(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, layer="Ethernet", rate="100 Gb/sec (4X EDR)")
    assert host_of(tree).rails[0].link == "100gbe"
    tree.write("sys/class/infiniband/mlx5_0/node_type", "4: RNIC")
    assert host_of(tree).rails[0].link == "iwarp-100gbe"


def test_omni_path_is_known_by_its_driver(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, name="hfi1_0", rate="100 Gb/sec (4X EDR)", vendor=0x8086, device=0x24F0)
    assert host_of(tree).rails[0].link == "omni-path"


def test_a_software_device_is_no_rail(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, name="rxe0", layer="Ethernet", rate="10 Gb/sec (4X)")
    tree.interface(0)
    assert [rail.name for rail in host_of(tree).rails] == ["eth0"]


def test_adapters_of_another_rate_are_not_counted(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    for number in range(4):
        tree.hca(number, rate="NDR")
    tree.hca(4, rate="HDR")
    host = host_of(tree)
    assert [len(host.rails), [one.name for one in host.others]] == [4, ["mlx5_4"]]
    assert "mlx5_4 (InfiniBand HDR)" in host.notes[0]


def test_an_adapter_that_is_down_is_idle(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, rate="HDR")
    tree.hca(1, rate="HDR", state="DOWN", physical="Polling")
    host = host_of(tree)
    assert [one.name for one in host.rails] == ["mlx5_0"]
    assert [(one.name, one.state) for one in host.idle] == [("mlx5_1", "DOWN")]


def test_ethernet_counts_only_where_no_rdma_adapter_carries_data(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, state="DOWN", physical="Disabled")
    tree.interface(0, speed="25000")
    tree.interface(1, speed="25000", state="down")
    tree.interface(2, speed="1000")
    host = host_of(tree)
    assert [(one.name, one.link) for one in host.rails] == [("eth0", "tcp-25gbe")]
    assert [one.name for one in host.idle] == ["mlx5_0"]
    assert not host.has_platform


def test_virtual_functions_beside_their_adapter_are_no_rails(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.write("sys/devices/pci0000:00/0000:00:01.0/vendor", "0x15b3")
    tree.hca(0)
    tree.hca(1, virtual=True)
    tree.interface(0)
    tree.interface(1, virtual=True)
    assert [one.name for one in host_of(tree).rails] == ["mlx5_0"]
    (tree.root / "sys/class/infiniband/mlx5_0").unlink()
    assert [one.name for one in host_of(tree).rails] == ["mlx5_1"]
    (tree.root / "sys/class/infiniband/mlx5_1").unlink()
    assert [one.name for one in host_of(tree).rails] == ["eth0"]


def test_an_interface_over_another_is_one_rail(tmp_path: Path) -> None:
    """As in Azure's virtual machines: eth0 of netvsc is the master of the virtual function."""
    tree = Tree(tmp_path).machine()
    for number in range(2):
        tree.interface(number, speed="50000")
    bus = "sys/devices/pci0000:00"
    tree.link(f"{bus}/0000:71:00.0/net/eth1/master", f"{bus}/0000:70:00.0/net/eth0")
    assert [one.name for one in host_of(tree).rails] == ["eth0"]


@pytest.mark.parametrize("speed", ["-1", "", "4294967295", "fast", "9" * 5000])
def test_a_speed_that_is_none_is_named(speed: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.interface(0, speed=speed)
    host = host_of(tree)
    assert host.rails == ()
    assert host.notes == ("no file tells the rate of eth0",)


def test_lspci_tells_the_slot_that_an_old_kernel_does_not_show(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0, rate="HDR", speed="", most_speed="")
    assert not host_of(tree).rails[0].slot.is_known
    tree.write(
        "commands/lspci",
        "0000:10:00.0 Infiniband controller [0207]: Mellanox MT28908 [15b3:101b]\n"
        "\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\tLnkSta:\tSpeed 8GT/s (downgraded), Width x16 (ok)\n\n"
        "0000:11:00.0 Non-Volatile memory controller [0108]: x [144d:a80a]\n"
        "\tLnkSta:\tSpeed 2.5GT/s, Width x1\n",
    )
    slot = host_of(tree).rails[0].slot
    assert (slot.link.gt_s, slot.most.gt_s, slot.link.lanes) == (8, 16, 16)
    assert slot.source == "lspci -Dvvnn: 8 GT/s x16"


def test_saved_ibstat_stands_in_for_the_kernel(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    said = ""
    for name, state, rate in (("mlx5_0", "Active", 200), ("mlx5_1", "Down", 10)):
        port = f"\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: LinkUp\n\t\tRate: {rate}\n"
        said += f"CA '{name}'\n\tCA type: MT4123\n{port}\t\tLink layer: InfiniBand\n"
    tree.write("commands/ibstat", said)
    host = host_of(tree)
    assert [(one.name, one.link) for one in host.rails] == [("mlx5_0", "hdr")]
    assert [one.state for one in host.idle] == ["DOWN"]


@pytest.mark.parametrize(
    ("mtu", "payload"), [(1500, 1024), (4200, 4096), (4191, 2048), (9000, 4096), (300, None)]
)
def test_the_payload_of_roce_is_what_fits_the_interface(
    mtu: int, payload: int | None, tmp_path: Path
) -> None:
    """iboe_get_mtu of Linux: the step below the interface's MTU less 96 bytes of headers."""
    tree = Tree(tmp_path).machine()
    tree.hca(0, layer="Ethernet", rate="100 Gb/sec (4X EDR)")
    tree.write("sys/class/infiniband/mlx5_0/device/net/eth0/mtu", str(mtu))
    assert host_of(tree).rails[0].mtu == payload


def test_the_mtu_of_infiniband_is_that_of_ibv_devinfo(tmp_path: Path) -> None:
    tree = Tree(tmp_path).machine()
    tree.hca(0)
    assert host_of(tree).rails[0].mtu is None
    devinfo = "hca_id:\tmlx5_9\n\t\t\tactive_mtu:\t\t256 (1)\nhca_id:\tmlx5_0\n\ttransport: x\n"
    tree.write("commands/ibv_devinfo", f"{devinfo}\t\t\tactive_mtu:\t\t2048 (4)\n")
    rail = host_of(tree).rails[0]
    assert (rail.mtu, rail.mtu_source) == (2048, "ibv_devinfo: active_mtu of mlx5_0")
