"""Nodes with fewer adapters in the subnet than the others, or than their platform has."""

from collections import defaultdict

from weft.audit.cabling.device_label import listing
from weft.audit.cabling.rails import RailAdapter, adapters_of
from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import MissingAdapters, NodeFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.natural import natural_key
from weft.core.words import counted

SAME_KIND = 3
"""So many nodes that lack the same are a kind."""


def missing_adapters(case: AuditCase) -> Ruling:
    """A dead adapter shows only by its absence: its node has one less than the others."""
    by_node: dict[str, list[RailAdapter]] = defaultdict(list)
    for adapter in adapters_of(case):
        by_node[adapter.node].append(adapter)
    usual = most_common(len(own) for own in by_node.values())
    if usual is None or max(len(own) for own in by_node.values()) < 2:
        return not_judged("no host with several adapters whose descriptions number them")
    if usual[1] < case.thresholds.sibling_share.value or len(by_node) < 3:
        return not_judged("no number of adapters that most nodes have")
    numbers = {
        adapter.number for own in by_node.values() if len(own) == usual[0] for adapter in own
    }
    alike: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name in sorted(by_node, key=natural_key):
        if len(by_node[name]) < usual[0]:
            has = {adapter.number for adapter in by_node[name]}
            alike[tuple(sorted(numbers - has))].append(name)
    n = len(by_node)
    found = [_finding(names, absent, usual[0], n) for absent, names in alike.items()]
    found += _platform(case, usual[0])
    return Ruling(judged=counted(len(by_node), "node"), findings=tuple(found))


def _finding(names: list[str], absent: tuple[int, ...], usual: int, n_nodes: int) -> Finding:
    """Nodes that lack the same adapters. Many alike, or half of them: another kind of node."""
    have = usual - len(absent)
    is_kind = len(names) >= SAME_KIND or have * 2 <= usual
    which = listing([str(number) for number in absent], most=8)
    verb = "has" if len(names) == 1 else "have"
    return finding(
        FindingKind.SUSPECT_NODE,
        Severity.WARNING if is_kind else Severity.BAD,
        f"{listing(names)} {verb} {have} of {usual} adapters in the subnet: {which} not there",
        evidence=(
            f"most of {n_nodes} nodes have {usual}",
            *(("nodes of another kind look the same",) if is_kind else ()),
        ),
        fix="look on the node whether the adapter is there and its port is up (ibstat), then at "
        "its cable",
        facts=NodeFacts(
            nodes=tuple(MissingAdapters(name, absent) for name in names), expected=usual
        ),
    )


def _platform(case: AuditCase, usual: int) -> list[Finding]:
    platform = case.platform
    if platform is None or platform.hcas_per_node <= usual:
        return []
    return [
        finding(
            FindingKind.ANOMALY,
            Severity.WARNING,
            f"nodes have {usual} adapters, {platform.name} has {platform.hcas_per_node}",
            evidence=(platform.node["hcas"].source,),
            fix="nothing to do if the files describe one of several fabrics",
        )
    ]
