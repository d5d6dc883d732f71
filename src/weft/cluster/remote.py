"""Commands on other hosts, over ssh: quoted once, here; bounded in time; nothing left waiting."""

import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

from weft.core.errors import InputError, MissingError
from weft.core.parallel import in_parallel
from weft.core.process import Command, CommandEnd, Ending, Limits, run

CONNECT_S = 10
ALIVE_S = 15
ALIVE_TIMES = 3
"""A host that answers nothing for so long, so many times, is given up: its connection ends."""

MOST_AT_ONCE = 64
MOST_BYTES = 4 << 20
MOST_LETTERS = 300
_SSH_FAILED = 255
_DROPPED = (b"kex_exchange_identification:", b"ssh_exchange_identification:")
"""ssh's message about a connection closed before either side named itself: an sshd does that at
random where many log in at once (MaxStartups, sshd_config(5)). Nothing ran there."""
_NOT_THERE = (b"refused", b"open failed", b"is not running", b"No route", b"timed out")
"""The first message of a proxy command or jump host where no sshd refused the login: the host is
not there, and will not be soon."""
TRIES = 6
FIRST_WAIT_S = 0.3

MARK = "\x1eweft\x1e"
MARKED = r"printf '\036weft\036'; exec " + '"$@"'
"""The output of login scripts comes before it."""

# A name, an address, user@name: nothing that a shell reads as more than a word.
_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:@%-]{0,252}")

# Between single quotes they are more than themselves to some login shell (tcsh(1), fish(1)).
_NOT_IN_ALL_SHELLS = re.compile(r"[\n!]|\\[\\']")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SshResult:
    """How a remote command ended: its exit code, None where it took too long. `reached` is false
    where ssh itself failed, so that it is unknown whether it ran."""

    code: int | None
    out: str
    err: str

    @property
    def reached(self) -> bool:
        """Whether the host answered."""
        return self.code is not None and self.code != _SSH_FAILED

    @property
    def ok(self) -> bool:
        """Whether it ran and ended with 0."""
        return self.code == 0

    @property
    def last_line(self) -> str:
        """The last line on standard error, else on standard output, that can be printed."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return printable_line(lines[-1]) if lines else ""


@dataclass(frozen=True, slots=True)
class Ssh:
    """How hosts are reached: by `config` (`ssh -F`), or by the user's own where that is None.

    Host keys are checked as configured there: no option here makes that any weaker.
    """

    config: Path | None = None
    options: tuple[str, ...] = field(default=())

    def argv(self, host: str, command: Sequence[str]) -> list[str]:
        """The local command that runs `command` on `host`. Raises InputError for what is no host
        name: ssh would take it for an option, or give it to the shell of a ProxyCommand."""
        check_host(host)
        own = () if self.config is None else ("-F", str(self.config))
        # A master that outlives its command would hold the command's standard error open.
        fixed = ("BatchMode=yes", f"ConnectTimeout={CONNECT_S}", "ControlMaster=no")
        # A user's configuration may want these of his own logins.
        plain = ("RemoteCommand=none", "ClearAllForwardings=yes")
        alive = (f"ServerAliveInterval={ALIVE_S}", f"ServerAliveCountMax={ALIVE_TIMES}")
        set_ = (word for one in (*fixed, *plain, *alive, "LogLevel=ERROR") for word in ("-o", one))
        words = (*own, *set_, "-x", "-T", *self.options)
        return ["ssh", *words, "--", host, in_any_shell(command)]

    def run(
        self,
        host: str,
        command: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        max_bytes: int = MOST_BYTES,
    ) -> SshResult:
        """Run a command with `stdin` on its standard input, to its end, to the time limit, or until
        its output passes the limit. Where sshd accepted no more logins it is tried
        again."""
        argv = self.argv(host, ("sh", "-c", MARKED, "sh", *command))
        until = time.monotonic() + timeout_s
        draws = Random(host)  # noqa: S311
        for attempt in range(TRIES):
            left_s = max(0.0, until - time.monotonic())
            try:
                end = run(Command(tuple(argv), stdin=stdin), Limits(left_s, max_bytes))
            except MissingError as error:
                return SshResult(_SSH_FAILED, "", error.what)
            wait_s = FIRST_WAIT_S * 2**attempt * draws.uniform(0.5, 1.5)
            too_late = time.monotonic() + wait_s >= until
            if too_late or attempt == TRIES - 1 or not _was_turned_away(end):
                break
            time.sleep(wait_s)
        return _result_of(end, timeout_s, max_bytes)


def in_any_shell(command: Sequence[str]) -> str:
    """The line by which a login shell runs `command`, whichever it is: csh and tcsh take no end of
    a line and no '!' between quotes, fish no backslash before some letters."""
    line = shlex.join(command)
    if not _NOT_IN_ALL_SHELLS.search(line):
        return line
    escaped = re.sub(r"[\n!\\]", lambda found: f"\\0{ord(found[0]):03o}", f"exec {line}")
    return shlex.join(("sh", "-c", 'eval "$(printf %b "$1")"', "sh", escaped))


def _was_turned_away(end: CommandEnd) -> bool:
    """Before anything ran: there is no mark."""
    if end.ending is not Ending.EXITED or end.exit_code != _SSH_FAILED or MARK.encode() in end.out:
        return False
    if any(words in end.err for words in _NOT_THERE):
        return False
    return any(line.startswith(_DROPPED) for line in end.err.splitlines())


def _result_of(end: CommandEnd, timeout_s: float, max_bytes: int) -> SshResult:
    before, mark, out = end.out.decode("utf-8", "replace").partition(MARK)
    if end.ending is Ending.TIMED_OUT:
        return SshResult(None, out, f"no answer within {timeout_s:g} s")
    if end.ending is Ending.OUTPUT_LIMIT:
        return SshResult(None, "", f"it wrote more than {max_bytes >> 20} MiB")
    err = end.err.decode("utf-8", "replace")
    if not mark and end.exit_code == 0:
        return SshResult(_SSH_FAILED, before, err or "its login shell did not run the command")
    return SshResult(end.exit_code, out if mark else before, err)


def check_host(host: str) -> None:
    """Raises InputError for what is no host name."""
    if not _HOST.fullmatch(host):
        raise InputError(f"{host[:80]!a} is no host name", expected="a name such as node001")


def config_path(path: Path) -> str:
    """A path as ssh_config(5) takes it: in quotes, '%' doubled. Raises InputError for one that no
    quotes hold."""
    text = str(path)
    if not text.isprintable() or '"' in text:
        raise InputError(f"{text!a} cannot stand in ssh_config", expected="a plain path")
    return f'"{text.replace("%", "%%")}"'


def each(
    hosts: Iterable[str], do: Callable[[str], T], *, at_once: int = MOST_AT_ONCE
) -> Mapping[str, T]:
    """The result of `do` for each host, many at once; in the order of the hosts."""
    names = list(dict.fromkeys(hosts))
    return dict(zip(names, in_parallel(names, do, at_once=at_once), strict=True))


def printable_line(text: str) -> str:
    """Text of another host as part of a sentence: printable, and not endless."""
    shown = "".join(c for c in text[: 4 * MOST_LETTERS] if c.isprintable())
    return shown if len(shown) <= MOST_LETTERS else f"{shown[:MOST_LETTERS]}..."
