"""The first process of a virtual host: gives it a name, an address, private folders and an sshd.

It is process 1 of its namespaces and stays: when sshd ends the host is there without it, as a real
one would be.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from weft.cluster.local.layout import PREFIX_LENGTH, Layout, VirtualHost, read_layout
from weft.cluster.local.namespace_commands import (
    ENVIRONMENT,
    NamespaceError,
    bind,
    mount_tmpfs,
    reap,
    run,
)
from weft.cluster.local.namespace_root import SHARED_HOME
from weft.core.process import spawn

OWN = Path("/run/weft")
HOST_KEY = OWN / "host_key"
KEPT = OWN / "kept"
SHARED = OWN / "home"
SYSFS = OWN / "sys"
ALONE_S = 0.5

SSHD_CONFIG = """\
Port 22
ListenAddress {address}
HostKey {key}
PidFile none
AuthorizedKeysFile .ssh/authorized_keys
StrictModes yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
PrintMotd no
MaxStartups 200
MaxSessions 200
"""


def main(folder: Path, name: str) -> int:
    """Prints a line when it is in its namespaces, to which its cable can then be laid; and one when
    it is up: the host's public key, or what went wrong."""
    layout = read_layout(folder)
    host = next(host for host in layout.hosts if host.name == name)
    print(json.dumps({"waits": name}), flush=True)
    sys.stdin.readline()
    try:
        socket.sethostname(host.name)
        _connect(layout, host)
        _hide(layout)
        key = _make_key()
        _let_in(layout)
    except (NamespaceError, OSError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    daemon = _start_sshd(layout, host)
    print(json.dumps({"key": key}), flush=True)
    os.close(1)
    while True:
        ended = reap()
        if ended == daemon.pid:
            print("sshd ended", file=sys.stderr, flush=True)
        if ended is None:
            time.sleep(ALONE_S)


def _connect(layout: Layout, host: VirtualHost) -> None:
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{host.address}/{PREFIX_LENGTH}", "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")
    if not layout.is_root:
        Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")


def _hide(layout: Layout) -> None:
    """Folders of the host's own in place of the machine's; what weft runs from stays."""
    home, shared = Path(layout.home), Path(layout.folder) / SHARED_HOME
    keys = (Path(layout.folder) / "id_ed25519.pub").read_text()
    bind(Path(layout.folder) / "hosts", Path("/etc/hosts"))
    mount_tmpfs(Path("/run"), "0755")
    OWN.mkdir()
    _show_own_devices()
    (OWN / "authorized").write_text(keys)
    kept = [(Path(path), KEPT / str(i)) for i, path in enumerate(layout.visible)]
    for path, stand_in in kept:
        stand_in.mkdir(parents=True)
        bind(path, stand_in)
    if layout.shared_home:
        SHARED.mkdir()
        bind(shared, SHARED)
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108
        mount_tmpfs(Path(folder), "1777")
    if layout.shared_home:
        home.mkdir(parents=True, exist_ok=True)
        bind(SHARED, home)
    else:
        mount_tmpfs(home, "0700")
    for path, stand_in in kept:
        path.mkdir(parents=True, exist_ok=True)
        bind(stand_in, path)
    for cache in () if layout.shared_home else map(Path, layout.caches):
        if cache.is_dir():
            mount_tmpfs(cache, "0755")


def _show_own_devices() -> None:
    """The host's interfaces, with their counters, in place of the machine's: a sysfs shows those of
    the network that it was mounted in. Without root the kernel may refuse to mount one."""
    SYSFS.mkdir()
    with contextlib.suppress(NamespaceError):
        run("mount", "-t", "sysfs", "-o", "ro", "weft", str(SYSFS))
        for folder in ("class/net", "devices/virtual/net"):
            bind(SYSFS / folder, Path("/sys") / folder)


def _make_key() -> str:
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(HOST_KEY))
    return " ".join(HOST_KEY.with_suffix(".pub").read_text().split()[:2])


def _let_in(layout: Layout) -> None:
    """The user who made the cluster may log in, as on a host that was just installed."""
    folder = Path(layout.home) / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    allowed = folder / "authorized_keys"
    if not allowed.exists():
        allowed.touch(mode=0o600)
        allowed.write_text((OWN / "authorized").read_text())


def _start_sshd(layout: Layout, host: VirtualHost) -> subprocess.Popen[bytes]:
    config = OWN / "sshd_config"
    config.write_text(SSHD_CONFIG.format(address=host.address, key=HOST_KEY))
    Path("/run/sshd").mkdir(mode=0o755)
    as_user: tuple[str, ...] = ()
    if not layout.is_root:
        # A namespace in which the user is who he is outside: sshd logs him in as himself.
        who = (f"--map-user={layout.uid}", f"--map-group={layout.gid}")
        as_user = ("unshare", "--user", *who)
    return spawn(
        [*as_user, layout.sshd, "-D", "-e", "-f", str(config)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
