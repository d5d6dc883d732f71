"""A virtual cluster for a test: namespaces that the test makes, and that end with it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need

from weft.cli import run
from weft.cli.cluster.hosts import cables_of
from weft.cluster.folder import cluster_folder
from weft.cluster.local.layout import read_layout
from weft.cluster.local.namespace_commands import ENVIRONMENT
from weft.cluster.local.start import TOOLS, change, first_processes, leftovers
from weft.cluster.remote import Ssh, SshResult


@dataclass(frozen=True, slots=True)
class Virtual:
    """Verbs in this process, and the cluster of one test: its name is this process's own, so that
    tests beside it end theirs and no other."""

    capture: pytest.CaptureFixture[str]
    name: str

    def weft(self, *argv: str) -> tuple[int, Any]:
        """A verb's exit code and its JSON; where it printed none, what it said on its errors."""
        code = run([*argv, "--format", "json"])
        said = self.capture.readouterr()
        return code, json.loads(said.out) if said.out else said.err

    def up(self, n: int, *more: str) -> tuple[int, Any]:
        """Bring up this many hosts, or look at them again."""
        return self.weft("cluster", "up", "--local", str(n), "--name", self.name, *more)

    @property
    def folder(self) -> Path:
        """Of the cluster, with its ssh_config."""
        return cluster_folder(self.name)

    def plant(
        self,
        *,
        rates: tuple[str, ...] = (),
        delays: tuple[str, ...] = (),
        losses: tuple[str, ...] = (),
    ) -> None:
        """Change the cables of its hosts, as another `up` with these options does."""
        layout = read_layout(self.folder)
        n_leaves = max(1, len(layout.leaves))
        hosts = cables_of(len(layout.hosts), rates, delays, losses, n_leaves=n_leaves)
        change(self.folder, layout, hosts, layout.uplink)

    def on(self, host: str, *command: str, timeout_s: float = 20.0) -> SshResult:
        """What a command says on a host of it."""
        return Ssh(self.folder / "ssh_config").run(host, command, timeout_s=timeout_s)

    def first_process(self, host: str) -> int:
        """Of a host of this cluster, and of no other: its id on this machine."""
        return first_processes(self.folder)[1][host]

    def inside(self, host: str, *command: str) -> str:
        """What a command prints in a host's namespaces: without its sshd and its network."""
        who = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        spaces = ("--net", "--uts", "--mount", "--ipc", "--pid")
        entered = ["nsenter", "-t", str(self.first_process(host)), *who, *spaces, *command]
        done = subprocess.run(
            entered, check=True, capture_output=True, text=True, env=ENVIRONMENT, timeout=20
        )
        return done.stdout

    def end(self) -> None:
        """End it, whatever is left of it."""
        run(["cluster", "down", self.name])
        self.capture.readouterr()
        assert self.name not in leftovers()


def states(said: dict[str, Any], host: str) -> dict[str, str]:
    """How each stage went on a host, of what `up` or `status` printed."""
    return {stage: of["state"] for stage, of in said["hosts"][host].items()}


def need_in_hosts(*tools: str, package: str | None = None) -> None:
    """Tools that are found where virtual hosts look for them."""
    need(*tools, package=package, path=ENVIRONMENT["PATH"])


def skip_without_namespaces() -> None:
    """Skip a test where the sandbox allows no virtual cluster."""
    need_in_hosts(*TOOLS, package=" ".join(dict.fromkeys(TOOLS.values())))
    own = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    spaces = ("--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc")
    try_it = "mount -t tmpfs none /run && ip link add br0 type bridge"
    probe = ["unshare", *own, *spaces, "sh", "-c", try_it]
    if subprocess.run(probe, check=False, env=ENVIRONMENT, timeout=20).returncode:
        pytest.skip("this sandbox allows no such namespaces")
