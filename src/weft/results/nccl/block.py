"""One test of nccl-tests or rccl-tests while its lines are read, and the tables it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from weft.results.lines.cursor import Line
from weft.results.lines.launch_line import NO_SCALE, LaunchScale
from weft.results.lines.number import counted
from weft.results.model import Row, Table
from weft.results.nccl.header import BEFORE_SIZE, NcclColumns
from weft.results.nccl.job import (
    RANKS_FROM_COUNTS,
    Device,
    completed,
    facts_of_devices,
    guessed_gather,
    guessed_test,
    of_one_process,
    ranks_of_bandwidths,
)
from weft.results.nccl.names import BENCHMARK_OF_TEST
from weft.results.nccl.proof import (
    COUNTS_OLD,
    counts_old_way,
    ranks_of_counts,
    without_algorithm_bandwidth,
)


@dataclass(slots=True)
class Block:
    """What has been read of one test: its context, its columns and its rows."""

    first_line: int
    tool: str = ""
    test: str = ""
    version: str = ""
    columns: NcclColumns | None = None
    placements: tuple[str, ...] = ()
    devices: list[Device] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    conditions: dict[str, str] = field(default_factory=dict)
    launch: LaunchScale = NO_SCALE
    cycle: str = ""
    head: list[str] = field(default_factory=list)
    finished: bool = False
    unproved: list[Line] = field(default_factory=list)
    gpus_of_process: int | None = None
    is_launched: bool = False

    def begins_a_row(self, text: str) -> bool:
        """Whether a line can only be a row: it begins with a number, or with a value of a column
        that stands before the size and goes on with a number."""
        if text[:1].isdigit():
            return True
        if self.columns is None or not self.columns.own:
            return False
        tokens = text.split(None, len(self.columns.own) + 1)
        return len(tokens) > len(self.columns.own) and tokens[len(self.columns.own)].isdigit()


def tables_of(block: Block) -> list[Table]:
    """The table of a block, or one for each value of a column before the size, where the ranks
    differ from one to the next."""
    if block.columns is None or not block.columns.own:
        return [_table(block)]
    groups: dict[str, list[Row]] = {}
    for row in block.rows:
        groups.setdefault(row.labels.get(BEFORE_SIZE, ""), []).append(row)
    test = block.test or guessed_test(block.rows, None)[0]
    ranks = [ranks_of_bandwidths(test, rows) for rows in groups.values()]
    if len(groups) == 1 or None in ranks or len(set(ranks)) == 1:
        return [_table(block)]
    return [_table(_part_of(block, value, rows)) for value, rows in groups.items()]


def _part_of(block: Block, value: str, rows: list[Row]) -> Block:
    conditions = {**block.conditions, BEFORE_SIZE: value}
    return replace(block, first_line=rows[0].line, rows=rows, conditions=conditions)


def _table(block: Block) -> Table:
    facts = facts_of_devices(block.devices)
    if facts.n_ranks is None:
        facts = replace(facts, **block.launch._asdict())
    conditions, test = dict(block.conditions), block.test
    by_counts = ranks_of_counts(block.rows)
    is_old = counts_old_way(block.rows, by_counts)
    if not test:
        found = guessed_gather(block.rows, by_counts, is_old=is_old)
        test, why, could_be = found or (*guessed_test(block.rows, facts.n_ranks), "")
        said = {"test_from": why, "test_could_be": could_be}
        conditions |= {name: text for name, text in said.items() if text}
    if by_counts is not None:
        facts = completed(facts, by_counts, RANKS_FROM_COUNTS, is_guessed=False)
    else:
        by_bandwidths = ranks_of_bandwidths(test, block.rows)
        facts = completed(facts, by_bandwidths, is_guessed=not block.test)
    n_gpus = block.gpus_of_process or _gpus_of_settings(conditions)
    is_launched = block.is_launched or "launch" not in conditions
    facts = of_one_process(facts, n_gpus, test, block.rows, is_launched=is_launched)
    conditions |= facts.conditions
    rows = block.rows
    if is_old:
        conditions["algbw_counts"] = COUNTS_OLD
        rows = [without_algorithm_bandwidth(row) for row in rows]
    return Table(
        tool=block.tool or _tool_of(block),
        test=test,
        benchmark=BENCHMARK_OF_TEST.get(test, ""),
        rows=tuple(rows),
        first_line=block.first_line,
        version=block.version,
        memory="gpu",
        conditions=conditions,
        **facts.of_table,
    )


def _gpus_of_settings(conditions: Mapping[str, str]) -> int | None:
    """GPUs of one process, as the line of settings has them."""
    threads, gpus = (counted(conditions.get(k, "")) for k in ("threads", "gpus_per_thread"))
    return threads * gpus if threads and gpus else None


def _tool_of(block: Block) -> str:
    """AMD's devices, or the columns that only its fork prints, mean rccl-tests."""
    amd = any("AMD" in device.name or "Radeon" in device.name for device in block.devices)
    columns = block.columns
    return "rccl-tests" if amd or (columns and "algo" in columns.tail) else "nccl-tests"
