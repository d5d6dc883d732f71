"""Names of classes in a sentence: grouped by family and by rate, each with its share."""

from collections.abc import Iterable, Sequence

from weft.core.units import format_significant
from weft.judge.path_class.fit import FILLED, ClassFit, PathFit, rounded_percent

MOST_NAMED = 4
"""So many families, or rates, are named in one sentence."""
ETHERNET = ("roce", "iwarp")


def titles(fits: Sequence[ClassFit]) -> str:
    """'EDR or HDR100 InfiniBand, 100 GbE (RoCE) or Omni-Path 100'."""
    by_family: dict[str, list[ClassFit]] = {}
    for fit in fits:
        by_family.setdefault(fit.family.name, []).append(fit)
    names = [_family_title(group) for group in by_family.values()]
    more = len(names) - MOST_NAMED
    return either(names[:MOST_NAMED] + ([f"{more} more"] if more > 0 else []))


def _family_title(group: Sequence[ClassFit]) -> str:
    family = group[0].family
    if family.transport == "gpu-link":
        counts = by_count(group)
        return either(f"{links} {family.title}{either(names)}" for links, names in counts)
    found = either(dict.fromkeys(_counted(fit) for fit in group))
    if family.name in ETHERNET:
        return f"{found} ({family.title})"
    if family.transport == "sockets":
        return f"{found} ({family.title})"
    return f"{found} {family.title}" if family.name == "infiniband" else f"{family.title} {found}"


def by_count(group: Sequence[ClassFit]) -> list[tuple[str, list[str]]]:
    """('4 links of', [titles]) for each number of links."""
    found: dict[int, list[str]] = {}
    for fit in group:
        found.setdefault(fit.count, []).append(fit.path_class.title)
    return [(f"{n} links of" if n > 1 else "one link of", names) for n, names in found.items()]


def _counted(fit: ClassFit) -> str:
    return fit.path_class.title if fit.count == 1 else f"{fit.count} x {fit.path_class.title}"


def either(names: Iterable[str]) -> str:
    """'A, B or C'."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def by_rate(fits: Sequence[ClassFit]) -> list[list[ClassFit]]:
    """Fits of one rate together, in their order."""
    groups: dict[float, list[ClassFit]] = {}
    for fit in fits:
        groups.setdefault(round(fit.gb_s, 1), []).append(fit)
    return list(groups.values())


def alternatives(fit: PathFit, *, weak: bool) -> str:
    """All that fits, each with its share. `weak`: a link may be faster than the rows show."""
    parts = [
        f"{titles(group)} at {rounded_percent(group[0].share)} %" for group in by_rate(fit.links)
    ]
    if weak or fit.best_share < FILLED:
        parts += [
            f"a faster link behind PCIe {either(one.path_class.title for one in group)}"
            f" ({rounded_percent(group[0].share)} %)"
            for group in by_rate(fit.behind)
        ]
    if not fit.links:
        parts += [f"half of {titles(group)}" for group in by_rate(fit.halves)]
    return f"fits {', or '.join(parts[:MOST_NAMED])}"


def gbps(gb_s: float) -> str:
    """A rate of GB/s in Gb/s, as text."""
    value = 8 * gb_s
    return format_significant(value, 3 if value >= 10 else 2).removesuffix(".0")
