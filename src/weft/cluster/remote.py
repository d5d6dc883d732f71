"""Commands on other hosts, over ssh: quoted once, here; bounded in time; nothing left waiting."""

import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from weft.core.errors import InputError

CONNECT_S = 10
MOST_AT_ONCE = 64
_SSH_FAILED = 255

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said:
    """How a remote command ended: its exit code, None where it took too long. `reached` is false
    where ssh itself failed, so that nobody knows whether it ran."""

    code: int | None
    out: str
    err: str

    @property
    def reached(self) -> bool:
        """Whether the host answered."""
        return self.code is not None and self.code != _SSH_FAILED

    @property
    def ok(self) -> bool:
        """Whether it ran and said that it went well."""
        return self.code == 0

    @property
    def last_line(self) -> str:
        """The last line on standard error, else on standard output, that can be printed."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return "".join(c for c in lines[-1] if c.isprintable()) if lines else ""


@dataclass(frozen=True, slots=True)
class Ssh:
    """How hosts are reached: by `config` (`ssh -F`), or by the user's own where that is None.

    Host keys are checked as ssh is told there: no option here makes that any weaker.
    """

    config: Path | None = None
    options: tuple[str, ...] = field(default=())

    def argv(self, host: str, command: Sequence[str]) -> list[str]:
        """The local command that runs `command` on `host`. Raises InputError for what is no host
        name: ssh would take it for an option."""
        if not host or host.startswith("-") or not host.isprintable() or " " in host:
            raise InputError(f"{host[:80]!a} is no host name", expected="a name such as node001")
        own = () if self.config is None else ("-F", str(self.config))
        fixed = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}")
        quiet = ("-o", "LogLevel=ERROR", "-x", "-T")
        return ["ssh", *own, *fixed, *quiet, *self.options, "--", host, shlex.join(command)]

    def run(
        self, host: str, command: Sequence[str], *, timeout_s: float, given: bytes = b""
    ) -> Said:
        """Run a command with `given` on its standard input, to its end or to the time limit."""
        try:
            done = subprocess.run(
                self.argv(host, command), input=given, capture_output=True, timeout=timeout_s,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return Said(None, _text(late.stdout), f"no answer within {timeout_s:g} s")
        return Said(done.returncode, _text(done.stdout), _text(done.stderr))


def each(hosts: Iterable[str], do: Callable[[str], T]) -> Mapping[str, T]:
    """What `do` returns for each host, many at once; in the order of the hosts."""
    names = list(dict.fromkeys(hosts))
    with ThreadPoolExecutor(max_workers=min(MOST_AT_ONCE, max(1, len(names)))) as pool:
        return dict(zip(names, pool.map(do, names), strict=True))


def _text(said: bytes | str | None) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""
