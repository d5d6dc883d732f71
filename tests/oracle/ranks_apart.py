"""Ranks of this machine with a network between them: a namespace each, joined by a bridge.

Everything lies in network namespaces of our own (the bridge, too), so that their end takes all of
it away. A stand-in for the launcher puts each rank of the kernel into its namespace; MPI then has
nothing but TCP over a virtual cable to each rank, which can be limited, and a rank can be given
less of a CPU by a control group.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

SYSTEM_PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
LIMIT_S = 20.0
SWITCH = "sw"
CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))

RANK = """\
#!/bin/sh
[ -f {folder}/held-$PMI_RANK ] && echo $$ > "$(cat {folder}/held-$PMI_RANK)/cgroup.procs"
exec ip netns exec {prefix}$PMI_RANK "$@"
"""

LAUNCHER = """\
#!{python}
import os, sys
words = sys.argv[1:]
for place, word in enumerate(words):
    if os.path.basename(word).startswith("weft-kernel"):
        words.insert(place, {rank!r})
        break
os.environ.update(UCX_TLS="tcp,self", UCX_NET_DEVICES="eth0", MPIR_CVAR_NOLOCAL="1")
os.execv({launcher!r}, [{launcher!r}, *words])
"""


def ip(*words: str) -> None:
    """Run `ip`; raises CalledProcessError with what it said."""
    _run("ip", *words)


def _run(*argv: str) -> None:
    subprocess.run(
        argv,
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "PATH": SYSTEM_PATH},
    )


def why_not() -> str | None:
    """Why this machine bears no such ranks; None where it does."""
    if os.geteuid() != 0:
        return "needs root: network namespaces"
    for tool in ("ip", "tc"):
        if shutil.which(tool, path=SYSTEM_PATH) is None:
            return f"needs '{tool}' (iproute2)"
    if not (Path(sys.executable).parent / "mpiexec").exists():
        return "needs the embedded MPICH beside this Python"
    name = f"weft{os.getpid()}try"
    try:
        ip("netns", "add", name)
        ip("-n", name, "link", "add", "br0", "type", "bridge")
    except subprocess.SubprocessError as error:
        return f"no network namespaces here: {getattr(error, 'stderr', '') or error}".strip()
    finally:
        _forget(name)
    return None


def _forget(namespace: str) -> None:
    subprocess.run(
        ["ip", "netns", "del", namespace],
        check=False,
        capture_output=True,
        timeout=LIMIT_S,
        env={**os.environ, "PATH": SYSTEM_PATH},
    )


class RanksApart:
    """`n` ranks, each with a cable of its own to one switch. `mpicc` is what `--mpi` takes."""

    def __init__(self, n: int, folder: Path) -> None:
        self.n = n
        self._folder = folder
        self._prefix = f"weft{os.getpid()}r"
        self._switch = f"weft{os.getpid()}{SWITCH}"
        self._held: list[Path] = []
        self.mpicc = folder / "mpicc"

    def __enter__(self) -> Self:
        try:
            self._join()
            self._stand_in()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def limit(self, rank: int, rate: str) -> None:
        """Limit the cable of a rank, both ways, to a rate such as '400mbit'."""
        ends = ((f"{self._prefix}{rank}", "eth0"), (self._switch, f"port{rank}"))
        for namespace, device in ends:
            words = ("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf")
            _run(*words, "rate", rate, "burst", "16kb", "latency", "20ms")

    def hold(self, rank: int, share: float) -> str | None:
        """Give a rank no more than a share of one CPU; why not, where that is not possible."""
        for root in CGROUPS:
            group = root / f"weft{os.getpid()}"
            try:
                group.mkdir()
                self._held.append(group)
                _set_quota(group, share)
            except OSError:
                continue
            (self._folder / f"held-{rank}").write_text(str(group))
            return None
        return "needs a CPU controller of control groups that may be written"

    def _join(self) -> None:
        ip("netns", "add", self._switch)
        ip("-n", self._switch, "link", "add", "br0", "type", "bridge")
        ip("-n", self._switch, "link", "set", "br0", "up")
        for rank in range(self.n):
            mine, port = f"{self._prefix}{rank}", f"port{rank}"
            ip("netns", "add", mine)
            ends = ("netns", mine, "type", "veth", "peer", "name", port, "netns", self._switch)
            ip("link", "add", "eth0", *ends)
            ip("-n", self._switch, "link", "set", port, "master", "br0", "up")
            ip("-n", mine, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "eth0")
            ip("-n", mine, "link", "set", "lo", "up")
            ip("-n", mine, "link", "set", "eth0", "up")

    def _stand_in(self) -> None:
        real = Path(sys.executable).parent
        words = {
            "folder": str(self._folder),
            "prefix": self._prefix,
            "python": sys.executable,
            "rank": str(self._folder / "rank"),
            "launcher": str(real / "mpiexec"),
        }
        scripts = {
            "mpicc": f'#!/bin/sh\nexec {real / "mpicc"} "$@"\n',
            "mpiexec": LAUNCHER.format(**words),
            "rank": RANK.format(**words),
        }
        for name, text in scripts.items():
            path = self._folder / name
            path.write_text(text)
            path.chmod(0o755)

    def _end(self) -> None:
        for rank in range(self.n):
            _forget(f"{self._prefix}{rank}")
        _forget(self._switch)
        for group in self._held:
            group.rmdir()


def _set_quota(group: Path, share: float) -> None:
    """A share of one CPU, a millisecond at a time (the least), by version 1 or 2 of groups."""
    quota_us = 1000
    period_us = round(quota_us / share)
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        (group / "cpu.max").write_text(f"{quota_us} {period_us}")
