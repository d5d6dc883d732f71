"""The JSON that perftest writes (--out_json), also where it is not valid.

Until 2023 nothing in it was quoted (perftest issue 216), later `sl` was not, and rows may end in a
comma before the bracket. So a document that does not parse is read line by line: a key, a colon and
a value each, in the sections `test_info` and `results`.
"""

import json
import re
from collections.abc import Iterable, Mapping

from weft.results.lines.cursor import SHOWN_CHARACTERS, Cursor
from weft.results.model import JsonResult, Table, Unread
from weft.results.perftest.columns import PerftestColumns, in_unit, rows_of, unit_proved
from weft.results.perftest.context import CONDITION_OF_PARAMETER, OPERATIONS, latency_of

_MAX_CHARACTERS = 1 << 20
_MAX_LINES = 500
_PAIR = re.compile(r'\s*"?([A-Za-z][\w.*]{0,40})"?\s{0,4}:\s{0,4}"?([^"{},]{0,120})"?\s{0,4},?$')
_LONGEST_PAIR = 400
_SECTION = re.compile(r'\s*\{?\s*"?(test_info|results(?:_local|_remote)?)"?\s{0,4}:\s{0,4}\{\s*$')
_TITLE = re.compile(r"(Send|RDMA_Write|RDMA_Read|Atomic)")
_SIDES = {"results": "", "results_local": "local", "results_remote": "remote"}
_BANDWIDTH = {
    "MsgSize": ("#bytes", ""),
    "sl": ("#sl", ""),
    "n_iterations": ("#iterations", ""),
    "BW_peak": ("BW peak", "Gb/sec"),
    "BW_average": ("BW average", "Gb/sec"),
    "MsgRate": ("MsgRate", "Mpps"),
    "CPU_util": ("CPU_Util", "%"),
}
_LATENCY = {
    "MsgSize": ("#bytes", ""),
    "n_iterations": ("#iterations", ""),
    "t_min": ("t_min", "usec"),
    "t_max": ("t_max", "usec"),
    "t_typical": ("t_typical", "usec"),
    "t_avg": ("t_avg", "usec"),
    "t_stdev": ("t_stdev", "usec"),
    "percentile_99": ("99% percentile", "usec"),
    "percentile_99.9": ("99.9% percentile", "usec"),
    "tps_average": ("tps average", ""),
    "CPU_util": ("CPU_Util", "%"),
}
_Sections = dict[str, dict[str, str]]
_NO_UNIT = "perftest's JSON names no unit, and size x message rate fits neither Gb/s nor MiB/s"


def opens(line: str) -> bool:
    """Whether a line begins the first section of such a document."""
    return "test_info" in line and _SECTION.match(line) is not None


def read(cursor: Cursor) -> list[Table]:
    """The tables of the document whose first section begins here, valid or not."""
    lines: list[tuple[int, str]] = []
    depth = 1
    while (line := cursor.look()) is not None and depth >= 0 and len(lines) < _MAX_LINES:
        if lines and cursor.peek() is None:
            break
        depth += line.text.count("{") - line.text.count("}")
        if depth < 1 or _is_line(line.text) or set(line.text) <= set("{}, \t"):
            cursor.take()
        else:
            cursor.refuse("no line of perftest's JSON")
        lines.append((line.number, line.text))
        if depth < 1:
            break
    if not lines:
        return []
    number, text = lines[0]
    tables, remarks = _tables(_sections(lines), number)
    for remark in remarks:
        cursor.unread.append(Unread(number, text[:SHOWN_CHARACTERS], remark))
        cursor.n_unread += 1
    return tables


def read_json(text: str) -> JsonResult | None:
    """The tables of a whole document, or None where it is not perftest's."""
    if "test_info" not in text or "results" not in text or len(text) > _MAX_CHARACTERS:
        return None
    sections = _valid(text)
    if not sections:
        sections = _sections(enumerate(text.split("\n")[:_MAX_LINES], start=1))
    if "test_info" not in sections:
        return None
    tables, remarks = _tables(sections, 1)
    return JsonResult(tuple(tables), {}, tuple(remarks)) if tables or remarks else None


def _valid(text: str) -> _Sections:
    """The sections of a document that is valid; numbers stay as they were written."""
    try:
        document = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {
        name: {key: value for key, value in body.items() if isinstance(value, str)}
        for name, body in document.items()
        if isinstance(body, dict) and (name == "test_info" or name in _SIDES)
    }


def _is_line(text: str) -> bool:
    text = text[:_LONGEST_PAIR].rstrip()
    return _SECTION.match(text) is not None or _PAIR.match(text) is not None


def _sections(lines: Iterable[tuple[int, str]]) -> _Sections:
    sections: _Sections = {}
    body: dict[str, str] | None = None
    for _, line in lines:
        text = line[:_LONGEST_PAIR].rstrip()
        section = _SECTION.match(text)
        if section is not None:
            body = sections.setdefault(section[1], {})
            continue
        pair = _PAIR.match(text)
        if pair is not None and body is not None:
            body[pair[1]] = pair[2].strip()
        elif text.strip()[:1] == "}":
            body = None
    return sections


def _tables(sections: Mapping[str, Mapping[str, str]], line: int) -> tuple[list[Table], list[str]]:
    tables: list[Table] = []
    remarks: list[str] = []
    for name, side in _SIDES.items():
        if name not in sections:
            continue
        found = _table(sections.get("test_info", {}), sections[name], side, line)
        if isinstance(found, Table):
            tables.append(found)
        else:
            remarks.append(found)
    return tables, remarks


def _table(
    info: Mapping[str, str], results: Mapping[str, str], side: str, line: int
) -> Table | str:
    is_latency = "BW_average" not in results
    known = _LATENCY if is_latency else _BANDWIDTH
    present = [key for key in known if key in results]
    columns = PerftestColumns(
        tuple(known[k][0] for k in present), tuple(known[k][1] for k in present)
    )
    tokens = [results[key] for key in present]
    if present[:1] != ["MsgSize"]:
        return "perftest's JSON: results without a message size"
    conditions = _conditions(info)
    if is_latency and "op" in conditions:
        conditions["latency_is"] = latency_of(conditions["op"])
    if not is_latency:
        unit = unit_proved(tokens, columns)
        if unit is None:
            return _NO_UNIT
        columns = in_unit(columns, unit)
        conditions["unit"] = f"{unit} (proved: average bandwidth = size x message rate)"
    rows = rows_of(tokens, columns, line)
    if isinstance(rows, str):
        return f"perftest's JSON: {rows}"
    if side:
        conditions["side"] = side
    op = conditions.get("op", "")
    two_ways = conditions.get("directions") == "2"
    return Table(
        tool="perftest",
        test=f"ib_{op}_{'lat' if is_latency else 'bw'}" if op else "",
        benchmark="latency" if is_latency else "bidirectional" if two_ways else "bandwidth",
        rows=tuple(rows),
        first_line=line,
        memory="gpu" if "cuda_device" in info or info.get("Use_ROCm_memory") == "ON" else "",
        n_ranks=2,
        devices=(info["Device"],) if info.get("Device") else (),
        conditions=conditions,
    )


def _conditions(info: Mapping[str, str]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    title = _TITLE.match(info.get("test", ""))
    if title is not None:
        conditions["op"] = OPERATIONS[title[1]]
        conditions["directions"] = "2" if "Bidirectional" in info["test"] else "1"
    for key, value in info.items():
        name = CONDITION_OF_PARAMETER.get(_plain(key))
        if name is not None and name != "device":
            conditions[name] = value[:64]
    return conditions


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
