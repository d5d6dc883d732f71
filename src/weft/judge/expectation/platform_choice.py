"""Where a result was measured: what the user says, or what the file itself says, with the reason.

Never a silent guess: a platform is taken only where the file's own words leave one of the
catalogue, and the reason is part of the judgement.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.catalog import load
from weft.catalog.machine.generic import Hardware, generic_platform
from weft.catalog.machine.platform import Platform
from weft.results.model import ResultFile, Table

LINK_CLASS = "generic-"
"""Platforms whose names begin so stand for a generation of links, not for a machine: they say what
a link can carry and nothing about the host."""


@dataclass(frozen=True, slots=True)
class PlatformChoice:
    """The platform a file is judged on (None where it is unknown), and why. `candidates` are those
    the file's words fit equally well. `is_guess`: the file's words chose it, not the user."""

    platform: Platform | None
    because: str
    candidates: tuple[str, ...] = ()
    is_guess: bool = False

    @property
    def is_link_class(self) -> bool:
        """Whether the platform is a generation of links only; a fitted one has a host as well."""
        if self.platform is None or self.platform.fit is not None:
            return False
        return is_link_class(self.platform.name)


@dataclass(frozen=True, slots=True)
class _Match:
    name: str
    reasons: tuple[str, ...]
    kinds: frozenset[str]


def is_link_class(name: str) -> bool:
    """Whether a platform of this name stands for a generation of links."""
    return name.startswith(LINK_CLASS)


def place_of(
    results: ResultFile, platform: str | Platform | None, hardware: Hardware | None = None
) -> PlatformChoice:
    """The platform of a file. Raises InputError where the given one does not exist."""
    if platform is not None:
        return _given(platform)
    if hardware is not None and hardware.is_given:
        return PlatformChoice(generic_platform(hardware, load.platform), hardware.options)
    names_something = any(table.hosts or table.devices for table in results.tables)
    known = [name for name in load.platform_names() if names_something and not is_link_class(name)]
    documents = (load.platform_document(name) for name in known)
    matches = [match for document in documents if (match := _match(document, results))]
    if not matches:
        return PlatformChoice(None, "the file names no machine of the catalogue")
    most = max(len(match.kinds) for match in matches)
    best = [match for match in matches if len(match.kinds) == most]
    names = tuple(match.name for match in best)
    kinds = best[0].kinds
    if len(best) > 1 or kinds == {"hcas"}:
        return PlatformChoice(None, f"{best[0].reasons[0]}: that fits {', '.join(names)}", names)
    if kinds == {"gpus"} and not all(_inside_a_node(table) for table in results.tables):
        because = f"{best[0].reasons[0]}, but the file does not say which network is between nodes"
        return PlatformChoice(None, because, names)
    because = "; ".join(best[0].reasons)
    return PlatformChoice(load.platform(best[0].name), because, is_guess=True)


def _given(platform: str | Platform) -> PlatformChoice:
    """A platform by its name, or one that was read from a machine."""
    if isinstance(platform, Platform):
        return PlatformChoice(platform, f"--platform {platform.name}: {platform.title}")
    return PlatformChoice(load.platform(platform), f"--platform {platform}")


def link_classes() -> list[Platform]:
    """The generations of links the catalogue has, slowest first, without published figures."""
    names = (name for name in load.platform_names() if is_link_class(name))
    found = [load.platform_document(name) for name in names]
    return sorted(found, key=lambda p: p.links.host.rate.value if p.links else 0.0)


def gpus_per_node(table: Table) -> int | None:
    """GPUs that the table lists on its fullest host; None where it lists none."""
    if table.hosts and len(table.hosts) == len(table.devices):
        return max(Counter(table.hosts).values())
    return table.tasks_per_node


def _match(platform: Platform, results: ResultFile) -> _Match | None:
    signs = platform.signs
    reasons: list[str] = []
    kinds: set[str] = set()
    gpus = _gpu_names(results)
    if gpus and signs.gpus:
        hit = next((gpu for gpu in gpus if any(word in gpu for word in signs.gpus)), None)
        if hit is None or not _gpu_count_fits(platform, results.tables):
            return None
        kinds.add("gpus")
        reasons.append(_gpu_reason(platform, hit, results.tables))
    elif gpus:
        return None
    for kind, patterns, names in (
        ("hosts", signs.hosts, _names(table.hosts for table in results.tables)),
        ("hcas", signs.hcas, _names(table.devices for table in results.tables)),
    ):
        hit = next((name for name in names if _any_matches(patterns, name)), None)
        if hit is not None:
            kinds.add(kind)
            what = "host" if kind == "hosts" else "device"
            reasons.append(f"{what} {hit} is named as on {platform.name}")
    return _Match(platform.name, tuple(reasons), frozenset(kinds)) if kinds else None


def _inside_a_node(table: Table) -> bool:
    return table.n_nodes == 1 or (bool(table.hosts) and len(set(table.hosts)) == 1)


def _any_matches(patterns: Sequence[str], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _names(groups: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


def _gpu_names(results: ResultFile) -> list[str]:
    """Device names of tables in GPU memory: products have a blank in their names, HCAs have not."""
    names = _names(table.devices for table in results.tables)
    return [name for name in names if " " in name]


def _gpu_count_fits(platform: Platform, tables: Sequence[Table]) -> bool:
    if platform.gpus is None:
        return True
    counts = [count for table in tables if (count := gpus_per_node(table)) is not None]
    return not counts or max(counts) <= platform.gpus.per_node.whole


def _gpu_reason(platform: Platform, gpu: str, tables: Sequence[Table]) -> str:
    counts = [count for table in tables if (count := gpus_per_node(table)) is not None]
    if not counts or platform.gpus is None:
        return f"the GPUs are {gpu}, as on {platform.name}"
    on = f"{max(counts)} of the {platform.gpus.per_node.whole}"
    if max(counts) == platform.gpus.per_node.whole:
        on = f"{max(counts)}"
    return f"{on} {gpu} a node, as on {platform.name} (another site with the same: --platform)"
