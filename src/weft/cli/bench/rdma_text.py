"""What `weft bench rdma-pairs` prints: the verdict, rails by directions, causes."""

from collections.abc import Mapping, Sequence
from typing import Any

from weft.cli.output import table_text
from weft.core.units import format_size
from weft.core.words import counted

_WORDS = {"low": "LOW", "impossible": "ABOVE ITS RATE", "down": "down", "failed": "failed"}
_HEADS = (("failed", "FAILED"), ("down", "DOWN"), ("low", "LOW"), ("impossible", "IMPOSSIBLE"))


def rdma_text(record: Mapping[str, Any]) -> str:
    """The whole text of a record."""
    rows: Sequence[Mapping[str, Any]] = record["rows"]
    lines = [_verdict(record, rows), "", _table(record, rows), ""]
    for state, what, remedy, paths in _causes(rows):
        lines += [f"{state.upper():<7} {paths}: {what}", f"        to mend: {remedy}"]
    lines.append(f"perftest's own output: {record['run']}")
    return "\n".join(lines)


def _verdict(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    states = [row["state"] for row in rows]
    head = next((word for state, word in _HEADS if state in states), "GOOD")
    if head == "GOOD" and "no rate" in states:
        head = "UNKNOWN"
    a, b = record["hosts"]
    good = f"{states.count('good')} of {counted(len(rows), 'path')} carry at least"
    share = f"{100 * record['least_share']:g} % of their port's rate"
    where = f"{a} and {b}, {counted(record['rails'], 'rail')}, {record['memory']} memory"
    return f"{head}  {good} {share}: {where}, {format_size(record['size_bytes'])} messages"


def _table(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A row a rail, a column a direction, sums below."""
    a, b = record["hosts"]
    by_path = {(row["rail"], row["from"]): row for row in rows}
    rails = list(dict.fromkeys(row["rail"] for row in rows))
    gpu = ["GPU"] if record["memory"] == "gpu" else []
    header = ["rail", "NUMA", *gpu, "port Gb/s", f"{a} -> {b} Gb/s", f"{b} -> {a} Gb/s"]
    lines = []
    for rail in rails:
        there, back = by_path[rail, a], by_path[rail, b]
        numa = _both(there["from_numa"], there["to_numa"])
        gpus = [_both(there["from_gpu"], there["to_gpu"])] if gpu else []
        lines.append([rail, numa, *gpus, _number(there["rate_gbps"]), _cell(there), _cell(back)])
    sums = [_number(one["gbps"], 2) for one in record["sums"]]
    lines.append(["sum", "", *([""] if gpu else []), _number(record["rates_gbps"]), *sums])
    return table_text(header, lines)


def _cell(row: Mapping[str, Any]) -> str:
    word = _WORDS.get(row["state"], "")
    if row["gbps"] is None:
        return word
    return " ".join(filter(None, (word, _number(row["gbps"], 2))))


def _both(one: int | None, other: int | None) -> str:
    """'0' where both ends agree, '0 1' where not, '-' for what is not known."""
    words = ["-" if end is None else str(end) for end in (one, other)]
    return words[0] if words[0] == words[1] else " ".join(words)


def _number(value: float | None, decimals: int | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if decimals is None else f"{value:.{decimals}f}"


def _causes(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """(state, cause, remedy, the paths it holds for), each once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row["cause"]:
            path = f"{row['rail']} {row['from']} -> {row['to']}"
            found.setdefault((row["state"], row["cause"], row["remedy"]), []).append(path)
    return [(*states, ", ".join(paths)) for states, paths in found.items()]
