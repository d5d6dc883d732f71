"""What a result file holds, in one schema for every tool (weft.results/1).

Metrics bear weft's names with the unit last; MB = 1e6 bytes and GB = 1e9, whatever a tool means by
its own. An unknown column is kept verbatim, an unread line is reported by number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

RESULTS_SCHEMA = "weft.results/1"
INTERFACE = "interface"
"""Condition: "sockets" or "verbs", where the tool measures nothing else."""
ROWS, ONE_A_RUN = "rows", "one a run"
"""Condition and its value: a run of the tool prints one row, so one row is no cut table."""
MAX_UNREAD_KEPT = 100
"""So many lines that were not understood are kept with their text; the others are counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    `line` counts from 1. `size_bytes` is the message size as the tool counts it, None for a test
    without sizes. `labels` tell rows of one size apart (`placement`, `type`, `redop`, `root`,
    `algorithm`, `protocol`, `port`, `pair`, `op`, `validation`...). `other` holds unknown
    columns, by their header, verbatim.
    """

    line: int
    size_bytes: int | None
    metrics: Mapping[str, float]
    labels: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of one test.

    `tool` is a key of `weft.catalog.tools.TOOLS`, `test` the tool's own name of the test
    (`osu_latency`, `PingPong`, `all_reduce_perf`, `ib_write_bw`), `benchmark` weft's name of it or
    "" where weft has none. `memory` is "host", "gpu" or "" (unknown). Counts are None where
    the file has none. `hosts` and `devices` (GPUs by their product name, HCAs by their device name)
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
        """The table as plain JSON values, its rows last."""
        record: dict[str, Any] = _record_of(self)
        return record | {key: record.pop(key) for key in ("first_line", "rows")}


class Unread(NamedTuple):
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
        tables = [table.to_record() for table in self.tables]
        return {"schema": RESULTS_SCHEMA, **_record_of(replace(self, tables=())), "tables": tables}


class JsonResult(NamedTuple):
    """What a JSON reader found. `environment` is as recorded: the caller redacts it."""

    tables: tuple[Table, ...]
    environment: Mapping[str, str]
    remarks: tuple[str, ...] = ()


def _record_of(value: Any) -> Any:
    """A row, table or file as plain JSON values, in the order of its fields."""
    if isinstance(value, Row | Table | ResultFile):
        return {name: _record_of(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, tuple):
        return [_record_of(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value
