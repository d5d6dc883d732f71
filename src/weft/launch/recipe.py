"""The exact command of a launch, in a form a person can paste."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weft.core.errors import InputError
from weft.core.shell_line import quoted, shell_line
from weft.launch.launchers import LAUNCHERS
from weft.launch.mpi import Mpi
from weft.launch.spec import LaunchSpec


@dataclass(frozen=True, slots=True)
class Recipe:
    """`argv` to run in `cwd` with `env` added to the environment, after writing the files."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[Path, str]
    cwd: Path

    @property
    def text(self) -> str:
        """Shell lines that repeat the launch: the files it needs, then the command."""
        lines = [f"cd {quoted(self.cwd)}"]
        for path, content in self.files.items():
            words = " ".join(quoted(line) for line in content.splitlines())
            lines.append(f"printf '%s\\n' {words} > {quoted(path)}")
        settings = [f"{name}={value}" for name, value in self.env.items()]
        prefix = ("env", *settings) if settings else ()
        lines.append(shell_line((*prefix, *self.argv)))
        return "\n".join(lines) + "\n"


def make_recipe(
    mpi: Mpi, spec: LaunchSpec, cwd: Path, files: Mapping[Path, str] | None = None
) -> Recipe:
    """The recipe of a launch. Raises InputError on a variable or host no launcher can pass on."""
    _refuse_unspeakable(spec)
    command = LAUNCHERS[mpi.launcher_kind].command(spec)
    needed = dict(files or {})
    if command.hostfile_text is not None:
        needed[spec.hostfile] = command.hostfile_text
    return Recipe(command.argv, command.env, needed, cwd)


def _refuse_unspeakable(spec: LaunchSpec) -> None:
    for name, value in spec.env.items():
        if not name.isidentifier() or any(c in value for c in "\0\n"):
            raise InputError(
                f"'{name}={value}' is not an environment variable a launcher can pass on",
                expected="a name of letters, digits and '_', and a value of one line",
            )
    for host in spec.hosts:
        if not host or host.startswith("-") or any(c.isspace() or c in ",\0" for c in host):
            raise InputError(f"'{host}' is not a host name", expected="a name such as node001")
