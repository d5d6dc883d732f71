"""The hardware of other hosts: the collection script over ssh, read here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.cluster.remote import Ssh, each
from weft.cluster.ssh_failure import ssh_failure_of
from weft.core.errors import InputError
from weft.doctor.machine.detection.collection import SCRIPT, CollectedTree, read_collection
from weft.doctor.machine.detection.commands import SavedCommands
from weft.doctor.machine.detection.host import read_host
from weft.doctor.machine.detection.model import HostHardware

ASK_S = 60.0


@dataclass(frozen=True, slots=True)
class AskedHost:
    """A host with its hardware and the tree it was read from, or with the reason why not."""

    hardware: HostHardware | None = None
    tree: CollectedTree | None = field(default=None, repr=False)
    cause: str = ""
    remedy: str = ""


def ask_hosts(ssh: Ssh, hosts: Iterable[str], root: str) -> Mapping[str, AskedHost]:
    """Each host with the hardware below its folder `root`, many at once. Raises InputError for what
    is no host name."""
    return each(hosts, lambda host: _ask(ssh, host, root))


def _ask(ssh: Ssh, host: str, root: str) -> AskedHost:
    result = ssh.run(host, ("sh", "-s", "--", root), stdin=SCRIPT.encode(), timeout_s=ASK_S)
    if not result.reached:
        failure = ssh_failure_of(host, result)
        return AskedHost(cause=failure.cause, remedy=failure.remedy)
    if not result.ok:
        cause = result.last_line or f"the script ended with code {result.code}"
        return AskedHost(cause=cause, remedy=f"ssh {host} ls {root}")
    try:
        tree = read_collection(result.out, host)
    except InputError as error:
        return AskedHost(cause=error.what, remedy=f"expected: {error.expected}")
    found = read_host(tree, SavedCommands(tree))
    if found.is_empty:
        return AskedHost(cause="it shows neither /sys nor /proc", remedy=f"ssh {host} ls /sys")
    return AskedHost(found, tree)
