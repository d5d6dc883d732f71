"""Commands on other hosts that run at the same time, and of which none outlives its user."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.bench.live.failure import tail
from weft.cluster.head import Head
from weft.cluster.remote import Ssh
from weft.core.process import Command, Process

MAX_BYTES = 16 << 20
END_S = 8.0
"""Longer than the guard on the other side takes: a TERM, three seconds, a KILL."""
MAX_LOGINS = 8
LOGIN_S = 1.0
"""SOURCE: sshd_config(5), OpenSSH 8.9: of more than ten logins that are not through yet, some are
turned away at random (MaxStartups 10:30:100)."""
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class RemoteChild:
    """A command on a host, its two streams in files here."""

    process: Process
    out: Path
    err: Path

    @property
    def too_loud(self) -> bool:
        """Whether it wrote more than is kept."""
        return max(self.process.output_bytes()) > MAX_BYTES

    def output(self) -> str:
        """The end of its output, errors last."""
        return "\n".join(tail(path) for path in (self.out, self.err)).strip()


class RemoteChildren:
    """Starts commands and ends them all when it is left: they end with their standard input, which
    closes with this process, however that ends (`weft.cluster.head.GUARD`)."""

    def __init__(self, ssh: Ssh) -> None:
        self.ssh = ssh
        self.all: list[RemoteChild] = []
        self._logins: deque[float] = deque(maxlen=MAX_LOGINS)

    def __enter__(self) -> "RemoteChildren":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for child in self.all:
                child.process.close_stdin()
            self.wait(self.all, END_S)
        finally:
            for child in self.all:
                child.process.end()

    def start(
        self, host: str, command: Sequence[str], env: Mapping[str, str], streams: Path
    ) -> RemoteChild:
        """Start a command; its streams go to `streams` with .txt and .err behind."""
        argv = Head(self.ssh, host, ".").argv(command, env)
        self._pace()
        out, err = (streams.with_name(streams.name + end) for end in (".txt", ".err"))
        # A host may be this machine: then the guard and its command are in our tree, too.
        process = Process(Command(tuple(argv), out=out, err=err, stdin=None, ends_tree=True))
        child = RemoteChild(process, out, err)
        self.all.append(child)
        return child

    def wait(self, children: Sequence[RemoteChild], seconds: float) -> None:
        """Wait until all of these are over, or the time is. One that writes too much is ended."""
        until = time.monotonic() + seconds
        while any(child.process.exit_code is None for child in children):
            for child in self.all:
                if child.too_loud:
                    child.process.end()
            if time.monotonic() >= until:
                return
            time.sleep(_LOOK_EVERY_S)

    def _pace(self) -> None:
        """No more logins at a time than an sshd accepts from everybody."""
        if len(self._logins) == MAX_LOGINS:
            time.sleep(max(0.0, self._logins[0] + LOGIN_S - time.monotonic()))
        self._logins.append(time.monotonic())
