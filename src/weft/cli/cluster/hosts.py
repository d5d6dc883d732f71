"""The hosts that `weft cluster up` brings up: those named, or virtual ones that it starts."""

import re
from collections.abc import Mapping
from pathlib import Path

from weft.cluster.local import start as local
from weft.cluster.local.layout import read_layout
from weft.cluster.local.layout import virtual_hosts as hosts_of
from weft.cluster.local.start import has_layout
from weft.cluster.record import FILE
from weft.core.errors import InputError
from weft.core.nodeset import expand
from weft.core.shell_line import quoted
from weft.launch.hostfile import read_hostfile

_RATE = re.compile(r"([^=]+)=([1-9]\d{0,8}(?:[kmg]bit|bit))")


def named_hosts(hosts: str | None, hostfile: Path | None, folder: Path) -> tuple[str, ...]:
    """Real ones, for the cluster of a folder. Raises InputError."""
    if (hosts is None) == (hostfile is None):
        raise InputError(
            "which hosts?" if hosts is None else "HOSTS and --hostfile contradict each other",
            expected="a node set, --hostfile FILE or --local N",
            hint="'weft cluster up node[1-4]', or 'weft cluster up --local 4' on this machine",
        )
    if has_layout(folder):
        raise InputError(
            f"'{folder.name}' is a virtual cluster",
            expected="another --name for real hosts",
            hint=f"'weft cluster down {quoted(folder.name)}' ends it",
        )
    found = expand(hosts) if hosts is not None else tuple(read_hostfile(hostfile or Path()))
    for host in found:
        user, at, name = host.partition("@")
        if at:
            raise InputError(
                f"'{host[:80]}' names a user",
                expected=f"the host without the user: {name[:80]}",
                hint=f"'User {user[:80]}' in ~/.ssh/config: the hosts find one another by its name",
            )
    return found


def rates_of(rates: tuple[str, ...]) -> dict[str, str]:
    """By host; of a host that is named twice the last one."""
    found: dict[str, str] = {}
    for text in rates:
        match = _RATE.fullmatch(text.lower())
        if match is None:
            raise InputError(f"--rate '{text}'", expected="HOSTS=RATE such as node3=200mbit")
        found |= dict.fromkeys(expand(match[1]), match[2])
    return found


def virtual_hosts(
    folder: Path, n: int, rates: Mapping[str, str], *, shared_home: bool, start: bool
) -> tuple[tuple[str, ...], bool]:
    """The hosts of a virtual cluster and whether they run: with `start` they do. Raises InputError,
    MissingError."""
    if (folder / FILE).exists() and not local.has_layout(folder):
        raise InputError(
            f"'{folder.name}' is a cluster of real hosts",
            expected="another --name for virtual ones",
            hint=f"'weft cluster down {quoted(folder.name)}' removes its files from them",
        )
    asked = hosts_of(n, rates)
    names = tuple(host.name for host in asked)
    if local.namespace_root_of(folder) is None:
        if start:
            local.start(folder, n, rates, shared_home=shared_home)
        return names, start
    layout = read_layout(folder)
    if layout.hosts != asked or layout.shared_home != shared_home:
        raise InputError(
            f"a virtual cluster '{folder.name}' of {len(layout.hosts)} other hosts is running",
            expected="the same hosts, rates and homes, or another --name",
            hint=f"'weft cluster down {quoted(folder.name)}' ends it",
        )
    return names, True
