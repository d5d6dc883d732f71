"""What podman and docker give a container of its own, where launches of a cluster share the host's:
/dev/shm, the network, the namespaces of ranks, and a limit of locked memory."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weft.doctor.container.image.tree import open_regular
from weft.doctor.container.launch.mounts import BindMount, emptied_folders
from weft.doctor.job import HOLE, Job, JobLaunch, number_of
from weft.doctor.machine.system import CAP_IPC_LOCK, locked_limits
from weft.doctor.numbers import whole
from weft.launch.command_words import NODES
from weft.launch.engine_options import is_on

_ISOLATING = ("podman", "docker")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 the folder of the container is named, not written
_HOST = "host"
_OWN = ("private", "shareable", "")
"""Values of --ipc and --pid for a namespace of the container's own, which is the default. "none" of
--ipc has no /dev/shm, either."""
_MOST_STATUS_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class LockedMemory:
    """The most that a process may lock. `told_by` names what tells it: "" where nothing does, and
    where the process may have CAP_IPC_LOCK, which no limit holds."""

    limit_bytes: int | None = None
    told_by: str = ""


@dataclass(frozen=True, slots=True)
class Isolation:
    """`small_shared_memory`: /dev/shm has the engine's default size, 64 MB. `network`: the
    container's own, by the name of its option; "" for the host's, where nothing tells, and where
    one container on one node has all ranks. `namespaces` that keep the ranks of a node apart, each
    in a container of its own: "IPC", "PID"."""

    small_shared_memory: bool = False
    network: str = ""
    namespaces: tuple[str, ...] = ()
    locked_memory: LockedMemory = field(default_factory=LockedMemory)


def isolation_of(
    job: Job, launch: JobLaunch, mounts: Iterable[BindMount], n_ranks: int | None
) -> Isolation:
    """Of a launch. SOURCE: podman-run(1), docker run(1): --shm-size, --ipc, --pid, --network."""
    if launch.launcher not in _ISOLATING or "pod" in launch.options:
        return Isolation()
    texts = {name: word.text for name, word in launch.options.items()}
    network = texts.get("network", texts.get("net", "default"))
    own_memory = texts.get("ipc", "private") in _OWN
    targets = {one.target for one in mounts} | set(emptied_folders(launch))
    is_set = "shm-size" in texts or SHARED_MEMORY in targets
    is_alone = _has_one_node(job) and (launch.inside is None or n_ranks == 1)
    is_own = network != _HOST and HOLE not in network and not is_alone
    own_ipc = own_memory or texts["ipc"] == "none"
    apart = {"IPC": own_ipc, "PID": texts.get("pid", "private") in _OWN}
    if not _share_a_node(job, launch, n_ranks):
        apart = {}
    return Isolation(
        small_shared_memory=own_memory and not is_set,
        network=network if is_own else "",
        namespaces=tuple(name for name, is_apart in apart.items() if is_apart),
        locked_memory=_locked_memory(texts),
    )


def _share_a_node(job: Job, launch: JobLaunch, n_ranks: int | None) -> bool:
    """Whether ranks outnumber nodes for certain, and each starts a container. The number of ranks a
    node is a most, beside that of all ranks: srun(1), --ntasks-per-node."""
    if launch.inside is None or n_ranks is None:
        return False
    outer = job.launches[launch.inside].options
    n_nodes = number_of(outer if NODES in outer else job.options, NODES)
    return n_nodes is not None and n_ranks > n_nodes


def _locked_memory(texts: Mapping[str, str]) -> LockedMemory:
    """As --ulimit memlock=SOFT[:HARD] sets it, in bytes, -1 for no limit."""
    added = re.split(r"[,\n]", texts.get("cap-add", "").upper())
    is_free = {one.removeprefix("CAP_") for one in added} & {"IPC_LOCK", "ALL"}
    if is_free or is_on(texts.get("privileged", "false")):
        return LockedMemory()
    asked = [one for one in texts.get("ulimit", "").split("\n") if one.startswith("memlock=")]
    soft = asked[-1].removeprefix("memlock=").partition(":")[0] if asked else ""
    limit_bytes = whole(soft)
    if limit_bytes is None and soft != "-1":
        return LockedMemory()
    return LockedMemory(limit_bytes, f"--ulimit {asked[-1]}")


def locked_memory_of(process: Path) -> LockedMemory:
    """Of a running process, by its folder in /proc."""
    try:
        with open_regular(process / "limits") as file:
            limits = file.read(_MOST_STATUS_BYTES).decode("ascii", "replace")
        with open_regular(process / "status") as file:
            status = file.read(_MOST_STATUS_BYTES).decode("ascii", "replace")
    except OSError:
        return LockedMemory()
    limit_bytes, _, is_there = locked_limits(limits)
    capabilities = re.search(r"^CapEff:\s*([0-9a-f]{1,32})$", status, re.MULTILINE)
    is_free = capabilities is None or int(capabilities[1], 16) >> CAP_IPC_LOCK & 1
    if not is_there or (limit_bytes is not None and is_free):
        return LockedMemory()
    return LockedMemory(limit_bytes, str(process / "limits"))


def _has_one_node(job: Job) -> bool:
    """Whether every number of nodes in the job is 1; without a number it is not known."""
    asked = [one for one in (job.options, *(one.options for one in job.launches)) if NODES in one]
    counts = [*(number_of(one, NODES) for one in asked), *job.node_counts]
    return bool(counts) and set(counts) == {1}
