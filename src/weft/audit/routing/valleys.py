"""Valleys: routes that come down to a switch and go up again."""

from weft.audit.cabling.device_label import listing
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import ValleyFacts
from weft.audit.routing.forwarding_tables import lacks_tables
from weft.core.finding import FindingKind, Severity
from weft.core.shell_line import quoted
from weft.core.words import counted


def valleys(case: AuditCase) -> Ruling:
    """One finding about all valleys, the busiest first."""
    lack = lacks_tables(case)
    if lack:
        return not_judged(lack)
    survey = case.survey
    judged = counted(survey["n_pairs"], "path")
    if not survey["n_valley_paths"]:
        return Ruling(judged=judged)
    found = survey["valleys"]
    names = [case.labels.name(valley["at"]) for valley in found]
    share = survey["n_valley_paths"] / max(1, survey["n_pairs"])
    evidence = [
        f"{case.labels.name(valley['at'])} ({case.labels.guid(valley['at'])}): "
        f"{counted(valley['n_paths'], 'path')}, such as "
        + " to ".join(case.labels.name(end["node"]) for end in valley["example"])
        for valley in found
    ]
    a, b = (case.labels.name(end["node"]) for end in found[0]["example"])
    dashes = "-- " if a.startswith("-") or b.startswith("-") else ""
    one = finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{counted(survey['n_valley_paths'], 'path')} ({100 * share:.2g} %) go down and up "
        f"again, through {counted(len(found), 'switch', 'switches')}: {listing(names)}",
        evidence=(
            *evidence,
            "they take cables that hosts below need, and can close credit loops",
        ),
        fix="route with an engine that only goes up, then down: opensm -R updn (or ftree)",
        next_command=f"weft fabric trace {dashes}{quoted(a)} {quoted(b)} FILES",
        facts=ValleyFacts(
            n_paths=survey["n_valley_paths"],
            switches=tuple(case.labels.audit_port(valley["at"]) for valley in found),
        ),
    )
    return Ruling(judged=judged, findings=(one,))
