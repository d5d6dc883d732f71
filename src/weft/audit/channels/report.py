"""The answer about a job's channels: cables, collisions, and what removes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.audit.channels.adapters import NetKey, NicName, adapters_of
from weft.audit.channels.channel_map import CablePaths, CableUse, ChannelMap
from weft.audit.channels.host_order import OrderSearch, SearchLimits, search_orders
from weft.audit.channels.job import NcclJob
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.core.words import counted
from weft.topology.engine import ENGINES
from weft.topology.subnet.subnet import Endport, Subnet

AS_READ = "as read"
STATIC = "static routes: only ibdiagnet2.far tells of adaptive routing"
SCHEMA = "weft.fabric_channels/1"


@dataclass(frozen=True, slots=True)
class RoutedChannels:
    """The channels under the tables of one engine ('as read' for those of the files)."""

    engine: str
    search: OrderSearch

    @property
    def given(self) -> ChannelMap:
        """With the hosts in the job's order."""
        return self.search.orders[0].outcome


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """`routings`: the first is the one in force. `refused`: engines that cannot route here."""

    adapters: Mapping[NetKey, Endport]
    assumed: tuple[str, ...]
    routings: tuple[RoutedChannels, ...]
    refused: tuple[str, ...]
    n_adaptive: int

    @property
    def now(self) -> ChannelMap:
        """The job as it ran."""
        return self.routings[0].given

    @property
    def unknown(self) -> tuple[str, ...]:
        """Reasons for which more collisions, or others, may be there."""
        found = list(self.now.job.gaps)
        if self.n_adaptive:
            switches = counted(self.n_adaptive, "switch", "switches")
            found.insert(
                0,
                f"{switches} may route adaptively: static tables do not tell the cables of packets",
            )
        return tuple(found)

    @property
    def severity(self) -> Severity:
        """UNKNOWN under adaptive routing; BAD with a collision; else UNKNOWN with a gap."""
        if self.n_adaptive:
            return Severity.UNKNOWN
        if self.now.collisions:
            return Severity.BAD
        return Severity.UNKNOWN if self.unknown else Severity.GOOD


def report_channels(
    subnet: Subnet,
    job: NcclJob,
    *,
    nics: Sequence[NicName] = (),
    engine: str = "",
    search: SearchLimits,
) -> ChannelReport:
    """Map a job on a fabric by the tables that were read, or those of an engine; where channels
    collide, with other orders of hosts and other engines. Raises InputError where a device, a table
    or a rate is missing."""
    _require_hops(job)
    adapters, assumed = adapters_of(subnet, job, nics)
    routed = subnet.route(engine) if engine else subnet
    routings = [_routing(engine or AS_READ, routed, job, adapters, search)]
    refused = []
    is_free = not routings[0].given.collisions
    for name in () if is_free else (one for one in ENGINES if one != engine):
        try:
            routings.append(_routing(name, subnet.route(name), job, adapters, search))
        except InputError as error:
            refused.append(f"{name}: {error.what}")
    n_adaptive = 0 if engine else int(subnet.description["n_adaptive"])
    if not n_adaptive:
        assumed = (*assumed, STATIC)
    return ChannelReport(adapters, assumed, tuple(routings), tuple(refused), n_adaptive)


def _routing(
    name: str,
    routed: Subnet,
    job: NcclJob,
    adapters: Mapping[NetKey, Endport],
    search: SearchLimits,
) -> RoutedChannels:
    return RoutedChannels(name, search_orders(job, adapters, CablePaths(routed), search))


def _require_hops(job: NcclJob) -> None:
    if len(job.hosts) < 2 and not job.gaps:
        raise InputError(
            "all ranks are on one host, so no channel takes a cable",
            where=job.source,
            expected="a job on two hosts or more",
        )
    if not job.hops:
        gaps = "; ".join(job.gaps[:2])
        raise InputError(
            f"no hop of a channel is whole: {gaps}",
            where=job.source,
            expected="the lines of both ends of a hop, [send] and [receive]",
            hint="give the log of every rank (NCCL_DEBUG=INFO, NCCL_DEBUG_FILE=nccl.%h.%p.log)",
        )


def to_record(report: ChannelReport) -> dict[str, Any]:
    """The report as plain JSON values: docs/reference/fabric_channels.md."""
    now = report.now
    return {
        "schema": SCHEMA,
        "severity": report.severity.value,
        "source": now.job.source,
        "pattern": now.job.pattern,
        "n_ranks": now.job.n_ranks,
        "n_channels": now.job.n_channels,
        "hosts": list(now.job.hosts),
        "busbw_gb_s": round(now.busbw_gb_s, 4),
        "free_busbw_gb_s": round(now.free_busbw_gb_s, 4),
        "unknown": list(report.unknown),
        "assumed": list(report.assumed),
        "notes": list(now.job.notes),
        "hops": [_hop_record(now, at) for at in range(len(now.job.hops))],
        "collisions": [_use_record(now, use) for use in now.collisions],
        "routings": [_routing_record(one) for one in report.routings],
        "refused": list(report.refused),
    }


def hop_rows(report: ChannelReport) -> list[dict[str, Any]]:
    """One row a cable of a hop."""
    rows = []
    for at in range(len(report.now.job.hops)):
        record = _hop_record(report.now, at)
        cables = record.pop("cables")
        rows += [{**record, "hop": n, **cable} for n, cable in enumerate(cables, start=1)]
    return rows


def _hop_record(found: ChannelMap, at: int) -> dict[str, Any]:
    hop, subnet = found.job.hops[at], found.subnet
    return {
        "channel": hop.channel,
        "src": found.job.hosts[hop.src],
        "src_net": hop.src_net,
        "dst": found.job.hosts[hop.dst],
        "dst_net": hop.dst_net,
        "gbps": round(found.rates_gbps[at], 4),
        "free_gbps": round(found.alone_gbps[at], 4),
        "cables": [
            {
                "egress": subnet.name(egress[0]),
                "egress_port": egress[1],
                "ingress": subnet.name(ingress[0]),
                "ingress_port": ingress[1],
                "cable_gbps": found.gbps[egress],
            }
            for egress, ingress in found.paths[at]
        ],
    }


def _use_record(found: ChannelMap, use: CableUse) -> dict[str, Any]:
    return {
        "egress": found.subnet.name(use.egress[0]),
        "egress_port": use.egress[1],
        "ingress": found.subnet.name(use.ingress[0]),
        "ingress_port": use.ingress[1],
        "cable_gbps": use.gbps,
        "wanted_gbps": round(use.wanted_gbps, 4),
        "channels": [found.job.hops[at].channel for at in use.hops],
    }


def _routing_record(routed: RoutedChannels) -> dict[str, Any]:
    bound = routed.search.bound_busbw_gb_s
    return {
        "engine": routed.engine,
        "n_tried": routed.search.n_tried,
        "refused": routed.search.refused or None,
        "bound_busbw_gb_s": None if bound is None else round(bound, 4),
        "orders": [
            {
                "order": order.name,
                "busbw_gb_s": round(order.outcome.busbw_gb_s, 4),
                "n_collisions": len(order.outcome.collisions),
                "hosts": list(order.hosts),
            }
            for order in routed.search.orders
        ],
    }
