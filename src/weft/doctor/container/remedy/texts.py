"""Additions as texts to paste: a script of a launcher, or an EDF."""

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from weft.core.shell_line import UNSHOWN, quoted
from weft.doctor.container.remedy.additions import AddedMount, Additions

MOUNTS = "FABRIC_MOUNTS"
"""The variable of a script that collects the mounts of an option which takes one list."""
WIDTH = 79


@dataclass(frozen=True, slots=True)
class ContainerStart:
    """The words around the additions. `before` starts the ranks of several nodes, `options` are
    more words of the runtime, and `notes` are comments. `engine` takes a CDI specification."""

    image: str = "IMAGE"
    program: str = "PROGRAM"
    engine: str = "podman"
    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def pyxis_text(added: Additions, start: ContainerStart) -> str:
    """Lines of a job script for srun with Pyxis."""
    names = [one.name for one in added.variables]
    words = [*(start.before or ("srun",)), f"--container-image={quoted(start.image)}"]
    lines = [*comments(start.notes)]
    for one in added.variables:
        lines += [*comments([one.reason]), f"export {one.name}={quoted(one.value)}"]
    for index, mount in enumerate(added.mounts):
        before = f"${MOUNTS}," if index else ""
        lines += [*comments([mount.reason]), f"{MOUNTS}={before}{_bind(mount)}"]
    if added.mounts:
        words.append(f'--container-mounts="${MOUNTS}"')
    if names:
        words.append(f"--container-env={','.join(names)}")
    return _script([*lines, _command([*words, *start.options, start.program])])


def apptainer_text(added: Additions, start: ContainerStart) -> str:
    """Lines of a job script for apptainer. --env wins over a variable with the prefix."""
    exports = [
        f"export APPTAINERENV_{one.name}={quoted(one.value)}"
        for one in added.variables
        if not _is_one_pair(one.value)
    ]
    words = [
        *start.before,
        "apptainer exec",
        *start.options,
        *(f"--bind {_bind(one)}" for one in added.mounts),
        *(f"--bind {one.path}" for one in added.devices),
        *(
            f"--env {quoted(f'{one.name}={one.value}')}"
            for one in added.variables
            if _is_one_pair(one.value)
        ),
        quoted(start.image),
        start.program,
    ]
    return _script([*comments((*start.notes, *added.notes)), *exports, _command(words)])


def _is_one_pair(value: str) -> bool:
    """Whether `--env NAME=VALUE` of apptainer gives the value as it is.

    SOURCE: spf13/pflag 1bbbeded, string_to_string.go: it strips quotes, and a second `=` makes the
    word a line of CSV.
    """
    return '"' not in value and not ("=" in value and ("," in value or UNSHOWN.search(value)))


def podman_text(added: Additions, start: ContainerStart) -> str:
    """A command line of podman."""
    return _engine_text("podman", added, start)


def docker_text(added: Additions, start: ContainerStart) -> str:
    """A command line of docker."""
    return _engine_text("docker", added, start)


def _engine_text(engine: str, added: Additions, start: ContainerStart) -> str:
    words = [
        *start.before,
        f"{engine} run",
        *start.options,
        *(f"--device {one.path}" for one in added.devices),
        *(f"--volume {_bind(one)}" for one in added.mounts),
        *(f"--env {quoted(f'{one.name}={one.value}')}" for one in added.variables),
        quoted(start.image),
        start.program,
    ]
    return _script([*comments((*start.notes, *added.notes)), _command(words)])


def edf_text(added: Additions, start: ContainerStart) -> str:
    """An EDF of the container engine at CSCS; devices are mounts there."""
    lines = [*comments(start.notes), f"image = {_toml(start.image)}"]
    # SOURCE: eth-cscs/cscs-docs, edf.md: SOURCE:DESTINATION[:FLAGS].
    entries = [(_bind(one), one.reason) for one in added.mounts]
    entries += [(f"{one.path}:{one.path}", one.reason) for one in added.devices]
    if entries:
        lines += ["", "mounts = ["]
        for reason, group in groupby(entries, lambda one: one[1]):
            lines += [f"  {one}" for one in comments([reason])]
            lines += [f"  {_toml(text)}," for text, _ in group]
        lines.append("]")
    for table, pairs in (("env", added.variables), ("annotations", added.hooks)):
        lines += ["", f"[{table}]"] if pairs else []
        for one in pairs:
            lines += [*comments([one.reason]), f"{one.name} = {_toml(one.value)}"]
    return _script(lines)


def _bind(mount: AddedMount) -> str:
    return f"{mount.source}:{mount.target}{':ro' if mount.is_read_only else ''}"


def _toml(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, except of DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def comments(notes: Sequence[str]) -> list[str]:
    """Comments of a shell and of TOML; a command to paste is worth more whole than folded."""
    lines: list[str] = []
    for one in notes:
        if one.startswith("  "):
            lines.append(f"# {UNSHOWN.sub('?', one)}")
            continue
        lines += textwrap.wrap(
            UNSHOWN.sub("?", " ".join(one.split())),
            WIDTH,
            initial_indent="# ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _command(words: list[str]) -> str:
    return " \\\n  ".join(words)


def _script(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


TEXTS: Mapping[str, Callable[[Additions, ContainerStart], str]] = {
    "edf": edf_text,
    "pyxis": pyxis_text,
    "apptainer": apptainer_text,
    "podman": podman_text,
    "docker": docker_text,
}
"""By format; the writers of the other formats are in `documents`."""
