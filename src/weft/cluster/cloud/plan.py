"""The plan of a cluster in Azure, checked; everything that is written follows from it."""

import hashlib
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from weft.catalog.machine.azure import Size, azure, azure_size
from weft.cluster.folder import is_name
from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError

Reach = Literal["jump", "ports"]

FIRST_PORT = 50000
_ID_LENGTH = 6
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_REGION = re.compile(r"[a-z][a-z0-9]{2,40}")
_MOST_BYTES = 65536
_LEAST_RSA_BITS = 2048
_OWN_KEYS = ("id_ed25519.pub", "id_rsa.pub")


@dataclass(frozen=True, slots=True)
class Plan:
    """`nodes` machines of a size in one placement group. `key` is the public key without its
    comment, `key_file` where it was read; `ssh_from` the network that may open ssh, None where the
    deployment asks for it; `location` a region, None for that of the resource group."""

    name: str
    size: Size
    nodes: int
    user: str
    key: str
    key_file: Path
    ssh_from: str | None
    location: str | None
    reach: Reach

    @property
    def jump(self) -> str:
        """The name of the machine with the public address."""
        return f"{self.name}-jump"

    @property
    def label(self) -> str:
        """The first word of the address's name in DNS; no other key has the same."""
        return f"{self.name}-{hashlib.sha256(self.key.encode()).hexdigest()[:10]}"

    @property
    def address(self) -> str | None:
        """The address's whole name in DNS, where the region is known."""
        return None if self.location is None else f"{self.label}.{self.location}.cloudapp.azure.com"

    @property
    def host_names(self) -> tuple[str, ...]:
        """Azure's names of the nodes if it numbers them from 0, which it does not promise."""
        return tuple(self.name + _base36(i) for i in range(self.nodes))


def make_plan(
    *,
    name: str,
    sku: str,
    nodes: int,
    user: str,
    key_file: Path | None,
    ssh_from: str | None,
    location: str | None,
    reach: Reach,
) -> Plan:
    """The plan of these words. Raises InputError for one that Azure would refuse."""
    if not is_name(name) or not name[0].isalpha():
        raise InputError(
            f"'{name[:80]}' is no name of a cluster in Azure",
            expected="up to 32 lower-case letters, digits and '-', a letter first",
        )
    size = azure_size(sku)
    _check_nodes(nodes)
    if not _USER.fullmatch(user) or user in azure().refused_users:
        raise InputError(
            f"Azure lets no administrator be called '{user[:80]}'",
            expected="a Linux user name such as azureuser, not admin, root, test and their like",
        )
    found = key_file or own_key()
    region = None if location is None else location.replace(" ", "").lower()
    if region is not None and not _REGION.fullmatch(region):
        raise InputError(f"'{region[:80]}' is no region", expected="one such as southcentralus")
    network = None if ssh_from is None else _network(ssh_from)
    return Plan(name, size, nodes, user, read_key(found), found, network, region, reach)


def _check_nodes(nodes: int) -> None:
    holds, more = azure().group_nodes.whole, azure().group_nodes_on_request.whole
    if nodes > holds:
        further = (
            f"Azure support raises that to {more} on request; then raise 'nodeCount' in the "
            "template, and its maxValue"
        )
        raise InputError(
            f"{nodes} nodes are more than one placement group holds",
            expected=f"up to {holds}: InfiniBand joins only machines of one placement group",
            hint=further if nodes <= more else f"even on request a group holds {more}",
        )


def own_key(folder: Path | None = None) -> Path:
    """The user's own public key. Raises InputError where there is none of a kind Azure takes."""
    where = Path.home() / ".ssh" if folder is None else folder
    for name in _OWN_KEYS:
        if (where / name).exists():
            return where / name
    raise InputError(
        "no public ssh key of a kind that Azure takes",
        where=str(where),
        expected=f"{' or '.join(_OWN_KEYS)}, or --ssh-key FILE",
        hint="'ssh-keygen -t ed25519' makes one",
    )


def read_key(path: Path) -> str:
    """The public key of a file, without its comment. Raises InputError for another file; its
    content is never shown."""
    expected = "a public key, one line: ssh-ed25519, or ssh-rsa of 2048 bits or more"
    text = read_text_file(path, expected=expected, most_bytes=_MOST_BYTES)
    if "PRIVATE KEY" in text:
        raise InputError(
            "that is a private key, which stays where it is",
            where=str(path),
            expected=expected,
            hint=f"its public key is most likely in {path}.pub",
        )
    words = text.split()
    if len(text.strip().splitlines()) != 1 or len(words) < 2 or _bits(*words[:2]) is None:
        raise InputError("no public key", where=str(path), expected=expected)
    if words[0] == "ssh-rsa" and (_bits(*words[:2]) or 0) < _LEAST_RSA_BITS:
        raise InputError("an RSA key too short for Azure", where=str(path), expected=expected)
    return f"{words[0]} {words[1]}"


def _bits(kind: str, body: str) -> int | None:
    """The bits of a key, None where this is none that Azure takes.

    SOURCE: RFC 4253 6.6 (ssh-rsa: kind, exponent, modulus), RFC 8709 4 (ssh-ed25519: kind, key).
    """
    try:
        fields = _fields(b64decode(body, validate=True))
    except (NotBase64, ValueError):
        return None
    lengths = {"ssh-ed25519": 2, "ssh-rsa": 3}
    if len(fields) != lengths.get(kind) or fields[0] != kind.encode():
        return None
    if kind == "ssh-ed25519":
        return 256 if len(fields[1]) == 32 else None
    return int.from_bytes(fields[2]).bit_length()


def _fields(blob: bytes) -> list[bytes]:
    """The parts of a key, each behind its length. Raises ValueError where they do not fill it."""
    fields = []
    while blob:
        length = int.from_bytes(blob[:4])
        if len(blob) < 4 + length:
            raise ValueError("cut short")
        fields.append(blob[4 : 4 + length])
        blob = blob[4 + length :]
    return fields


def _network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError as error:
        raise InputError(
            f"--ssh-from: {error}", expected="a network such as 192.0.2.0/24, or an address/32"
        ) from error
    if network.prefixlen == 0:
        raise InputError(
            f"--ssh-from {network} lets in everybody",
            expected="the network that you come from, such as 192.0.2.0/24",
        )
    return str(network)


def _base36(number: int) -> str:
    """SOURCE: Microsoft, Understand names and instance IDs for Azure Virtual Machine Scale Set VMs:
    a computer name ends in the instance's number to base 36, six digits long."""
    # Imported here: numpy takes longer to import than all of this file.
    from numpy import base_repr

    return base_repr(number, 36).zfill(_ID_LENGTH)


def plan_record(plan: Plan) -> Mapping[str, object]:
    """The plan as plain values, its size with what the catalogue says of it."""
    series = plan.size.series
    return {
        "name": plan.name,
        "sku": plan.size.name,
        "series": series.name,
        "platform": series.platform,
        "cores": plan.size.cores,
        "fabric": series.fabric,
        "hcas": series.hcas,
        "rate_gbps": series.rate_gbps,
        "gpus": series.gpus,
        "nodes": plan.nodes,
        "user": plan.user,
        "ssh_from": plan.ssh_from,
        "location": plan.location,
        "address": plan.address,
        "reach": plan.reach,
    }
