"""What a host says of its ports and GPUs, and which of them belong together."""

import subprocess
from pathlib import Path

import pytest
from tests.perftest_stand_in import Port, StandIn

from weft.bench.rdma.devices import PROBE, Gpu, HostDevices, Rail, read_devices
from weft.bench.rdma.pairing import pair_gpus, pair_rails
from weft.core.errors import BenchmarkError, InputError, MissingError

# As a virtual machine on Hyper-V shows its devices: each a root of its own below the same bus.
HYPERV = (
    "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/MSFT1000:00/47505500-{i:04}/pci{i:04}:00/{i:04}:00:00.0"
)


def probed(host: StandIn, folder: Path, *, path: str = "/usr/bin:/bin") -> HostDevices:
    """The devices of a made-up host, asked as a real one is."""
    host.write(folder)
    argv = ["sh", "-s", "--", str(folder / "sys"), str(folder / "bin")]
    env = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22", "PATH": path}
    said = subprocess.run(argv, input=PROBE, capture_output=True, text=True, check=True, env=env)
    return read_devices("n1", said.stdout)


def test_ports_are_read_in_their_order(tmp_path: Path) -> None:
    ports = [
        Port("mlx5_10", "pci0000:00/0000:00:03.0", numa=1, rate="400 Gb/sec (4X NDR)"),
        Port("mlx5_2", "pci0000:00/0000:00:02.0", numa=-1, state="1: DOWN", rate="10 Gb/sec (1X)"),
        Port("mlx5_an0", "pci0000:00/0000:00:04.0", layer="Ethernet"),
    ]
    found = probed(StandIn(ports, {}), tmp_path / "n1")
    assert [rail.name for rail in found.rails] == ["mlx5_2:1", "mlx5_10:1", "mlx5_an0:1"]
    first, second, _ = found.rails
    assert (first.active, first.state, first.numa, first.rate_gbps) == (False, "DOWN", None, 10)
    assert (second.active, second.numa, second.rate_gbps) == (True, 1, 400)
    assert second.pci == ("pci0000:00", "0000:00:03.0")
    assert [rail.name for rail in found.fabric_rails()] == ["mlx5_2:1", "mlx5_10:1"]
    assert found.address == "192.0.2.2"
    assert found.tools["ib_write_bw"] == str(tmp_path / "n1/bin/ib_write_bw")


def test_a_host_without_devices_says_so(tmp_path: Path) -> None:
    (tmp_path / "n1/sys").mkdir(parents=True)
    found = probed(StandIn([], {}, tools=()), tmp_path / "n1", path="/usr/bin:/bin")
    assert (found.rails, found.gpus) == ((), ())


def test_this_machine_can_be_asked() -> None:
    said = subprocess.run(
        ["sh", "-s", "--", "/sys", ""], input=PROBE, capture_output=True, text=True, check=True
    )
    read_devices("here", said.stdout)


@pytest.mark.parametrize("text", ["", "Welcome!\n", "port\tmlx5_0:1\tInfiniBand\n"])
def test_what_is_cut_short_is_no_answer(text: str) -> None:
    with pytest.raises(BenchmarkError):
        read_devices("n1", text)


def test_words_that_steer_a_terminal_are_gone() -> None:
    text = "port\tmlx5_0:1\tInfini\x1b[31mBand\t4: ACTIVE\t200 Gb/sec\t0\t/x\nend\tend\n"
    (rail,) = read_devices("n1", text).rails
    assert rail.layer == "Infini[31mBand"


def rail(device: str, *pci: str, numa: int | None = 0, layer: str = "InfiniBand") -> Rail:
    return Rail(device, 1, layer, "ACTIVE", 200.0, numa, pci)


def host(name: str, *rails: Rail, gpus: tuple[Gpu, ...] = ()) -> HostDevices:
    return HostDevices(name, "", {}, rails, gpus)


def test_rails_of_one_name_belong_together() -> None:
    pairs = pair_rails(
        host("a", rail("mlx5_0"), rail("mlx5_1")), host("b", rail("mlx5_1"), rail("mlx5_0")), ()
    )
    assert [(pair.a.device, pair.b.device) for pair in pairs] == [
        ("mlx5_0", "mlx5_0"), ("mlx5_1", "mlx5_1"),
    ]  # fmt: skip


def test_rails_of_other_names_are_paired_in_order() -> None:
    a, b = host("a", rail("mlx5_0"), rail("mlx5_1")), host("b", rail("ibp1s0"), rail("ibp2s0"))
    assert [pair.name for pair in pair_rails(a, b, ())] == [
        "mlx5_0:1=ibp1s0:1",
        "mlx5_1:1=ibp2s0:1",
    ]


def test_a_port_of_the_fabric_is_not_paired_with_ethernet() -> None:
    a, b = host("a", rail("mlx5_0")), host("b", rail("mlx5_0", layer="Ethernet"))
    with pytest.raises(InputError) as raised:
        pair_rails(a, b, ())
    assert "a has 1 ports (InfiniBand: mlx5_0:1), b has 1 ports (Ethernet" in raised.value.what


def test_the_lower_rate_counts() -> None:
    slow = Rail("mlx5_0", 1, "InfiniBand", "ACTIVE", 100.0, 0, ())
    (pair,) = pair_rails(host("a", rail("mlx5_0")), host("b", slow), ())
    assert pair.rate_gbps == 100


def test_the_nearest_gpu_is_below_the_same_bridge() -> None:
    """Root complex 0 with two switches, each an adapter and two GPUs; root complex 1 the same."""
    rails = [rail(f"mlx5_{i}", f"pci{i // 2}:00", f"bridge{i}", "nic") for i in range(4)]
    order = [5, 0, 7, 2, 1, 4, 3, 6]
    gpus = tuple(
        Gpu(place, f"{place:04}", 0, (f"pci{i // 4}:00", f"bridge{i // 2}", f"gpu{i}"))
        for i, place in enumerate(order)
    )
    found = pair_gpus(host("a", gpus=gpus), rails)
    for i in range(4):
        assert found[f"mlx5_{i}:1"].index in (order[2 * i], order[2 * i + 1])


def test_without_a_common_root_the_numa_node_tells(tmp_path: Path) -> None:
    ports = [Port(f"mlx5_ib{i}", HYPERV.format(i=i + 100), numa=i // 2) for i in range(8)]
    numas = [2, 2, 3, 3, 0, 0, 1, 1]
    gpus = [(HYPERV.format(i=i + 1), numa) for i, numa in enumerate(numas)]
    found = probed(StandIn(ports, {}, gpus=gpus), tmp_path / "n1")
    assert [gpu.index for gpu in found.gpus] == list(range(8))
    near = pair_gpus(found, found.rails)
    assert [near[rail.name].index for rail in found.rails] == [4, 5, 6, 7, 0, 1, 2, 3]


def test_gpus_serve_two_rails_where_there_are_too_few() -> None:
    gpus = (Gpu(0, "1", 0, ("pci0:00", "x")), Gpu(1, "2", 1, ("pci1:00", "x")))
    rails = [rail(f"mlx5_{i}", f"pci{i % 2}:00", f"n{i}", numa=i % 2) for i in range(4)]
    found = pair_gpus(host("a", gpus=gpus), rails)
    assert [found[f"mlx5_{i}:1"].index for i in range(4)] == [0, 1, 0, 1]
    with pytest.raises(MissingError):
        pair_gpus(host("a"), rails)
