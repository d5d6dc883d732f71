"""Additions as documents: a specification of the Container Device Interface, a hook of Sarus."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from weft.core.shell_line import quoted
from weft.doctor.container.remedy.additions import FOLDER, Additions
from weft.doctor.container.remedy.texts import ContainerStart

CDI_VERSION = "0.3.0"
"""SOURCE: cncf-tags/container-device-interface 05ae4b5, SPEC.md, the table of released versions:
each field that is written is of it. Podman 4.3.1 resolves no device of a later version."""
KIND = "host.fabric/libraries"
LINKER_HOOK = "/usr/bin/nvidia-cdi-hook"
"""SOURCE: NVIDIA/nvidia-container-toolkit: `nvidia-cdi-hook update-ldcache --folder F`."""
MOUNT_HOOK = "/opt/sarus/default/bin/mount_hook"
"""SOURCE: eth-cscs/sarus 4a8fdc4, doc/config/mount-hook.rst: the default of its installation."""
ANNOTATION = "com.hooks.hostfabric.enabled"


def cdi_text(added: Additions, _: ContainerStart) -> str:
    """A specification with one device, `all`."""
    edits: dict[str, Any] = {
        "env": [f"{one.name}={one.value}" for one in added.variables],
        "deviceNodes": [{"path": one.path} for one in added.devices],
        "mounts": [
            {
                "hostPath": one.source,
                "containerPath": one.target,
                "options": [*(["ro"] if one.is_read_only else []), "nosuid", "nodev", "rbind"],
            }
            for one in added.mounts
        ],
        "hooks": _linker_hooks(added),
    }
    edits = {name: value for name, value in edits.items() if value}
    document = {
        "cdiVersion": CDI_VERSION,
        "kind": KIND,
        "devices": [{"name": "all", "containerEdits": edits}],
    }
    return json.dumps(document, indent=2) + "\n"


def _linker_hooks(added: Additions) -> list[dict[str, Any]]:
    if not added.linker_hook:
        return []
    name = added.linker_hook.rpartition("/")[2]
    args = [name, "update-ldcache", "--folder", FOLDER]
    return [{"hookName": "createContainer", "path": added.linker_hook, "args": args}]


def cdi_command(_: Additions, start: ContainerStart) -> str:
    """The command that takes the device of the specification."""
    return f"{start.engine} run --device {KIND}=all {quoted(start.image)} {start.program}"


def sarus_text(added: Additions, _: ContainerStart) -> str:
    """An OCI hook that runs Sarus' mount hook.

    SOURCE: eth-cscs/sarus 4a8fdc4, doc/config/mount-hook.rst.
    """
    mounts = [
        f"--mount=type=bind,src={one.source},dst={one.target}"
        + (",readonly" if one.is_read_only else "")
        for one in added.mounts
    ]
    devices = [f"--device={one.path}" for one in added.devices]
    document = {
        "version": "1.0.0",
        "hook": {"path": MOUNT_HOOK, "args": ["mount_hook", *mounts, *devices]},
        "when": {"annotations": {f"^{ANNOTATION}$": "^true$"}},
        "stages": ["createContainer"],
    }
    return json.dumps(document, indent=2) + "\n"


def sarus_command(added: Additions, start: ContainerStart) -> str:
    """The command that switches the hook on; a hook sets no variable of the container."""
    variables = [f"--env={quoted(f'{one.name}={one.value}')}" for one in added.variables]
    words = ["srun sarus run", f"--annotation={ANNOTATION}=true", *variables]
    return " ".join([*words, quoted(start.image), start.program])


_Writer = Callable[[Additions, ContainerStart], str]
DOCUMENTS: Mapping[str, tuple[_Writer, _Writer]] = {
    "cdi": (cdi_text, cdi_command),
    "sarus": (sarus_text, sarus_command),
}
"""By format the document, and the command that goes with it."""
