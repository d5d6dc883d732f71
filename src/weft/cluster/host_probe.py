"""The state of hosts after a launch went wrong there: the ones that answer, the processes that do
not run, the folders that are full."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.cluster.remote import Ssh, SshResult, each
from weft.cluster.ssh_failure import SshFailure, ssh_failure_of

PROBE_S = 12.0
"""Longest that a host has for its answer; ssh gives up on one that takes no connection before."""

FULL_BYTES = 2**20
"""A folder with less room than this is full: no launcher and no MPI gets by with it."""

MARK = "weft-look"
"""The begin of each line, so that no output of a login script is taken for one."""

SCRIPT = r"""
interface=$1
shift
[ -z "$interface" ] || echo "weft-look link $(cat "/sys/class/net/$interface/operstate")"
for pid in "$@"; do
    state=gone
    if read -r line < "/proc/$pid/stat"; then
        line=${line##*) }
        state=${line%% *}
    fi
    echo "weft-look process $pid $state"
done
for folder in /tmp /dev/shm "$HOME"; do
    echo "weft-look folder $(stat -f -c '%a %S %c %d' "$folder") $folder"
done
echo "weft-look end"
"""


@dataclass(frozen=True, slots=True)
class HostProbe:
    """The result of one probe. `states` are the kernel's letters of processes by id, 'gone' for one
    that has ended; `full` the folders without room; `link_down` whether the interface that was
    asked for is. Of a host that was not reached only `unreached` is known."""

    unreached: SshFailure | None = None
    states: Mapping[int, str] = field(default_factory=dict)
    full: tuple[str, ...] = ()
    link_down: bool = False

    @property
    def is_lost(self) -> bool:
        """Whether nothing answers there any more."""
        return self.unreached is not None and not self.unreached.alive


def probe_hosts(
    ssh: Ssh, hosts: Mapping[str, Sequence[int]], interface: str | None = None
) -> dict[str, HostProbe]:
    """A probe of each host with the processes of interest there, all at once, within `PROBE_S`."""

    def probe(host: str) -> HostProbe:
        pids = [str(pid) for pid in hosts[host]]
        result = ssh.run(
            host, ["sh", "-s", "--", interface or "", *pids], stdin=SCRIPT.encode(),
            timeout_s=PROBE_S,
        )  # fmt: skip
        return read_probe(host, result)

    return dict(each(hosts, probe))


def read_probe(host: str, result: SshResult) -> HostProbe:
    """The probe that `SCRIPT` printed, as far as it came."""
    split = [line.split() for line in result.out.splitlines() if line.startswith(f"{MARK} ")]
    lines = [words for words in split if len(words) > 1]
    if not result.reached and not lines:
        return HostProbe(unreached=ssh_failure_of(host, result))
    states = {
        int(w[2]): w[3] for w in lines if w[1] == "process" and len(w) == 4 and _is_number(w[2])
    }
    full = tuple(" ".join(w[6:]) for w in lines if w[1] == "folder" and _is_full(w[2:6]))
    link_down = any(w[1:] in (["link", "down"], ["link", "lowerlayerdown"]) for w in lines)
    return HostProbe(states=states, full=full, link_down=link_down)


def _is_number(word: str) -> bool:
    return re.fullmatch(r"\d{1,20}", word) is not None


def _is_full(words: Sequence[str]) -> bool:
    """Of free blocks, block size, inodes and free inodes; some file systems count no inodes."""
    if len(words) != 4 or not all(map(_is_number, words)):
        return False
    blocks, size, inodes, free_inodes = map(int, words)
    return blocks * size < FULL_BYTES or (inodes > 0 and free_inodes == 0)
