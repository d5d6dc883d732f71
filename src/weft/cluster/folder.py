"""Where clusters are kept: a folder each, in this user's state folder."""

import os
import re
from pathlib import Path

from weft.core.errors import InputError

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


def clusters_folder() -> Path:
    """`$XDG_STATE_HOME/weft/clusters`, else below `~/.local/state`."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state).absolute() / "weft/clusters"


def is_name(text: str) -> bool:
    """Whether a cluster may be called so."""
    return _NAME.fullmatch(text) is not None


def cluster_folder(name: str) -> Path:
    """Of a cluster of this name, whether there is one or not. Raises InputError."""
    if not is_name(name):
        raise InputError(
            f"'{name}' is no name of a cluster",
            expected="up to 32 lower-case letters, digits and '-', such as 'gpu-rack2'",
        )
    return clusters_folder() / name


def cluster_names() -> list[str]:
    """The names of all clusters that have a folder."""
    folder = clusters_folder()
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if is_name(path.name))
