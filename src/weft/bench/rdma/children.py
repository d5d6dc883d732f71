"""Commands on other hosts that run side by side, and of which none outlives its user."""

import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from weft.cluster.head import Head
from weft.cluster.remote import Ssh

MOST_BYTES = 16 << 20
END_S = 8.0
"""Longer than the guard on the other side takes: a TERM, three seconds, a KILL."""
MOST_LOGINS = 8
LOGIN_S = 1.0
"""SOURCE: sshd_config(5), OpenSSH 8.9: of more than ten logins that are not through yet, some are
turned away at random (MaxStartups 10:30:100)."""
_LOOK_EVERY_S = 0.05
_SHOWN_BYTES = 65536


@dataclass(slots=True)
class RemoteChild:
    """A command on a host, its two streams in files here."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def too_loud(self) -> bool:
        """Whether it wrote more than anybody will read."""
        return max(self.out.stat().st_size, self.err.stat().st_size) > MOST_BYTES

    def said(self) -> str:
        """The end of what it wrote, errors last."""
        return "\n".join(_tail(path) for path in (self.out, self.err)).strip()


class RemoteChildren:
    """Starts commands and ends them all when it is left: they end with their standard input, which
    closes with this process, however that ends (`weft.cluster.head.GUARD`)."""

    def __init__(self, ssh: Ssh) -> None:
        self.ssh = ssh
        self.all: list[RemoteChild] = []
        self._logins: deque[float] = deque(maxlen=MOST_LOGINS)

    def __enter__(self) -> "RemoteChildren":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._end_gently()
        finally:
            for child in self.all:
                if child.process.poll() is None:
                    child.process.kill()
                    child.process.wait()

    def start(
        self, host: str, command: Sequence[str], env: Mapping[str, str], streams: Path
    ) -> RemoteChild:
        """Start a command; its streams go to `streams` with .txt and .err behind."""
        argv = Head(self.ssh, host, ".").argv(command, env)
        self._pace()
        out, err = (
            streams.with_name(f"{streams.name}.txt"),
            streams.with_name(f"{streams.name}.err"),
        )
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, start_new_session=True
            )
        child = RemoteChild(process, out, err)
        self.all.append(child)
        return child

    def wait(self, children: Sequence[RemoteChild], seconds: float) -> None:
        """Wait until all of these are over, or the time is. Who is too loud is ended."""
        until = time.monotonic() + seconds
        left = list(children)
        while left and time.monotonic() < until:
            for loud in (one for one in self.all if one.too_loud):
                loud.process.kill()
            left = [one for one in left if one.process.poll() is None]
            if left:
                time.sleep(_LOOK_EVERY_S)

    def _pace(self) -> None:
        """No more logins at a time than an sshd takes from everybody."""
        if len(self._logins) == MOST_LOGINS:
            time.sleep(max(0.0, self._logins[0] + LOGIN_S - time.monotonic()))
        self._logins.append(time.monotonic())

    def _end_gently(self) -> None:
        for child in self.all:
            with suppress(OSError):
                if child.process.stdin is not None:
                    child.process.stdin.close()
        self.wait(self.all, END_S)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _SHOWN_BYTES))
        return file.read().decode("utf-8", "replace")
