"""From the bytes of a log to lines that matter: decoded, without prefixes, colours and noise."""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator

from weft.results.lines.cursor import Line
from weft.results.lines.large_file import LargeFile
from weft.results.lines.launch_scale import MAX_LAUNCHES, is_launch
from weft.results.lines.noise import (
    BULK_MARKS,
    FENCE,
    MAX_FENCED_LINES,
    NCCL_LOG,
    head_before_log,
    is_noise,
)
from weft.results.lines.number import as_number
from weft.results.nccl.log import note_facts

Buffer = bytes | LargeFile
"""Bytes of a file, in memory or not."""

_CHUNK_BYTES = 1 << 20
_MAX_LINE_BYTES = 1 << 18
"""A longer line is no row of any table; it is passed on cut, so that a reader refuses it."""

_FEW_LINES = 256
"""With so many lines left of a block it is not worth looking for more kinds of noise at once."""

_LINES_WITH_FACTS = 100_000
"""Further down a log says nothing new of what NCCL chose when it started."""

_MAX_ALIKE = 4096
_MAX_ALIKE_BYTES = 1000
_MAX_HEAD_BYTES = 1000
_ANY_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
_CUT = "…"
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_BOLD = re.compile(r"\*\*([^*]{1,80})\*\*")
"""Markdown's: a poster's stress on a number."""

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\\d{1,2} "
_CLOCK = r"\d\d:\d\d:\d\d"
_ZONE = r"(?:Z| ?[+-]\d\d:?\d\d| UTC)?"
_SURE_PREFIXES = (
    r"\[(?:[\w.-]{1,255}@)?\d{1,6},\d{1,9}\](?:\[[\w.:-]{1,255}\])?<std(?:out|err|diag)>:? ?",
    r"\[\d{1,6},\d{1,9}\]: ?",
    r"\[pod/[^\]\s]{1,300}\] ?",
    rf"\[?\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:[.,]\d{{1,9}})?{_ZONE}\]?:? ?",
    rf"{_MONTH}{_CLOCK} [\w.-]{{1,255}} [\w./-]{{1,100}}(?:\[\d{{1,10}}\])?: ?",
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH}{_CLOCK} \d{{4}}(?=\[|<)",
)
"""Of Open MPI, kubectl, time stamps as ISO 8601 and as syslog write them: nothing else looks so."""

_MARK = re.compile(_SURE_PREFIXES[0])
_SURE_PREFIX = re.compile("|".join(f"(?:{prefix})" for prefix in _SURE_PREFIXES))
_MAX_PREFIXES = 4

_LABEL = re.compile(
    r"(?P<rank> {0,8}\[?\d{1,7}(?:\]|:) ?)"
    r"|(?P<word>(?:\[[\w.,:@/-]{1,300}(?: \d{1,7})?\]|[A-Za-z][\w.@/-]{0,252}:) ?"
    r"|[A-Za-z][\w.@/-]{0,252} {1,64}\| ?|(?:> ?){1,8})"
    r"|(?P<comment># {1,4}(?=[#\d]))"
)
"""What a launcher may have put before a line, or what the line may itself begin with: it is taken
for a prefix only once a table was seen to begin behind it."""


class Cleaner:
    """The lines of a log that readers get to see, one at a time, with a tally of the others.

    `opens` says whether a text begins a table of any tool: that is how a prefix such as `0: ` or
    `pod-name: ` is distinguished from a line's own beginning. `cut` is a last line that was left
    out because the file ends within it. `launches` are commands that started ranks. `facts` is what
    NCCL's log says that no table does.
    """

    def __init__(
        self,
        content: Buffer,
        opens: Callable[[str], bool],
        *,
        n_before: int = 0,
        facts: dict[str, str] | None = None,
    ) -> None:
        """`content` as `plain` gives it; so many lines of the file came before it, which held
        these facts."""
        self.n_lines = n_before
        self.n_noise = 0
        self.cut: Line | None = None
        self.facts = {} if facts is None else facts
        self.launches: deque[Line] = deque(maxlen=MAX_LAUNCHES)
        self._content = content
        self._opens = opens
        self._labels: set[str] = set()
        self._ranks_label = False
        self.n_alike = 0
        self._alike: set[bytes] = set()
        self._raw = b""
        self._may_have_alike = False
        self._in_block = False
        self._is_ended = True
        self._in_last_block = False
        self._passed = b""

    def pass_over_alike(self) -> None:
        """From now on count lines that differ from the last one in their digits only, in `n_alike`,
        instead of passing them on: the caller knows that it would not understand them either."""
        if self._may_have_alike and len(self._alike) < _MAX_ALIKE:
            self._alike.add(self._raw.translate(_ANY_DIGIT))

    def heed_all(self) -> None:
        """Pass every line on again."""
        self._alike.clear()

    def lines(self) -> Iterator[Line]:
        """Lines that are neither blank nor noise, numbered as in the file."""
        block: list[Line] = []
        previous = ""
        for line in self._cleaned():
            is_last = self._in_last_block and line.number == self.n_lines
            if is_last and self._passed:
                previous = self._clean(self._passed) or ""
            is_cut = _lacks_decimals if line.ended else _is_cut
            if is_last and is_cut(line.text, previous):
                self.cut = line
                return
            previous, self._passed = line.text, b""
            is_fence = line.text == FENCE
            if not self._in_block and not is_fence:
                yield line
                continue
            block.append(line)
            if self._in_block and is_fence:
                self.n_noise += len(block)
                block, self._in_block = [], False
            elif len(block) > MAX_FENCED_LINES or self._opens(line.text):
                self._may_have_alike = False
                yield from block
                block, self._in_block = [], False
            else:
                self._in_block = True
        yield from block

    def _cleaned(self) -> Iterator[Line]:
        for number, raw in self._candidates():
            is_whole = self._is_ended or number < self.n_lines
            if (
                self._alike
                and is_whole
                and not self._in_block
                and raw.translate(_ANY_DIGIT) in self._alike
            ):
                self.n_alike += 1
                self._passed = raw
                continue
            self._raw, self._may_have_alike = raw, len(raw) <= _MAX_ALIKE_BYTES
            text = self._clean(raw)
            if text is None:
                continue
            if not text[0].isalpha():
                self._may_have_alike = False
            if ("run " in text or "mpiexec" in text) and is_launch(text):
                self._may_have_alike = False
                self.launches.append(Line(number, text))
                if not self._opens(text):
                    self.n_noise += 1
                    continue
            yield Line(number, text, is_whole)

    def _candidates(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines of the file; those with a bulk mark are counted and left out."""
        n_bytes = 0
        for block in _blocks(self._content):
            self._is_ended = block.endswith(b"\n")
            n_bytes += len(block)
            self._in_last_block = n_bytes == len(self._content)
            parts = block.split(b"\n")
            if not parts[-1]:
                parts.pop()
            before = self.n_lines
            self.n_lines += len(parts)
            if before < _LINES_WITH_FACTS:
                note_facts(block, self.facts)
            if NCCL_LOG in block:
                if b"\n " in block:
                    parts = _mended(parts)
                kept = [item for item in enumerate(parts, before + 1) if NCCL_LOG not in item[1]]
            else:
                kept = list(enumerate(parts, before + 1))
            if len(kept) > _FEW_LINES:
                for mark in BULK_MARKS:
                    if mark in block:
                        kept = [item for item in kept if mark not in item[1]]
            self.n_noise += len(parts) - len(kept)
            yield from kept

    def _clean(self, raw: bytes) -> str | None:
        text = _decode(raw)
        if "\r" in text:
            text = _last_overwrite(text)
        if "\x1b" in text or "\x00" in text:
            text = _ESCAPE.sub("", text).replace("\x00", "")
        if "**" in text:
            text = _BOLD.sub(r"\1", text)
        text = text.rstrip()
        if not text or (text[0] == ">" and not text.strip("> ")):
            return None
        first = text[0]
        if first not in "# " and (text[4:5] == "-" or not first.isdigit()):
            text = _without_sure_prefixes(text)
            if not text:
                return None
            first = text[0]
        if "]<std" in text:
            text = self._behind_command(text)
        if first == "#" or ":" in text or "]" in text or "|" in text or ">" in text:
            text = self._without_label(text)
            if not text or text.isspace():
                return None
            first = text[0]
        if first not in "# " and not first.isdigit() and is_noise(text):
            if is_launch(text):
                return text
            self.n_noise += 1
            return None
        return text

    def _behind_command(self, text: str) -> str:
        """What stands behind a launcher's mark in the middle of a line, if a table begins there."""
        mark = _MARK.search(text)
        remaining = "" if mark is None else text[mark.end() :]
        return remaining if remaining and self._opens(remaining) else text

    def _without_label(self, text: str) -> str:
        match = _LABEL.match(text)
        if match is None:
            return text
        remaining = text[match.end() :]
        label, is_rank = match.group(), match.lastgroup == "rank"
        if not remaining[:1].isalpha() or (not is_rank and any(map(str.isdigit, label))):
            self._may_have_alike = False
        if label in self._labels or (is_rank and self._ranks_label):
            return _without_sure_prefixes(remaining)
        remaining = _without_sure_prefixes(remaining)
        if remaining and self._opens(remaining) and not self._opens(text):
            self.heed_all()
            self._labels.add(label)
            self._ranks_label |= is_rank
            return remaining
        return text


def plain(content: Buffer) -> Buffer:
    """The bytes of a file as UTF-8 (or nearly) with line feeds."""
    return _with_line_feeds(_as_utf8(content))


def _as_utf8(content: Buffer) -> Buffer:
    """The content without byte order mark, and as UTF-8 where that mark says UTF-16."""
    head = content[:4]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content[:].decode("utf-16", "replace").encode()
    return content[3:] if head.startswith(codecs.BOM_UTF8) else content


def _with_line_feeds(content: Buffer) -> Buffer:
    """The content, with carriage returns as line ends where it has no others."""
    if content.find(b"\n") < 0 and content.find(b"\r") >= 0:
        return content[:].replace(b"\r", b"\n")
    return content


def _blocks(content: Buffer) -> Iterator[bytes]:
    """Pieces of about a chunk, each ending at a line end or at the end of the content."""
    start, total = 0, len(content)
    while start < total:
        end = min(start + _CHUNK_BYTES, total)
        if end < total:
            at = content.rfind(b"\n", start, end)
            if at < 0:
                at = content.find(b"\n", end)
            end = total if at < 0 else at + 1
        yield content[start:end]
        start = end


def _mended(lines: list[bytes]) -> list[bytes]:
    """The lines, where a log line was written into another one, which is joined again.

    The head of such a line goes to the front of the next line that is no log line.
    """
    head = b""
    for at, raw in enumerate(lines):
        if NCCL_LOG in raw:
            if raw[:1] == b" " and len(head) < _MAX_HEAD_BYTES:
                head += head_before_log(raw) or b""
        elif head:
            lines[at] = head + raw
            head = b""
    return lines


def _is_cut(text: str, previous: str) -> bool:
    """Whether a last line without line end stops short, by the look of the line before it."""
    tokens, model = text.split(), previous.split()
    if not tokens or len(tokens) != len(model):
        return False
    token, full = tokens[-1], model[-1]
    _, point, decimals = full.partition(".")
    if point and decimals.isdigit():
        return len(token.partition(".")[2]) != len(decimals)
    if full.isdigit() and token.isdigit():
        return len(token) < len(full)
    return token != full and full.startswith(token)


def _lacks_decimals(text: str, previous: str) -> bool:
    """Whether a last line was cut though it ends: it has fewer decimals than the line before, and
    both are numbers only."""
    tokens, model = text.split(), previous.split()
    if len(tokens) < 2 or len(tokens) != len(model):
        return False
    lacking = len(tokens[-1].partition(".")[2]) < len(model[-1].partition(".")[2])
    return lacking and all(as_number(token) is not None for token in tokens + model)


def _decode(raw: bytes) -> str:
    """UTF-8, or else Latin-1: a single other byte must not cost the line."""
    if len(raw) > _MAX_LINE_BYTES:
        return raw[:_MAX_LINE_BYTES].decode("utf-8", "replace") + _CUT
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _last_overwrite(text: str) -> str:
    """What a terminal shows of a line that went back to its beginning: the last not blank."""
    parts = [part for part in text.split("\r") if part and not part.isspace()]
    return parts[-1] if parts else ""


def _without_sure_prefixes(text: str) -> str:
    for _ in range(_MAX_PREFIXES):
        match = _SURE_PREFIX.match(text)
        if match is None:
            return text
        text = text[match.end() :]
    return text
