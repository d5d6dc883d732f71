"""Credit loops: buffers that can wait for each other in a circle."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import CreditLoopFacts
from weft.audit.routing.forwarding_tables import lacks_tables
from weft.audit.routing.routing_engine import engine_used
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.topology.engine import ChannelCircle

SERVICE_LEVELS = range(8)
"""As many as there are data lanes; a subnet manager that parts lanes uses one level a lane."""


def credit_loops(case: AuditCase) -> Ruling:
    """All end ports send to all on one service level: on 0, and where lanes were read, on others.

    An engine that gives every path its own service level is only judged so far as one level goes:
    a loop on one is a warning there, for traffic that does not ask for its level.
    """
    lack = lacks_tables(case)
    if lack:
        return not_judged(lack)
    has_lanes = bool(case.subnet.description["n_sl2vl"])
    levels = SERVICE_LEVELS if has_lanes else range(1)
    loops: dict[int, ChannelCircle] = {}
    for level in levels:
        loop = case.subnet.credit_loop(level)
        if loop is not None:
            loops[level] = loop
    judged = f"service level{'s 0 to 7' if has_lanes else ' 0'}, all to all"
    if not loops:
        return Ruling(judged=judged)
    return Ruling(judged=judged, findings=(_finding(case, loops, has_lanes),))


def _finding(case: AuditCase, loops: Mapping[int, "ChannelCircle"], has_lanes: bool) -> Finding:
    engine = engine_used(case)
    parted = engine in case.thresholds.service_level_engines.names
    certain = not parted and (engine is not None or not has_lanes)
    level, loop = next(iter(loops.items()))
    which = ", ".join(map(str, loops))
    circle = _circle(case, loop)
    evidence = [
        f"a circle of {counted(len(circle), 'buffer')} on service level {level}, each waits for "
        "the next and the last for the first:",
        *(f"{number}. {line}" for number, line in enumerate(circle, start=1)),
        f"{counted(loop['n_channels'], 'buffer')} lie on such circles or between them",
    ]
    if not certain:
        named = f"{engine} gives" if engine else "some engines give"
        evidence.append(
            f"{named} each path its own service level: this holds for traffic that puts all on one"
        )
    elif engine is None:
        names = ", ".join(case.thresholds.service_level_engines.names)
        evidence.append(
            f"if the tables are of {names}, which give each path its service level: give "
            "opensm.log and opensm-sl2vl.dump too"
        )
    if parted and not has_lanes:
        evidence.append("no lanes were read: give opensm-sl2vl.dump too")
    return finding(
        FindingKind.MIS_SETTING,
        Severity.BAD if certain else Severity.WARNING,
        f"credit loop on service level {which}: under load the fabric can deadlock",
        evidence=tuple(evidence),
        fix=(
            "let applications ask the subnet manager for the service level of each path"
            if not certain
            else "route with an engine without loops: opensm -R updn on a tree, "
            "torus-2QoS -Q on a torus, dfsssp -Q or nue -Q on anything"
        ),
        facts=CreditLoopFacts(
            service_levels=tuple(loops),
            cables=tuple(
                case.labels.audit_cable(case.subnet.cable_at[end["node"], end["port"]])
                for end, _ in loop["channels"]
                if (end["node"], end["port"]) in case.subnet.cable_at
            ),
        ),
    )


def _circle(case: AuditCase, loop: "ChannelCircle") -> list[str]:
    lines = []
    for end, lane in loop["channels"]:
        key = (end["node"], end["port"])
        here = case.labels.port(*key)
        cable = case.subnet.cable_at.get(key)
        if cable is None:
            lines.append(f"{here}, lane {lane}")
            continue
        there = cable.b if cable.a.key == key else cable.a
        guid = case.labels.guid(end["node"])
        lines.append(f"{here} ({guid}) -> {case.labels.port(*there.key)}, lane {lane}")
    return lines
