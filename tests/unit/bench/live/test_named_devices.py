"""The bytes of named devices against what was sent and what other devices carried."""

from typing import Any

import pytest

from weft.bench.evidence import evidence_of, not_on_fabric_note, state_of
from weft.bench.live.kernel_records import DeviceCounter, KernelOutput, KernelRank, KernelRow
from weft.bench.live.named_devices import named_bytes, sent_bytes
from weft.bench.model import State

MB = 10**6


def output(
    counted: dict[str, dict[str, int]], rail: str | None = "eth1", tasks: int = 1, **row: Any
) -> KernelOutput:
    """Ranks on the hosts of `counted`, whose devices moved so many bytes, and what they ran."""
    ranks = [
        KernelRank(rank=n, host=host, local_rank=0, tasks_per_node=tasks, pid=1, rail=rail)
        for n, host in enumerate(counted)
    ]
    devices = [
        DeviceCounter(
            host=host, device=name, counter="tx_bytes", before=7, after=7 + n,
            link_layer="Loopback" if name == "lo" else "Ethernet",
        )
        for host, own in counted.items() for name, n in own.items()
    ]  # fmt: skip
    fields = {"benchmark": "allreduce", "size_bytes": 8, "iterations": 1, "warmup": 0} | row
    return KernelOutput(ranks=ranks, devices=devices, rows=[KernelRow(**fields, times_ns=(1,))])


def both(**moved: int) -> dict[str, dict[str, int]]:
    return {"n1": moved, "n2": moved}


@pytest.mark.parametrize(
    ("counted", "state"),
    [
        (both(eth0=MB, eth1=100 * MB), State.OK),
        (both(eth0=100 * MB, eth1=MB), State.NOT_ON_FABRIC),
        (both(eth1=100 * MB, bond0=100 * MB), State.OK),
        (both(eth1=10, eth0=1000), State.OK),
        (both(eth1=0, eth0=0), State.OK),
        (both(eth1=0, eth0=0, lo=100 * MB), State.NOT_ON_FABRIC),
        (both(eth0=100 * MB), State.OK),
        ({"n1": {"eth0": 100 * MB, "eth1": 0}}, State.OK),
        ({**both(eth0=0, eth1=100 * MB), "n3": {"eth0": 90 * MB, "eth1": 0}}, State.OK),
    ],
    ids=[
        "crossed", "elsewhere", "layered", "too-few", "not-counted", "loopback", "no-such-device",
        "one-host", "one-host-of-three",
    ],
)  # fmt: skip
def test_bytes_past_the_named_device(counted: dict[str, dict[str, int]], state: State) -> None:
    assert state_of(output(counted)) is state


def test_ranks_that_share_a_host_may_use_its_loopback() -> None:
    crowded = output(both(eth1=MB, lo=100 * MB), tasks=4)
    assert state_of(crowded) is State.OK


def test_without_a_name_nothing_is_said() -> None:
    assert named_bytes(output(both(eth0=100 * MB, eth1=0), rail=None)) is None


@pytest.mark.parametrize(
    ("benchmark", "window", "n_bytes"),
    [
        ("latency", None, 2 * 100 * 1000),
        ("bandwidth", 64, 100 * 1000 * 64),
        ("bidirectional", 64, 2 * 100 * 1000 * 64),
        ("alltoall", None, 0),
    ],
)
def test_what_two_ranks_sent_at_least(benchmark: str, window: int | None, n_bytes: int) -> None:
    fields = {"benchmark": benchmark, "size_bytes": 1000, "iterations": 100, "warmup": 10}
    assert sent_bytes(KernelRow(**fields, window=window, times_ns=(1,))) == n_bytes


@pytest.mark.parametrize(("carried", "state"), [(4 * MB, State.OK), (MB, State.NOT_ON_FABRIC)])
def test_other_peoples_traffic_is_no_reproach_once_all_that_was_sent_crossed(
    carried: int, state: State
) -> None:
    """4 MB were sent: 2 x 2000 x 1000 B."""
    sent = {"benchmark": "latency", "size_bytes": 1000, "iterations": 2000}
    assert state_of(output(both(eth0=90 * MB, eth1=carried // 2), **sent)) is state


def test_evidence_and_note_name_both_devices_and_the_hosts() -> None:
    made = output({**both(eth0=0, eth1=100 * MB), "n3": {"eth0": 90 * MB, "eth1": 0}})
    assert evidence_of(made)["named"] == {
        "devices": ["eth1"], "bytes": 200 * MB, "other": "eth0", "other_bytes": 90 * MB,
        "sent_bytes": 0, "n_missed": 1, "missed": ["n3"],
    }  # fmt: skip
    past = output(both(eth0=90 * MB, eth1=MB))
    note = not_on_fabric_note(past)
    assert note.startswith("the bytes went over eth0 on n1, n2, not over eth1")
