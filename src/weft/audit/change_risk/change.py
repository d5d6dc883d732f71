"""Changes of a fabric: pieces of work that take components out or put them in."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from weft.audit.change_risk.components import CABLE_FORMS, Components
from weft.core.errors import InputError
from weft.topology.subnet.subnet import NewCable, NewSwitch, PortKey, Subnet, SubnetCable

FIRST_GUID = 0x0200_0000_2000_0000
"""GUIDs of new switches begin here, unless they are given: the bit of locally administered
addresses is set."""
GUID_STRIDE = 16
MOST_PORTS = 254
FIRST_MULTICAST_LID = 0xC000
CABLE_FORM = "'leaf03[7] spine04[3]', with a rate if wanted: 'leaf03[7] spine04[3] 4xHDR'"
SWITCH_FORM = "'switch spine04 40: spine04[1] leaf01[9], spine04[2] leaf02[9]'"

_SWITCH = re.compile(
    r"^switch\s+(?P<name>\S+)\s+(?P<ports>\d+)"
    r"(?:\s+guid=(?P<guid>0x[0-9a-fA-F]{1,16}))?\s*:(?P<rest>.*)$"
)
_CABLE = re.compile(
    r"^(?P<a>.+?)\[(?P<a_port>\d+)\]\s+(?:-{1,2}\s+)?(?P<b>.+?)\[(?P<b_port>\d+)\]"
    r"(?:\s+(?P<rate>\d+x[A-Z]+\d*))?$"
)


@dataclass(frozen=True, slots=True)
class FabricChange:
    """One piece of work. Nodes are named by GUID: their indices differ from step to step."""

    words: str
    gone: tuple[int, ...] = ()
    unplugged: tuple[PortKey, ...] = ()
    switches: tuple[NewSwitch, ...] = ()
    cables: tuple[NewCable, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it puts something in."""
        return bool(self.switches or self.cables)

    def can_follow(self, subnet: Subnet) -> bool:
        """Whether the ports of its new cables are there and free, now that others are done."""
        at = {node.guid: node for node in subnet.nodes}
        new = {switch.guid for switch in self.switches}
        ends = [end for cable in self.cables for end in (cable.a, cable.b) if end[0] not in new]
        return all(
            guid in at and (at[guid].index, port) not in subnet.cable_at for guid, port in ends
        )


def after_changes(subnet: Subnet, changes: Sequence[FabricChange]) -> Subnet:
    """The subnet with all changes made at once, with the tables of before. Raises InputError."""
    index = {node.guid: node.index for node in subnet.nodes}
    gone = {index[guid] for change in changes for guid in change.gone if guid in index}
    unplugged = {
        (index[guid], port)
        for change in changes
        for guid, port in change.unplugged
        if guid in index
    }
    return subnet.altered(
        gone=sorted(gone),
        unplugged=sorted(unplugged),
        switches=[switch for change in changes for switch in change.switches],
        cables=[cable for change in changes for cable in change.cables],
    )


def read_changes(
    subnet: Subnet, without: Iterable[str], without_cable: Iterable[str], add: Iterable[str]
) -> tuple[FabricChange, ...]:
    """The changes that texts ask for, one for each component. Raises InputError."""
    named = Components(subnet)
    changes: list[FabricChange] = []
    for text in without:
        if named.is_cable(text):
            changes += (_unplug(named, cable) for cable in named.cables(text))
            continue
        for found in named.nodes(text):
            guids = tuple(subnet.nodes[node].guid for node in found.nodes)
            changes.append(FabricChange(f"take out {found.name}", gone=guids))
    for text in without_cable:
        changes += (_unplug(named, cable) for cable in named.cables(text))
    _refuse_twice(changes)
    additions = _Additions(named, changes)
    changes += [additions.read(text) for text in add]
    return tuple(changes)


def _unplug(named: Components, cable: SubnetCable) -> FabricChange:
    guids = [(named.subnet.nodes[end.node].guid, end.port) for end in cable.ends]
    return FabricChange(f"unplug {named.cable_name(cable)}", unplugged=tuple(guids))


def _refuse_twice(changes: Sequence[FabricChange]) -> None:
    for words, n in Counter(change.words for change in changes).items():
        if n > 1:
            raise InputError(f"asked for {n} times: {words}", expected="each component once")


class _Additions:
    """Reads `--add`; knows the ports that are free once all else is out."""

    def __init__(self, named: Components, removals: Sequence[FabricChange]) -> None:
        self.named = named
        self.subnet = named.subnet
        self.gone = {guid for change in removals for guid in change.gone}
        self.freed = {end for change in removals for end in change.unplugged}
        self.taken: set[PortKey] = set()
        self.new: dict[str, NewSwitch] = {}
        self.guids = {node.guid for node in self.subnet.nodes}
        self.lids = _free_lids(self.subnet)

    def read(self, text: str) -> FabricChange:
        """The change of a text. Raises InputError."""
        match = _SWITCH.match(text.strip())
        if match is None:
            if text.strip().startswith("switch "):
                raise InputError(f"'{text}' is no switch to add", expected=SWITCH_FORM)
            cable, words = self._cable(text.strip())
            return FabricChange(f"plug in {words}", cables=(cable,))
        switch = self._switch(match)
        parts = [part.strip() for part in match["rest"].split(",") if part.strip()]
        if not parts:
            raise InputError(f"'{switch.description}' has no cables", expected=SWITCH_FORM)
        cables = tuple(self._cable(part)[0] for part in parts)
        words = f"add {switch.description} with {len(cables)} cable{'s'[: len(cables) != 1]}"
        return FabricChange(words, switches=(switch,), cables=cables)

    def _switch(self, match: re.Match[str]) -> NewSwitch:
        name, n_ports = match["name"], int(match["ports"])
        if self.named.names_node(name) or name in self.new:
            raise InputError(f"there is a '{name}' already", expected="a name that no node has")
        if not 0 < n_ports <= MOST_PORTS:
            raise InputError(f"'{name}' has {n_ports} ports", expected=f"1 to {MOST_PORTS} ports")
        free = (at for at in count(FIRST_GUID, GUID_STRIDE) if at not in self.guids)
        guid = int(match["guid"], 16) if match["guid"] else next(free)
        if guid in self.guids:
            raise InputError(f"a node has the GUID {guid:#018x}", expected="a GUID of its own")
        self.guids.add(guid)
        lid = next(self.lids, None)
        if lid is None:
            raise InputError("the subnet has no LID left", expected="a LID for each switch")
        self.new[name] = NewSwitch(guid, name, n_ports, lid)
        return self.new[name]

    def _cable(self, text: str) -> tuple[NewCable, str]:
        match = _CABLE.match(text)
        if match is None:
            raise InputError(
                f"'{text}' is no cable to add",
                expected=f"{CABLE_FORM}; or a switch as {SWITCH_FORM}",
            )
        a = self._free_end(match["a"], int(match["a_port"]))
        b = self._free_end(match["b"], int(match["b_port"]))
        if a == b:
            raise InputError(f"both ends of '{text}' are one port", expected=CABLE_FORM)
        self.taken |= {a, b}
        words = " - ".join(self._shown(match[end], key[1]) for end, key in (("a", a), ("b", b)))
        return NewCable(a, b, match["rate"] or self._usual_rate(a, b)), words

    def _shown(self, name: str, port: int) -> str:
        name = name.strip()
        return (
            f"{name if name in self.new else self.named.node_name(self.named.node(name))}[{port}]"
        )

    def _free_end(self, name: str, port: int) -> PortKey:
        """The GUID and port of an end that is free. Raises InputError."""
        if (switch := self.new.get(name.strip())) is not None:
            key, n_ports, node = (switch.guid, port), switch.n_ports, None
        else:
            node = self.named.node(name)
            record = self.subnet.nodes[node]
            key, n_ports = (record.guid, port), record.n_ports
        if key[0] in self.gone:
            raise InputError(f"'{name}' is taken out", expected="ends that stay")
        if not 0 < port <= n_ports:
            raise InputError(f"'{name}' has no port {port}", expected=f"1 to {n_ports}")
        if key in self.taken:
            raise InputError(f"{name}[{port}] gets two cables", expected="one cable a port")
        if node is not None:
            self._require_free(node, port)
        return key

    def _require_free(self, node: int, port: int) -> None:
        cable = self.subnet.cable_at.get((node, port))
        if cable is None:
            return
        guids = {(self.subnet.nodes[end.node].guid, end.port) for end in cable.ends}
        if guids & self.freed or {guid for guid, _ in guids} & self.gone:
            return
        free = self.named.free_ports(node)
        name = self.named.node_name(node)
        raise InputError(
            f"{name}[{port}] has a cable to {self.named.port_name(cable.beyond((node, port)).key)}",
            expected="a free port",
            hint=f"free: {', '.join(f'{name}[{at}]' for at in free[:4])}" if free else None,
        )

    def _usual_rate(self, a: PortKey, b: PortKey) -> str | None:
        """That of the cable that an adapter's port had; else the commonest of cables between
        switches at either end; else of all of them."""
        index = {node.guid: node for node in self.subnet.nodes}
        for guid, port in (a, b):
            node = index.get(guid)
            if node is not None and not node.is_switch:
                cable = self.subnet.cable_at.get((node.index, port))
                return None if cable is None else cable.rate
        ends = {a[0], b[0]}
        rates: list[Counter[str]] = [Counter(), Counter()]
        for cable in self.subnet.cables:
            nodes = [self.subnet.nodes[end.node] for end in cable.ends]
            if cable.rate is None or not all(node.is_switch for node in nodes):
                continue
            rates[1][cable.rate] += 1
            rates[0][cable.rate] += bool(ends & {node.guid for node in nodes})
        best = [one.most_common(1) for one in rates if one]
        return best[0][0][0] if best else None


def _free_lids(subnet: Subnet) -> Iterator[int]:
    """LIDs that no port has, the lowest first, as OpenSM gives them."""
    used: set[int] = {node.lid for node in subnet.nodes if node.lid}
    for node in subnet.nodes:
        used.update(lid for lid in node.port_lids.values() if lid)
    lmc = max((record.get("lmc") or 0 for record in subnet.description["nodes"]), default=0)
    # With an LMC, a port has several LIDs: new ones come behind all.
    start = max(used, default=0) + (1 << lmc) if lmc else 1
    return (lid for lid in range(start, FIRST_MULTICAST_LID) if lid not in used)


__all__ = ["CABLE_FORMS", "FabricChange", "after_changes", "read_changes"]
