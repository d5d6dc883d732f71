"""Commands that the processes of a virtual cluster run inside their namespaces."""

import os
import subprocess
from pathlib import Path

LIMIT_S = 20.0
ENVIRONMENT = {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"}


class InsideError(Exception):
    """Something inside did not work; the text says what was tried and what was said."""


def run(*argv: str) -> None:
    """Raises InsideError."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InsideError(f"{' '.join(argv)}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"code {done.returncode}"]
        raise InsideError(f"{' '.join(argv)}: {said[-1]}")


def mount_tmpfs(folder: Path, mode: str) -> None:
    """An empty folder of this namespace's own."""
    folder.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", f"mode={mode}", "weft", str(folder))


def bind(source: Path, target: Path) -> None:
    """Make a folder or file visible in another place, too."""
    run("mount", "--bind", str(source), str(target))


def shape(device: str, rate: str) -> None:
    """Limit what leaves a device."""
    words = ("tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate)
    run(*words, "burst", "256kb", "latency", "20ms")


def reap() -> int | None:
    """Wait for any process to end: its id; None where there is none."""
    try:
        pid, _ = os.wait()
    except ChildProcessError:
        return None
    return pid
