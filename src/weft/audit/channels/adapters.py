"""NCCL's network devices as adapters of the fabric: known, or refused with what would tell."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.audit.channels.job import NcclJob
from weft.core.errors import InputError, did_you_mean
from weft.core.nodeset import expand, short_name
from weft.core.words import first_few
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import Endport, Subnet

OPTION = "--nic"
EXPECTED = "[HOSTS:]K=DEVICE, as 0=mlx5_0 or node[1-4]:0=HCA-1, or of one host HOST:K=0xGUID"
_GIVEN = re.compile(r"(?:(?P<hosts>[^=]+):)?(?P<number>\d{1,5})=(?P<device>[^=\s][^=]*)")
_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}")
_MOST_NAMED = 4

NetKey = tuple[int, int]
"""A host's place in the job, and NCCL's number of its network device."""


@dataclass(frozen=True, slots=True)
class NicName:
    """What `--nic` tells: the device with NCCL's number on some hosts, or ('') on all."""

    hosts: frozenset[str]
    number: int
    device: str


def nic_names(options: Sequence[str]) -> tuple[NicName, ...]:
    """The options read. Raises InputError."""
    found = []
    for text in options:
        parts = _GIVEN.fullmatch(text)
        if parts is None:
            raise InputError(f"'{text}'", where=OPTION, expected=EXPECTED)
        hosts = frozenset(expand(parts["hosts"])) if parts["hosts"] else frozenset()
        if _GUID.fullmatch(parts["device"]) and len(hosts) != 1:
            raise InputError(f"'{text}' gives one GUID to many", where=OPTION, expected=EXPECTED)
        found.append(NicName(hosts, int(parts["number"]), parts["device"]))
    return tuple(found)


class FabricAdapters:
    """The end ports of a subnet by host and device, as node descriptions name them."""

    def __init__(self, subnet: Subnet) -> None:
        self._by_host: dict[str, list[tuple[str, Endport]]] = defaultdict(list)
        self._by_guid: dict[int, Endport] = {}
        guids = {(node, port): guid for node, port, _, guid in subnet.port_guids}
        for endport in subnet.endports:
            node = subnet.nodes[endport.node]
            host = host_of(node.description)
            device = node.description[len(host) :].strip()
            self._by_host[host].append((device, endport))
            self._by_guid.setdefault(guids.get((endport.node, endport.port), node.guid), endport)
            if endport.port == 1:
                self._by_guid.setdefault(node.guid, endport)
        self._full_names: dict[str, set[str]] = defaultdict(set)
        for host in self._by_host:
            self._full_names[short_name(host)].add(host)

    def of_host(self, host: str) -> list[tuple[str, Endport]]:
        """Devices of a host, by its name or, where only one has it, by its short name. Raises
        InputError for a host that the fabric lacks."""
        if host in self._by_host:
            return self._by_host[host]
        names = self._full_names.get(short_name(host), set())
        if len(names) == 1 and (host == short_name(host) or next(iter(names)) == short_name(host)):
            return self._by_host[next(iter(names))]
        raise InputError(
            f"host '{host}' of the job is not in the fabric",
            expected="hosts as node descriptions of the fabric's adapters name them",
            hint=did_you_mean(host, list(self._by_host))
            or f"name its adapters by GUID: {OPTION} '{host}:0=0x...'",
        )

    def of_guid(self, guid: str) -> Endport:
        """Raises InputError for one that no adapter has."""
        found = self._by_guid.get(int(guid, 16))
        if found is None:
            raise InputError(
                f"no adapter with a LID and a cable has the GUID {guid}",
                where=OPTION,
                expected="the GUID of an adapter or of its port",
            )
        return found


def adapters_of(
    subnet: Subnet, job: NcclJob, given: Sequence[NicName]
) -> tuple[Mapping[NetKey, Endport], tuple[str, ...]]:
    """The end port of every network device that a hop takes, and what weft assumed.

    A device is that of its name in the fabric; the only device of a host with one adapter is that.
    Raises InputError for what is not certain, with the option that tells.
    """
    fabric = FabricAdapters(subnet)
    used = sorted(
        {(hop.src, hop.src_net) for hop in job.hops} | {(hop.dst, hop.dst_net) for hop in job.hops}
    )
    found: dict[NetKey, Endport] = {}
    only: list[str] = []
    for at, number in used:
        named = _named(fabric, job, (at, number), given)
        if named is None:
            ((_, named),) = fabric.of_host(job.hosts[at])
            only.append(job.hosts[at])
        found[at, number] = named
    _refuse_shared(job, found)
    if not only:
        return found, ()
    what = f"the only device of {first_few(only[:_MOST_NAMED], len(only))} is its only adapter here"
    return found, (f"{what} ({OPTION} tells otherwise)",)


def _named(
    fabric: FabricAdapters, job: NcclJob, key: NetKey, given: Sequence[NicName]
) -> Endport | None:
    """The end port by its device's name, None where the fabric has no such name."""
    host, number = job.hosts[key[0]], key[1]
    named = [one for one in given if one.number == number and host in one.hosts]
    named = named or [one for one in given if one.number == number and not one.hosts]
    if named and _GUID.fullmatch(named[-1].device):
        return fabric.of_guid(named[-1].device)
    own = fabric.of_host(host)
    device = named[-1].device if named else job.devices[key[0]].get(number, "")
    name, _, port = device.partition(":")
    fitting = [one for known, one in own if known == name and port in ("", str(one.port))]
    if name and len(fitting) == 1:
        return fitting[0]
    if named or len(own) != 1 or set(job.devices[key[0]]) != {number}:
        raise _uncertain(host, number, device, own)
    return None


def _uncertain(
    host: str, number: int, device: str, own: Sequence[tuple[str, Endport]]
) -> InputError:
    names = [name or "without a name" for name, _ in own]
    shown = first_few(names[:_MOST_NAMED], len(names))
    what = (
        f"no line tells which device NET/{number} of {host} is"
        if not device
        else f"NET/{number} of {host} is '{device}', which the fabric does not name"
    )
    return InputError(
        what,
        expected=f"'NET/IB : Using [0]mlx5_0:1/IB ...' in the log, and its names in the fabric: "
        f"{host} has {shown}",
        hint=f"tell it: {OPTION} '{number}={names[0] if own[0][0] else 'DEVICE'}', or "
        f"{OPTION} '{host}:{number}=0xGUID'",
    )


def _refuse_shared(job: NcclJob, found: Mapping[NetKey, Endport]) -> None:
    """Two devices cannot be one port."""
    first: dict[Endport, NetKey] = {}
    for key, endport in found.items():
        other = first.setdefault(endport, key)
        if other != key:
            names = [f"NET/{number} of {job.hosts[at]}" for at, number in (other, key)]
            raise InputError(
                f"{names[0]} and {names[1]} are one port (LID {endport.lid})",
                where=OPTION,
                expected="one adapter's port for each device of a host",
            )
