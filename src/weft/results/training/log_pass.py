"""One pass over a log: its lines become readings of a collector."""

from weft.results.training.collector import CHECKPOINT, EVALUATION, NOTHING, Collector
from weft.results.training.facts import facts_in
from weft.results.training.log_stream import Block, Candidate, Readable, blocks, candidates
from weft.results.training.model import Reading, Remark, TrainingFacts
from weft.results.training.rank_prefix import without_rank
from weft.results.training.registry import FORMATS

_HEADING_BYTES = 1 << 24
"""So much before the first step of a run is searched for what the log states of the job."""
_NEARBY_BYTES = 1 << 16
_LEAST_HEADING = 16
_CAUSES = (
    (b"heckpoint", CHECKPOINT),
    (b"alidation loss", EVALUATION),
    (b"alidation DataLoader", EVALUATION),
    (b"validate step:", EVALUATION),
)
NO_FACTS = TrainingFacts()


class LogPass:
    """The state between two lines: what stands since the last reading, and the last facts."""

    def __init__(self) -> None:
        self.collector = Collector()
        self._formats = tuple(FORMATS.values())
        self._heading = bytearray()
        self._heading_line = 1
        self._facts: tuple[TrainingFacts, list[Remark], int] = (NO_FACTS, [], 0)

    def read(self, stream: Readable) -> tuple[Collector, int]:
        """The readings, and the number of lines."""
        n_lines = 0
        for block in blocks(stream):
            self._read_block(block)
            n_lines += block.n_lines
        return self.collector, n_lines

    def _read_block(self, block: Block) -> None:
        done, done_line, last_start = 0, block.first_line, -1
        for one in candidates(block, self._formats):
            if one.start == last_start:
                continue
            raw = block.content[one.start : one.end]
            rank, text = without_rank(raw.decode("utf-8", "replace"))
            reading = one.of.read(text)
            if reading is not None:
                last_start = one.start
                self._take(block, one, rank, reading, _Place(done, done_line))
                done, done_line = one.end, one.line
        self._keep_heading(block.content, done, done_line)

    def _take(
        self, block: Block, one: Candidate, rank: str, reading: Reading, behind: "_Place"
    ) -> None:
        """Add a reading, with the facts of the text before it where it begins a run."""
        collector = self.collector

        def heading() -> bool:
            return self._note_facts(block, one, behind)

        if collector.is_new_run(rank, one.of, reading, heading):
            heading()
            runs = collector.ranks.get(rank)
            facts, remarks, line = self._facts
            is_older = bool(runs) and line <= runs[-1].last_line  # type: ignore[index]
            run = collector.begin(rank, one.of, NO_FACTS if is_older else facts)
            if run is None:
                return
            for remark in () if is_older else remarks:
                run.remark(*remark)
        nearby = block.content[behind.at : min(one.start, behind.at + _NEARBY_BYTES)]
        if self._heading:
            nearby = bytes(self._heading[:_NEARBY_BYTES]) + nearby
            self._heading.clear()
        collector.add(rank, one.of, reading, one.line, cause_of(nearby))

    def _note_facts(self, block: Block, one: Candidate, behind: "_Place") -> bool:
        """Look for facts in the text since the last reading; whether there are any."""
        if one.start - behind.at < _LEAST_HEADING and not self._heading:
            return False
        is_whole = len(self._heading) < _HEADING_BYTES
        piece = block.content[behind.at : min(one.start, behind.at + _HEADING_BYTES)]
        region = bytes(self._heading) + piece if is_whole else bytes(self._heading)
        line = self._heading_line if self._heading else behind.line
        facts, remarks = facts_in(region, line)
        if facts == NO_FACTS and not remarks:
            return False
        self._facts = (facts, remarks, one.line)
        return True

    def _keep_heading(self, content: bytes, done: int, line: int) -> None:
        """Keep what stands behind the last reading: the next run may begin there."""
        if not self._heading:
            self._heading_line = line
        room = _HEADING_BYTES - len(self._heading)
        if room > 0:
            self._heading += content[done : done + room]


class _Place:
    """Behind the last reading of a block: the byte and its line."""

    __slots__ = ("at", "line")

    def __init__(self, at: int, line: int) -> None:
        self.at = at
        self.line = line


def cause_of(text: bytes) -> float:
    """What the text between two readings says was done there."""
    if len(text) < _LEAST_HEADING:
        return NOTHING
    return next((cause for mark, cause in _CAUSES if mark in text), NOTHING)
