"""Further facts of files, one line each: counters, logs, hosts' devices, trees."""

from collections.abc import Mapping, Sequence
from typing import Any

MOST_LISTED = 8
"""More of a kind than this are only counted."""


def file_fact_lines(description: Mapping[str, Any]) -> list[str]:
    """A line for everything that the summary of nodes and cables does not show."""
    ports = {
        (reading["end"]["node"], reading["end"]["port"]) for reading in description["readings"]
    }
    counted = (
        (len(ports), "counters", "ports"),
        (description["n_adaptive"], "adaptive routing", "switches with groups of ports"),
        (description["n_sl2vl"], "virtual lanes", "paths through ports"),
    )
    lines = [f"{what}: {n:,} {of}" for n, what, of in counted if n]
    for kind, line in (
        ("sm_logs", _log),
        ("tree", _tree_switch),
        ("insides", _inside),
        ("devices", _device),
        ("kept", _kept),
    ):
        lines += _first(description[kind], line)
    return lines


def _first(records: Sequence[Mapping[str, Any]], line: Any) -> list[str]:
    lines = [line(record) for record in records[:MOST_LISTED]]
    if len(records) > MOST_LISTED:
        lines.append(f"... and {len(records) - MOST_LISTED:,} more of these: --format json")
    return lines


def _log(log: Mapping[str, Any]) -> str:
    engines = ", then ".join(log["engines_used"]) or "no engine named"
    asked = f", asked for {', '.join(log['engines_asked'])}" if log["engines_asked"] else ""
    n_errors, n_removed = len(log["errors"]), len(log["removed"])
    return (
        f"subnet manager's log: routed by {engines}{asked}; different errors {n_errors:,}, "
        f"ports that left {n_removed:,}"
    )


def _tree_switch(switch: Mapping[str, Any]) -> str:
    below = [
        f"{len(names):,} {what}"
        for what, names in (("nodes", switch["nodes"]), ("switches", switch["switches"]))
        if names
    ]
    return f"scheduler's tree: {switch['name']} with {' and '.join(below)}"


def _inside(inside: Mapping[str, Any]) -> str:
    counts = (
        f"{inside[key]} {what}"
        for key, what in (
            ("packages", "packages"),
            ("numa_nodes", "NUMA nodes"),
            ("cores", "cores"),
            ("hardware_threads", "hardware threads"),
        )
        if inside.get(key)
    )
    devices = [str(device["name"]) for device in inside.get("devices", ()) if device.get("name")]
    shown = ", ".join(devices[:MOST_LISTED]) + (", ..." if len(devices) > MOST_LISTED else "")
    found = f"; devices {shown}" if devices else ""
    return f"inside of {inside.get('host') or 'a host'}: {', '.join(counts) or 'nothing'}{found}"


def _device(device: Mapping[str, Any]) -> str:
    rate = device["rate_gbps"]
    parts = (
        device["link_layer"],
        device["state"],
        device["physical_state"],
        f"{rate:g} Gb/s" if rate else None,
        f"LID {device['lid']}" if device["lid"] else None,
    )
    words = ", ".join(str(word) for word in parts if word) or "nothing about its port"
    return f"device of a host: {device['device']} port {device['port']}: {words}"


def _kept(section: Mapping[str, Any]) -> str:
    return f"kept as it is: {section['name']}, {section['n_rows']:,} rows"
