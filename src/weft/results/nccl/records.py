"""The records that rccl-tests writes to a file (-x): JSON lines, a JSON list, or CSV.

Its `nodes` and `ranksPerNode` are not what they say: it writes the number of communicators and the
processes of one (rccl-tests, src/common.cu, Reporter::addResult), so the first is not read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.results.lines.cursor import Cursor
from weft.results.lines.json_values import amount, count, loaded, text_of
from weft.results.model import JsonResult, Row, Table
from weft.results.nccl.header import IN_PLACE, OUT_OF_PLACE
from weft.results.nccl.names import BENCHMARK_OF_TEST, TEST_OF_COLLECTIVE

_METRICS = {"time": "latency_us", "algbw": "algbw_gb_s", "busbw": "busbw_gb_s"}
_MARKS = ('"algBw"', '"busBw"')
_CSV = "numCycle,"
_MOST_COLUMNS = 32
_LONGEST_RECORD = 4096
_Record = tuple[int, Mapping[str, Any]]


def opens(line: str) -> bool:
    """Whether a line is a JSON record or the CSV header of rccl-tests."""
    return (line[:1] == "{" and all(mark in line for mark in _MARKS)) or line.startswith(_CSV)


def read(cursor: Cursor) -> list[Table]:
    """The tables of the records from here, one for each test, type and operation."""
    first = cursor.look()
    if first is None:
        return []
    records = _csv_records(cursor) if first.text.startswith(_CSV) else _json_records(cursor)
    return tables_of(records)


def read_json(text: str) -> JsonResult | None:
    """The tables of a list of records, or None where the document is none."""
    if text.lstrip()[:1] != "[" or not all(mark in text for mark in _MARKS):
        return None
    records = list(_records_of_lines(text))
    if not records:
        whole = loaded(text)
        items = whole if isinstance(whole, list) else []
        records = [(1, _lowered(item)) for item in items if isinstance(item, dict)]
    tables = tables_of(records)
    return JsonResult(tuple(tables), {}) if tables else None


def tables_of(records: Iterable[_Record]) -> list[Table]:
    """Tables of records with lower-case keys, in order of appearance."""
    groups: dict[tuple[str, ...], list[_Record]] = {}
    for line, record in records:
        key = tuple(text_of(record.get(k)) for k in ("name", "ranks", "rankspernode", "gpus"))
        groups.setdefault(key, []).append((line, record))
    tables = []
    for group in groups.values():
        rows = [row for line, record in group if (row := _row(line, record)) is not None]
        if rows:
            tables.append(_table(group[0][1], rows))
    return tables


def _row(line: int, record: Mapping[str, Any]) -> Row | None:
    size = count(record.get("size"))
    found = {metric: amount(record.get(key)) for key, metric in _METRICS.items()}
    metrics = {metric: value for metric, value in found.items() if value is not None}
    if size is None or len(metrics) != len(_METRICS):
        return None
    in_place = text_of(record.get("inplace")) in ("1", "true")
    labels = {"placement": IN_PLACE if in_place else OUT_OF_PLACE}
    labels |= {key: text_of(record[key]) for key in ("type", "redop") if key in record}
    if text_of(record.get("numcycle")) not in ("", "0"):
        labels["cycle"] = text_of(record["numcycle"])
    wrong = amount(record.get("wrong"))
    if wrong is None:
        labels["validation"] = "N/A"
    else:
        metrics["n_wrong"] = wrong
    return Row(line, size, metrics, labels)


def _table(record: Mapping[str, Any], rows: list[Row]) -> Table:
    name = text_of(record.get("name")).lower().replace("_", "")
    test = TEST_OF_COLLECTIVE.get(name, "")
    return Table(
        tool="rccl-tests",
        test=test,
        benchmark=BENCHMARK_OF_TEST.get(test, ""),
        rows=tuple(rows),
        first_line=rows[0].line,
        memory="gpu",
        n_ranks=_n_ranks(record),
    )


def _n_ranks(record: Mapping[str, Any]) -> int | None:
    gpus = count(record.get("gpus"))
    if gpus is not None:
        return gpus or None
    processes = count(record.get("rankspernode")) or count(record.get("ranks"))
    each = count(record.get("gpusperrank")) or 1
    return processes * each if processes and processes * each < 1 << 24 else None


def _lowered(record: Mapping[str, Any]) -> dict[str, Any]:
    lowered = {key.lower().lstrip("#"): value for key, value in record.items()}
    if "collective" in lowered:
        lowered["name"] = lowered.pop("collective")
    return lowered


def _record_of(line: str) -> dict[str, Any] | None:
    text = line.strip().lstrip("[").rstrip("],").strip()
    if text[:1] != "{" or len(text) > _LONGEST_RECORD:
        return None
    record = loaded(text)
    return _lowered(record) if isinstance(record, dict) else None


def _records_of_lines(text: str) -> Iterable[_Record]:
    for number, line in enumerate(text.split("\n"), start=1):
        record = _record_of(line)
        if record is not None and "algbw" in record:
            yield number, record


def _json_records(cursor: Cursor) -> list[_Record]:
    records: list[_Record] = []
    while (line := cursor.look()) is not None and opens(line.text) and line.text[:1] == "{":
        record = _record_of(line.text)
        if record is None or _row(line.number, record) is None:
            cursor.refuse("a record of rccl-tests that is cut or has no size, time or bandwidth")
            continue
        cursor.take()
        records.append((line.number, record))
    return records


def _csv_records(cursor: Cursor) -> list[_Record]:
    names = _fields(cursor.take().text)[:_MOST_COLUMNS]
    keys = [name.lower().lstrip("#") for name in names]
    records: list[_Record] = []
    while (line := cursor.peek()) is not None:
        record = _csv_record(keys, _fields(line.text))
        if not line.ended:
            cursor.refuse("the file ends within this row")
            continue
        if record is None and "," not in line.text:
            break
        if record is None or _row(line.number, record) is None:
            cursor.refuse("a row of rccl-tests with other columns than its header")
            continue
        cursor.take()
        records.append((line.number, record))
    return records


def _csv_record(keys: Sequence[str], values: Sequence[str]) -> dict[str, Any] | None:
    keys = list(keys)
    if len(values) == len(keys) + 1 and "ranks" in keys and "nodes" not in keys:
        # Until rocm-systems pull request 6004 the header of MPI builds lacked the column 'nodes'.
        keys.insert(keys.index("ranks"), "nodes")
    if len(values) != len(keys):
        return None
    return _lowered(dict(zip(keys, values, strict=True)))


def _fields(text: str) -> list[str]:
    return [field.strip().strip('"') for field in text[:_LONGEST_RECORD].split(",")]
