"""Pairs of rails of two hosts, and the GPU nearest to each rail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.bench.rdma.devices import Gpu, HostDevices, Rail
from weft.core.errors import InputError, MissingError, unknown_name


@dataclass(frozen=True, slots=True)
class RailPair:
    """A rail of the one host and its partner on the other."""

    a: Rail
    b: Rail

    @property
    def name(self) -> str:
        """'mlx5_0:1', or 'mlx5_0:1=mlx5_2:1' where they differ."""
        return self.a.name if self.a.name == self.b.name else f"{self.a.name}={self.b.name}"

    @property
    def rate_gbps(self) -> float | None:
        """The lower of their rates, as far as they are known."""
        known = [rate for rate in (self.a.rate_gbps, self.b.rate_gbps) if rate is not None]
        return min(known, default=None)

    @property
    def down(self) -> bool:
        """Whether one of them cannot carry data now."""
        return not (self.a.active and self.b.active)


def pair_rails(a: HostDevices, b: HostDevices, names: Sequence[str]) -> tuple[RailPair, ...]:
    """All rails of the fabric, those of one name together; where names differ and there are as
    many of them, in their order. `names` leaves the others out. Raises InputError, MissingError."""
    if names:
        return tuple(RailPair(_named(a, name), _named(b, name)) for name in names)
    ours, theirs = a.fabric_rails(), b.fabric_rails()
    for one, rails in ((a, ours), (b, theirs)):
        if not rails:
            raise MissingError(
                "no RDMA port in /sys/class/infiniband",
                where=one.host,
                expected="InfiniBand or RoCE devices on both hosts",
                hint="is the driver loaded? 'ls /sys/class/infiniband'",
            )
    if len(ours) != len(theirs) or {r.layer for r in ours} != {r.layer for r in theirs}:
        raise InputError(
            f"{a.host} has {_listed(ours)}, {b.host} has {_listed(theirs)}",
            expected="the same rails on both hosts",
            hint="--rails names those that both have, such as --rails mlx5_0:1",
        )
    by_name = {rail.name: rail for rail in theirs}
    if {rail.name for rail in ours} == set(by_name):
        return tuple(RailPair(rail, by_name[rail.name]) for rail in ours)
    return tuple(RailPair(*both) for both in zip(ours, theirs, strict=True))


def _named(host: HostDevices, name: str) -> Rail:
    whole = name if ":" in name else f"{name}:1"
    for rail in host.rails:
        if rail.name == whole:
            return rail
    known = [rail.name for rail in host.rails]
    raise unknown_name(f"no rail '{name}'", name, known or ["none: no RDMA port"], where=host.host)


def _listed(rails: Sequence[Rail]) -> str:
    layers = " and ".join(sorted({rail.layer or "unknown" for rail in rails}))
    return f"{len(rails)} ports ({layers}: {', '.join(rail.name for rail in rails)})"


def pair_gpus(host: HostDevices, rails: Sequence[Rail]) -> Mapping[str, Gpu]:
    """By name of the rail the GPU that is nearest by PCIe; each GPU serves one rail as long as
    there are enough. Raises MissingError where the host has none."""
    if not host.gpus:
        raise MissingError(
            "no NVIDIA GPU on its PCI bus",
            where=host.host,
            expected="GPUs on both hosts for --memory gpu",
            hint="--memory host measures without",
        )
    paths = sorted(
        (_distance(rail, gpu), i, gpu.index, rail.name, gpu)
        for i, rail in enumerate(rails)
        for gpu in host.gpus
    )
    found: dict[str, Gpu] = {}
    for fresh_only in (True, False):
        for _, _, _, name, gpu in paths:
            if name not in found and not (fresh_only and gpu in found.values()):
                found[name] = gpu
    return found


def _distance(rail: Rail, gpu: Gpu) -> tuple[bool, bool, int]:
    """Other root complexes are farther than any path below one, other NUMA nodes than the same."""
    shared = 0
    for one, other in zip(rail.pci, gpu.pci, strict=False):
        if one != other:
            break
        shared += 1
    hops = len(rail.pci) + len(gpu.pci) - 2 * shared
    apart = rail.numa is not None and gpu.numa is not None and rail.numa != gpu.numa
    return (not shared, apart, hops if shared else 0)
