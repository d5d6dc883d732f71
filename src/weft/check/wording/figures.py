"""Figures and names in words."""

from collections.abc import Sequence

from weft.check.readings.components import Component, Part, vertex_of
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Accusation, Count
from weft.core.units import format_significant

MOST_NAMED = 4
"""More components than this are counted, not listed."""

TIMES_FROM = 10
"""From here a ratio is given in times, not in percent."""


def who(components: Sequence[Component]) -> str:
    """'cable A - B', 'node n007, its HCA or its cable n007/hca0[1] - leaf-02[3]', 'one of ...'."""
    if len(components) == 1:
        return components[0].name
    owner = own_node(components)
    if owner is not None:
        cable = next(c for c in components if c.thing[0] == "cable")
        its_hca = "" if owner.part is Part.HCA else ", its HCA"
        return f"{owner.name}{its_hca} or its {cable.name}"
    names = [component.name for component in components]
    if len(names) > MOST_NAMED:
        return f"one of {_kinds(components)}"
    return f"one of {', '.join(names[:-1])} or {names[-1]}"


def own_node(components: Sequence[Component]) -> Component | None:
    """The node or HCA, where the components are one (or a node and its one HCA) and its own one
    cable."""
    owners = [c for kind in ("node", "hca") for c in components if c.thing[0] == kind]
    cables = [c for c in components if c.thing[0] == "cable"]
    kinds = {c.thing[0] for c in owners}
    if not owners or len(cables) != 1 or len(components) != 1 + len(kinds):
        return None
    hcas = {vertex_of(end) for end in cables[0].ends}
    names = hcas | {hca.partition("/")[0] for hca in hcas}
    return owners[0] if names.issuperset(c.ends[0] for c in owners) else None


def _kinds(components: Sequence[Component]) -> str:
    """'18 cables of leaf-03' or '20 cables and 3 switches'."""
    counted: dict[str, int] = {}
    for component in components:
        counted[component.thing[0]] = counted.get(component.thing[0], 0) + 1
    one, plural = {"hca": "HCA"}, {"switch": "switches", "hca": "HCAs"}
    words = [
        f"{n} {plural.get(kind, kind + 's') if n > 1 else one.get(kind, kind)}"
        for kind, n in counted.items()
    ]
    text = " and ".join(words)
    common = _common_vertex(components)
    return f"{text} of {common}" if common is not None else text


def _common_vertex(components: Sequence[Component]) -> str | None:
    ends = [{vertex_of(end) for end in c.ends} for c in components if c.thing[0] == "cable"]
    if len(ends) != len(components):
        return None
    shared = set.intersection(*ends)
    return min(shared) if shared else None


def against(count: Count) -> str:
    """'bandwidth 11750 MB/s where others deliver 24480 (48 %)', 'latency 3.1 us where others take
    1.9 (+63 %)'. The norm is what others deliver."""
    norm = count.norm
    expected = format_significant(norm.expected)
    measured = format_significant(count.measured)
    unit = count.metric.unit
    if count.metric is Metric.LATENCY:
        more = longer(count.measured / norm.expected)
        return f"{count.metric.word} {measured} {unit} where others take {expected} ({more})"
    percent = 100 * count.measured / norm.expected
    return (
        f"{count.metric.word} {measured} {unit} where others deliver {expected} ({percent:.0f} %)"
    )


def longer(ratio: float) -> str:
    """'+63 %' of 1.63; '540 times' beyond ten."""
    return f"{ratio:,.0f} times" if ratio >= TIMES_FROM else f"{100 * (ratio - 1):+.0f} %"


def over_it(count: Count) -> str:
    """'41 of 41 bandwidth readings over it are slow, 0 of 5,599 others'."""
    return (
        f"{count.n_slow:,} of {count.n:,} {count.metric.word} readings over it are slow,"
        f" {count.n_others_slow:,} of {count.n_others:,} others"
    )


def certainty(accusation: Accusation, *, sure: bool) -> str:
    """'certain (all 46 readings over it are slow, none of 266 others)'."""
    count = accusation.worst
    over = f"all {count.n:,}" if count.n_slow == count.n else f"{count.n_slow:,} of {count.n:,}"
    others = "none" if not count.n_others_slow else f"{count.n_others_slow:,}"
    compared = f", {others} of {count.n_others:,} others" if count.n_others else ", no others"
    word = "certain" if sure else "likely, not certain"
    return f"{word} ({over} readings over it are slow{compared})"


def list_pairs(pairs: Sequence[tuple[str, str]], most: int = 6) -> str:
    """The first few pairs, and how many more."""
    named = ", ".join(f"{a} - {b}" for a, b in pairs[:most])
    return named + (f" and {len(pairs) - most} more" if len(pairs) > most else "")


def capital(text: str) -> str:
    """The text with its first letter upper case, the remaining text untouched."""
    return text[:1].upper() + text[1:]
