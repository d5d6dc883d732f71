"""Commands that the processes of a virtual cluster run inside their namespaces."""

import os
from pathlib import Path

from weft.core.process import CommandError, run_command

LIMIT_S = 20.0
ENVIRONMENT = {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"}


class NamespaceError(Exception):
    """A command in a namespace failed; the text has the command and its error."""


def run(*argv: str) -> None:
    """Raises NamespaceError."""
    try:
        ran = run_command(argv, timeout_s=LIMIT_S, env=ENVIRONMENT)
    except CommandError as error:
        raise NamespaceError(f"{' '.join(argv)}: {error}") from error
    if ran.code != 0:
        raise NamespaceError(f"{' '.join(argv)} ended with code {ran.code}: {ran.last_line}")


def mount_tmpfs(folder: Path, mode: str) -> None:
    """An empty folder of this namespace's own."""
    folder.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", f"mode={mode}", "weft", str(folder))


def bind(source: Path, target: Path) -> None:
    """Make a folder or file visible in another place, too."""
    run("mount", "--bind", str(source), str(target))


def reap() -> int | None:
    """Wait for any process to end: its id; None where there is none."""
    try:
        pid, _ = os.wait()
    except ChildProcessError:
        return None
    return pid
