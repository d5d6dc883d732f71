"""The routing engine: which one was asked for, and which one made the tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import RoutingEngineFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

FIX = (
    "mend the parts that the manager's errors name, or choose an engine that suits the fabric "
    "(updn for an irregular tree). With no_fallback in routing_engine, the manager reports it"
)


def engine_used(case: AuditCase) -> str | None:
    """The engine that made the tables in force, where a log says so."""
    logs = case.subnet.description["sm_logs"]
    used = [log["engines_used"][-1] for log in logs if log["engines_used"]]
    return str(used[-1]) if used else None


def engine_fell_back(case: AuditCase) -> Ruling:
    """An engine that gave up, and another that routed instead, without a word to the operator."""
    logs = case.subnet.description["sm_logs"]
    if not any(log["engines_used"] for log in logs):
        return not_judged("no subnet manager's log that names an engine: opensm.log")
    found = [one for log in logs for one in _of_log(case, log)]
    return Ruling(judged=counted(len(logs), "log"), findings=tuple(found))


def _of_log(case: AuditCase, log: Mapping[str, Any]) -> list[Finding]:
    used = log["engines_used"]
    if not used:
        return []
    last = used[-1]
    asked = log["engines_asked"]
    gave_up = _gave_up(case, log)
    wanted = [engine for engine in (*asked, *gave_up) if engine != last]
    if wanted:
        # An engine further down a list that the operator wrote is the operator's own choice; one
        # that no manager falls back to was set after the errors.
        certain = last not in asked and last == case.thresholds.fallback.name
        return [_fell_back(wanted[0], used, gave_up, certain=certain)]
    if len(used) > 1 and last not in asked:
        return [_changed(used)]
    return []


def _fell_back(
    wanted: str, used: Sequence[str], gave_up: Mapping[str, list[str]], *, certain: bool
) -> Finding:
    return finding(
        FindingKind.MIS_SETTING,
        Severity.BAD if certain else Severity.WARNING,
        f"the subnet manager routes with {used[-1]} instead of {wanted}; only its log shows it",
        evidence=(
            f"tables configured by: {', then '.join(used)}",
            *(error for errors in gave_up.values() for error in errors),
        ),
        fix=FIX,
        facts=RoutingEngineFacts(asked=wanted, used=used[-1]),
    )


def _changed(used: Sequence[str]) -> Finding:
    return finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"the routing engine changed from {used[-2]} to {used[-1]}",
        evidence=(f"tables configured by: {', then '.join(used)}",),
        fix="if routing_engine was not changed, the first engine failed: see the log",
        facts=RoutingEngineFacts(asked=used[-2], used=used[-1]),
    )


def _gave_up(case: AuditCase, log: Mapping[str, Any]) -> dict[str, list[str]]:
    """Engines whose errors the log has, with them."""
    found: dict[str, list[str]] = {}
    for error in log["errors"]:
        engine = engine_of(case, error)
        if engine is not None:
            found.setdefault(engine, []).append(with_names(case, error))
    return found


def engine_of(case: AuditCase, error: str) -> str | None:
    """The engine that an error is of: by its code, or where the manager names it.

    SOURCE: logs of OpenSM 3.3.23: 'AB0D: ...', 'ucast_mgr_route: ftree: cannot build ...'.
    """
    if error.startswith("AB"):
        return case.thresholds.engine_of_error.AB
    named = re.match(r"ucast_mgr_route: ([\w-]+): ", error)
    return named[1] if named else None


def with_names(case: AuditCase, text: str) -> str:
    """A line of a log with the names of the nodes whose GUIDs it has."""
    names = {node.guid: case.labels.name(node.index) for node in case.subnet.nodes}

    def named(match: "re.Match[str]") -> str:
        name = names.get(int(match[0], 16))
        return match[0] if name is None else f"{match[0]} ({name})"

    return re.sub(r"0x[0-9a-fA-F]{16}", named, text)
