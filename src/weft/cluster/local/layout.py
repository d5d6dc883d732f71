"""The parts of a virtual cluster, for the processes that make it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError
from weft.core.files import write_part
from weft.core.words import counted

LAYOUT_FILE = "layout.json"
MARKER = "WEFT_CLUSTER"
"""The environment variable by which a virtual cluster's processes are found again: its folder."""

BRIDGE = "br0"
"""That all hosts are on, or the spine of the leaves."""
BRIDGE_ADDRESS = "10.77.255.254"
"""Of the bridge, where ssh comes from. Nothing of it is seen outside its own namespace."""
UNKNOWN_RATE = "unknown"
"""Of the uplinks while they are changed."""

_FIRST_ADDRESS = IPv4Address("10.77.0.1")
PREFIX_LENGTH = 16
MOST_HOSTS = 254


@dataclass(frozen=True, slots=True)
class Impairment:
    """One direction of a host's cable. `rate` is a word of `tc` ('200mbit', with a burst of its own
    '200mbit/2kb'), None for as fast as the machine is; `delay_us` is added to each frame; `loss` is
    the share of frames lost."""

    rate: str | None = None
    delay_us: float = 0.0
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class VirtualHost:
    """A host, and its cable in the direction in which it sends and the one in which it receives.
    `is_changing`: a change of the cable has begun, and its faults are these or some of them.
    `leaf` is the number of the switch that it is on; 0 where all are on one."""

    name: str
    address: str
    sending: Impairment = Impairment()
    receiving: Impairment = Impairment()
    is_changing: bool = False
    leaf: int = 0

    @property
    def bridge(self) -> str:
        """The bridge that it is on."""
        return leaf_bridge(self.leaf) if self.leaf else BRIDGE

    @property
    def port(self) -> str:
        """The bridge's end of its cable; eth0 is its own."""
        return self.name.replace("node", "port")

    def on_the_way_to(self, other: "VirtualHost") -> "VirtualHost":
        """The same while its cable becomes another one: with every fault that it may have."""
        sending, receiving = (
            Impairment(
                old.rate or new.rate,
                max(old.delay_us, new.delay_us),
                max(old.loss, new.loss),
            )
            for old, new in ((self.sending, other.sending), (self.receiving, other.receiving))
        )
        return replace(self, sending=sending, receiving=receiving, is_changing=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """The hosts, who logs in (`user` with a home folder and a numeric id), which folder is the
    cluster's, and which folders stay visible inside though home and /tmp are private: those that
    weft itself runs from. `caches` are private, too, where home is. `uplink` is the rate of the
    leaves' cables to the spine, in words of `tc`."""

    name: str
    folder: str
    hosts: tuple[VirtualHost, ...]
    user: str
    uid: int
    gid: int
    home: str
    shared_home: bool
    visible: tuple[str, ...]
    caches: tuple[str, ...]
    sshd: str
    uplink: str | None = None

    @property
    def leaves(self) -> dict[int, tuple[VirtualHost, ...]]:
        """The hosts of each leaf, by its number; of a cluster with one switch none."""
        return leaves_of(self.hosts)

    @property
    def is_root(self) -> bool:
        """Whether root made it: else the hosts lie in a user namespace."""
        return self.uid == 0

    def write(self) -> None:
        """Into the cluster's folder. Raises StorageError."""
        text = json.dumps(asdict(self), indent=1) + "\n"
        write_part(Path(self.folder) / LAYOUT_FILE, text, what="layout of the cluster")


def read_layout(folder: Path) -> Layout:
    """The layout that `write` wrote. Raises InputError for one that is damaged."""
    expected = "the layout of a virtual cluster"
    document = read_json_file(folder / LAYOUT_FILE, expected)
    try:
        return TypeAdapter(Layout).validate_python(document)
    except ValidationError as error:
        problem = error.errors()[0]
        raise InputError(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}",
            where=str(folder / LAYOUT_FILE),
            expected=expected,
            hint="'weft cluster down' ends the cluster, 'weft cluster up' writes it again",
        ) from error


def virtual_hosts(n: int, n_leaves: int = 1) -> tuple[VirtualHost, ...]:
    """`node1` to `nodeN`, each with its address; consecutive ones share a leaf, and leaves differ
    by one host at most. Raises InputError."""
    if not 0 < n <= MOST_HOSTS:
        raise InputError(f"{n} virtual hosts", expected=f"1 to {MOST_HOSTS}")
    if not 0 < n_leaves <= n:
        raise InputError(
            f"{n_leaves} leaves for {counted(n, 'virtual host')}",
            expected="at least one host on each leaf: --leaves up to as many as --local",
        )
    leaf = [1 + i * n_leaves // n if n_leaves > 1 else 0 for i in range(n)]
    return tuple(
        VirtualHost(f"node{i + 1}", str(_FIRST_ADDRESS + i), leaf=leaf[i]) for i in range(n)
    )


def leaves_of(hosts: Sequence[VirtualHost]) -> dict[int, tuple[VirtualHost, ...]]:
    """The hosts of each leaf, by its number; of hosts on one switch none."""
    numbers = sorted({host.leaf for host in hosts if host.leaf})
    return {leaf: tuple(host for host in hosts if host.leaf == leaf) for leaf in numbers}


def leaf_bridge(leaf: int) -> str:
    """The bridge of a leaf, by its number."""
    return f"leaf{leaf}"


def uplink_ends(leaf: int) -> tuple[str, str]:
    """The devices of a leaf's cable to the spine: at the leaf, at the spine."""
    return f"up{leaf}", f"down{leaf}"
