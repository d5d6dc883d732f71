"""The parts of a virtual cluster, for the processes that make it."""

import json
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError
from weft.core.files import write_part

LAYOUT_FILE = "layout.json"
MARKER = "WEFT_CLUSTER"
"""The environment variable by which a virtual cluster's processes are found again: its folder."""

BRIDGE = "br0"
BRIDGE_ADDRESS = "10.77.255.254"
"""Of the bridge, where ssh comes from. Nothing of it is seen outside its own namespace."""

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
    `is_changing`: a change of the cable has begun, and its faults are these or some of them."""

    name: str
    address: str
    sending: Impairment = Impairment()
    receiving: Impairment = Impairment()
    is_changing: bool = False

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
        return VirtualHost(self.name, self.address, sending, receiving, is_changing=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """The hosts, who logs in (`user` with a home folder and a numeric id), which folder is the
    cluster's, and which folders stay visible inside though home and /tmp are private: those that
    weft itself runs from. `caches` are private, too, where home is."""

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


def virtual_hosts(n: int) -> tuple[VirtualHost, ...]:
    """`node1` to `nodeN`, each with its address. Raises InputError."""
    if not 0 < n <= MOST_HOSTS:
        raise InputError(f"{n} virtual hosts", expected=f"1 to {MOST_HOSTS}")
    return tuple(VirtualHost(f"node{i + 1}", str(_FIRST_ADDRESS + i)) for i in range(n))
