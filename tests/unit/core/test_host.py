from pathlib import Path

import pytest

from weft.core.host import rail_exists, this_host


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_infiniband_ports_are_read_with_rate_and_state(tmp_path: Path):
    port = "class/infiniband/mlx5_0/ports/1"
    sysfs = write(
        tmp_path,
        {
            f"{port}/state": "4: ACTIVE",
            f"{port}/rate": "200 Gb/sec (4X HDR)",
            f"{port}/link_layer": "InfiniBand",
        },
    )
    (device,) = this_host(sysfs).devices
    assert (device.name, device.rate_gbps, device.active, device.fast) == (
        "mlx5_0:1",
        200.0,
        True,
        True,
    )


def test_a_port_that_is_down_is_not_active(tmp_path: Path):
    port = "class/infiniband/mlx5_1/ports/1"
    sysfs = write(tmp_path, {f"{port}/state": "1: DOWN", f"{port}/link_layer": "InfiniBand"})
    (device,) = this_host(sysfs).devices
    assert not device.active
    assert device.rate_gbps is None


def test_roce_is_an_rdma_port_but_not_a_fabric_made_for_mpi(tmp_path: Path):
    port = "class/infiniband/mlx5_2/ports/1"
    sysfs = write(tmp_path, {f"{port}/state": "4: ACTIVE", f"{port}/link_layer": "Ethernet"})
    assert not this_host(sysfs).devices[0].fast


def test_an_elastic_fabric_adapter_is_made_for_mpi(tmp_path: Path):
    port = "class/infiniband/rdmap0s31/ports/1"
    root = write(
        tmp_path,
        {
            f"{port}/link_layer": "Unspecified",
            f"{port}/state": "4: ACTIVE",
            f"{port}/rate": "100 Gb/sec (4X EDR)",
            "class/infiniband/rdmap0s31/device/vendor": "0x1d0f",
        },
    )
    (device,) = this_host(root).devices
    assert (device.link_layer, device.fast, device.rate_gbps) == ("EFA", True, 100)


def test_slingshot_takes_rate_and_state_from_its_interface(tmp_path: Path):
    interface = "class/cxi/cxi0/device/net/hsn0"
    sysfs = write(tmp_path, {f"{interface}/operstate": "up", f"{interface}/speed": "200000"})
    (device,) = this_host(sysfs).devices
    assert (device.name, device.fast, device.active, device.rate_gbps) == ("cxi0", True, True, 200)


def test_only_interfaces_with_hardware_are_listed_and_an_unknown_speed_is_unknown(tmp_path: Path):
    sysfs = write(
        tmp_path,
        {
            "class/net/eth0/device/vendor": "0x15b3",
            "class/net/eth0/operstate": "up",
            "class/net/eth0/speed": "-1",
            "class/net/lo/operstate": "unknown",
        },
    )
    (device,) = this_host(sysfs).devices
    assert (device.name, device.rate_gbps) == ("eth0", None)


def test_two_threads_of_a_core_are_one_core(tmp_path: Path):
    host = this_host()
    files = {}
    for cpu in host.cpus:
        topology = f"devices/system/cpu/cpu{cpu}/topology"
        files |= {f"{topology}/core_id": "0", f"{topology}/physical_package_id": "0"}
    assert this_host(write(tmp_path, files)).n_cores == 1


def test_a_machine_that_says_nothing_is_described_without_an_error(tmp_path: Path):
    host = this_host(tmp_path / "no", proc=tmp_path / "proc")
    assert host.devices == ()
    assert host.n_cores == len(host.cpus)
    assert "memory_gb" not in host.to_record()


def test_the_system_tree_can_be_named_by_environment(tmp_path: Path, monkeypatch):
    port = "class/infiniband/mlx5_7/ports/1"
    write(tmp_path, {f"{port}/state": "4: ACTIVE", f"{port}/link_layer": "InfiniBand"})
    monkeypatch.setenv("WEFT_SYSFS", str(tmp_path))
    assert [device.name for device in this_host().devices] == ["mlx5_7:1"]


@pytest.mark.parametrize(
    ("rail", "exists"),
    [
        ("mlx5_0:1", True),
        ("mlx5_0", True),
        ("mlx5_0:2", False),
        ("mlx5_9:1", False),
        ("cxi0", True),
        ("eth0", True),
        ("eth9", False),
        ("", False),
        (":1", False),
        ("../net/eth0", False),
    ],
)
def test_a_rail_is_a_device_of_this_host(tmp_path: Path, monkeypatch, rail: str, exists: bool):
    write(
        tmp_path,
        {
            "class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
            "class/cxi/cxi0/name": "",
            "class/net/eth0/operstate": "up",
        },
    )
    monkeypatch.setenv("WEFT_SYSFS", str(tmp_path))
    assert rail_exists(rail) is exists
