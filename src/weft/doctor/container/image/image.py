"""An image: its files, the variables that it sets, and the kind of what holds it."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.errors import InputError
from weft.doctor.container.image.tree import FolderTree, Tree, open_regular
from weft.doctor.container.image.view import View
from weft.doctor.container.launch.environment import Values, VariableValue, read_pairs
from weft.doctor.container.launch.isolation import LockedMemory, locked_memory_of
from weft.doctor.job import HOLE

EXPECTED = (
    "a root file system, an OCI layout, an archive of `podman save`, a squashfs (.sqsh), "
    "an image of Apptainer (.sif), or /proc/PID/root"
)
CONFIGURATION = "the image's configuration"
"""Where a variable of an image stands that is in none of its files."""
MOST_ARCHIVE_BYTES = 1 << 40
MOST_ENVIRONMENT_BYTES = 1 << 20
_ROOT_NAMES = {"usr", "lib", "lib64", "bin", "etc", "opt"}
_PROCESS = re.compile(r"/proc/(\d+|self)/root(?:/)*")
_EXPORT = re.compile(r"^\s*export\s+([A-Za-z_]\w*)=(.*)$")
_DEFAULT = re.compile(r"\$\{\w+:?-(.*)\}")


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """`variables` are the image's own. `not_seen` are parts that this form of an image lacks."""

    name: str
    kind: str
    tree: Tree
    variables: Values = ()
    architecture: str = ""
    not_seen: tuple[str, ...] = ()
    is_running: bool = False
    locked_memory: LockedMemory = field(default_factory=LockedMemory)
    """Of a running container."""
    working_folder: str = ""
    """That of the configuration."""
    has_entry_point: bool = False
    """Whether the configuration names one: podman and docker start it before the program."""
    close: Callable[[], None] = lambda: None
    """Removes the files that were unpacked to read them."""


def open_image(path: Path) -> ContainerImage:
    """An image by its path, or by its name in a runtime. Raises InputError where it is none that
    weft reads."""
    try:
        status = path.stat()
        names = set(os.listdir(path)) if stat.S_ISDIR(status.st_mode) else None
    except FileNotFoundError:
        from weft.doctor.container.image.runtime_name import open_name

        return open_name(str(path))
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else None
        raise InputError(what or str(error), where=str(path), expected=EXPECTED) from error
    if names is None:
        from weft.doctor.container.image.single_file import open_single_file

        found = open_single_file(path)
        if found is not None:
            return found
    if names is None or {"oci-layout", "index.json"} & names:
        from weft.doctor.container.image.archive import open_archive

        return open_archive(path)
    return _open_folder(path, names)


def _open_folder(path: Path, names: set[str]) -> ContainerImage:
    if not _ROOT_NAMES & names:
        raise InputError("no root file system", where=str(path), expected=EXPECTED)
    tree = FolderTree(path)
    process = _PROCESS.fullmatch(str(path))
    if process is not None:
        folder = Path(str(path).rstrip("/")).parent
        values, not_seen = _of_process(folder / "environ")
        return ContainerImage(
            str(path),
            "running container",
            tree,
            values,
            not_seen=not_seen,
            is_running=True,
            locked_memory=locked_memory_of(folder),
        )
    values = variables_of_files(View(tree))
    not_seen = () if values else ("variables of the image, which a folder does not hold (--env)",)
    return ContainerImage(str(path), "root file system", tree, values, not_seen=not_seen)


def _of_process(path: Path) -> tuple[Values, tuple[str, ...]]:
    try:
        with open_regular(path) as file:
            content = file.read(MOST_ENVIRONMENT_BYTES)
    except OSError:
        return (), (f"variables of the process, whose {path} this user may not read",)
    texts = content.decode("utf-8", "replace").split("\0")
    return read_pairs(texts, str(path)), ()


def variables_of_files(view: View) -> Values:
    """Those that enroot and Apptainer keep in files of the image.

    SOURCE: NVIDIA/enroot 8ea147d: /etc/environment; Apptainer user guide: /.singularity.d/env.
    """
    text = view.content("/etc/environment", MOST_ENVIRONMENT_BYTES).decode("utf-8", "replace")
    found = [
        VariableValue(one.name, one.value.strip("\"'"), "the image's /etc/environment")
        for one in read_pairs((line.strip() for line in text.splitlines()), "")
        if one.name.isidentifier()
    ]
    folder = "/.singularity.d/env"
    for name in view.names(folder):
        if name.endswith(".sh"):
            content = view.content(f"{folder}/{name}", MOST_ENVIRONMENT_BYTES)
            found += _exports(content.decode("utf-8", "replace"), f"the image's {folder}/{name}")
    return tuple(found)


def _exports(text: str, origin: str) -> Iterator[VariableValue]:
    for line in text.splitlines():
        found = _EXPORT.match(line)
        if found is not None:
            value = found[2].strip()
            quote = value[:1] if value[:1] in ("'", '"') and value.endswith(value[:1]) else ""
            value = value.strip(quote) if quote else value
            default = _DEFAULT.fullmatch(value)
            value = default[1].strip("\"'") if default is not None else value
            yield VariableValue(found[1], HOLE if "$" in value else value, origin)
