"""A training log, whatever tool printed it, as runs."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.core.words import counted
from weft.core.work.progress import share_read, working
from weft.results.result_file import PACKED_MARK, WIDE_MARKS, refuse_binary, unpacked
from weft.results.training.collector import Collector
from weft.results.training.formats.csv_table import read_rows, table_of
from weft.results.training.formats.registry import EXPECTED
from weft.results.training.interleaved import joined_runs
from weft.results.training.log_pass import LogPass
from weft.results.training.log_stream import Readable, blocks
from weft.results.training.model import TrainingLog, TrainingRun
from weft.results.training.run_columns import finished_run
from weft.results.training.unit_mix import refuse_mixed_units

HEAD_BYTES = 1 << 16
_MOST_WIDE_BYTES = 1 << 26
_MOST_REASONS = 3


def read_training_log(path: Path) -> TrainingLog:
    """The runs of a file, plain or packed with gzip; '-' is standard input. Raises InputError for
    what cannot be read, is binary, or holds no training step."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("closed", where="standard input", expected=EXPECTED)
        return read_training_stream(sys.stdin.buffer, "standard input")
    with (
        open_file(path, expected=EXPECTED, most_bytes=sys.maxsize) as file,
        working(f"reading {path.name}", ask=share_read(file)),
    ):
        return read_training_stream(file, str(path))


def read_training_stream(stream: Readable, name: str) -> TrainingLog:
    """The runs of what comes out of a stream. Raises InputError as `read_training_log`."""
    head = stream.read(HEAD_BYTES)
    if not head:
        raise InputError("the file is empty", where=name, expected=EXPECTED)
    if head[:2] == PACKED_MARK:
        content, _ = unpacked(head + stream.read(), name)
        return read_training_stream(io.BytesIO(content), name)
    refuse_binary(head, name)
    if head.startswith(WIDE_MARKS):
        text = (head + stream.read(_MOST_WIDE_BYTES)).decode("utf-16", "replace")
        return read_training_stream(io.BytesIO(text.encode()), name)
    whole = _Rejoined(head, stream)
    table = table_of(head.decode("utf-8-sig", "replace"))
    if table is not None:
        collector, n_lines = read_rows(table, _text_lines(whole), name)
    else:
        collector, n_lines = LogPass().read(whole)
    return TrainingLog(name, _runs_of(collector, name, n_lines), n_lines)


def _runs_of(collector: Collector, name: str, n_lines: int) -> tuple[TrainingRun, ...]:
    """The runs of the rank with most steps. Raises InputError where no step time is usable."""
    rank = collector.main_rank()
    n_ranks = len(collector.ranks) - int(rank != "" and "" in collector.ranks)
    joined = joined_runs(collector.ranks.get(rank, []))
    finished = [finished_run(one, rank, n_ranks) for one in joined]
    runs = tuple(one.run for one in finished if one.run is not None)
    n_refused = sum(one.n_refused for one in finished)
    if runs and n_refused <= sum(run.times_s.size for run in runs):
        for run in runs:
            refuse_mixed_units(run, name)
        return runs
    n_readings = sum(one.n_readings for one in finished)
    remarks = [remark for one in finished for remark in one.remarks]
    if not n_readings and not remarks:
        raise InputError(
            f"no training step in these {counted(n_lines, 'line')}", where=name, expected=EXPECTED
        )
    reasons = "; ".join(f"line {line}: {text}" for line, text in remarks[:_MOST_REASONS])
    n_usable = sum(run.times_s.size for run in runs)
    usable = f"only {counted(n_usable, 'usable step time')}" if n_usable else "no usable step time"
    raise InputError(
        f"{usable} in {counted(n_readings, 'step')}" + (f": {reasons}" if reasons else ""),
        where=name,
        expected="steps with a time greater than zero, most of them",
        hint=next((of.format.needs for of in finished if of.format.needs), None),
    )


def _text_lines(stream: Readable) -> Iterator[str]:
    for block in blocks(stream):
        for line in block.removesuffix(b"\n").split(b"\n"):
            yield line.decode("utf-8", "replace")


class _Rejoined:
    """A stream with its first bytes put back."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """As of any stream: up to so many bytes."""
        if self._head:
            head, self._head = self._head, b""
            return head
        return self._stream.read(size)
