"""What a fabric is, counted and in words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of a fabric. `switches_by_level` is from the leaves up. `taper` is the rate from the
    leaves to their HCAs over the rate from the leaves up: 1 is non-blocking, 2 half of that; None
    where nothing leads up."""

    name: str
    n_nodes: int
    n_hcas: int
    switches_by_level: tuple[int, ...]
    n_links: int
    taper: float | None

    def in_words(self) -> str:
        """One line: 'fat-tree-16: 16 nodes, 4 leaf + 4 spine switches, 32 links, non-blocking'."""
        hcas = "" if self.n_hcas == self.n_nodes else f" ({_count(self.n_hcas, 'HCA')})"
        parts = [
            f"{_count(self.n_nodes, 'node')}{hcas}",
            _switches(self.switches_by_level),
            _count(self.n_links, "link"),
        ]
        if self.taper is not None:
            parts.append(_taper(self.taper))
        return f"{self.name}: {', '.join(part for part in parts if part)}"


def summarise(document: Document) -> Summary:
    """The counts of a whole fabric document (schema weft.fabric/1)."""
    hcas = {str(hca) for node in document["nodes"] for hca in node["hcas"]}
    levels = {str(switch["name"]): int(switch.get("level", 0)) for switch in document["switches"]}
    by_level = Counter(levels.values())
    return Summary(
        name=str(document.get("name") or "fabric"),
        n_nodes=len(document["nodes"]),
        n_hcas=len(hcas),
        switches_by_level=tuple(by_level[level] for level in sorted(by_level)),
        n_links=len(document["links"]),
        taper=_taper_of(document["links"], hcas),
    )


def _taper_of(links: Iterable[Document], hcas: set[str]) -> float | None:
    """Rate down to HCAs over rate up, over all switches that have HCAs."""
    ends = [(_vertex(link["a"]), _vertex(link["b"]), int(link["bits_per_s"])) for link in links]
    leaves = {b for a, b, _ in ends if a in hcas} | {a for a, b, _ in ends if b in hcas}
    leaves -= hcas
    down = sum(rate for a, b, rate in ends if a in hcas or b in hcas)
    up = sum(rate for a, b, rate in ends if (a in leaves) != (b in leaves) and not {a, b} & hcas)
    return down / up if up else None


def _vertex(port: str) -> str:
    return port.rpartition("[")[0]


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _switches(by_level: tuple[int, ...]) -> str:
    names = {2: (" leaf", " spine"), 3: (" leaf", " spine", " core")}
    total = sum(by_level)
    word = "switch" if total == 1 else "switches"
    if len(by_level) not in names:
        return f"{total} {word}" if total else ""
    kinds = names[len(by_level)]
    return " + ".join(f"{n}{kind}" for n, kind in zip(by_level, kinds, strict=True)) + f" {word}"


def _taper(taper: float) -> str:
    if taper <= 1:
        return "non-blocking"
    return f"taper {taper:.3g}:1"
