"""The hosts that `weft cluster up` brings up: those named, or virtual ones that it starts."""

import re
from dataclasses import replace
from pathlib import Path

from weft.cluster.local import start as local
from weft.cluster.local.layout import VirtualHost, read_layout
from weft.cluster.local.layout import virtual_hosts as hosts_of
from weft.cluster.local.start import has_layout
from weft.cluster.record import FILE
from weft.core.errors import InputError
from weft.core.nodeset import expand
from weft.core.shell_line import quoted
from weft.launch.hostfile import read_hostfile

_CABLE = re.compile(r"([^=:]+)(?::(sending|receiving))?=([^=]+)")
_EXPECTED = {
    "--rate": "HOSTS=RATE such as node3=200mbit, node3:sending=200mbit",
    "--delay": "HOSTS=TIME up to 1000ms such as node3=200us, node3:receiving=1ms",
    "--loss": "HOSTS=SHARE from 0.0001% to 99% such as node3=0.1%, node3:sending=1%",
}
MOST_DELAY_US = 1e6


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


def cables_of(
    n: int,
    rates: tuple[str, ...],
    delays: tuple[str, ...],
    losses: tuple[str, ...],
    *,
    n_leaves: int = 1,
) -> tuple[VirtualHost, ...]:
    """`node1` to `nodeN` with their cables; of a direction that is named twice the last value.
    Raises InputError."""
    hosts = {host.name: host for host in hosts_of(n, n_leaves)}
    for option, read, key, given in (
        ("--rate", _rate, "rate", rates),
        ("--delay", _delay_us, "delay_us", delays),
        ("--loss", _loss, "loss", losses),
    ):
        for text in given:
            match = _CABLE.fullmatch(text)
            value = read(match[3].lower()) if match else None
            if match is None or value is None:
                raise InputError(f"{option} '{text}'", expected=_EXPECTED[option])
            for name in expand(match[1]):
                if name not in hosts:
                    raise InputError(f"{option} names '{name}'", expected=f"node1 to node{n}")
                for way in (match[2],) if match[2] else ("sending", "receiving"):
                    end = replace(getattr(hosts[name], way), **{key: value})
                    hosts[name] = replace(hosts[name], **{way: end})
    return tuple(hosts.values())


def uplink_of(text: str | None, n_leaves: int) -> str | None:
    """The rate of `--uplink`, in words of `tc`. Raises InputError."""
    if text is None:
        return None
    if n_leaves == 1:
        raise InputError(
            f"--uplink {text}, and no leaf has an uplink",
            expected="--leaves 2 or more with it",
            hint="--rate limits the hosts' own cables",
        )
    rate = _rate(text.lower())
    if rate is None:
        raise InputError(f"--uplink '{text}'", expected="RATE such as 200mbit or 200mbit/2kb")
    return rate


def _rate(text: str) -> str | None:
    form = r"[1-9]\d{0,8}(?:[kmg]bit|bit)(?:/[1-9]\d{0,5}kb)?"
    return text if re.fullmatch(form, text) else None


def _delay_us(text: str) -> float | None:
    """At most a second: a launch times out otherwise."""
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?)(us|ms)", text)
    delay_us = float(match[1]) * (1000 if match[2] == "ms" else 1) if match else 0.0
    return delay_us if 0 < delay_us <= MOST_DELAY_US else None


def _loss(text: str) -> float | None:
    """A millionth at least: a finer share has no rule."""
    match = re.fullmatch(r"(\d{1,2}(?:\.\d{1,4})?)%", text)
    loss = float(match[1]) / 100 if match else 0.0
    return loss or None


def virtual_hosts(
    folder: Path,
    asked: tuple[VirtualHost, ...],
    *,
    uplink: str | None,
    shared_home: bool,
    start: bool,
) -> tuple[tuple[str, ...], bool]:
    """The hosts of a virtual cluster and whether they run: with `start` they do, with the cables
    that are asked for. Raises InputError, MissingError."""
    if (folder / FILE).exists() and not local.has_layout(folder):
        raise InputError(
            f"'{folder.name}' is a cluster of real hosts",
            expected="another --name for virtual ones",
            hint=f"'weft cluster down {quoted(folder.name)}' removes its files from them",
        )
    names = tuple(host.name for host in asked)
    if local.namespace_root_of(folder) is None:
        if start:
            local.start(folder, asked, shared_home=shared_home, uplink=uplink)
        return names, start
    layout = read_layout(folder)
    running, wanted = ([host.leaf for host in hosts] for hosts in (layout.hosts, asked))
    if running != wanted or layout.shared_home != shared_home:
        leaves = f" on {len(layout.leaves)} leaves" if layout.leaves else ""
        raise InputError(
            f"a virtual cluster '{folder.name}' of {len(running)} other hosts{leaves} is running",
            expected="as many hosts and leaves with the same homes, or another --name",
            hint=f"'weft cluster down {quoted(folder.name)}' ends it",
        )
    if start:
        local.change(folder, layout, asked, uplink)
    return names, True
