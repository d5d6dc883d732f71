from typing import Any

import pytest

from weft.bench.evidence import evidence_of, not_on_fabric_note, state_of
from weft.bench.live.device_bytes import device_bytes
from weft.bench.live.kernel_records import (
    DeviceCounter,
    Header,
    KernelOutput,
    KernelRank,
    QuietCounter,
    Transport,
)
from weft.bench.model import State

MB = 10**6


def ranks(*hosts: str) -> list[KernelRank]:
    return [
        KernelRank(rank=number, host=host, local_rank=0, tasks_per_node=1, pid=1)
        for number, host in enumerate(hosts)
    ]


def device(name: str, counter: str, moved: int, **changes: Any) -> DeviceCounter:
    fields = {"host": "n1", "device": name, "counter": counter, "before": 5, "after": 5 + moved}
    return DeviceCounter(**(fields | changes))


def infiniband(n_bytes: int) -> DeviceCounter:
    fields = {"port": 1, "link_layer": "InfiniBand"}
    return device("mlx5_0", "port_xmit_data", n_bytes // 4, **fields)


def ethernet(n_bytes: int, name: str = "eth0") -> DeviceCounter:
    return device(name, "tx_bytes", n_bytes, link_layer="Ethernet")


def state(*devices: DeviceCounter, hosts: tuple[str, ...] = ("n1", "n2")) -> State:
    return state_of(KernelOutput(ranks=ranks(*hosts), devices=list(devices)))


def test_infiniband_counts_in_units_of_four_bytes():
    assert device_bytes([infiniband(4000)]) == {"mlx5_0:1": 4000}


def test_bytes_of_a_device_are_summed_over_directions_and_hosts():
    out, back = ethernet(10), device("eth0", "rx_bytes", 5, host="n2", link_layer="Ethernet")
    assert device_bytes([out, back]) == {"eth0": 15}


def test_a_counter_that_was_reset_says_nothing():
    reset = device("eth0", "tx_bytes", 0).model_copy(update={"before": 900, "after": 3})
    assert device_bytes([reset]) == {}


def test_bytes_on_the_fast_device_are_on_the_fabric():
    assert state(infiniband(100 * MB), ethernet(MB)) is State.OK


def test_bytes_past_the_fast_device_are_not_on_the_fabric():
    assert state(infiniband(MB), ethernet(100 * MB)) is State.NOT_ON_FABRIC


def test_slingshot_is_a_fast_device_too():
    fields = {"link_layer": "Slingshot"}
    carried = device("cxi0", "hni_sts_tx_ok_octets", 100 * MB, **fields)
    idle = device("cxi0", "hni_sts_tx_ok_octets", 0, **fields)
    assert state(carried, ethernet(2 * MB)) is State.OK
    assert state(idle, ethernet(100 * MB)) is State.NOT_ON_FABRIC


@pytest.mark.parametrize(
    ("why", "devices", "hosts"),
    [
        ("one host needs no network", (infiniband(0), ethernet(100 * MB)), ("n1", "n1")),
        ("no fast device exists", (ethernet(100 * MB),), ("n1", "n2")),
        ("the launcher's own traffic", (infiniband(1000), ethernet(MB // 2)), ("n1", "n2")),
        (
            "loopback is no network",
            (infiniband(1000), device("lo", "tx_bytes", 100 * MB, link_layer="Loopback")),
            ("n1", "n2"),
        ),
        (
            "a device that counts no bytes cannot testify",
            (device("cxi0", "pause", 3, link_layer="Slingshot"), ethernet(100 * MB)),
            ("n1", "n2"),
        ),
    ],
)
def test_no_accusation_where(why: str, devices: tuple[DeviceCounter, ...], hosts: tuple[str, ...]):
    assert state(*devices, hosts=hosts) is State.OK, why


def test_ip_over_infiniband_is_not_the_fabric():
    over_ip = device("ib0", "tx_bytes", 300 * MB, link_layer="InfiniBand")
    port = infiniband(100 * MB)
    assert state(port, over_ip) is State.NOT_ON_FABRIC


def test_the_note_names_where_the_bytes_went_and_what_to_do():
    output = KernelOutput(devices=[infiniband(0), ethernet(9), ethernet(5, "eth1")])
    note = not_on_fabric_note(output)
    assert note.startswith("the bytes went over eth0, not over mlx5_0:1")
    assert "--rails" in note


def test_evidence_holds_what_the_library_said_and_the_errors_that_grew():
    output = KernelOutput(
        ranks=ranks("n1", "n2"),
        transports=[Transport(host=h, mpi_selected="pml/ucx") for h in ("n1", "n2")],
        devices=[infiniband(400), device("mlx5_0", "port_xmit_wait", 7, port=1)],
    )
    assert evidence_of(output) == {
        "mpi_selected": ["pml/ucx"],
        "hosts": 2,
        "device_bytes": {"mlx5_0:1": 400},
        "device_errors": {"n1 mlx5_0:1 port_xmit_wait": 7},
        "carried_bytes": {"fabric": 400, "elsewhere": 0},
        "fast_devices": [
            {"device": "mlx5_0:1", "link_layer": "InfiniBand", "hosts": 1, "states": [],
             "bytes": 400},
        ],
    }  # fmt: skip


def on(host: str, counter: DeviceCounter, **changes: Any) -> DeviceCounter:
    return counter.model_copy(update={"host": host, **changes})


def test_hosts_that_went_past_the_fabric_are_reported_with_device_and_state():
    devices = [
        on("n1", infiniband(100 * MB), state="ACTIVE"), on("n1", ethernet(MB)),
        on("n2", infiniband(400), state="DOWN"), on("n2", ethernet(30 * MB)),
        on("n3", ethernet(3)),
    ]  # fmt: skip
    output = KernelOutput(ranks=ranks("n1", "n2", "n3"), devices=devices)
    assert evidence_of(output)["off_fabric"] == {
        "n_hosts": 2,
        "hosts": [
            {"host": "n2", "carried_by": "eth0", "fast": {"mlx5_0:1": "DOWN"}},
            {"host": "n3", "carried_by": "eth0", "fast": {}},
        ],
    }
    assert state_of(output) is State.OK
    # Where nobody has a fast device nobody missed it.
    slow = KernelOutput(ranks=ranks("n1", "n2"), devices=[ethernet(MB), on("n2", ethernet(MB))])
    assert "off_fabric" not in evidence_of(slow)


def test_many_hosts_past_the_fabric_are_counted_and_the_first_named():
    hosts = [f"n{i}" for i in range(20)]
    devices = [on(host, counter) for host in hosts for counter in (infiniband(4), ethernet(9 * MB))]
    off = evidence_of(KernelOutput(ranks=ranks(*hosts), devices=devices))["off_fabric"]
    assert (off["n_hosts"], len(off["hosts"])) == (20, 8)


def test_one_host_carried_nothing_anywhere():
    output = KernelOutput(ranks=ranks("n1", "n1"), devices=[infiniband(400)])
    assert not {"carried_bytes", "fast_devices", "off_fabric"} & set(evidence_of(output))


def header(**changes: Any) -> Header:
    fields = {
        "schema": "weft.kernel/1", "kernel_version": "0", "mpi_library": "MPICH",
        "mpi_standard": "4.1", "n_ranks": 2, "started_unix_ns": 1, "clock": "CLOCK_MONOTONIC",
        "clock_resolution_ns": 1,
    }  # fmt: skip
    return Header(**(fields | changes))


def quiet(delta: int, **changes: Any) -> QuietCounter:
    fields = {
        "host": "n1", "device": "mlx5_0", "port": 1, "link_layer": "InfiniBand",
        "link_rate_gbps": 200.0, "counter": "port_rcv_data", "delta": delta,
        "elapsed_ns": 500_000_000,
    }  # fmt: skip
    return QuietCounter(**(fields | changes))


def test_what_moved_before_the_test_is_reported_in_mb_a_second_and_as_a_share_of_the_link():
    # 31.25e6 units of 4 bytes in half a second: 250 MB/s, 2 Gb/s of 200.
    moved = [
        quiet(31_250_000),
        quiet(31_250_000, link_rate_gbps=None, device="eth0", port=None),
        quiet(99, counter="port_rcv_packets"),
        quiet(10**9, device="lo", port=None, link_layer="Loopback", counter="tx_bytes"),
        quiet(62_500_000, host="n2"),
    ]
    output = KernelOutput(header=header(quiet_ns=500_000_000), quiet=moved)
    told = evidence_of(output)["quiet"]
    assert (told["seconds"], told["n_moved"]) == (0.5, 3)
    assert told["moved"][0] == {
        "host": "n2", "device": "mlx5_0:1", "counter": "port_rcv_data", "mb_s": 500.0,
        "link_share": 0.02,
    }  # fmt: skip
    assert [entry["link_share"] for entry in told["moved"]] == [0.02, 0.01, None]


def test_a_quiet_network_leaves_the_time_it_was_watched_and_an_unwatched_one_nothing():
    watched = evidence_of(KernelOutput(header=header(quiet_ns=300_000_000)))
    assert watched["quiet"] == {"seconds": 0.3, "n_moved": 0, "moved": []}
    assert "quiet" not in evidence_of(KernelOutput(header=header()))


def test_clock_machines_and_settings_are_evidence():
    settings = [{"UCX_TLS": "tcp"}, {"UCX_TLS": "rc", "UCX_NET_DEVICES": "eth0"}]
    both = [
        rank.model_copy(update={"rail_settings": own})
        for rank, own in zip(ranks("n1", "n2"), settings, strict=True)
    ]
    told = evidence_of(
        KernelOutput(header=header(n_machines=1, clock_cost_ns=25, common_clock=False), ranks=both)
    )
    assert told["machines"] == 1
    assert told["clock"] == {"resolution_ns": 1, "cost_ns": 25, "common": False}
    assert told["rail_settings"] == {"UCX_NET_DEVICES": ["eth0"], "UCX_TLS": ["rc", "tcp"]}
