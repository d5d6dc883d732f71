"""Hooks of the Open Container Initiative: the mounts that the mount hook of Sarus is told to make.

SOURCE: eth-cscs/sarus 4a8fdc4, doc/config/mount-hook.rst; oci-hooks(5).
"""

from pathlib import Path
from typing import Any

from weft.core.documents.text_file import read_text_file
from weft.core.errors import InputError
from weft.doctor.container.launch.cdi import (
    ContainerEdits,
    options_in,
    table_of,
    texts_in,
)
from weft.doctor.container.launch.devices import passed_device
from weft.doctor.container.launch.mounts import BindMount, mounts_of
from weft.doctor.container.launch.mpi_hook import mpi_hook
from weft.doctor.job import HOLE

MOST_BYTES = 4 << 20
EXPECTED = "an OCI hook in JSON: version, hook with path and args, when, stages"
MOUNT_HOOK = "mount_hook"
WILDCARD = "<FI_PROVIDER_PATH>"
"""A part of a path that the hook itself puts in."""


def read_hook(path: Path) -> ContainerEdits:
    """The mounts and devices that a hook's arguments name; another program than the mount hook is
    a hook whose work no file tells.

    Raises InputError where it is no such document.
    """
    text = read_text_file(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    return hook_edits(text, str(path))


def hook_edits(text: str, name: str) -> ContainerEdits:
    """As `read_hook`, of a text with the name of its file."""
    hook: Any = table_of(text, name, EXPECTED).get("hook")
    program = hook.get("path") if isinstance(hook, dict) else None
    if not isinstance(program, str):
        raise InputError("no hook with a path", where=name, expected=EXPECTED)
    if program.rpartition("/")[2] != MOUNT_HOOK:
        of_mpi = mpi_hook(program, texts_in(hook.get("env")))
        return ContainerEdits(hooks=(program,), mpi_hooks=(of_mpi,) if of_mpi else ())
    args = [one.replace(WILDCARD, HOLE) for one in texts_in(hook.get("args"))]
    where = name.rpartition("/")[2]
    mounts: list[BindMount] = []
    devices: list[str] = []
    for option, value in options_in(args, ("--mount", "--device")):
        if option == "--mount":
            mounts += mounts_of([value], where)
        else:
            devices.append(passed_device(value))
    return ContainerEdits(tuple(mounts), devices=tuple(one for one in devices if one))
