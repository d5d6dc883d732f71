"""What a result file holds, in one schema for every tool (weft.results/1).

Metrics bear weft's names with the unit last; MB = 1e6 bytes and GB = 1e9, whatever a tool means by
its own. A column nobody knows is kept verbatim, a line nobody understands is reported by number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

RESULTS_SCHEMA = "weft.results/1"
MAX_UNREAD_KEPT = 100
"""So many lines that were not understood are kept with their text; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    `line` counts from 1. `size_bytes` is the message size as the tool counts it, None for a test
    without sizes. `labels` tell rows of one size apart (`placement`, `type`, `redop`, `root`,
    `algorithm`, `protocol`, `port`, `pair`, `op`, `validation`...). `other` holds columns nobody
    knows, by their header, verbatim.
    """

    line: int
    size_bytes: int | None
    metrics: Mapping[str, float]
    labels: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """The row as plain JSON values."""
        return {
            "line": self.line,
            "size_bytes": self.size_bytes,
            "metrics": dict(self.metrics),
            "labels": dict(self.labels),
            "other": dict(self.other),
        }


@dataclass(frozen=True, slots=True)
class Table:
    """One table of one test.

    `tool` is a key of `weft.results.registry.READERS`, `test` the tool's own name of the test
    (`osu_latency`, `PingPong`, `all_reduce_perf`, `ib_write_bw`), `benchmark` weft's name of it or
    "" where weft has none. `memory` is "host", "gpu" or "" (not said). Counts are None where the
    file does not say. `hosts` and `devices` (GPUs by their product name, HCAs by their device name)
    are in order of appearance, one entry a rank where the tool lists ranks. `conditions` is what
    else the header or the tool's documentation says, as text: `window`, `iterations`, `datatype`,
    `directions`, `transport`, `mtu`, `link_type`, `nccl_version`, `algorithm`...
    """

    tool: str
    test: str
    benchmark: str
    rows: tuple[Row, ...]
    first_line: int
    version: str = ""
    memory: str = ""
    n_ranks: int | None = None
    n_nodes: int | None = None
    tasks_per_node: int | None = None
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """The table as plain JSON values."""
        return {
            "tool": self.tool,
            "test": self.test,
            "benchmark": self.benchmark,
            "version": self.version,
            "memory": self.memory,
            "n_ranks": self.n_ranks,
            "n_nodes": self.n_nodes,
            "tasks_per_node": self.tasks_per_node,
            "hosts": list(self.hosts),
            "devices": list(self.devices),
            "conditions": dict(self.conditions),
            "first_line": self.first_line,
            "rows": [row.to_record() for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that no reader understood: its number, its text (cut), and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ResultFile:
    """Everything found in one file: tables in order of appearance, and what was not understood.

    `environment` is what the tool recorded of it, redacted. `n_noise` counts lines known to be
    none of the tools' own (log lines, loader warnings).
    """

    path: str
    tables: tuple[Table, ...]
    unread: tuple[Unread, ...] = ()
    n_unread: int = 0
    n_lines: int = 0
    n_noise: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The file as plain JSON values (schema weft.results/1)."""
        return {
            "schema": RESULTS_SCHEMA,
            "path": self.path,
            "tables": [table.to_record() for table in self.tables],
            "unread": [[u.line, u.text, u.reason] for u in self.unread],
            "n_unread": self.n_unread,
            "n_lines": self.n_lines,
            "n_noise": self.n_noise,
            "environment": dict(self.environment),
            "remarks": list(self.remarks),
        }


class JsonResult(NamedTuple):
    """What a JSON reader found. `environment` is as recorded: the caller redacts it."""

    tables: tuple[Table, ...]
    environment: Mapping[str, str]
    remarks: tuple[str, ...] = ()
