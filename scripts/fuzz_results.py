"""Readers of result files: their samples, cut into pieces, and laws of what they read."""

import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fuzz_mutations import Reader, mutated_json, mutated_sample

from weft.core.errors import InputError
from weft.results.model import ResultFile
from weft.results.result_file import read_results_text

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "results"
_PIECE_LINES = 11
_PIECE_BYTES = 1000
_SAMPLED = 64
"""Of so many inputs one is read twice and written as JSON."""


def result_readers() -> list[Reader]:
    """Readers of result files that have a sample, by name."""
    return [
        Reader(
            tool + (" (JSON)" if is_json else ""),
            tuple(found),
            mutated_json if is_json else mutated_sample,
            partial(result_outcome, tool),
            tool,
        )
        for (tool, is_json), found in sorted(result_pieces().items())
    ]


def result_pieces() -> dict[tuple[str, bool], dict[str, None]]:
    """Pieces of samples by the tool that reads them, and whether they are JSON."""
    pieces: dict[tuple[str, bool], dict[str, None]] = {}
    for path in sorted(SAMPLES.glob("*/*")):
        if path.suffix == ".md" or not path.is_file():
            continue
        for piece in _pieces(path):
            for tool in _tools(piece):
                pieces.setdefault((tool, _is_json(piece)), {})[piece] = None
    return pieces


def _is_json(text: str) -> bool:
    """Whether a document, or one a line, begins here."""
    return text.lstrip().lstrip("[").lstrip()[:1] == "{"


def _tools(piece: str) -> set[str]:
    """The tools whose rows are found in a piece."""
    try:
        results = read_results_text(piece.encode(), "piece")
    except InputError:
        return set()
    return {table.tool for table in results.tables if table.rows}


def _pieces(path: Path) -> Iterator[str]:
    """The sample itself where it is short, else its tables' headings with some of their rows."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if len(text) <= _PIECE_BYTES:
        yield text
        return
    if _is_json(text):
        yield from _reduced_json(text)
        return
    try:
        results = read_results_text(text.encode(), str(path))
    except InputError:
        return
    lines = text.split("\n")
    for table in results.tables:
        start = table.first_line - 1
        yield "\n".join(lines[start : start + _PIECE_LINES])
        if table.rows:
            row = table.rows[0].line - 1
            head = lines[start : min(start + 6, row)]
            yield "\n".join(head + lines[max(start, row - 6) : row + _PIECE_LINES - 6])


def _reduced_json(text: str) -> Iterator[str]:
    """A document with at most two elements a list; the first lines where each is a document."""
    try:
        yield json.dumps(_reduced(json.loads(text)), indent=1)
    except ValueError:
        yield "\n".join(text.split("\n")[:4])


def _reduced(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reduced(inside) for key, inside in list(value.items())[:30]}
    if isinstance(value, list):
        return [_reduced(inside) for inside in value[:2]]
    return value


def complaints(results: ResultFile, data: bytes) -> Iterator[str]:
    """Faults of a result."""
    n_lines = max(data.count(b"\n"), data.count(b"\r")) + 1
    lines = [unread.line for unread in results.unread]
    for table in results.tables:
        lines.append(table.first_line)
        for count in (table.n_ranks, table.n_nodes, table.tasks_per_node):
            if count is not None and (type(count) is not int or count < 1):
                yield f"{table.tool}: a count of {count!r}"
        for row in table.rows:
            lines.append(row.line)
            size = row.size_bytes
            if size is not None and (type(size) is not int or not 0 <= size < 2**63):
                yield f"{table.tool}: a size of {size!r}"
            for name, value in row.metrics.items():
                if type(value) is not float or not 0 <= value < math.inf:
                    yield f"{table.tool}: {name} is {value!r} at line {row.line}"
    for line in lines:
        if not 1 <= line <= n_lines:
            yield f"line {line} of {n_lines}"


def result_outcome(tool: str, data: bytes, i: int) -> tuple[bool, str]:
    """Whether a result file has rows of the tool, and its fault."""
    results = read_results_text(data, "input")
    reason = next(complaints(results, data), "")
    if not reason and i % _SAMPLED == 0:
        json.dumps(results.to_record(), allow_nan=False)
        if read_results_text(data, "input").to_record() != results.to_record():
            reason = "a second reading differs"
    return any(table.tool == tool and table.rows for table in results.tables), reason
