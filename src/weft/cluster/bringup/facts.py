"""The facts of a host, from one short script, read line by line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_LINES = 4000
MOST_LETTERS = 1000

PROBE = r"""
PATH="$PATH:/usr/sbin:/sbin"
say() { printf '%s\t%s\n' "$1" "$2"; }
say system "$(uname -s)"
say machine "$(uname -m)"
say user "$(id -un)"
say uid "$(id -u)"
say home "$HOME"
say os "$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | tr -d '"')"
ids=$(sed -n 's/^ID=//p;s/^ID_LIKE=//p' /etc/os-release 2>/dev/null)
say os_id "$(printf '%s' "$ids" | tr -d '"' | tr '\n' ' ')"
say libc "$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | head -n 1)"
say clock "$(date +%s.%N)"
say memlock "$(ulimit -l)"
say shm_kib "$(df -Pk /dev/shm 2>/dev/null | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)"
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
siblings=/sys/devices/system/cpu/cpu*/topology/thread_siblings_list
say cores "$(cat $siblings 2>/dev/null | sort -u | wc -l)"
say ssh "$SSH_CONNECTION"
say boot "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
ip -o address show up 2>/dev/null | while read -r _ device family address _; do
    case "$family" in inet|inet6) say "address:$device" "$address" ;; esac
done
for device in /sys/class/net/*; do
    [ -r "$device/type" ] || continue
    say "link:${device##*/}" "$(cat "$device/type") $(cat "$device/operstate")"
done
for port in /sys/class/infiniband/*/ports/*; do
    [ -r "$port/state" ] || continue
    device=${port%/ports/*}
    say "port:${device##*/}:${port##*/}" "$(cat "$port/link_layer") $(cat "$port/state")"
done
for device in /sys/class/cxi/*; do
    [ -e "$device" ] && say "port:${device##*/}" "Slingshot"
done
say end end
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a host, checked, without characters that cannot be printed.

    `clock_s` is its time in seconds since 1970, `asked_s` ours at that moment. `os_id` is the id of
    the distribution and those it is like ('ubuntu debian'), `libc` such as 'glibc 2.36'.
    `addresses` are (interface, address) pairs, `ports` (device, 'InfiniBand 4: ACTIVE') of fast
    devices, `links` the type of each interface (ARPHRD_* of if_arp.h), None where it is down.
    `server` and `ssh_port` are where its sshd was reached. Hosts of one `boot` are one machine
    (containers). `memlock_kib` is None for no limit, unless the host does not report it.
    """

    system: str
    machine: str
    user: str
    uid: int
    home: str
    os: str
    os_id: tuple[str, ...]
    libc: str
    clock_s: float
    asked_s: float
    memlock_kib: int | None
    shm_bytes: int | None
    n_cpus: int
    n_cores: int
    server: str
    ssh_port: int
    addresses: tuple[tuple[str, str], ...]
    ports: tuple[tuple[str, str], ...]
    links: dict[str, int | None]
    boot: str = ""
    reports_memlock: bool = True

    @property
    def interface(self) -> str | None:
        """The interface on which its sshd was reached."""
        ours = (device for device, at in self.addresses if at.partition("/")[0] == self.server)
        return next(ours, None) if self.server else None


def read_facts(text: str, asked_s: float) -> Facts:
    """The facts that `PROBE` printed. Raises ValueError for other output."""
    result: dict[str, str] = {}
    links = dict[str, int | None]()
    addresses, ports = list[tuple[str, str]](), list[tuple[str, str]]()
    for key, value in _pairs(text.splitlines()[:MOST_LINES]):
        kind, colon, name = key.partition(":")
        if not colon:
            result[key] = value
        elif kind == "address":
            addresses.append((name, value))
        elif kind == "port":
            ports.append((name, value))
        elif kind == "link":
            type_, _, state = value.partition(" ")
            links[name] = None if state.strip() == "down" else _whole(type_, 0)
    missing = [
        key for key in ("system", "user", "uid", "home", "clock", "end") if key not in result
    ]
    if missing:
        raise ValueError(f"the host did not report its {missing[0]}")
    connection = result.get("ssh", "").split()
    return Facts(
        system=result["system"],
        machine=result.get("machine", ""),
        user=result["user"],
        uid=int(result["uid"]),
        home=result["home"],
        os=result.get("os", ""),
        os_id=tuple(result.get("os_id", "").split()),
        libc=result.get("libc", ""),
        clock_s=_clock(result["clock"]),
        asked_s=asked_s,
        memlock_kib=None
        if result.get("memlock") == "unlimited"
        else _whole(result.get("memlock"), 0),
        shm_bytes=_bytes(result.get("shm_kib")),
        n_cpus=_whole(result.get("cpus"), 1),
        n_cores=_whole(result.get("cores"), 0) or _whole(result.get("cpus"), 1),
        server=connection[2] if len(connection) == 4 else "",
        ssh_port=_whole(connection[3], 22) if len(connection) == 4 else 22,
        addresses=tuple(addresses),
        ports=tuple(ports),
        links=links,
        boot=result.get("boot", ""),
        reports_memlock=re.fullmatch(r"unlimited|\d{1,15}", result.get("memlock", "")) is not None,
    )


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, tab, value = line.partition("\t")
        if tab and re.fullmatch(r"[\w:.@-]{1,80}", key):
            yield key, "".join(c for c in value if c.isprintable())[:MOST_LETTERS].strip()


def _clock(text: str) -> float:
    # Without GNU date '%N' stays as it is.
    seconds = re.match(r"\d+(\.\d+)?", text)
    if seconds is None:
        raise ValueError("the host did not report its time")
    return float(seconds.group())


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,15}", text) else otherwise


def _bytes(kib: str | None) -> int | None:
    return 1024 * int(kib) if kib and re.fullmatch(r"\d{1,15}", kib) else None
