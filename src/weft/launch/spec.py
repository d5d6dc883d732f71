"""LaunchSpec, a launch that is to start; LaunchCommand, which starts it; MpiLauncher, one MPI's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """A launch, in no launcher's words.

    Ranks are placed in blocks: `tasks_per_node` on the first host, then the next. `env` reaches
    every rank. `bound`: one core a rank; otherwise ranks float. `oversubscribed`: more ranks than
    cores, so that a waiting rank must give up its core. `on_this_machine`: no remote shell and no
    name look-up. `hostfile` is where the host list will be written for launchers that want a file.
    `remote_shell` is what a launcher runs in place of ssh, as `remote_shell HOST COMMAND`;
    `interface` the one by which launcher and ranks meet. None of both: as the launcher chooses.
    `pmi` is the plugin by which srun's ranks find each other; None: the one it has by default.
    `options` are more words of srun or Hydra. `limit_s` is the time after which weft ends it; None:
    not known.
    """

    launcher: Path
    program: tuple[str, ...]
    hosts: tuple[str, ...]
    tasks_per_node: int
    hostfile: Path
    env: Mapping[str, str] = field(default_factory=dict)
    bound: bool = False
    oversubscribed: bool = False
    on_this_machine: bool = False
    as_root: bool = False
    remote_shell: str | None = None
    interface: str | None = None
    pmi: str | None = None
    options: tuple[str, ...] = ()
    limit_s: float | None = None

    @property
    def n_ranks(self) -> int:
        """Ranks of the whole launch."""
        return len(self.hosts) * self.tasks_per_node


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """`argv`, additions to the launcher's own environment, and the text of the host file."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    hostfile_text: str | None = None


@dataclass(frozen=True, slots=True)
class MpiLauncher:
    """How ranks of an MPI are started, and how the MPI is recognised.

    `implementation` is the MPI's short name, `product` its own. `version_sign` is a pattern in what
    its launcher prints for --version, `build_sign` one in the launcher's name and the wrapper's
    compile line, in small letters; "" where there is none. `is_derived`: the launcher prints the
    version of the MPI that it was built from, so the build decides. `pmi` is srun's plugin.

    SOURCE of `pmi`: Slurm 22.05, mpi_guide: Open MPI is started by `--mpi=pmix`, MPICH, MVAPICH2
    and Intel MPI by `--mpi=pmi2`.
    """

    command: Callable[[LaunchSpec], LaunchCommand]
    implementation: str = ""
    product: str = ""
    version_sign: str = ""
    build_sign: str = ""
    is_derived: bool = False
    pmi: str = ""
