"""A job's channels on the cables of a fabric: their paths, rates, and the collisions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.audit.channels.adapters import NetKey
from weft.audit.channels.job import NcclHop, NcclJob
from weft.audit.channels.shares import fair_rates_gbps
from weft.core.errors import InputError
from weft.topology.engine import COMPUTED_TABLES
from weft.topology.subnet.labels import Label, labels_of
from weft.topology.subnet.subnet import Endport, PortKey, Subnet

FULL = 1.001
"""A cable with so much more than it carries is full: rates are not rounded so far."""
_GBPS_OF_GB_S = 8

CablePath = tuple[tuple[PortKey, PortKey], ...]
"""The cables of a path: the port that a packet leaves by, the port that it enters by."""


class CablePaths:
    """Paths between end ports by the tables of a subnet, each traced once."""

    def __init__(self, subnet: Subnet) -> None:
        if not subnet.has_tables:
            raise InputError(
                "no forwarding tables were read, so the cables of a channel are unknown",
                expected="opensm-lfts.dump, opensm.fdbs, or the output of dump_lfts, too",
                hint=COMPUTED_TABLES,
            )
        self.subnet = subnet
        self._known: dict[tuple[Endport, Endport], CablePath] = {}

    def between(self, src: Endport, dst: Endport) -> CablePath:
        """Raises InputError where the tables lead nowhere."""
        if (src, dst) not in self._known:
            hops, error, _ = self.subnet.trace(src.node, src.port, dst.lid)
            if error is not None:
                raise InputError(
                    f"no path: {error}",
                    where=f"{self.subnet.name(src.node)} to {self.subnet.name(dst.node)}",
                    expected="forwarding tables that are whole, and of the time of the job",
                    hint="weft fabric trace A B FILE... shows where it ends",
                )
            self._known[src, dst] = tuple(hops)
        return self._known[src, dst]

    def gbps(self, port: PortKey) -> float:
        """The data rate of the cable at a port. Raises InputError where it was not read."""
        rate = self.subnet.cable_at[port].gbps
        if not rate:
            raise InputError(
                "the rate of this cable was not read",
                where=self.subnet.name(*port),
                expected="rates, as ibnetdiscover and iblinkinfo print them",
            )
        return rate


@dataclass(frozen=True, slots=True)
class CableUse:
    """One direction of a cable: its rate, the channels' hops through it, and what they want of it:
    each the rate of the slowest hop, were there no cables but those of hosts."""

    egress: PortKey
    ingress: PortKey
    gbps: float
    hops: tuple[int, ...]
    wanted_gbps: float

    @property
    def is_collision(self) -> bool:
        """Whether they want more than it carries."""
        return self.wanted_gbps > FULL * self.gbps


@dataclass(frozen=True)
class ChannelMap:
    """Hops of a job, each with its path, and its rates: as cables are shared, and alone."""

    job: NcclJob
    subnet: Subnet
    paths: tuple[CablePath, ...]
    gbps: Mapping[PortKey, float]

    @cached_property
    def rates_gbps(self) -> tuple[float, ...]:
        """The max-min fair rate of each hop."""
        return self._rates(self.paths)

    @cached_property
    def alone_gbps(self) -> tuple[float, ...]:
        """The same, were there no cables but those of hosts: without collisions."""
        return self._rates([(path[0], path[-1]) if path else () for path in self.paths])

    @property
    def busbw_gb_s(self) -> float:
        """Predicted bus bandwidth of an allreduce: each channel has an equal share of the bytes, so
        the slowest hop bounds all. Payload and the inside of nodes are not counted."""
        return self.busbw_of(min(self.rates_gbps, default=0.0))

    @property
    def free_busbw_gb_s(self) -> float:
        """The same without collisions."""
        return self.busbw_of(min(self.alone_gbps, default=0.0))

    def busbw_of(self, slowest_gbps: float) -> float:
        """The bus bandwidth in GB/s, were that the rate of the slowest hop."""
        return self.job.n_channels * slowest_gbps * self.job.busbw_factor / _GBPS_OF_GB_S

    @cached_property
    def uses(self) -> tuple[CableUse, ...]:
        """Cable directions that a hop crosses, the fullest first."""
        # All channels have as many bytes, so that the slowest hop is the pace of the others.
        pace = min(self.alone_gbps, default=0.0)
        through: dict[tuple[PortKey, PortKey], list[int]] = defaultdict(list)
        for at, path in enumerate(self.paths):
            for cable in path:
                through[cable].append(at)
        found = [
            CableUse(*cable, self.gbps[cable[0]], tuple(hops), pace * len(hops))
            for cable, hops in through.items()
        ]
        return tuple(sorted(found, key=lambda use: (-use.wanted_gbps / use.gbps, use.egress)))

    @cached_property
    def collisions(self) -> tuple[CableUse, ...]:
        """Those with more than they carry."""
        return tuple(use for use in self.uses if use.is_collision)

    @cached_property
    def labels(self) -> Mapping[int, Label]:
        """Short names of switches."""
        return labels_of(self.subnet)

    def channel_gbps(self, channel: int) -> float:
        """The rate of a channel: that of its slowest hop; 0 for one without a hop."""
        rates = [
            rate
            for hop, rate in zip(self.job.hops, self.rates_gbps, strict=True)
            if hop.channel == channel
        ]
        return min(rates, default=0.0)

    def _rates(self, paths: Sequence[CablePath]) -> tuple[float, ...]:
        ports = sorted({egress for path in paths for egress, _ in path})
        number = {port: at for at, port in enumerate(ports)}
        capacity = np.array([self.gbps[port] for port in ports])
        # The two ends of a path over one cable are the same.
        crossed = [sorted({number[egress] for egress, _ in path}) for path in paths]
        return tuple(fair_rates_gbps(crossed, capacity).tolist())


def channel_map(job: NcclJob, adapters: Mapping[NetKey, Endport], paths: CablePaths) -> ChannelMap:
    """The job's hops on their cables. Raises InputError where a table or a rate is missing."""
    found = tuple(paths.between(*ends_of(hop, adapters)) for hop in job.hops)
    ports = {egress for path in found for egress, _ in path}
    return ChannelMap(job, paths.subnet, found, {port: paths.gbps(port) for port in sorted(ports)})


def ends_of(hop: NcclHop, adapters: Mapping[NetKey, Endport]) -> tuple[Endport, Endport]:
    """The end ports of a hop."""
    return adapters[hop.src, hop.src_net], adapters[hop.dst, hop.dst_net]
