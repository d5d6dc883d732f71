"""Ranks of this machine with a network between them: a namespace each, joined by a bridge.

Every namespace (the bridge lies in one, too) has no name and one process that holds it. A holder
ends when its standard input does, so with this process, however that ends; the kernel then takes
its namespace away. A stand-in for the launcher puts each rank of the kernel into its namespace; MPI
then has nothing but TCP over a virtual cable to each rank, which can be limited, and a rank can be
given less of a CPU by a control group, and company in it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.needs import need

ENVIRONMENT = {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"}
LIMIT_S = 20.0
CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))

OWN_SYS = "mount -t sysfs sysfs /sys"
SPIN = """\
import os, threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
os.write(1, os.read(0, 6))
os.read(0, 1)
"""
ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
REMOVE = 'cat; for i in $(seq 100); do rmdir "$0" 2>/dev/null && exit; sleep 0.1; done'

RANK = """\
#!/bin/sh
[ -f {folder}/held-$PMI_RANK ] && echo $$ > "$(cat {folder}/held-$PMI_RANK)/cgroup.procs"
exec nsenter --net="$(cat {folder}/network-$PMI_RANK)" \\
    unshare --mount sh -c '{own_sys} && exec "$@"' sh "$@"
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


def _run(*argv: str) -> None:
    """Raises CalledProcessError with what it said."""
    subprocess.run(
        argv, check=True, capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT
    )


def why_not() -> str | None:
    """Why this machine bears no such ranks; None where it does. Skips where a tool is missing."""
    if os.geteuid() != 0:
        return "needs root: network namespaces"
    tools = ("ip", "tc", "nsenter", "unshare")
    need(*tools, package="iproute2 util-linux", path=ENVIRONMENT["PATH"])
    if not (Path(sys.executable).parent / "mpiexec").exists():
        return "needs the embedded MPICH beside this Python"
    try:
        script = f"{OWN_SYS} && ip link add br0 type bridge"
        _run("unshare", "--net", "--mount", "sh", "-c", script)
    except subprocess.SubprocessError as error:
        return f"no network namespaces here: {getattr(error, 'stderr', '') or error}".strip()
    return None


@contextmanager
def ranks_apart(n: int, folder: Path) -> Iterator["RanksApart"]:
    """`n` ranks, each with a cable of its own to one switch."""
    with ExitStack() as held:
        yield RanksApart(n, folder, held)


class _Network:
    """A network namespace."""

    def __init__(self, held: ExitStack) -> None:
        self.holder = _while_we_live(held, "unshare", "--net", "cat")
        self.path = f"/proc/{self.holder}/ns/net"

    def run(self, *argv: str) -> None:
        """Run a command in it."""
        _run("nsenter", f"--net={self.path}", *argv)

    def ip(self, *words: str) -> None:
        """Run `ip` in it."""
        self.run("ip", *words)


class RanksApart:
    """`n` ranks that are joined. `mpicc` is what `--mpi` takes."""

    def __init__(self, n: int, folder: Path, held: ExitStack) -> None:
        self.n = n
        self._folder = folder
        self._held = held
        self._switch = _Network(held)
        self._ranks = [_Network(held) for _ in range(n)]
        self.mpicc = folder / "mpicc"
        self._join()
        self._stand_in()

    def limit(self, rank: int, rate: str) -> None:
        """Limit the cable of a rank, both ways, to a rate such as '400mbit'."""
        for network, device in ((self._ranks[rank], "eth0"), (self._switch, f"port{rank}")):
            words = ("tc", "qdisc", "replace", "dev", device, "root", "tbf")
            network.run(*words, "rate", rate, "burst", "16kb", "latency", "20ms")

    def hold(self, rank: int, share: float) -> str | None:
        """Give a rank no more than a share of one CPU; why not, where that is not possible."""
        for root in CGROUPS:
            try:
                group = self._group(root / f"weft{os.getpid()}-{rank}")
                _set_quota(group, share)
            except OSError:
                continue
            (self._folder / f"held-{rank}").write_text(str(group))
            return None
        return "needs a CPU controller of control groups that may be written"

    def load(self, rank: int, n: int) -> None:
        """Start processes that spin beside a held rank, on the CPU time that is given to it."""
        group = (self._folder / f"held-{rank}").read_text()
        for _ in range(n):
            _while_we_live(self._held, "sh", "-c", ENTER, group, sys.executable, "-c", SPIN)

    def _group(self, folder: Path) -> Path:
        if not folder.exists():
            folder.mkdir()
            _while_we_live(self._held, "sh", "-c", REMOVE, str(folder))
        return folder

    def _join(self) -> None:
        self._switch.ip("link", "add", "br0", "type", "bridge")
        self._switch.ip("link", "set", "br0", "up")
        for rank, network in enumerate(self._ranks):
            port, peer = f"port{rank}", str(network.holder)
            cable = ("type", "veth", "peer", "name", "eth0", "netns", peer)
            self._switch.ip("link", "add", port, *cable)
            self._switch.ip("link", "set", port, "master", "br0", "up")
            network.ip("addr", "add", f"10.77.0.{rank + 1}/24", "dev", "eth0")
            network.ip("link", "set", "lo", "up")
            network.ip("link", "set", "eth0", "up")

    def _stand_in(self) -> None:
        real = Path(sys.executable).parent
        words = {
            "folder": str(self._folder),
            "own_sys": OWN_SYS,
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
        for rank, network in enumerate(self._ranks):
            (self._folder / f"network-{rank}").write_text(network.path)


def _while_we_live(held: ExitStack, *argv: str) -> int:
    """Start a command that does its work once its standard input ends, at the latest with us, and
    that until then says again what it reads; its process id. A Ctrl-C is not for it."""
    pipe = subprocess.PIPE
    process = held.enter_context(
        subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, bufsize=0, env=ENVIRONMENT, start_new_session=True
        )
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"ready\n")
    if process.stdout.read(6) != b"ready\n":
        raise OSError(f"'{' '.join(argv)}' does not run")
    return process.pid


def _set_quota(group: Path, share: float) -> None:
    """A share of one CPU, a millisecond at a time (the least), by version 1 or 2 of groups."""
    quota_us = 1000
    period_us = round(quota_us / share)
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        (group / "cpu.max").write_text(f"{quota_us} {period_us}")
