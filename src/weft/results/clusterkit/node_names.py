"""Node names as ClusterKit folds them: `a,b,node[000-002,007]`, counted before they are written."""

import re

MAX_NAMES = 20_000
"""More names are counted, not written out."""
_ITEM = re.compile(r"([\w.-]{1,255})(?:\[([0-9,-]{1,4000})\])?(?:,|$)")


def node_names(text: str) -> tuple[tuple[str, ...], int | None]:
    """The names in order, and how many; no names where they are too many, (), None for nonsense."""
    names: list[str] = []
    n_names = 0
    at = 0
    text = text.strip()
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            return (), None
        at = match.end()
        ranges = _ranges(match[2]) if match[2] is not None else None
        if match[2] is not None and ranges is None:
            return (), None
        n_names += sum(high - low + 1 for low, high, _ in ranges) if ranges else 1
        if n_names > MAX_NAMES:
            names = []
        elif ranges:
            names += [
                f"{match[1]}{i:0{width}d}"
                for low, high, width in ranges
                for i in range(low, high + 1)
            ]
        else:
            names.append(match[1])
    return (tuple(names) if n_names <= MAX_NAMES else ()), (n_names or None)


def _ranges(text: str) -> list[tuple[int, int, int]] | None:
    """(first, last, digits) of `000-002,007`."""
    ranges = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        high = high or low
        if not (low.isdigit() and high.isdigit()) or len(low) > 9 or len(high) > 9:
            return None
        if int(high) < int(low):
            return None
        ranges.append((int(low), int(high), len(low)))
    return ranges
