"""Lines of an NCCL log about channels, communicators and network devices.

weft-logs keeps each fact once with all its speakers and drops the order of lines; here the order
tells which communicator and which pattern a connection belongs to, so this reader stays.

SOURCE: NVIDIA/nccl, tags v2.7.8-1 to v2.30.7-1: init.cc, graph/rings.cc, graph/connect.cc,
transport/net.cc, transport/net_ib.cc.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.documents.text_file import open_file

EXPECTED = "a log of a job with NCCL_DEBUG=INFO"
MOST_BYTES = 1 << 36
_LONGEST_LINE = 1 << 14
_MARK = b"NCCL INFO "
_HEAD = re.compile(
    r"(?P<host>[\w.-]{1,255}):(?P<pid>\d{1,10}):(?P<thread>\d{1,10}) \[(?P<gpu>-?\d{1,10})\] "
    r"NCCL INFO "
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_INIT = re.compile(
    r"rank (?P<rank>\d{1,7}) nranks (?P<n>\d{1,7}) .*?(?:commId (?P<id>0x[0-9a-f]+) )?"
    r"- Init (?P<state>START|COMPLETE)"
)
_CONNECTION = re.compile(
    r"(?:Channel|Ring) (?P<channel>\d{1,4})(?:/(?P<index>\d{1,2}))? : "
    r"(?P<src>\d{1,7})(?:\[\w+\])? -> (?P<dst>\d{1,7})(?:\[\w+\])? "
    r"\[(?P<end>send|receive)\] via NET/(?P<net>[^/]{1,40})/(?P<device>\d{1,5})(?!\w)"
)
_NEIGHBOURS = re.compile(r"Ring (\d{1,4}) : (\d{1,7}) -> (\d{1,7}) -> (\d{1,7})$")
_ORDER = re.compile(r"Channel (\d{1,4})/(\d{1,4}) : *((?:\d{1,7} *)+)$")
_TREE = re.compile(r"\[(\d{1,4})\] (-?\d{1,7})/(-?\d{1,7})/(-?\d{1,7})->(-?\d{1,7})->(-?\d{1,7})")
_LONGEST_TREES = 1000
"""NCCL cuts the line off at 1,023 letters, perhaps inside a number."""
_DEVICES = re.compile(r"NET/IB\w{0,20} ?: ?Using ")
_DEVICE = re.compile(r"\[(\d{1,5})\]([^\s/]{1,80})/(IB|RoCE)")
_COUNT = re.compile(r"(\d{1,4}) coll channels")
_CONNECTED = re.compile(r"Connected (all rings|all trees|)")
_PATTERNS = {"all rings": "ring", "all trees": "tree"}


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who wrote a line."""

    host: str
    pid: str
    thread: str
    gpu: str

    @property
    def process(self) -> tuple[str, str, str]:
        """Its host, process and GPU: a rank of each of its communicators."""
        return (self.host, self.pid, self.gpu)


@dataclass(frozen=True, slots=True)
class Membership:
    """A rank of a communicator, as a line about its start tells; `id` is '' before 2.14."""

    id: str
    n_ranks: int
    rank: int


@dataclass(frozen=True, slots=True)
class Connection:
    """An end of a channel's hop over a network. `is_send`: written by the sender."""

    channel: int
    src: int
    dst: int
    is_send: bool
    net: str
    device: int

    @property
    def own_rank(self) -> int:
        """The rank that wrote it."""
        return self.src if self.is_send else self.dst


@dataclass
class Utterance:
    """Lines of one process about one communicator, as far as they name it.

    `connected`: by a connection, what it was made for ('ring', 'tree' or '' where the log ends
    before that is told). `neighbours`: channel -> ranks before and after in the ring. `orders`: a
    channel's ranks, perhaps cut off. `tree`: channel -> (rank, parent) and (child, rank).
    """

    speaker: Speaker
    membership: Membership | None
    connected: dict[Connection, str] = field(default_factory=dict)
    neighbours: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    orders: dict[int, tuple[int, ...]] = field(default_factory=dict)
    tree: dict[int, frozenset[tuple[int, int]]] = field(default_factory=dict)
    n_channels: int = 0
    _open: list[Connection] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether no line of it tells anything about channels."""
        return not (self.connected or self.neighbours or self.orders or self.tree)

    def add(self, text: str) -> None:
        """Take a message in; one about something else changes nothing."""
        if found := _CONNECTION.match(text):
            # Index 1 is what ranks send to each other outside of collectives.
            if found["index"] in (None, "0"):
                self._connect(found)
        elif found := _NEIGHBOURS.match(text):
            channel, before, rank, after = map(int, found.groups())
            self.neighbours[channel] = (before, rank, after)
        elif found := _ORDER.match(text):
            self.orders[int(found[1])] = tuple(map(int, found[3].split()))
            self.n_channels = max(self.n_channels, int(found[2]))
        elif text.startswith("Trees "):
            self._grow(text)
        elif found := _COUNT.match(text):
            self.n_channels = max(self.n_channels, int(found[1]))
        elif found := _CONNECTED.match(text):
            self.connected |= dict.fromkeys(self._open, _PATTERNS.get(found[1], "other"))
            self._open.clear()

    def _connect(self, found: re.Match[str]) -> None:
        connection = Connection(
            int(found["channel"]),
            int(found["src"]),
            int(found["dst"]),
            found["end"] == "send",
            found["net"],
            int(found["device"]),
        )
        if connection not in self.connected:
            self.connected[connection] = ""
            self._open.append(connection)

    def _grow(self, text: str) -> None:
        for found in _TREE.finditer(text):
            if found.end() == len(text) >= _LONGEST_TREES:
                break
            channel, *children, rank, parent = map(int, found.groups())
            edges = {(child, rank) for child in children if child >= 0}
            if parent >= 0:
                edges.add((rank, parent))
            self.tree[channel] = frozenset(edges)


@dataclass
class NcclLines:
    """All that logs tell: utterances, devices by host, ranks by process."""

    utterances: list[Utterance] = field(default_factory=list)
    devices: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    members: dict[tuple[str, str, str], set[Membership]] = field(default_factory=dict)
    n_lines: int = 0


def read_lines(files: Sequence[Path]) -> NcclLines:
    """Read logs, one after the other. Raises InputError for what is no regular file."""
    lines = NcclLines()
    current: dict[Speaker, Utterance] = {}
    for file in files:
        for speaker, text in _messages(file):
            lines.n_lines += 1
            _take(lines, current, speaker, text)
    lines.utterances += current.values()
    lines.utterances = [one for one in lines.utterances if not one.is_empty]
    return lines


def _messages(file: Path) -> Iterator[tuple[Speaker, str]]:
    """Each message with its writer; ranks that write at once may tear each other's lines."""
    with open_file(file, expected=EXPECTED, most_bytes=MOST_BYTES) as log:
        while line := log.readline(_LONGEST_LINE):
            if _MARK not in line:
                continue
            text = _ESCAPES.sub("", line.decode("utf-8", "replace"))
            heads = list(_HEAD.finditer(text))
            ends = [*(head.start() for head in heads[1:]), len(text)]
            # A line whose beginning is lost has no writer, and one end too many.
            for head, end in zip(heads, ends, strict=False):
                speaker = Speaker(head["host"], head["pid"], head["thread"], head["gpu"])
                yield speaker, text[head.end() : end].strip()


def _take(lines: NcclLines, current: dict[Speaker, Utterance], speaker: Speaker, text: str) -> None:
    utterance = current.setdefault(speaker, Utterance(speaker, None))
    if found := _INIT.search(text):
        member = Membership(found["id"] or "", int(found["n"]), int(found["rank"]))
        lines.members.setdefault(speaker.process, set()).add(member)
        if found["state"] == "START":
            lines.utterances.append(utterance)
            current[speaker] = Utterance(speaker, member)
        else:
            # Before 2.14 this line alone names the communicator, after its channels.
            utterance.membership = member
            lines.utterances.append(utterance)
            del current[speaker]
    elif _DEVICES.match(text) and "{" not in text:
        # Devices merged into one stand in braces: which of them carries a message is open.
        of_host = lines.devices.setdefault(speaker.host, {})
        for number, name, _ in _DEVICE.findall(text):
            of_host.setdefault(int(number), set()).add(name)
    else:
        utterance.add(text)
