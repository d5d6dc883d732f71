"""Hosts on the wrong rail: adapter i of every node belongs on a leaf of rail i."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.audit.cabling.wiring import CableSide, most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import CableFacts
from weft.catalog.machine.cabling import FatTree, Rails
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted


@dataclass(frozen=True, slots=True)
class RailAdapter:
    """An adapter by its node and its number there, and the cable to its leaf."""

    node: str
    number: int
    leaf: int
    side: CableSide


def wrong_rails(case: AuditCase) -> Ruling:
    """The number of an adapter against the number that fills its leaf. Majority decides."""
    adapters = adapters_of(case)
    several = _of_compute_nodes(adapters)
    if not several:
        return not_judged("no host with several adapters whose descriptions number them")
    rails = _rails(case, several)
    if rails is None:
        return not_judged(
            "no rails: leaves take adapters of all numbers, as where a node's adapters share a leaf"
        )
    odd = [it for it in several if it.leaf in rails and rails[it.leaf] != it.number]
    home = {(it.node, it.number): it for it in several}
    found, reported = [], set()
    for adapter in odd:
        if (adapter.node, adapter.number) in reported:
            continue
        partner = home.get((adapter.node, rails[adapter.leaf]))
        swapped = partner is not None and rails.get(partner.leaf) == adapter.number
        pair = [adapter, partner] if swapped and partner is not None else [adapter]
        reported |= {(it.node, it.number) for it in pair}
        found.append(_finding(case, pair, rails, several))
    return Ruling(judged=counted(len(several), "adapter"), findings=tuple(found))


def _of_compute_nodes(adapters: Sequence[RailAdapter]) -> list[RailAdapter]:
    """Those of nodes with the number of adapters that most adapters belong to, or more than half of
    it: login and service nodes have fewer, and no rails."""
    per_node = Counter(adapter.node for adapter in adapters)
    usual = most_common(per_node[adapter.node] for adapter in adapters)
    least = max(2, usual[0] // 2 + 1) if usual is not None else 2
    return [adapter for adapter in adapters if per_node[adapter.node] >= least]


def adapters_of(case: AuditCase) -> list[RailAdapter]:
    """Adapters of hosts at leaves whose descriptions number them."""
    pattern = re.compile(_pattern(case))
    found = []
    for leaf, sides in case.wiring.hosts.items():
        if case.wiring.level(leaf) != 1:
            continue
        for side in sides:
            match = pattern.match(case.subnet.nodes[side.there.node].description)
            if match is not None:
                found.append(RailAdapter(match["node"], int(match["number"]), leaf, side))
    return found


def _declared(case: AuditCase) -> Rails | None:
    fabric = case.platform.fabric if case.platform else None
    return fabric.rails if isinstance(fabric, FatTree) else None


def _pattern(case: AuditCase) -> str:
    """The platform's own names of its devices come first."""
    rails = _declared(case)
    if rails is None:
        return case.thresholds.names.adapter
    before, _, after = rails.hca_name.partition("{rail}")
    device = rf"{re.escape(before)}(?P<number>\d+){re.escape(after)}"
    return rf"^(?P<node>.+?)[\s/_-]{device}$"


def _rails(case: AuditCase, adapters: Sequence[RailAdapter]) -> Mapping[int, int] | None:
    """By leaf the number that fills it; None where leaves are not filled by one number.

    A rail needs several nodes on a leaf: one node's adapters may each have a leaf by chance.
    """
    share = case.thresholds.rail_share.value
    by_leaf: dict[int, list[int]] = defaultdict(list)
    for adapter in adapters:
        by_leaf[adapter.leaf].append(adapter.number)
    least = case.thresholds.smallest_group.value
    usual = {leaf: most_common(n) for leaf, n in by_leaf.items() if len(n) >= least}
    filled = {leaf: it[0] for leaf, it in usual.items() if it is not None and it[1] >= share}
    if not usual or len(filled) < share * len(usual) or len(set(filled.values())) < 2:
        # One swap on a leaf of few nodes is a large share: a clear majority everywhere will do.
        clear = {leaf: it[0] for leaf, it in usual.items() if it is not None and it[1] > 0.5}
        numbers = {adapter.number for adapter in adapters}
        if len(clear) < len(usual) or set(clear.values()) != numbers or len(numbers) < 2:
            return None
        return clear
    return filled


def _finding(
    case: AuditCase,
    pair: Sequence[RailAdapter],
    rails: Mapping[int, int],
    all_: Sequence[RailAdapter],
) -> Finding:
    labels = case.labels
    first = pair[0]
    if len(pair) == 2:
        sentence = (
            f"{first.node}: adapters {first.number} and {pair[1].number} are on each other's rail"
        )
        fix = "swap their cables at the host or at the leaves"
    else:
        sentence = (
            f"{first.node}: adapter {first.number} is on {labels.port(*first.side.here.key)}, "
            f"a leaf of rail {rails[first.leaf]}"
        )
        fix = f"move its cable to {_home(case, first, rails, all_)}"
    numbers = Counter(it.number for it in all_ if it.leaf == first.leaf)
    return finding(
        FindingKind.MIS_SETTING,
        Severity.BAD,
        sentence,
        evidence=(
            *(labels.cable(it.side.cable) for it in pair),
            *_basis(case),
            f"{numbers[rails[first.leaf]]} of {numbers.total()} adapters on "
            f"{labels.name(first.leaf)} have the number {rails[first.leaf]}",
        ),
        fix=fix,
        facts=CableFacts(cables=tuple(labels.audit_cable(it.side.cable) for it in pair)),
    )


def _basis(case: AuditCase) -> Iterator[str]:
    """The platform's statement about its rails."""
    rails = _declared(case)
    if rails is not None:
        yield f"{case.platform.name}: {rails.basis}" if case.platform else ""


def _home(
    case: AuditCase, adapter: RailAdapter, rails: Mapping[int, int], all_: Sequence[RailAdapter]
) -> str:
    """The leaf of its rail that neighbours use: the nodes that share its other leaves."""
    own = {it.leaf for it in all_ if it.node == adapter.node and it is not adapter}
    neighbours = {it.node for it in all_ if it.leaf in own and it.node != adapter.node}
    leaves = Counter(
        it.leaf
        for it in all_
        if it.node in neighbours and it.number == adapter.number and rails.get(it.leaf) == it.number
    )
    if not leaves:
        return f"a leaf of rail {adapter.number}"
    leaf = max(leaves, key=lambda it: (leaves[it], -it))
    free = case.wiring.free_ports[leaf]
    port = f" port {free[0]}" if len(free) == 1 else ""
    return f"{case.labels.name(leaf)}{port}, the leaf of rail {adapter.number} next to it"
