"""Hosts of a virtual cluster taken for real ones: reached by an ssh_config of a test's own."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.virtual import Virtual

from weft.cluster.local.layout import virtual_hosts
from weft.cluster.local.start import start

LISTING = (
    'cd && find . \\( -path ./.pyenv -o -path ./.cache \\) -prune -o -printf "%P %M %s %T@\\n"'
    " | sort; cat .ssh/authorized_keys"
)
SECOND_PORT = 2222
USER_ANN = """
set -e
home=/tmp/ann
mkdir -m 700 -p $home/.ssh
cp ~/.ssh/authorized_keys $home/.ssh/
chown -R 4242:4242 $home
cp /etc/passwd /run/weft/passwd
echo "ann:x:4242:4242::$home:/bin/sh" >> /run/weft/passwd
mount --bind /run/weft/passwd /etc/passwd
cp -p /etc/shadow /run/weft/shadow
echo "ann:*:19000:0:99999:7:::" >> /run/weft/shadow
mount --bind /run/weft/shadow /etc/shadow
"""


@dataclass(frozen=True, slots=True)
class Real:
    """Bare hosts node1 to nodeN with nothing on them but sshd and one authorized key."""

    virtual: Virtual
    folder: Path

    def config(self, blocks: Sequence[str] = (), **changed: str) -> Path:
        """An ssh_config: `blocks` first, for ssh takes the first value it finds, then how the
        hosts are reached anyway, with words of it `changed`."""
        text = (self.virtual.folder / "ssh_config").read_text()
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        path = self.folder / "ssh_config"
        path.write_text("\n".join((*blocks, text)))
        return path

    def up(self, hosts: str, config: Path, *more: str) -> tuple[int, Any]:
        """`weft cluster up` of them, as a cluster of another name."""
        where = ("--ssh-config", str(config), "--name", self.name)
        return self.virtual.weft("cluster", "up", hosts, *where, *more)

    def down(self, *more: str) -> tuple[int, Any]:
        """`weft cluster down` of them."""
        return self.virtual.weft("cluster", "down", self.name, *more)

    @property
    def name(self) -> str:
        """Of the cluster of real hosts."""
        return f"{self.virtual.name}-real"

    def homes(self, hosts: Sequence[str]) -> Mapping[str, str]:
        """What lies in each host's home folder."""
        return {host: self.virtual.on(host, "sh", "-c", LISTING).out for host in hosts}

    def on_all(self, hosts: Sequence[str], script: str) -> None:
        """Change hosts: as root, in their own mounts."""
        for host in hosts:
            said = self.virtual.on(host, "sh", "-c", script)
            assert said.ok, said

    def second_sshd(self, hosts: Sequence[str]) -> None:
        """One more sshd on each, on another port."""
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin:/bin")
        self.on_all(hosts, f"{sshd} -f /run/weft/sshd_config -p {SECOND_PORT}")


def bare(virtual: Virtual, n: int, folder: Path) -> Real:
    """`n` of them."""
    start(virtual.folder, virtual_hosts(n), shared_home=False)
    return Real(virtual, folder)
