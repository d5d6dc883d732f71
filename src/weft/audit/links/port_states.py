"""Ports that are up without being in service, and ports that try in vain to come up."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from weft.audit.cabling.device_label import listing
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import AuditedPort, PortStateFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import CableEnd

MEANING = {
    "init": (
        "the link is up, but no subnet manager brought it into service",
        "start the subnet manager, or look in its log for this port",
    ),
    "armed": (
        "the subnet manager armed the link and never activated it",
        "look in the subnet manager's log for this port; reset the port",
    ),
    "down": ("its cable is known, but the link is down", "reseat or replace the cable"),
    "training": ("the link trains and does not come up", "reseat or replace the cable"),
    "error-recovery": ("the link recovers from errors again", "reseat or replace the cable"),
    "polling": ("no other end answers", "reseat or replace the cable; look at the other end"),
    "phy-test": ("the port is in a test mode", "reset the port"),
}
IN_SERVICE = ("act", "up", "linkup")
OUT_OF_SERVICE = ("down", "disabled", "polling")
"""How tools on a host begin the word of a port's state: ibstat, rdma link, mlxlink, cxi_stat."""
STUCK = ("training", "error-recovery", "phy-test")
"""Physical states that no healthy port stays in. A free port stays in Polling."""


def stuck_ports(case: AuditCase) -> Ruling:
    """Cabled ports that are not Active, free ports that train, adapters' ports that poll."""
    ends = [end for cable in case.subnet.cables for end in cable.ends]
    known = [end for end in ends if end.logical or end.physical]
    uncabled = [(node, port) for node in case.subnet.nodes for port in node.uncabled]
    devices = [it for it in case.subnet.description["devices"] if it["state"]]
    if not known and not uncabled and not devices:
        return not_judged("no states of ports: iblinkinfo, opensm-subnet.lst, db_csv, ibstat")
    stuck: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for end in known:
        state = _stuck(end)
        if state:
            stuck[state].append(end.key)
    for node, port in uncabled:
        if port["physical"] in STUCK:
            stuck[port["physical"]].append((node.index, port["port"]))
    found = [_finding(case, state, keys, len(known)) for state, keys in sorted(stuck.items())]
    found += _dead_adapters(case, uncabled)
    found += _hosts_own_view(devices)
    n = len(known) + len(uncabled) + len(devices)
    return Ruling(judged=counted(n, "port"), findings=tuple(found))


def _stuck(end: CableEnd) -> str:
    if end.physical in STUCK or end.physical == "polling":
        return str(end.physical)
    return end.logical if end.logical in ("init", "armed", "down") else ""


def _finding(case: AuditCase, state: str, keys: Sequence[tuple[int, int]], n_known: int) -> Finding:
    means, fix = MEANING[state]
    cables = {id(cable): cable for key in keys if (cable := case.subnet.cable_at.get(key))}
    lines = [case.labels.cable(cable) for cable in cables.values()]
    lines += [case.labels.whole(*key) for key in keys if key not in case.subnet.cable_at]
    n_places = len(lines)
    every = len(keys) == n_known and state == "init"
    what = "every port" if every else counted(n_places, "cable" if cables else "port")
    one = f"{case.labels.short(next(iter(cables.values())))} is" if len(cables) == 1 else ""
    verb = "is" if every or n_places == 1 else "are"
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.BAD,
        f"{one or f'{what} {verb}'} stuck in {state.title()}: {means}",
        evidence=tuple(lines),
        fix="no subnet manager has run: start one" if every else fix,
        facts=PortStateFacts(
            state=state,
            cables=tuple(map(case.labels.audit_cable, cables.values())),
            ports=tuple(AuditedPort(case.labels.audit_port(*key)) for key in keys),
        ),
    )


def _dead_adapters(case: AuditCase, uncabled: Sequence[tuple[Any, Any]]) -> list[Finding]:
    """Adapters that are in the subnet by no port at all, while they poll."""
    cabled = Counter(end.node for cable in case.subnet.cables for end in cable.ends)
    dead = [
        (node.index, port["port"])
        for node, port in uncabled
        if node.kind == "ca" and not cabled[node.index] and port["physical"] == "polling"
    ]
    if not dead:
        return []
    means, fix = MEANING["polling"]
    return [
        finding(
            FindingKind.SUSPECT_NODE,
            Severity.BAD,
            f"{counted(len(dead), 'adapter port')} stuck in Polling: {means}",
            evidence=tuple(case.labels.whole(*key) for key in dead),
            fix=fix,
            facts=PortStateFacts(
                state="polling",
                ports=tuple(AuditedPort(case.labels.audit_port(*key)) for key in dead),
            ),
        )
    ]


def _hosts_own_view(devices: Sequence[Any]) -> list[Finding]:
    """Devices as tools on their host see them. A card without a link is dead; a port that is down
    beside one that is up may have no cable: a note."""
    up = [it for it in devices if it["state"].lower().startswith(IN_SERVICE)]
    down = [it for it in devices if it["state"].lower().startswith(OUT_OF_SERVICE)]
    others = [it for it in devices if it not in up and it not in down]
    linked = {_card(it) for it in [*up, *others]}
    hosts = {source for source, _ in linked}
    dead = [it for it in down if it["source"] not in hosts or _is_dead(it, linked)]
    free = [it for it in down if it not in dead]
    look = "look at its cable and at the subnet manager's log for its GUID"
    parts = (
        (Severity.BAD, others, "not in service", look),
        (Severity.BAD, dead, "down, and no port of the card is up", look),
        (Severity.NOTE, free, "down", "nothing to do if it has no cable"),
    )
    return [_of_devices(*part) for part in parts if part[1]]


def _card(device: Any) -> tuple[int, str | None]:
    """The file, and the card: each port of it may be a device of its own."""
    return device["source"], device["facts"].get("System image GUID")


def _is_dead(device: Any, linked: Collection[tuple[int, str | None]]) -> bool:
    """Whether it is of a card for InfiniBand that has no link. Where a tool tells no card, a port
    without a link may be the second one of a card that has one."""
    card = _card(device)
    return card[1] is not None and device["link_layer"] == "InfiniBand" and card not in linked


def _of_devices(severity: Severity, devices: Sequence[Any], what: str, fix: str) -> Finding:
    names = [f"{it['device']} port {it['port']}" for it in devices]
    return finding(
        FindingKind.SUSPECT_NODE,
        severity,
        f"{listing(names)} {'is' if len(devices) == 1 else 'are'} {what}",
        evidence=tuple(
            f"{name}: {it['state']}, {it['physical_state'] or 'no physical state'}"
            for name, it in zip(names, devices, strict=True)
        ),
        fix=fix,
    )
