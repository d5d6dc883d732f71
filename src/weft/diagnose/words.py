"""Figures and names as a person would say them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.core.units import format_significant
from weft.diagnose.crossing import Component, Part, vertex_of
from weft.diagnose.judged import Judged
from weft.diagnose.readings import Metric, Reading
from weft.diagnose.slow import Norm

Book = Mapping[Reading, Judged]
"""Every reading with its judgement."""


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
    return f"one of {', '.join(names[:-1])} or {names[-1]}"


def own_node(components: Sequence[Component]) -> Component | None:
    """The node or HCA, where the components are one and its own one cable."""
    nodes = [c for c in components if c.thing[0] in ("node", "hca")]
    cables = [c for c in components if c.thing[0] == "cable"]
    if len(components) != 2 or len(nodes) != 1 or len(cables) != 1:
        return None
    name = nodes[0].ends[0]
    hcas = {vertex_of(end) for end in cables[0].ends}
    owners = hcas | {hca.partition("/")[0] for hca in hcas}
    return nodes[0] if name in owners else None


def worst_class(readings: Iterable[Reading], book: Book) -> list[Judged]:
    """The slow readings of the (metric, hop class) where they stand worst."""
    groups: dict[Any, list[Judged]] = {}
    for reading in readings:
        one = book[reading]
        groups.setdefault((reading.metric, one.hop_class), []).append(one)
    return max(groups.values(), key=lambda group: (median(map(_depth, group)), len(group)))


def _depth(one: Judged) -> float:
    assert one.norm is not None
    return one.norm.deviation(_value(one)) / one.norm.limit


def _value(one: Judged) -> float:
    return one.reading.value if one.alone is None else one.alone


def norm_of(group: Sequence[Judged]) -> Norm:
    """The norm that readings of one class share."""
    norm = group[0].norm
    assert norm is not None
    return norm


def against(group: Sequence[Judged]) -> str:
    """'bandwidth 6120 MB/s where 24480 MB/s is normal (class, range)'."""
    norm = norm_of(group)
    measured = figure(median(_value(one) for one in group), norm.metric)
    return (
        f"{norm.metric.word} {measured} where {figure(norm.expected, norm.metric)} is normal"
        f" ({norm.hop_class}, {range_text(norm)})"
    )


def figure(value: float, metric: Metric) -> str:
    """'24480 MB/s'."""
    return f"{format_significant(value)} {metric.unit}"


def range_text(norm: Norm) -> str:
    """'95 % within 24100-24600', or 'all alike' where both ends print alike."""
    low, high = format_significant(norm.low), format_significant(norm.high)
    return "all alike" if low == high else f"95 % within {low}-{high}"


def list_pairs(pairs: Sequence[tuple[str, str]], most: int = 6) -> str:
    """The first few pairs, and how many more."""
    named = ", ".join(pair_text(pair) for pair in pairs[:most])
    return named + (f" and {len(pairs) - most} more" if len(pairs) > most else "")


def pair_text(pair: tuple[str, str]) -> str:
    """'n001 - n007'."""
    return f"{pair[0]} - {pair[1]}"


def capital(text: str) -> str:
    """The text with its first letter upper case, the rest untouched."""
    return text[:1].upper() + text[1:]


def median(values: Iterable[float]) -> float:
    """The median. Raises IndexError on no value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
