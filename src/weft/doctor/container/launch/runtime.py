"""Container runtimes: what each passes from the host, and whose value of a variable wins."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Runtime:
    """`passes` tells whether variables of the host reach the container; `image_wins` whether the
    image's value replaces them. `has_devices`: all of the host's /dev is in it; None where that
    depends on the site. `drops` are host variables that it never passes. `reads_files`: whether it
    takes variables from files of the image (`/etc/environment`), not from its configuration only.
    """

    name: str
    passes: bool = False
    image_wins: bool = True
    has_devices: bool | None = False
    drops: frozenset[str] = frozenset()
    source: str = ""
    reads_files: bool = True


_LIBRARY_PATH = frozenset({"LD_LIBRARY_PATH"})
PLAIN = Runtime("no runtime", has_devices=None)
"""Only an image and options of the command line: devices are those that they name."""
RUNNING = Runtime("a running container", has_devices=False)
RUNTIMES = {
    one.name: one
    for one in (
        Runtime("pyxis", True, True, True, source="NVIDIA/pyxis 1075199, README"),
        Runtime("CE", True, True, None, source="eth-cscs/cscs-docs 80abed1, container engine"),
        Runtime("sarus", True, True, None, source="eth-cscs/sarus 4a8fdc4, user guide"),
        Runtime("shifter", True, True, True, source="NERSC documentation, Shifter"),
        Runtime("apptainer", True, True, True, _LIBRARY_PATH, "Apptainer user guide, Environment"),
        Runtime("enroot", False, True, True, source="NVIDIA/enroot 8ea147d, doc/cmd/start.md"),
        Runtime("podman", source="podman-run(1): --env, --device", reads_files=False),
        Runtime("docker", source="docker run(1): --env, --device", reads_files=False),
        Runtime(
            "podman-hpc", has_devices=None, source="NERSC/podman-hpc 01b02d6", reads_files=False
        ),
    )
}
_SAME = {"srun": "pyxis", "sbatch": "pyxis", "salloc": "pyxis", "singularity": "apptainer"}


def runtime_of(launcher: str) -> Runtime:
    """The runtime that a launcher with an image uses."""
    return RUNTIMES.get({**_SAME, "edf": "CE"}.get(launcher, launcher), PLAIN)
