"""The configuration of enroot on a host: mounts and variables that every container gets.

SOURCE: NVIDIA/enroot 8ea147d, doc/configuration.md: mounts.d/*.fstab and environ.d/*.env.
"""

from collections.abc import Iterator

from weft.doctor.container.image.view import View
from weft.doctor.container.launch.environment import VariableValue
from weft.doctor.container.launch.mounts import BindMount
from weft.doctor.job import HOLE

CONFIGURATION = "/etc/enroot"
MOST_BYTES = 1 << 20
_OWN_HOOKS = (
    "10-aptfix.sh", "10-cgroups.sh", "10-devices.sh", "10-home.sh", "10-localtime.sh",
    "10-shadow.sh", "98-nvidia.sh", "99-mellanox.sh",
)  # fmt: skip


def _lines(host: View, folder: str, ending: str) -> Iterator[tuple[str, str]]:
    for name in host.names(f"{CONFIGURATION}/{folder}"):
        if name.endswith(ending):
            path = f"{CONFIGURATION}/{folder}/{name}"
            text = host.content(path, MOST_BYTES).decode("utf-8", "replace")
            yield from ((path, line.strip()) for line in text.splitlines())


def enroot_mounts(host: View) -> Iterator[BindMount]:
    """Bind mounts that the configuration adds."""
    for path, line in _lines(host, "mounts.d", ".fstab"):
        words = line.split()
        if len(words) >= 2 and words[0].startswith("/"):
            yield BindMount(words[0], "/" + words[1].lstrip("/"), path)


def enroot_variables(host: View) -> Iterator[VariableValue]:
    """Variables that the configuration sets."""
    for path, line in _lines(host, "environ.d", ".env"):
        name, equals, value = line.partition("=")
        if equals and name.isidentifier():
            yield VariableValue(name, HOLE if "$" in value else value.strip("\"'"), path)


def enroot_hooks(host: View) -> tuple[str, ...]:
    """Hooks of the site's own, whose work no file tells."""
    names = host.names(f"{CONFIGURATION}/hooks.d")
    return tuple(f"{CONFIGURATION}/hooks.d/{one}" for one in names if one not in _OWN_HOOKS)
