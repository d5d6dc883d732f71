"""Which device a rank uses, and what the devices counted: against a made-up /sys."""

import os
import subprocess

import pytest

BARRIER = ("--benchmark", "barrier", "--iterations", "2", "--warmup", "0")


@pytest.fixture
def sysfs(tmp_path):
    """Two adapters, each on a NUMA node of its own with one of our CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("binding two ranks apart needs two CPUs")
    for index in (0, 1):
        adapter = tmp_path / "class" / "infiniband" / f"mlx5_{index}"
        port = adapter / "ports" / "1"
        (port / "counters").mkdir(parents=True)
        (adapter / "device").mkdir()
        (adapter / "device" / "numa_node").write_text(f"{index}\n")
        (port / "link_layer").write_text("InfiniBand\n")
        (port / "counters" / "port_xmit_data").write_text(f"{1000 + index}\n")
        node = tmp_path / "devices" / "system" / "node" / f"node{index}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpus[index]}\n")
    return tmp_path


def test_each_rank_takes_the_rail_of_its_local_rank_and_the_cpus_next_to_it(any_kernel, sysfs):
    if any_kernel.mpi == "openmpi":
        pytest.skip("Open MPI binds ranks itself; the rail is chosen the same way")
    outcome = any_kernel.run(
        2, *BARRIER, "--rails", "mlx5_0:1,mlx5_1:1", WEFT_SYSFS=str(sysfs), UCX_LOG_LEVEL="error"
    )
    cpus = sorted(os.sched_getaffinity(0))
    ranks = outcome.of("rank")
    assert [rank["rail"] for rank in ranks] == ["mlx5_0:1", "mlx5_1:1"]
    settings = [rank["rail_settings"] for rank in ranks]
    assert [setting["UCX_NET_DEVICES"] for setting in settings] == ["mlx5_0:1", "mlx5_1:1"]
    assert [setting["MV2_IBA_HCA"] for setting in settings] == ["mlx5_0", "mlx5_1"]
    assert [rank["cpus"] for rank in ranks] == [str(cpus[0]), str(cpus[1])]


def test_more_ranks_than_rails_go_round(any_kernel):
    ranks = any_kernel.run(3, *BARRIER, "--rails", "lo,eth0").of("rank")
    assert [rank["rail"] for rank in ranks] == ["lo", "eth0", "lo"]


def test_a_setting_of_the_user_stays(kernel):
    outcome = kernel.run(1, *BARRIER, "--rails", "mlx5_0:1", UCX_NET_DEVICES="lo")
    (rank,) = outcome.of("rank")
    assert rank["rail_settings"]["UCX_NET_DEVICES"] == "lo"


def test_slingshot_devices_are_reported_to_libfabric(kernel):
    (rank,) = kernel.run(1, *BARRIER, "--rails", "cxi0").of("rank")
    assert rank["rail_settings"] == {"FI_CXI_DEVICE_NAME": "cxi0"}


def test_without_rails_nothing_is_set(kernel):
    (rank,) = kernel.run(1, *BARRIER).of("rank")
    assert rank["rail"] is None
    assert rank["rail_settings"] == {}


def test_ranks_that_outnumber_the_cpus_are_not_bound(kernel, sysfs):
    cpus = sorted(os.sched_getaffinity(0))
    n_ranks = len(cpus) + 1
    outcome = kernel.run(
        n_ranks, *BARRIER, "--rails", "mlx5_0:1", WEFT_SYSFS=str(sysfs), UCX_LOG_LEVEL="error"
    )
    assert {rank["cpus"] for rank in outcome.of("rank")} != {str(cpus[0])}


def test_a_device_far_from_all_our_cpus_binds_nothing(kernel, sysfs):
    (sysfs / "devices" / "system" / "node" / "node0" / "cpulist").write_text("900-903\n")
    environment = {"WEFT_SYSFS": str(sysfs), "UCX_LOG_LEVEL": "error"}
    (rank,) = kernel.run(1, *BARRIER, "--rails", "mlx5_0:1", **environment).of("rank")
    unbound = kernel.run(1, *BARRIER).of("rank")[0]["cpus"]
    assert rank["cpus"] == unbound


def test_a_launcher_that_does_not_tell_the_local_rank_is_an_error(kernel):
    # Started without a launcher: one rank, and nobody says which of the host's it is.
    environment = {name: text for name, text in os.environ.items() if "LOCAL" not in name}
    done = subprocess.run(
        [kernel.binary, *BARRIER, "--rails", "mlx5_0"],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "does not set the local rank before MPI_Init" in done.stderr


def test_counters_are_read_once_a_host_with_their_port(kernel, sysfs):
    devices = kernel.run(2, *BARRIER, WEFT_SYSFS=str(sysfs)).of("device")
    told = [(d["device"], d["port"], d["link_layer"], d["counter"], d["before"]) for d in devices]
    assert told == [
        ("mlx5_0", 1, "InfiniBand", "port_xmit_data", 1000),
        ("mlx5_1", 1, "InfiniBand", "port_xmit_data", 1001),
    ]


def test_bytes_that_went_over_loopback_are_seen_there(any_kernel):
    if any_kernel.mpi != "openmpi":
        pytest.skip("forcing TCP over loopback is a setting of Open MPI")
    n_bytes = 50 * 65536
    outcome = any_kernel.run(
        *(2, "--benchmark", "latency", "--sizes", "65536", "--iterations", "50"),
        OMPI_MCA_btl="tcp,self",
        OMPI_MCA_btl_tcp_if_include="lo",
    )
    (sent,) = (
        record["after"] - record["before"]
        for record in outcome.of("device")
        if (record["device"], record["counter"]) == ("lo", "tx_bytes")
    )
    assert sent >= 2 * n_bytes  # each way
    assert "btl/tcp" in outcome.only("transport")["mpi_selected"]
    assert "btl/vader" not in outcome.only("transport")["mpi_selected"]
