"""One pass over a log: its lines become readings of a collector."""

import numpy as np

from weft.results.training.collector import CHECKPOINT, EVALUATION, NOTHING, Collector
from weft.results.training.facts import changed_fact, facts_in, has_arguments, may_state_facts
from weft.results.training.formats.log_format import LogFormat
from weft.results.training.formats.registry import SCANNED
from weft.results.training.line_shape import KnownShapes
from weft.results.training.log_stream import Readable, blocks, line_feeds, places
from weft.results.training.model import Remark, StepReading, TrainingFacts
from weft.results.training.rank_prefix import PREFIX_BYTES, without_rank

_HEADING_BYTES = 1 << 24
"""So much before the first step of a run is searched for what the log states of the job."""
_NEARBY_BYTES = 1 << 16
_LEAST_HEADING = 16
_MOST_PREFIXES = 10_000
_CAUSES = (
    (b"heckpoint", CHECKPOINT),
    (b"alidation loss", EVALUATION),
    (b"alidation DataLoader", EVALUATION),
    (b"validate step:", EVALUATION),
)
_LINE_ENDS = b"\r\n"
NO_FACTS = TrainingFacts()


class LogPass:
    """The state between two lines: what stands behind the last reading, and the last facts."""

    def __init__(self) -> None:
        self.collector = Collector()
        self._facts: tuple[TrainingFacts, list[Remark], int] = (NO_FACTS, [], 0)
        self._behind = _Behind()
        self._rank_of: dict[bytes, str] = {}
        self._shapes = KnownShapes()
        self._line = 1
        self._near_arguments = False
        self._last_rank = ""

    def read(self, stream: Readable) -> tuple[Collector, int]:
        """The readings, and the number of lines."""
        content, has = b"\n", False
        for content in blocks(stream):
            had, has = has, has_arguments(content)
            self._near_arguments = had or has
            self._read_block(content)
        return self.collector, self._line - content.endswith(b"\n")

    def _read_block(self, content: bytes) -> None:
        counted_to, last_start = 0, -1
        collector, rank_of, feeds = self.collector, self._rank_of, line_feeds(content)
        shapes = self._shapes
        self._behind.add(content)
        for start, end, of in places(content, SCANNED, collector.main_format):
            # What begins elsewhere in a line may be its first record: the line is very long.
            is_torn = start > last_start >= 0 and content[start - 1] not in _LINE_ENDS
            is_torn = is_torn and not feeds[counted_to:start].any()
            known = rank_of.get(_first_word(content, start)) if rank_of else None
            if start == last_start or (known is not None and collector.passes_over(known)):
                continue
            rank, reading = known or "", shapes.reading(of, known or "", content, start, end)
            if reading is None:
                rank, reading = self._searched(of, content[start:end])
            if reading is None:
                continue
            if is_torn and not rank:
                # The launcher labels lines, not records.
                rank = self._last_rank
            last_start, self._last_rank = start, rank
            self._behind.cut(start)
            self._line += int(np.count_nonzero(feeds[counted_to:start]))
            counted_to = start
            self._take(of, rank, reading)
            if is_torn:
                self.collector.tear(rank, self._line)
            self._behind.begin(content, end, self._line)
        self._behind.end()
        self._line += int(np.count_nonzero(feeds[counted_to:]))

    def _searched(self, of: LogFormat, raw: bytes) -> tuple[str, StepReading | None]:
        """The rank of a line and its reading, by searches; they are noted for lines alike."""
        rank, text = without_rank(raw.decode("utf-8", "replace"))
        reading = of.read(text)
        if reading is not None:
            if rank and len(self._rank_of) < _MOST_PREFIXES:
                self._rank_of.setdefault(_first_word(raw, 0), rank)
            if of.reads_shapes:
                self._shapes.learn(of, rank, raw, text, reading)
        return rank, reading

    def _take(self, of: LogFormat, rank: str, reading: StepReading) -> None:
        """Add a reading, with the facts of the text before it where it begins a run."""
        collector = self.collector
        is_slow = collector.is_slow(rank, reading)
        is_new = collector.is_new_run(rank, reading, of, self._note_facts)
        may_change = not is_new and (is_slow or self._near_arguments)
        changed = self._changed_fact(rank) if may_change else None
        if is_new or changed is not None:
            self._note_facts()
            runs = collector.ranks.get(rank)
            facts, remarks, line = self._facts
            is_older = bool(runs) and line <= runs[-1].last_line  # type: ignore[index]
            run = collector.begin(rank, of, NO_FACTS if is_older else facts)
            if run is None:
                return
            for remark in () if is_older else remarks:
                run.remark(*remark)
            if changed is not None:
                run.remark(*changed)
        cause = NOTHING
        if is_slow:
            cause = cause_of(self._behind.text(_NEARBY_BYTES))
        collector.add(rank, reading, self._line, cause)

    def _changed_fact(self, rank: str) -> Remark | None:
        """A fact of a step that a heading behind this rank's last step states anew: a job that
        begins again goes on with the next step."""
        if may_state_facts(self._behind.text(_NEARBY_BYTES)):
            self._note_facts()
        facts, _, line = self._facts
        run = self.collector.ranks[rank][-1]
        return changed_fact(run.facts, facts) if line > run.last_line else None

    def _note_facts(self) -> bool:
        """Look for facts in the text since the last reading; whether there are any."""
        text = self._behind.text(_HEADING_BYTES)
        if len(text) < _LEAST_HEADING:
            return False
        facts, remarks = facts_in(text, self._behind.line)
        if facts == NO_FACTS and not remarks:
            return False
        self._facts = (facts, remarks, self._line)
        return True


class _Behind:
    """The text behind the last reading up to the line that is being read, as pieces of blocks."""

    def __init__(self) -> None:
        self.line = 1
        self._pieces: list[tuple[bytes, int, int]] = []
        self._n_bytes = 0

    def add(self, content: bytes) -> None:
        """A block begins, of which nothing was read."""
        self._pieces.append((content, 0, 0))

    def cut(self, end: int) -> None:
        """The line being read begins at this byte of the last block."""
        content, start, _ = self._pieces[-1]
        self._pieces[-1] = (content, start, end)

    def begin(self, content: bytes, start: int, line: int) -> None:
        """A reading ended at this byte and line of a block."""
        self._pieces = [(content, start, start)]
        self._n_bytes = 0
        self.line = line

    def end(self) -> None:
        """A block ends: all of it behind the last reading counts, up to a limit."""
        content, start, _ = self._pieces.pop()
        if self._n_bytes < _HEADING_BYTES:
            self._pieces.append((content, start, len(content)))
        self._n_bytes += len(content) - start

    def text(self, most: int) -> bytes:
        """The text, at most so many bytes from its beginning."""
        parts: list[bytes] = []
        for content, start, end in self._pieces:
            parts.append(content[start : min(end, start + most)])
            most -= len(parts[-1])
            if most <= 0:
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _first_word(content: bytes, start: int) -> bytes:
    """Up to a blank; cut where it is long."""
    end = content.find(b" ", start, start + PREFIX_BYTES)
    return content[start : end if end >= 0 else start + PREFIX_BYTES]


def cause_of(text: bytes) -> float:
    """What the text between two readings says was done there."""
    return next((cause for mark, cause in _CAUSES if mark in text), NOTHING)
