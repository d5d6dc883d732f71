"""What podman and docker give a container of its own, where launches of a cluster share the host's:
/dev/shm and the network."""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.doctor.container.launch.mounts import BindMount, emptied_folders
from weft.doctor.job import HOLE, Job, JobLaunch, number_of
from weft.launch.command_words import NODES

_ISOLATING = ("podman", "docker")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 the folder of the container is named, not written
_HOST = "host"


@dataclass(frozen=True, slots=True)
class Isolation:
    """`small_shared_memory`: /dev/shm has the engine's default size, 64 MB. `network`: the
    container's own, by the name of its option; "" for the host's, where nothing tells, and where
    one container on one node has all ranks."""

    small_shared_memory: bool = False
    network: str = ""


def isolation_of(
    job: Job, launch: JobLaunch, mounts: Iterable[BindMount], n_ranks: int | None
) -> Isolation:
    """Of one launch. SOURCE: podman-run(1) and docker run(1): --shm-size, --ipc, --network."""
    if launch.launcher not in _ISOLATING or "pod" in launch.options:
        return Isolation()
    texts = {name: word.text for name, word in launch.options.items()}
    network = texts.get("network", texts.get("net", "default"))
    own_memory = texts.get("ipc", "private") in ("private", "shareable", "")
    targets = {one.target for one in mounts} | set(emptied_folders(launch))
    is_set = "shm-size" in texts or SHARED_MEMORY in targets
    is_alone = _has_one_node(job) and (launch.inside is None or n_ranks == 1)
    is_own = network != _HOST and HOLE not in network and not is_alone
    return Isolation(own_memory and not is_set, network if is_own else "")


def _has_one_node(job: Job) -> bool:
    """Whether every number of nodes in the job is 1; without a number it is not known."""
    asked = [one for one in (job.options, *(one.options for one in job.launches)) if NODES in one]
    counts = [*(number_of(one, NODES) for one in asked), *job.node_counts]
    return bool(counts) and set(counts) == {1}
