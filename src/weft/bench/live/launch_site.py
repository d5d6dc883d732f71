"""Where the launcher runs: on this machine, or on the first host of a cluster over ssh."""

import os
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from weft.cluster.head import Head
from weft.cluster.remote import Ssh
from weft.core.errors import BenchmarkError
from weft.core.files import write_part
from weft.core.host import Host, this_host
from weft.core.nodeset import short_name
from weft.core.process import Command
from weft.launch.recipe import Recipe


class LocalSite:
    """This machine.

    Every host of a launch has as many CPUs as `host`. `settings` are variables that the MPI wants
    in every rank, too; `ssh` is how hosts are asked for their state; every launch needs the
    `required_hosts`, whatever its nodes are. `interface` and `remote_shell` are as in a LaunchSpec.
    """

    settings: Mapping[str, str] = MappingProxyType({})
    ssh = Ssh()
    required_hosts: tuple[str, ...] = ()

    def __init__(
        self,
        host: Host | None = None,
        interface: str | None = None,
        remote_shell: str | None = None,
    ) -> None:
        self.host: Host = this_host() if host is None else host
        self.interface = interface
        self.remote_shell = remote_shell
        self.as_root: bool = os.geteuid() == 0

    def without(self, lost: Container[str]) -> "LocalSite":  # noqa: ARG002
        """The site to launch from while these hosts do not answer."""
        return self

    def is_local(self, node: str) -> bool:
        """Whether the name of a node means the host this runs on, by name alone."""
        return is_this_machine(node, self.host.name)

    def max_on_one_machine(self, nodes: Sequence[str]) -> int:  # noqa: ARG002
        """How many of these hosts are one machine, as far as is known before they meet."""
        return 1

    def folder(self, run_dir: Path) -> Path:
        """Where the own files of a launch lie, as its ranks see them."""
        return run_dir / "recipes"

    def cwd(self, run_dir: Path) -> Path:
        """Where the launcher runs."""
        return run_dir

    def write_files(self, files: Mapping[Path, str]) -> None:
        """Write files there. Raises BenchmarkError, StorageError."""
        for path, content in files.items():
            write_part(path, content, what="file of a launch")

    def remove_files(self, run_dir: Path) -> None:
        """Remove the files that no run keeps: here all are part of the run."""

    def command(self, recipe: Recipe, out: Path, err: Path) -> Command:
        """The command that runs a recipe there."""
        env = {**os.environ, **recipe.env}
        return Command(recipe.argv, env, recipe.cwd, out, err, ends_tree=True)

    def text(self, recipe: Recipe) -> str:
        """Shell lines that repeat a recipe."""
        return recipe.text


@dataclass(frozen=True, slots=True)
class HeadSite:
    """The first host of a cluster that answers, whose commands run in a folder that every host has:
    ranks start where their launcher does. `files` is where files are put there; hosts of one name
    in `machines` are one machine, '' is not known; `others` are those that can take its place."""

    head: Head
    host: Host
    files: Path
    remote_shell: str | None
    interface: str | None
    as_root: bool
    machines: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = field(default=())

    @property
    def ssh(self) -> Ssh:
        """See LocalSite."""
        return self.head.ssh

    @property
    def required_hosts(self) -> tuple[str, ...]:
        """See LocalSite."""
        return (self.head.host,)

    def without(self, lost: Container[str]) -> "HeadSite":
        """See LocalSite."""
        if self.head.host not in lost:
            return self
        name = next((host for host in self.others if host not in lost), self.head.host)
        return replace(self, head=replace(self.head, host=name), host=replace(self.host, name=name))

    @property
    def settings(self) -> Mapping[str, str]:
        """See LocalSite."""
        return self.head.settings

    def is_local(self, node: str) -> bool:  # noqa: ARG002
        """See LocalSite."""
        return False

    def max_on_one_machine(self, nodes: Sequence[str]) -> int:
        """See LocalSite."""
        on = Counter(self.machines.get(node, "") for node in nodes)
        return max((n for name, n in on.items() if name), default=1)

    def folder(self, run_dir: Path) -> Path:  # noqa: ARG002
        """See LocalSite."""
        return self.files / f"{os.uname().nodename}-{os.getpid()}"

    def cwd(self, run_dir: Path) -> Path:  # noqa: ARG002
        """See LocalSite."""
        return Path(self.head.folder)

    def write_files(self, files: Mapping[Path, str]) -> None:
        """See LocalSite."""
        for path, content in files.items():
            done = self.head.put(str(path), content.encode())
            if not done.ok:
                raise BenchmarkError(
                    f"{path} cannot be written: {done.last_line}", where=f"host {self.head.host}"
                )

    def remove_files(self, run_dir: Path) -> None:
        """See LocalSite."""
        self.head.remove(str(self.folder(run_dir)))

    def command(self, recipe: Recipe, out: Path, err: Path) -> Command:
        """See LocalSite."""
        argv = tuple(self.head.argv(recipe.argv, recipe.env))
        return Command(argv, None, out.parent, out, err, stdin=None, ends_tree=True)

    def text(self, recipe: Recipe) -> str:
        """See LocalSite."""
        return f"# on {self.head.host}\n{recipe.text}"


LaunchSite = LocalSite | HeadSite


def is_this_machine(node: str, hostname: str) -> bool:
    """Whether a node's name means the host this runs on, by name alone: nothing is looked up."""
    if node in ("localhost", "127.0.0.1", "::1", hostname):
        return True
    return short_name(node) == short_name(hostname)
