"""What podman and docker give a container of its own, where launches of a cluster share the host's:
/dev/shm and the network."""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.doctor.container.launch.mounts import BindMount
from weft.doctor.job import HOLE, JobLaunch

_ISOLATING = ("podman", "docker")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 the folder of the container is named, not written
_HOST = "host"


@dataclass(frozen=True, slots=True)
class Isolation:
    """`small_shared_memory`: /dev/shm has the engine's default size, 64 MB. `network`: the
    container's own, by the name of its option; "" for the host's, and where nothing tells."""

    small_shared_memory: bool = False
    network: str = ""


def isolation_of(launch: JobLaunch, mounts: Iterable[BindMount]) -> Isolation:
    """Of one launch. SOURCE: podman-run(1) and docker run(1): --shm-size, --ipc, --network."""
    if launch.launcher not in _ISOLATING or "pod" in launch.options:
        return Isolation()
    texts = {name: word.text for name, word in launch.options.items()}
    network = texts.get("network", texts.get("net", "default"))
    own_memory = texts.get("ipc", "private") in ("private", "shareable", "")
    targets = {one.target for one in mounts} | {texts.get("tmpfs", "").partition(":")[0]}
    is_set = "shm-size" in texts or SHARED_MEMORY in targets
    is_own = network != _HOST and HOLE not in network
    return Isolation(own_memory and not is_set, network if is_own else "")
