"""What `weft platform detect` prints: the machine in one line, its figures, what to look at."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.catalog.machine.platform import Platform, figures
from weft.cli.output import table_text, would_show_lines
from weft.cli.platform.detect import Detection
from weft.cli.platform.text import plain_source
from weft.core.finding import Severity, cannot_tell
from weft.core.nodeset import fold
from weft.core.shell_line import quoted
from weft.core.words import counted
from weft.doctor.machine.detection.document import HERE, title_of

MOST_RAILS = 8
"""Of more rails the table has the first; --format json has all."""
MOST_SOURCE = 90
_SHOWN = ("node.", "links.host.rate", "packets.mtu", "gpus.")
_TWICE = "node.gpus"
"""gpus.per_node says the same."""
_TARGET = "DETECTED.toml"


def figure_rows(platform: Platform) -> list[dict[str, Any]]:
    """Every figure of a platform, and where it was read."""
    return [
        {
            "figure": key,
            "value": one.value,
            "unit": one.unit,
            "class": one.class_.value,
            "source": one.source,
            **({"conditions": one.conditions} if one.conditions else {}),
        }
        for key, one in figures(platform)
    ]


def detection_text(found: Detection) -> str:
    """The whole text."""
    rows = figure_rows(found.platform)
    shown = [row for row in rows if row["figure"].startswith(_SHOWN)]
    shown = [row for row in shown if row["figure"] != _TWICE]
    cells = [[row["figure"], _value(row), _source(row)] for row in shown]
    cells += _rail_cells(rows)
    n_assumed = sum(row["class"] in ("assumed", "unverified") for row in rows if row not in shown)
    lines = [
        *_head(found),
        *(f"WARNING  {one}" for one in _warnings(found)),
        "",
        table_text(["figure", "value", "read from"], cells, left=1, last=1),
        "",
    ]
    if n_assumed:
        base = (
            f"; weft platform show {quoted(found.out)} lists them" if found.out is not None else ""
        )
        lines.append(f"{counted(n_assumed, 'more figure')} assumed{base}")
    lines += [f"note: {note}" for note in found.platform.notes[1:]]
    unread = list(found.hardware.unread.items())
    lines += [f"not read: {path} ({why})" for path, why in unread[:3]]
    lines += [f"not read: {len(unread) - 3} more; --format json names them"] * (len(unread) > 3)
    return "\n".join([*lines, f"next: {_next(found)}"])


def _head(found: Detection) -> list[str]:
    """The verdict, and what it rests on."""
    first = _verdict(found)
    if found.verdict is Severity.UNKNOWN:
        gaps = [f"UNKNOWN  {cannot_tell(*gap)}" for gap in found.health.gaps]
        return [*gaps, first.partition("  ")[2]]
    return [first, *(would_show_lines(found.health.would_show) if first.startswith("GOOD") else ())]


def _verdict(found: Detection) -> str:
    what = f"{found.platform.name}: {title_of(found.hardware)}"
    if found.n_hosts:
        n_read = found.n_hosts - len(found.unreached)
        what = f"{counted(n_read, 'host')}: {title_of(found.hardware)}"
    differing = {host for one in found.differences for host in one.hosts}
    if differing:
        verb = "differs" if len(differing) == 1 else "differ"
        return f"DIFFER  {len(differing)} of {what.replace(':', f' {verb}; most have:', 1)}"
    if found.unreached:
        return f"WARN  {what}; {counted(len(found.unreached), 'host')} did not answer"
    if found.warnings:
        return f"WARN  {what}; {counted(len(found.warnings), 'thing')} to look at"
    return f"{'GOOD' if found.hardware.rails else 'NONE'}  {what}"


def _warnings(found: Detection) -> Iterator[str]:
    causes: dict[str, list[str]] = {}
    for host, (cause, _) in found.unreached.items():
        causes.setdefault(cause, []).append(host)
    for cause, hosts in causes.items():
        remedy = found.unreached[hosts[0]][1]
        verb = "is" if len(hosts) == 1 else "are"
        yield f"{fold(hosts)} {verb} not read: {cause}" + (f"; fix: {remedy}" if remedy else "")
    yield from (one.sentence for one in found.differences)
    yield from found.warnings


def _value(row: Mapping[str, Any]) -> str:
    return f"{row['value']:,.10g} {row['unit']}"


def _source(row: Mapping[str, Any]) -> str:
    source = plain_source(row["source"])
    if row["class"] in ("assumed", "unverified"):
        source = f"{row['class']}: {source}"
    return source if len(source) <= MOST_SOURCE else f"{source[: MOST_SOURCE - 3]}..."


def _rail_cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """A line a rail: rate, slot now and at most, NUMA node."""
    rails: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        head, _, key = row["figure"].removeprefix("facts.").rpartition(".")
        if row["figure"].startswith("facts."):
            rails.setdefault(head, {})[key] = row
    cells = []
    for name, own in list(rails.items())[:MOST_RAILS]:
        parts = [f"{own['rate']['value']:g} Gb/s"] if "rate" in own else ["no data"]
        for which, word in (("pcie", ""), ("most_pcie", "at most ")):
            if f"{which}_speed" in own:
                speed, lanes = own[f"{which}_speed"]["value"], own[f"{which}_lanes"]["value"]
                parts.append(f"{word}{speed:g} GT/s x{lanes:g}")
        if "numa_node" in own:
            parts.append(f"NUMA node {own['numa_node']['value']:g}")
        first = next(iter(own.values()))
        where = own.get("numa_node", first)["source"].removesuffix("/numa_node")
        cells.append([name, ", ".join(parts), where])
    if len(rails) > MOST_RAILS:
        cells.append([counted(len(rails) - MOST_RAILS, "more adapter"), "", "--format json"])
    return cells


def _next(found: Detection) -> str:
    if not found.hardware.rails:
        return "weft study run smoke"
    if found.out is not None:
        return f"weft judge FILE --platform {quoted(found.out)}"
    if found.is_here and found.hardware.has_platform:
        return f"weft judge FILE --platform {HERE}"
    return f"{found.command} --out {_TARGET} && weft judge FILE --platform {_TARGET}"
