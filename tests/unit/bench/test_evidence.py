from typing import Any

import pytest

from weft.bench.evidence import device_bytes, evidence_of, not_on_fabric_note, state_of
from weft.bench.kernel_records import Device, KernelOutput, Rank, Transport
from weft.bench.model import State

MB = 10**6


def ranks(*hosts: str) -> list[Rank]:
    return [
        Rank(rank=number, host=host, local_rank=0, tasks_per_node=1, pid=1)
        for number, host in enumerate(hosts)
    ]


def device(name: str, counter: str, moved: int, **changes: Any) -> Device:
    fields = {"host": "n1", "device": name, "counter": counter, "before": 5, "after": 5 + moved}
    return Device(**(fields | changes))


def infiniband(n_bytes: int) -> Device:
    fields = {"port": 1, "link_layer": "InfiniBand"}
    return device("mlx5_0", "port_xmit_data", n_bytes // 4, **fields)


def ethernet(n_bytes: int, name: str = "eth0") -> Device:
    return device(name, "tx_bytes", n_bytes, link_layer="Ethernet")


def state(*devices: Device, hosts: tuple[str, ...] = ("n1", "n2")) -> State:
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
def test_no_accusation_where(why: str, devices: tuple[Device, ...], hosts: tuple[str, ...]):
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
    }
