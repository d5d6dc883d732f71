"""A compute node with real podman: its /dev, /run, /opt and processes are its own, and end with it.

Debian's podman is told to use runc, for crun refuses where both versions of cgroups are mounted.
"""

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.needs import need

PATIENCE_S = 10
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
ENTER = """
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs "$0/dev"
make() { mknod -m 666 "$1" c "$2" "$3"; }
cd "$0/dev"
make null 1 3; make zero 1 5; make full 1 7; make random 1 8; make urandom 1 9; make tty 5 0
for one in $2; do make "$one" 1 3; done
mkdir pts shm
mount --bind /dev/pts pts
mount -t tmpfs -o size=3m tmpfs shm
ln -s pts/ptmx ptmx
ln -s /proc/self/fd fd
mount --rbind "$0/dev" /dev
mount --bind "$1/opt" /opt
mount -o remount,bind,ro /opt
cd "$1"
exec bash "$3"
"""
"""Arguments: the folder of the node, the root of its files, its devices, and a script."""
CONTAINERS = """
[containers]
netns = "none"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
"""Without limits of its own runc fails where it may not raise this process's."""
RUN_IN_GROUP = """#!/bin/sh
for word; do
  shift
  set -- "$@" "$word"
  case $found$word in run|create)
    found=yes
    set -- "$@" --rm --pull never --cgroup-parent /{group}
  esac
done
exec {podman} "$@"
"""


def need_podman() -> None:
    """Podman, runc and root, with namespaces that this process may make."""
    need("podman", "runc", path=PATH)
    need("unshare", package="util-linux")
    if os.geteuid() != 0:
        pytest.skip("needs root: podman makes devices and mounts here")
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "true"]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("this sandbox allows no mount and PID namespace")


class PodmanNode:
    """`host` is the root of the node's files, of which podman sees /opt, and may not write there;
    `devices` are names below /dev, each a second null device. Images stay in `folder` from one
    script to the next."""

    def __init__(self, folder: Path, host: Path, devices: tuple[str, ...]) -> None:
        self.folder, self.host, self.devices = folder, host, devices
        self.group = f"weft-podman-{os.getpid()}"
        podman = shutil.which("podman", path=PATH)
        for name in ("bin", "dev", "home"):
            (folder / name).mkdir(parents=True)
        for name in ("podman", "docker"):
            program = folder / "bin" / name
            program.write_text(RUN_IN_GROUP.format(podman=podman, group=self.group))
            program.chmod(0o755)
        (folder / "containers.conf").write_text(CONTAINERS)
        # The driver vfs copies: it leaves no mount.
        store = f'driver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "/run/weft-podman"\n'
        (folder / "storage.conf").write_text(f"[storage]\n{store}")

    def run(self, script: str, timeout_s: float = 100) -> "subprocess.CompletedProcess[str]":
        """How a script of bash ends on the node, with all that it started."""
        file = self.folder / "script.sh"
        file.write_text(script)
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        words += ["sh", "-c", ENTER, str(self.folder), str(self.host)]
        env = {
            "PATH": f"{self.folder}/bin:{PATH}",
            "HOME": f"{self.folder}/home",
            "CONTAINERS_CONF": f"{self.folder}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf",
        }
        try:
            return subprocess.run(
                [*words, " ".join(self.devices), str(file)],
                env=env, capture_output=True, text=True, timeout=timeout_s, check=False,
            )  # fmt: skip
        finally:
            self._remove_groups()

    def do(self, script: str) -> str:
        """As `run`, of a script that must end well: what it prints."""
        end = self.run(script)
        assert end.returncode == 0, end.stderr
        return end.stdout

    def _remove_groups(self) -> None:
        """Control groups live outside of namespaces, and a killed process leaves its own late."""
        root, end = Path("/sys/fs/cgroup"), time.monotonic() + PATIENCE_S
        tops = [root / self.group, *root.glob(f"*/{self.group}")]
        while any(_is_left(one) for one in tops) and time.monotonic() < end:
            time.sleep(0.05)


def _is_left(top: Path) -> bool:
    """Whether a control group stays when it and those in it were removed where they are empty."""
    for folder, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return top.exists()
