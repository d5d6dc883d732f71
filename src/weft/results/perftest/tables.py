"""The text that perftest (ib_write_bw, ib_send_lat and their kin) prints."""

import re
from dataclasses import dataclass, field, replace

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import measured
from weft.results.lines.unit_conflict import UNIT_CONFLICT
from weft.results.model import Row, Table
from weft.results.perftest import json_report as perftest_json
from weft.results.perftest.columns import (
    BARE,
    PerftestColumns,
    columns_of,
    in_unit,
    rows_of,
    unit_proved,
)
from weft.results.perftest.context import SCRIPT, SIDES, Context, is_parameter

_TITLE = re.compile(
    r"\s*(Send|RDMA_Write|RDMA_Read|Atomic)(?:_\w{1,20})?\b[\w /-]{0,60}"
    r"\b(BW|Latency)\b[\w -]{0,20} Test\b"
)
_PROGRAM = re.compile(r"(?:^|[\s/`'])ib_(write|read|send|atomic)_(bw|lat)(?=[\s'`]|$)")
_BARE = re.compile(
    r"\s*\d{1,16}\s+\d{1,12}\s+\d{1,9}\.\d{2,6}\s+\d{1,9}\.\d{2,6}\s+\d{1,9}\.\d{6}$"
)
_PAIR = re.compile(r"\s*Pair #?(\d{1,6}) ?:?$")
_GPU = ("initializing CUDA", "Listing all CUDA devices", "Using ROCm Device", "initializing ROCm")
_SAMPLE = re.compile(r"\d{1,12}, \d{1,12}(?:\.\d{1,12})?(?:e[+-]\d{1,3})?$")
_QUOTE_OR_T = frozenset('t"')
_EITHER = {
    True: "; the time is half the round trip, or all of it for read and atomic",
    False: "; with -b the bandwidth is of both directions",
}
_RATE_DECIMALS = 6
"""SOURCE: linux-rdma/perftest, src/perftest_parameters.h, REPORT_FMT: %-7.6lf."""
_UNIT_PROVED = "proved: average bandwidth = size x message rate"


def opens(line: str) -> bool:
    """Whether a line is a title or a header of perftest, a launch of it, or a row without
    header whose own numbers prove its unit."""
    text = line.lstrip()
    first = text[:1]
    if first in _QUOTE_OR_T and perftest_json.opens(text):
        return True
    if first == "#":
        return text.startswith("#bytes") and "#iterations" in text
    if first.isdigit():
        is_bare = text[-7:-6] == "." and _BARE.match(text) is not None
        return is_bare and _bare_unit(text.split()) is not None
    return (
        text.startswith(_GPU)
        or _title(text) is not None
        or (first == "P" and _PAIR.match(text) is not None)
        or _program(text) is not None
        or ("_ib" in text and SCRIPT.match(text) is not None)
        or is_parameter(text)
    )


@dataclass(slots=True)
class _Block:
    """What has been read of one run: the context, and the rows under the present header."""

    first_line: int
    context: Context = field(default_factory=Context)
    columns: PerftestColumns | None = None
    rows: list[Row] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    proved_unit: str = ""
    pair: str = ""
    is_bare: bool = False
    is_closed: bool = False

    def flush(self, next_line: int) -> None:
        """Make a table of the rows so far; the context stays for a further header."""
        if self.rows:
            self.tables.append(_table(self))
        self.rows, self.first_line, self.is_closed, self.proved_unit = [], next_line, False, ""


def read(cursor: Cursor) -> list[Table]:
    """The tables of one run: one for each header, or one for a list of rows without header."""
    first = cursor.look()
    if first is not None and perftest_json.opens(first.text):
        return perftest_json.read(cursor)
    block = _Block(0 if first is None else first.number)
    while (line := cursor.look()) is not None:
        text = line.text.lstrip()
        if text[:1].isdigit() and block.columns is not None and not block.is_closed:
            if not _take_row(cursor, line, text.split(), block):
                break
        elif (cursor.peek() is None and not opens(text)) or not _take(cursor, line, text, block):
            break
    block.flush(0)
    return block.tables


def _take(cursor: Cursor, line: Line, text: str, block: _Block) -> bool:
    """Deal with a line; False where it belongs to something else and was not taken."""
    if text[:1].isdigit() and not block.is_closed and block.columns is None:
        return _take_sample_or_row(cursor, line, text, block)
    if text.startswith("#bytes"):
        _take_header(cursor, line, text, block)
    elif text[:1] == "P" and (pair := _PAIR.match(text)) and (block.is_bare or not block.rows):
        block.pair = pair[1]
        cursor.take()
    elif block.rows and (block.is_bare or opens(text)):
        return False
    elif (side := SIDES.get(text.rstrip(": "))) is not None:
        block.flush(line.number)
        block.context.conditions["side"] = side
        cursor.take()
    elif text.startswith("---"):
        block.is_closed = bool(block.rows)
        cursor.take()
    elif text.startswith(("#, ", "```")) or block.context.read(text, _title(text), _program(text)):
        cursor.take()
    elif block.is_closed or not (block.columns or block.context.has_begun):
        return False
    else:
        cursor.refuse("no line of perftest")
    return True


def _title(text: str) -> re.Match[str] | None:
    return _TITLE.match(text) if "Test" in text else None


def _program(text: str) -> re.Match[str] | None:
    return _PROGRAM.search(text) if "ib_" in text else None


def _take_sample_or_row(cursor: Cursor, line: Line, text: str, block: _Block) -> bool:
    if "," in text and _SAMPLE.match(text):
        cursor.take()
        return True
    return _take_row(cursor, line, text.split(), block)


def _take_header(cursor: Cursor, line: Line, text: str, block: _Block) -> None:
    block.flush(line.number)
    block.columns, block.is_bare = columns_of(text), False
    if block.columns is None:
        cursor.refuse("a header with unknown columns")
    else:
        cursor.take()


def _take_row(cursor: Cursor, line: Line, tokens: list[str], block: _Block) -> bool:
    columns = block.columns
    if columns is None or block.is_bare:
        proved = _bare_unit(tokens) if _BARE.match(line.text) else None
        if proved is None and block.is_bare:
            return False
        if proved is None:
            cursor.refuse("no header above, and size x message rate does not prove the unit")
            return True
        columns = block.columns = in_unit(BARE, proved)
        block.is_bare, block.proved_unit = True, proved
    else:
        columns = _with_message_rate(columns, tokens)
        proved = unit_proved(tokens, columns)
    if proved is not None and not _same(proved, columns.bandwidth_unit):
        block.context.conditions["unit_in_header"] = columns.bandwidth_unit
        block.proved_unit = proved
        columns = in_unit(columns, proved)
    rows = rows_of(tokens, columns, line.number)
    if not isinstance(rows, str) and not line.ended and _may_be_cut(tokens, columns):
        rows = "the file ends within this row"
    if isinstance(rows, str):
        cursor.refuse(rows)
        return True
    cursor.take()
    if cursor.at_end and columns.names[-1] == "MsgRate" and _may_be_cut(tokens, columns):
        # Somebody ended a line that was cut.
        cursor.refuse_taken(line, "the file ends within this row")
        return True
    if block.pair:
        rows = [replace(row, labels={**row.labels, "pair": block.pair}) for row in rows]
    block.rows.extend(rows)
    return True


def _with_message_rate(columns: PerftestColumns, tokens: list[str]) -> PerftestColumns:
    """The columns, with the message rate behind them where the header lost its name and size x rate
    = average bandwidth proves it."""
    if len(tokens) != len(columns.names) + 1 or "MsgRate" in columns.names:
        return columns
    more = PerftestColumns((*columns.names, "MsgRate"), (*columns.units, "Mpps"))
    return columns if unit_proved(tokens, more) is None else more


def _may_be_cut(tokens: list[str], columns: PerftestColumns) -> bool:
    """Whether the last number of a line without line end has fewer decimals than its neighbour, or
    a message rate fewer than perftest prints."""
    if columns.names[-1] == "MsgRate":
        return len(tokens[-1].partition(".")[2]) < _RATE_DECIMALS
    last, before = (len(token.partition(".")[2]) for token in (tokens[-1], tokens[-2]))
    return last < before


def _bare_unit(tokens: list[str]) -> str | None:
    """The unit that the numbers of a row without header prove, or None."""
    if len(tokens) != len(BARE.names):
        return None
    peak, average = measured(tokens[2]), measured(tokens[3])
    if peak is None or average is None or (peak != 0 and peak < average):
        return None
    return unit_proved(tokens, BARE)


def _same(unit: str, header: str) -> bool:
    return (unit == "Gb/sec") == (header == "Gb/sec")


def _test(context: Context, kind: str) -> str:
    if context.conditions.get("connection") == "RawEth":
        return f"raw_ethernet_{kind}"
    return f"ib_{context.op}_{kind}" if context.op else ""


def _table(block: _Block) -> Table:
    context = block.context
    conditions = dict(context.conditions)
    if block.proved_unit:
        conditions["unit"] = f"{block.proved_unit} ({_UNIT_PROVED})"
    if "unit_in_header" in conditions:
        conditions[UNIT_CONFLICT] = (
            f"the header says {conditions['unit_in_header']}, the rows are in {block.proved_unit}"
        )
    is_latency = block.columns is not None and not block.columns.bandwidth_unit
    kind = "lat" if is_latency else "bw"
    if not is_latency:
        conditions.pop("latency_is", None)
    if not context.op:
        conditions["test_could_be"] = f"any test of perftest{_EITHER[is_latency]}"
    two_ways = conditions.get("directions") == "2"
    n_nodes = context.n_nodes
    return Table(
        tool="perftest",
        test=_test(context, kind),
        benchmark="latency" if is_latency else "bidirectional" if two_ways else "bandwidth",
        rows=tuple(block.rows),
        first_line=block.first_line,
        version=context.version,
        memory=context.memory,
        n_ranks=2,
        n_nodes=n_nodes,
        tasks_per_node=None if n_nodes is None else 2 // n_nodes,
        hosts=context.hosts,
        devices=context.devices,
        conditions=conditions,
    )
