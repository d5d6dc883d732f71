"""The columns that perftest prints, found by its header, and what a row's numbers prove."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.core.units import ROUNDING
from weft.results.lines.number import counted, measured
from weft.results.model import Row

BYTES_PER_MIB = 2**20
"""perftest's MB/sec and its MiB/sec are both this many bytes a second."""
MB_S_OF_UNIT = {
    "Gb/sec": 1e9 / 8 / 1e6,
    "MB/sec": BYTES_PER_MIB / 1e6,
    "MiB/sec": BYTES_PER_MIB / 1e6,
}
_COLUMN = re.compile(
    r"#[a-z_]+|BW (?:peak|average|Port[12])\s?\[[A-Za-z/]{2,8}\]|MsgRate(?: Port[12])?\s?\[Mpps\]"
    r"|CPU_Util\[%{1,2}\]|t_[a-z]+\[(?:usec|cycles|nsec)\]"
    r"|99(?:\.9)?% percentile\[(?:usec|cycles)\]|tps average"
    r"|[A-Za-z_]+(?: [A-Za-z_]+)?\[[^\]]{1,10}\]"
)
_UNIT = re.compile(r"\[([^\]]{1,10})\]")
_METRICS = {
    "BW peak": "bandwidth_peak_mb_s",
    "BW average": "bandwidth_mb_s",
    "MsgRate": "msg_rate_mps",
    "CPU_Util": "cpu_percent",
    "t_min": "latency_us_min",
    "t_max": "latency_us_max",
    "t_typical": "latency_us_p50",
    "t_avg": "latency_us",
    "t_stdev": "latency_us_stdev",
    "99% percentile": "latency_us_p99",
    "99.9% percentile": "latency_us_p999",
    "tps average": "transactions_per_s",
    "#iterations": "iterations",
}
_MAX_HEADER = 400
_PORTS = ("1", "2")
_OF_PORT = {"BW": "BW average", "MsgRate": "MsgRate"}
_MICROSECONDS = ("usec",)


@dataclass(frozen=True, slots=True)
class PerftestColumns:
    """Names of the columns as the header prints them, units apart."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    @property
    def bandwidth_unit(self) -> str:
        """The unit of the bandwidth columns, "" where there are none."""
        found = [u for n, u in zip(self.names, self.units, strict=True) if n.startswith("BW ")]
        return found[0] if found else ""


def columns_of(header: str) -> PerftestColumns | None:
    """The columns a header names, or None where it is no header of perftest."""
    found = _COLUMN.findall(header[:_MAX_HEADER])
    if not found or found[0] != "#bytes" or len(found) < 3 or len(found) > 24:
        return None
    names, units = [], []
    for text in found:
        unit = _UNIT.search(text)
        names.append(text.partition("[")[0].strip())
        units.append(unit[1] if unit is not None else "")
    return PerftestColumns(tuple(names), tuple(units))


BARE = PerftestColumns(
    ("#bytes", "#iterations", "BW peak", "BW average", "MsgRate"),
    ("", "", "Gb/sec", "Gb/sec", "Mpps"),
)
"""What a bandwidth row without header can be: five columns in Gb/s, if its numbers prove it."""


def rows_of(tokens: Sequence[str], columns: PerftestColumns, line: int) -> list[Row] | str:
    """The rows of one line (more than one with columns a port), or why there are none."""
    if len(tokens) != len(columns.names):
        return f"{len(tokens)} columns where the header has {len(columns.names)}"
    size = counted(tokens[0])
    if size is None:
        return "the size is no whole number"
    metrics: dict[str, float] = {}
    labels: dict[str, str] = {}
    other: dict[str, str] = {}
    ports: dict[str, dict[str, float]] = {}
    for name, unit, token in zip(columns.names[1:], columns.units[1:], tokens[1:], strict=True):
        value = measured(token)
        if value is None:
            return f"'{name}' is no number"
        if name == "#sl":
            labels["service_level"] = token
        elif name[-5:-1] == "Port" and name[-1] in _PORTS and name[:-6] in _OF_PORT:
            _put(ports.setdefault(name[-1], {}), _OF_PORT[name[:-6]], unit, value)
        elif not _put(metrics, name, unit, value):
            other[f"{name}[{unit}]" if unit else name] = token
    if metrics.get("bandwidth_peak_mb_s") == 0:
        # perftest prints 0.00 where it did not measure a peak (-D, and runs of many queue pairs).
        del metrics["bandwidth_peak_mb_s"]
    if "latency_us" not in metrics and "latency_us_p50" in metrics:
        metrics["latency_us"] = metrics["latency_us_p50"]
    rows = [Row(line, size, metrics, labels, other)]
    rows += [Row(line, size, ports[port], {**labels, "port": port}) for port in sorted(ports)]
    return rows


def _put(metrics: dict[str, float], name: str, unit: str, value: float) -> bool:
    metric = _METRICS.get(name)
    if metric is None:
        return False
    if name.startswith("BW "):
        factor = MB_S_OF_UNIT.get(unit)
        if factor is None:
            return False
        metrics[metric] = value * factor
    elif metric.startswith("latency_us") and unit not in _MICROSECONDS:
        return False
    else:
        metrics[metric] = value
    return True


def unit_proved(tokens: Sequence[str], columns: PerftestColumns) -> str | None:
    """The unit in which the average bandwidth equals size times message rate within the rounding
    of both, or None where none of perftest's units does or the rate is too coarse to tell."""
    fields: Mapping[str, str] = dict(zip(columns.names, tokens, strict=False))
    size, rate = counted(fields.get("#bytes", "")), measured(fields.get("MsgRate", ""))
    average = measured(fields.get("BW average", ""))
    if not size or not rate or not average:
        return None
    rate_slack = _half_last_digit(fields["MsgRate"])
    slack = _half_last_digit(fields["BW average"])
    fitting = [
        unit
        for unit, factor in (("Gb/sec", 8e-3), ("MiB/sec", 1e6 / BYTES_PER_MIB))
        if abs(size * rate * factor - average) <= size * rate_slack * factor + slack
    ]
    return fitting[0] if len(fitting) == 1 else None


def _half_last_digit(token: str) -> float:
    """Half a unit in the last printed place, and a hair for the binary representation."""
    digits = len(token.partition(".")[2]) if "e" not in token.lower() else 0
    return 0.5 * 10.0 ** -min(digits, 15) * (1 + ROUNDING)


def in_unit(columns: PerftestColumns, unit: str) -> PerftestColumns:
    """The columns with this unit of bandwidth instead of the header's."""
    units = [
        unit if name.startswith("BW ") else own
        for name, own in zip(columns.names, columns.units, strict=True)
    ]
    return PerftestColumns(columns.names, tuple(units))
