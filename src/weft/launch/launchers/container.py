"""A container around each rank: the words of one runtime between a launcher and its program."""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os.path import normpath, realpath
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w

from weft.core.errors import InputError
from weft.core.process_tree import MARKER
from weft.core.shell_line import UNSHOWN
from weft.launch.kernel import cache_candidates
from weft.launch.secret_text import mask_text
from weft.launch.spec import LaunchSpec

BARE = "none"
"""The name of launches without a container, beside those of the runtimes."""
_NOTHING: Mapping[str, str] = MappingProxyType({})
SYSTEM_FOLDERS = frozenset(map(Path, ("/", "/usr", "/usr/local")))
"""Mounted at their own path they would hide the image's libraries."""


@dataclass(frozen=True, slots=True)
class RankContainer:
    """The container of each rank.

    `mounts` are SOURCE:TARGET or SOURCE:TARGET:ro, `devices` paths, `variables` those of the
    container, `hooks` annotations that switch hooks of CE on, `options` more words of the runtime,
    and `network` is srun's --network. `recipe` names the platform that they come from, "" without
    one.
    """

    runtime: str
    image: str
    mounts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    hooks: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    options: tuple[str, ...] = ()
    network: str = ""
    recipe: str = ""

    def to_record(self) -> dict[str, Any]:
        """Runtime, image, mounts and platform, as the metadata of a run keeps them."""
        named = {"recipe": self.recipe} if self.recipe else {}
        return {
            "runtime": self.runtime,
            "image": mask_text(self.image)[0],
            "mounts": list(self.mounts),
            **named,
        }


@dataclass(frozen=True, slots=True)
class ContainerRuntime:
    """`wrap` puts the container into a launch. `launchers` are the keys of LAUNCHERS whose ranks
    find each other from inside; none: all of them. `why` tells the reason in one sentence."""

    wrap: Callable[[LaunchSpec, RankContainer, Path], LaunchSpec]
    launchers: tuple[str, ...] = ()
    why: str = ""


def program_folders(kernel: Path, mpicc: Path) -> tuple[Path, ...]:
    """The folders that a container needs to run the kernel: the MPI's, unless it is one of the
    system, or weft's installation where that holds the MPI; and the kernel's, unless it is in
    there."""
    prefix, mpi = Path(sys.prefix), mpicc.parent.parent
    own = kernel.parent if kernel.is_absolute() else cache_candidates()[0]
    if mpi in SYSTEM_FOLDERS:
        return (own,)
    is_ours = prefix not in SYSTEM_FOLDERS and mpi.is_relative_to(prefix)
    whole = prefix if is_ours else mpi
    return (whole,) if own.is_relative_to(whole) else (own, whole)


_SPLITS = re.compile(r"[\s,:$\\]")
"""Characters at which a runtime splits a mount, or that it replaces."""


def own_mounts(container: RankContainer, folders: Mapping[Path, str]) -> Iterator[str]:
    """Of weft's own folders, read-only at their own paths, those that the container lacks; each
    folder comes with a hint how to choose another. Raises InputError where a mount of the
    container is in the way, and on a path that a runtime would split."""
    asked = {normpath(one.split(":")[1]): one for one in container.mounts}
    for folder, hint in folders.items():
        found = asked.get(normpath(folder))
        if found is None:
            if _SPLITS.search(str(folder)) or UNSHOWN.search(str(folder)):
                raise InputError(
                    f"weft cannot mount {str(folder)!r} in containers",
                    where="--container",
                    expected="a path without blanks, commas, colons, '$' and backslashes",
                    hint=hint,
                )
            yield f"{folder}:{folder}:ro"
        elif realpath(found.split(":")[0]) != realpath(folder):
            raise InputError(
                f"the mount {found} would hide weft's own mount of {folder}",
                where="--mount" if not container.recipe else "--mount or --recipe",
                expected=f"{folder}:{folder}, or another path in the container",
            )


def launcher_for(container: RankContainer | None) -> str | None:
    """The --launcher that a container asks for, None where any does."""
    launchers = () if container is None else CONTAINER_RUNTIMES[container.runtime].launchers
    if not launchers:
        return None
    return "srun" if launchers == _BY_SRUN else "mpiexec"


def refuse_launcher(container: RankContainer, launcher_kind: str) -> None:
    """Raises InputError where ranks that this launcher starts do not meet from the containers."""
    runtime = CONTAINER_RUNTIMES[container.runtime]
    if runtime.launchers and launcher_kind not in runtime.launchers:
        wanted = " or ".join(_NAMES[one] for one in runtime.launchers)
        raise InputError(
            f"--container {container.runtime} does not work with ranks of {_NAMES[launcher_kind]}: "
            f"{runtime.why}",
            expected=wanted,
            hint="leave --mpi and --launcher out, or measure with another --container",
        )


_NAMES = {
    "hydra": "MPICH's mpiexec",
    "openmpi": "Open MPI's mpirun",
    "intel": "Intel MPI's mpiexec",
    "mvapich": "MVAPICH's mpiexec",
    "srun": "srun",
}


def in_container(spec: LaunchSpec, container: RankContainer, document: Path) -> LaunchSpec:
    """The launch with a container around each rank; `document` is where an EDF will be written.

    The launch's variables win over the container's, and both over the image's.
    """
    by_srun = spec.launcher.name == "srun" and container.network
    spec = replace(
        spec,
        env={**container.variables, **spec.env},
        options=(f"--network={container.network}",) if by_srun else (),
    )
    return CONTAINER_RUNTIMES[container.runtime].wrap(spec, container, document)


def edf_text(container: RankContainer, env: Mapping[str, str]) -> str:
    """The EDF of CE; devices are mounts there.

    SOURCE: eth-cscs/cscs-docs, edf.md: SOURCE:DESTINATION[:FLAGS]; tables env and annotations.
    """
    annotations: dict[str, Any] = {}
    for name, value in container.hooks.items():
        *above, last = name.split(".")
        table = annotations
        for one in above:
            table = table.setdefault(one, {})
        table[last] = value
    return tomli_w.dumps(
        {
            "image": container.image,
            "mounts": [*container.mounts, *(f"{one}:{one}" for one in container.devices)],
            **({"env": dict(env)} if env else {}),
            **({"annotations": annotations} if annotations else {}),
        }
    )


def _pyxis(spec: LaunchSpec, container: RankContainer, _: Path) -> LaunchSpec:
    """As `weft recipe` writes it: --container-env names the variables that win over the image's."""
    words = [f"--container-image={container.image}"]
    if container.mounts:
        words.append(f"--container-mounts={','.join(container.mounts)}")
    if spec.env:
        words.append(f"--container-env={','.join(spec.env)}")
    words += ["--container-writable", "--no-container-mount-home"]
    return replace(spec, options=(*spec.options, *words))


def _ce(spec: LaunchSpec, _: RankContainer, document: Path) -> LaunchSpec:
    return replace(spec, options=(*spec.options, f"--environment={document}"))


def _apptainer(spec: LaunchSpec, container: RankContainer, _: Path) -> LaunchSpec:
    """Variables by prefix: `--env` splits values at commas."""
    bound = (*container.mounts, *container.devices)
    words = (
        *("apptainer", "exec", *container.options),
        *(word for one in bound for word in ("--bind", one)),
        container.image,
    )
    env = {f"APPTAINERENV_{name}": value for name, value in spec.env.items()}
    return replace(spec, env=env, program=(*words, *spec.program))


PASSED = (
    *("PMI_*", "MPI_LOCAL*", "MPIR_CVAR_*", "MPICH_*", "FI_*", "UCX_*", "SLURM_*"),
    MARKER,
)
"""Variables that podman hands on: the number of the rank, where ranks meet, settings of MPICH, and
the mark by which weft ends a rank."""


def _podman(spec: LaunchSpec, container: RankContainer, _: Path) -> LaunchSpec:
    """Ranks of a node share its network, shared memory and process ids.

    SOURCE: podman-run(1): --network, --ipc, --pid, --userns (keep-id is for users without root
    only), --env NAME without a value, and with a star, --timeout (0 is none). mpiexec(1) of Hydra:
    -pmi-port.
    """
    # INVARIANT: a container starts after its launch, so its time ends after weft's own limit.
    limit = () if spec.limit_s is None else (f"--timeout={max(1, math.ceil(spec.limit_s))}",)
    own = () if spec.as_root else ("--userns=keep-id",)
    passed = (*PASSED, *(f"{name}={value}" for name, value in spec.env.items()))
    words = (
        *("podman", "run", "--rm", "--network=host", "--ipc=host", "--pid=host", *own),
        *("--entrypoint=", *limit),
        *(word for one in passed for word in ("--env", one)),
        *container.options,
        *(word for one in container.devices for word in ("--device", one)),
        *(word for one in container.mounts for word in ("--volume", one)),
        container.image,
    )
    return replace(spec, options=("-pmi-port",), program=(*words, *spec.program))


_BY_SRUN = ("srun",)
CONTAINER_RUNTIMES: Mapping[str, ContainerRuntime] = {
    "pyxis": ContainerRuntime(_pyxis, _BY_SRUN, "Pyxis is a plugin of srun"),
    "ce": ContainerRuntime(_ce, _BY_SRUN, "CE is a plugin of srun"),
    "apptainer": ContainerRuntime(_apptainer),
    "podman": ContainerRuntime(
        _podman,
        ("hydra",),
        "podman hands on no open files, and no folder in which the ranks meet",
    ),
}
"""By the name that --container takes."""
