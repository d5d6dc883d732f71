"""Whether the bytes of a launch crossed the devices that were named for it: by their counters on
each host, held against what the ranks sent."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.bench.live.device_bytes import BYTE_COUNTERS, MOST_NAMED, QUIET_BYTES, device_bytes
from weft.bench.live.kernel_records import DeviceCounter, KernelOutput, KernelRow

NAMED_SHARE_AT_LEAST = 0.5
"""Of what was sent, which is counted where it leaves and where it arrives; where that is not known,
of what the busiest other device carried. One above or below the named one (a bond, a bridge, a port
under its IPoIB) counts the same bytes, so that the two are equal."""


@dataclass(frozen=True, slots=True)
class NamedBytes:
    """Bytes of all hosts' named devices and of the busiest `other` one. Ranks sent one another at
    least `sent` (0: not known); `missed` are the hosts whose own bytes went elsewhere."""

    devices: tuple[str, ...]
    carried: int
    other: str | None
    other_carried: int
    sent: int
    missed: tuple[str, ...]

    @property
    def is_missed(self) -> bool:
        """Whether most of the launch's traffic crossed another device. One host may have external
        traffic during a small launch: that is reported, and no reason to refuse the whole."""
        return _missed(self.carried, self.other_carried, self.sent)

    def to_record(self) -> dict[str, Any]:
        """As evidence."""
        return {
            "devices": list(self.devices),
            "bytes": self.carried,
            "other": self.other,
            "other_bytes": self.other_carried,
            "sent_bytes": self.sent,
            "n_missed": len(self.missed),
            "missed": list(self.missed[:MOST_NAMED]),
        }


def named_bytes(output: KernelOutput) -> NamedBytes | None:
    """None on one host, where no device was named, and where none of that name is counted."""
    rails = {rank.rail for rank in output.ranks if rank.rail}
    devices = tuple(
        sorted(
            rails & {device.name for device in output.devices if device.counter in BYTE_COUNTERS}
        )
    )
    if len({rank.host for rank in output.ranks}) < 2 or not devices:
        return None
    # Ranks of one host may use its loopback; a single rank has no partner there.
    are_single = all(rank.tasks_per_node == 1 for rank in output.ranks)
    counted = [d for d in output.devices if are_single or d.link_layer != "Loopback"]
    carried, other, other_carried = _parted(counted, devices)
    by_host: dict[str, list[DeviceCounter]] = defaultdict(list)
    for device in counted:
        by_host[device.host].append(device)
    sent = sum(map(sent_bytes, output.rows)) if are_single else 0
    missed = []
    # Two ranks send: of more hosts the others may stay silent.
    for host, own in by_host.items() if not sent or len(by_host) == 2 else ():
        mine, _, elsewhere = _parted(own, devices)
        if _missed(mine, elsewhere, sent):
            missed.append(host)
    return NamedBytes(devices, carried, other, other_carried, sent, tuple(missed))


def sent_bytes(row: KernelRow) -> int:
    """At least so many bytes between the two ranks of a point-to-point row, warm-up left out; 0 for
    any other benchmark, whose algorithm decides what crosses."""
    times = {"latency": 2, "bandwidth": 1, "bidirectional": 2}.get(row.benchmark, 0)
    return times * row.size_bytes * row.iterations * (row.window or 1)


def missed_note(named: NamedBytes) -> str:
    """Where the bytes went instead of the named devices."""
    wanted = ", ".join(named.devices)
    hosts = f" on {', '.join(named.missed[:MOST_NAMED])}" if named.missed else ""
    return (
        f"the bytes went over {named.other}{hosts}, not over {wanted}, which was named: this MPI "
        "does not keep to it"
    )


def _parted(devices: Iterable[DeviceCounter], named: Sequence[str]) -> tuple[int, str | None, int]:
    """Bytes of the named devices; the busiest other one, and its bytes."""
    totals = device_bytes(devices)
    others = {name: n for name, n in totals.items() if name not in named}
    most = max(others, key=lambda name: others[name], default=None)
    carried = sum(totals.get(name, 0) for name in named)
    return carried, most, 0 if most is None else others[most]


def _missed(carried: int, elsewhere: int, sent: int) -> bool:
    """False where no other device counts either: then the counters cannot be read."""
    return elsewhere >= QUIET_BYTES and carried < NAMED_SHARE_AT_LEAST * (sent or elsewhere)
