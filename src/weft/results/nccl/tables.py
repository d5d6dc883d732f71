"""The text that nccl-tests and rccl-tests print."""

import re
from dataclasses import replace

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.launch_line import (
    gpus_of_process,
    is_launched,
    launch_of,
    settings_of,
    shown,
)
from weft.results.lines.launch_scale import LAUNCHERS
from weft.results.model import Table
from weft.results.nccl.block import Block, tables_of
from weft.results.nccl.header import (
    columns_of,
    columns_of_row,
    columns_without_header,
    looks_like_a_row,
    rows_of,
)
from weft.results.nccl.job import Device
from weft.results.nccl.names import test_in, version_text
from weft.results.nccl.proof import proves_columns

_DEVICE = re.compile(
    r"(?:#\s+)?Rank\s+(\d{1,7})(?: Group\s+(\d{1,6}))? Pid\s+(\d{1,10}) on\s+(\S{1,255})"
    r" device\s+(\d{1,4}) \[([0-9a-fA-Fx:.]{1,24})\] ?(.{0,120})"
)
_OLD_DEVICE = re.compile(
    r"(?:#\s+)?Rank\s+(\d{1,7}) uses device\s+(\d{1,4}) \[([0-9a-fA-Fx:.]{1,24})\] ?(.{0,120})"
)
_THREADS = re.compile(r"(?:#\s*)?nThreads?:? (\d{1,6}) ")
_SETTING = re.compile(
    r"(nThread|nGpus|minBytes|maxBytes|step|warmup iters|agg iters|iters|validation|graph|unalign)"
    r":? (\d{1,20}(?:\([a-z]{1,10}\))?)"
)
_SETTING_NAMES = {
    "nThread": "threads",
    "nGpus": "gpus_per_thread",
    "step": "step",
    "warmup iters": "warmup_iterations",
    "iters": "iterations",
    "agg iters": "aggregated_iterations",
    "validation": "validation",
    "graph": "cuda_graphs",
}
_TOOL_VERSION = re.compile(r"#?\s*(nccl|rccl)-tests:? version:? (\S{1,80})", re.IGNORECASE)
_LIBRARY = re.compile(r"(nccl|rccl)-library=(\d{1,9})")
_CONTEXT = (
    "# nccl-tests",
    "# rccl-tests",
    "rccl-tests",
    "# Collective test starting",
    "# Using dev",
)
_FOOTER = re.compile(
    r"(?:#\s*)?(Out of bounds values|Avg bus bandwidth|GPU memory usage|error)\s*:\s*(.{0,160})"
)
_FOOTER_NAMES = {
    "Out of bounds values": "out_of_bounds",
    "Avg bus bandwidth": "average_bus_bandwidth_gb_s",
    "GPU memory usage": "gpu_memory",
    "error": "error",
}
_FOOTER_CONDITIONS = frozenset({"out_of_bounds", "average_bus_bandwidth_gb_s"})
_UNPROVED = "no header stands above this row, and size, time and bandwidth do not prove its columns"
_GOES_ON = "\\"
_MOST_PARTS = 60
_CYCLE = re.compile(r"# Testing (\d{1,9}) cycle")
_HEADER = re.compile(
    r"#?\s*(?:[^\s#]{1,40}\s+){0,3}?(?:size|bytes)\s+(?:count|N)\s+(?:type|time)\s", re.IGNORECASE
)


def opens(line: str) -> bool:
    """Whether a line is one of those that stand before the rows of these tools, or such a row."""
    text = line.lstrip()
    if text[:1].isdigit():
        return looks_like_a_row(text)
    if _stands_above(text):
        return True
    if text.startswith("#"):
        return text.startswith(_CONTEXT)
    return (
        text.startswith("rccl-tests")
        or _is_begun_command(text)
        or (test_in(text) != "" and "concluded" not in text)
    )


def _stands_above(text: str) -> bool:
    """Whether a line is a header, a device or the settings, also where its '#' was lost."""
    return (
        _is_placements(text)
        or _is_header(text)
        or ("nThread" in text[:12] and _THREADS.match(text) is not None)
        or ("Rank " in text[:12] and _device(text) is not None)
    )


def _is_header(text: str) -> bool:
    return "busbw" in text and _HEADER.match(text) is not None


def _is_comment(text: str) -> bool:
    """Whether a line is one of the tool's comments, also where its '#' was lost."""
    return (
        text.startswith(("#", "Using devices", "Collective test"))
        or _FOOTER.match(text) is not None
        or (_stands_above(text) and not _is_header(text) and not _is_placements(text))
    )


def _is_begun_command(text: str) -> bool:
    """Whether a line is a launcher's and goes on in the next."""
    return text[-1:] == _GOES_ON and (text.startswith(LAUNCHERS) or "$ mpirun " in text)


def _is_placements(text: str) -> bool:
    """Whether a line names the placements of the columns below it."""
    return text.lstrip("# ").startswith(("out-of-place", "in-place"))


def read(cursor: Cursor) -> list[Table]:
    """The table of one test: from its first line to where another begins."""
    first = cursor.look()
    block = Block(0 if first is None else first.number)
    while (line := cursor.look()) is not None:
        text = line.text.lstrip()
        if block.columns is not None and not block.finished and block.begins_a_row(text):
            _take_row(cursor, line, text.split(), block)
        elif (cursor.peek() is None and not opens(text)) or not _take(cursor, line, text, block):
            break
    _drop_what_is_unproved(cursor, block)
    return tables_of(block) if block.rows else []


def _take(cursor: Cursor, line: Line, text: str, block: Block) -> bool:
    """Deal with a line; False where it begins the next test and was not taken."""
    if text[:1].isdigit() and not block.finished:
        _take_row(cursor, line, text.split(), block)
        return True
    if (block.rows or block.finished) and opens(text):
        return False
    if _is_comment(text):
        _read_comment(text, block)
        cursor.take()
    elif _is_header(text):
        _read_header(text, block)
        cursor.take()
    elif text.startswith("rccl-tests"):
        _read_version(text, block)
        cursor.take()
    elif _is_begun_command(text) or test_in(text):
        _read_command(_whole_command(cursor, text), block)
    elif _is_placements(text):
        _read_placements(text, block)
        cursor.take()
    elif text.startswith("(B)"):
        cursor.take()
    else:
        cursor.refuse("no line of nccl-tests", alike=True)
    return True


def _whole_command(cursor: Cursor, text: str) -> str:
    """The command that begins here, with the lines in which it goes on."""
    parts = [text]
    cursor.take()
    while parts[-1][-1:] == _GOES_ON and len(parts) < _MOST_PARTS:
        line = cursor.look()
        if line is None:
            break
        parts.append(line.text.strip())
        cursor.take()
    return " ".join(part.rstrip(_GOES_ON) for part in parts)


def _read_command(command: str, block: Block) -> None:
    block.test, block.launch = test_in(command), launch_of(command)
    block.gpus_of_process, block.is_launched = gpus_of_process(command), is_launched(command)
    block.conditions = {"launch": shown(command), **settings_of(command)}


def _take_row(cursor: Cursor, line: Line, tokens: list[str], block: Block) -> None:
    columns = block.columns or columns_without_header(tokens)
    if columns is None:
        cursor.refuse("no header stands above this row, and its numbers do not say which is which")
        return
    own = columns_of_row(line.text, tokens, columns)
    if own is None and block.head and len(tokens) == columns.n_tokens_of_group:
        # A log line came between the two placements of a row.
        tokens, own = [*block.head, *tokens], replace(columns, placements=columns.placements[1:])
    own = own or columns
    rows = rows_of(tokens, own, line.number)
    if not line.ended and (columns.tail or own is not columns or columns.needs_proof):
        rows = "the file ends within this row"
    if isinstance(rows, str):
        cursor.refuse(rows)
        return
    cursor.take()
    is_half = len(own.placements) < len(columns.placements)
    is_first_half = is_half and own.placements == columns.placements[:1]
    block.head = tokens[: len(own.first)] if is_first_half else []
    if block.cycle:
        rows = [replace(row, labels={**row.labels, "cycle": block.cycle}) for row in rows]
    block.rows.extend(rows)
    if columns.needs_proof:
        block.unproved.append(line)


def _drop_what_is_unproved(cursor: Cursor, block: Block) -> None:
    """Refuse rows whose columns were guessed from their number, unless size, time and bandwidth
    agree."""
    if not block.unproved:
        return
    numbers = {line.number for line in block.unproved}
    guessed = [row for row in block.rows if row.line in numbers]
    has_footer = not _FOOTER_CONDITIONS.isdisjoint(block.conditions)
    if proves_columns(guessed, with_footer=has_footer):
        return
    block.rows = [row for row in block.rows if row.line not in numbers]
    for line in block.unproved:
        cursor.refuse_taken(line, _UNPROVED)


def _read_comment(text: str, block: Block) -> None:
    if _is_header(text):
        _read_header(text, block)
    elif _is_placements(text):
        _read_placements(text, block)
    elif (device := _device(text)) is not None:
        block.devices.append(device)
    elif _THREADS.match(text):
        for name, value in _SETTING.findall(text):
            if name in _SETTING_NAMES:
                block.conditions[_SETTING_NAMES[name]] = value
    elif (footer := _FOOTER.match(text)) is not None:
        block.conditions[_FOOTER_NAMES[footer[1]]] = footer[2].strip()
    elif text.lstrip("# ").startswith("Collective test"):
        name = text.rpartition(":")[2].strip()[:80]
        block.test = test_in(name) or name or block.test
        block.finished = "concluded" in text
    elif (cycle := _CYCLE.match(text)) is not None:
        block.cycle = cycle[1]
    elif text.startswith("# Blocking Enabled"):
        block.conditions["blocking"] = "yes"
    else:
        _read_version(text, block)


def _read_version(text: str, block: Block) -> None:
    version = _TOOL_VERSION.match(text)
    if version is not None:
        block.tool = f"{version[1].lower()}-tests"
        block.version = version[2]
    library = _LIBRARY.search(text)
    if library is not None:
        block.conditions[f"{library[1]}_version"] = version_text(int(library[2]))


def _read_header(text: str, block: Block) -> None:
    columns = columns_of(text.lstrip("# ").split(), block.placements)
    if columns is not None:
        block.columns = columns


def _read_placements(text: str, block: Block) -> None:
    found = [(text.find(name), name) for name in ("out-of-place", "in-place")]
    block.placements = tuple(name for at, name in sorted(found) if at >= 0)


def _device(text: str) -> Device | None:
    match = _DEVICE.match(text)
    if match is not None:
        rank, group, pid, host, _, _, name = match.groups()
        return Device(int(rank), int(group or 0), pid, host, name.strip())
    match = _OLD_DEVICE.match(text)
    if match is not None:
        return Device(int(match[1]), 0, "", "", match[4].strip())
    return None
