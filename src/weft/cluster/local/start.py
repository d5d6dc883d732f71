"""Starting a virtual cluster, ending it, and finding what is left of others."""

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import weft
from weft.cluster.folder import clusters_folder, is_name
from weft.cluster.local.impairment import impair, is_lossy, limit_uplinks
from weft.cluster.local.layout import (
    BRIDGE_ADDRESS,
    LAYOUT_FILE,
    MARKER,
    UNKNOWN_RATE,
    Layout,
    VirtualHost,
)
from weft.cluster.local.namespace_commands import ENVIRONMENT, NamespaceError
from weft.cluster.remote import config_path
from weft.core.documents.document_text import read_json_file
from weft.core.errors import InputError, MissingError
from weft.core.files import HeldFolder, make_folder, output_file, storage_error, write_part
from weft.core.process import CommandError, run_command, spawn

ROOT_FILE = "namespace_root.json"
SSH_CONFIG = "ssh_config"
KNOWN_HOSTS = "known_hosts"
KEY = "id_ed25519"

KEY_LIMIT_S = 30.0
UP_LIMIT_S = 60.0
DOWN_LIMIT_S = 20.0
TOOLS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "tc": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
}
LOSS_TOOLS = {"nft": "nftables"}
_HIDDEN = ("/tmp", "/run", "/dev/shm")  # noqa: S108


def start(
    folder: Path,
    hosts: tuple[VirtualHost, ...],
    *,
    shared_home: bool,
    uplink: str | None = None,
) -> Layout:
    """Start hosts, whose `ssh_config` then lies in the folder. Raises InputError, MissingError;
    nothing is left running then."""
    sound = tuple(VirtualHost(host.name, host.address, leaf=host.leaf) for host in hosts)
    layout = _layout(folder, sound, shared_home=shared_home)
    _check_tools(hosts)
    config = _ssh_config(layout)
    make_folder(folder, what="folder of the cluster", mode=0o700)
    if not all(path.exists() for path in _key_pair(folder)):
        _make_key(folder, layout.name)
    for cache in layout.caches:
        with contextlib.suppress(OSError):
            Path(cache).mkdir(parents=True, exist_ok=True)
    write_part(folder / "hosts", _hosts_text(layout.hosts), what="list of the hosts")
    layout.write()
    process = _start_root(layout)
    try:
        keys = _keys(process, folder)
        root = {"pid": process.pid, "started": _started(process.pid) or 0}
        known = "".join(f"{host.name},{host.address} {keys[host.name]}\n" for host in layout.hosts)
        write_part(folder / KNOWN_HOSTS, known, what="list of the hosts' keys")
        write_part(folder / SSH_CONFIG, config, what="file for ssh")
        # Last: by this file the cluster counts as running.
        write_part(folder / ROOT_FILE, json.dumps(root), what="record of the hosts' first process")
        return change(folder, layout, hosts, uplink)
    except BaseException:
        _kill(process.pid)
        raise


def change(
    folder: Path, layout: Layout, hosts: tuple[VirtualHost, ...], uplink: str | None = None
) -> Layout:
    """Make the cables of a running cluster as they are wanted, host by host, and the uplinks of its
    leaves. What a change that fails leaves behind is in the record, and the next one clears it.
    Raises MissingError."""
    _check_tools(hosts)
    changed = [(at, new) for at, new in enumerate(hosts) if new != layout.hosts[at]]
    try:
        if changed or uplink != layout.uplink:
            root, processes = first_processes(folder)
            for at, new in changed:
                layout = _recorded(layout, at, layout.hosts[at].on_the_way_to(new))
                if new.name not in processes:
                    raise NamespaceError(f"{new.name} is not running")
                on_leaf = [one for one in hosts if one.leaf == new.leaf and one.name != new.name]
                old = layout.hosts[at]
                impair(folder, root, processes[new.name], old, new, on_leaf=on_leaf)
                layout = _recorded(layout, at, new)
            if uplink != layout.uplink:
                replace(layout, uplink=UNKNOWN_RATE).write()
                limit_uplinks(root, hosts, uplink)
                layout = replace(layout, uplink=uplink)
                layout.write()
    except NamespaceError as error:
        raise MissingError(
            f"the cables cannot be changed: {error}",
            where=str(folder),
            expected="a kernel with tbf (--rate), packet sockets (--delay), nf_tables (--loss);"
            " tbf, htb and u32 (--uplink, and --rate with --leaves)",
            hint="'weft cluster down' ends the cluster",
        ) from error
    return layout


def _recorded(layout: Layout, at: int, host: VirtualHost) -> Layout:
    """The layout with another host in one place, once it is written."""
    hosts = (*layout.hosts[:at], host, *layout.hosts[at + 1 :])
    changed = replace(layout, hosts=hosts)
    changed.write()
    return changed


def first_processes(folder: Path) -> tuple[int, dict[str, int]]:
    """The id of the cluster's first process on this machine, and of each host's. Raises
    NamespaceError."""
    found: dict[str, int] = {}
    for pid in processes_of(folder.name):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue  # It has ended since.
        words = line.decode(errors="replace").split("\0")[1:-1]
        if words[:1] == ["-m"] and words[2:3] == [str(folder)]:
            found[words[-1]] = pid
    try:
        return found.pop(str(folder)), found
    except KeyError:
        raise NamespaceError("its first process has ended") from None


def stop(folder: Path) -> int:
    """End a virtual cluster and remove its folder; how many processes of it there were."""
    pids = list(processes_of(folder.name))
    until = time.monotonic() + DOWN_LIMIT_S
    while (left := list(processes_of(folder.name))) and time.monotonic() < until:
        for pid in left:
            _kill(pid)
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)
    return len(pids)


def namespace_root_of(folder: Path) -> int | None:
    """The id of the running first process of a cluster; None where it has ended. By the time of its
    start no other process is taken for it."""
    try:
        result = read_json_file(folder / ROOT_FILE, "the record of the first process")
        pid, started = int(result["pid"]), int(result["started"])
    except (InputError, ValueError, KeyError, TypeError):
        return None
    return pid if _started(pid) == started else None


def leftovers() -> dict[str, int]:
    """How many processes there are of each virtual cluster of this state folder, by its name."""
    found: dict[str, int] = {}
    for _, name in _marked():
        found[name] = found.get(name, 0) + 1
    return found


def processes_of(name: str) -> Iterator[int]:
    """The processes of a virtual cluster, as this machine numbers them."""
    return (pid for pid, of in _marked() if of == name)


def _layout(folder: Path, hosts: tuple[VirtualHost, ...], *, shared_home: bool) -> Layout:
    user = pwd.getpwuid(os.getuid())
    home = Path(user.pw_dir)
    hidden = [home, *map(Path, _HIDDEN)]
    runs_from = dict.fromkeys(
        Path(path).resolve()
        for path in (sys.prefix, sys.base_prefix, Path(weft.__file__).parents[1])
    )
    visible = [p for p in runs_from if any(p.is_relative_to(one.resolve()) for one in hidden)]
    return Layout(
        name=folder.name,
        folder=str(folder),
        hosts=hosts,
        user=user.pw_name,
        uid=os.getuid(),
        gid=os.getgid(),
        home=str(home),
        shared_home=shared_home,
        visible=tuple(map(str, visible)),
        caches=(str(Path(sys.prefix) / "var/weft"),),
        # It wants to be started by its whole path.
        sshd=shutil.which("sshd", path=ENVIRONMENT["PATH"]) or "sshd",
    )


def _check_tools(hosts: tuple[VirtualHost, ...]) -> None:
    lossy = any(map(is_lossy, hosts))
    for tool, package in {**TOOLS, **(LOSS_TOOLS if lossy else {})}.items():
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            raise MissingError(
                f"no '{tool}' on this machine",
                expected=f"the package {package}",
                hint="a virtual cluster needs util-linux, iproute2 and an OpenSSH server; --loss"
                " needs nftables",
            )


def _key_pair(folder: Path) -> tuple[Path, Path]:
    """The private key, and the public one, which is there last."""
    return folder / KEY, folder / f"{KEY}.pub"


def _make_key(folder: Path, name: str) -> None:
    made = f".{KEY}.new"
    for part in (made, f"{made}.pub"):
        (folder / part).unlink(missing_ok=True)
    tool = shutil.which("ssh-keygen", path=ENVIRONMENT["PATH"]) or "ssh-keygen"
    argv = [tool, "-q", "-t", "ed25519", "-N", "", "-C", f"virtual cluster {name}", "-f", made]
    try:
        ran = run_command(argv, timeout_s=KEY_LIMIT_S, env=ENVIRONMENT, cwd=folder)
    except CommandError as error:
        why: str | None = str(error)
    else:
        why = ran.last_line if ran.code else None
    if why is not None:
        _refuse_full(folder)
        raise MissingError(
            f"ssh-keygen makes no key: {why}",
            where=str(folder / KEY),
            expected="a key pair for the virtual hosts",
        )
    # A full disk cuts a key: only a pair that ssh-keygen wrote whole takes the names.
    try:
        for half, new in zip(_key_pair(folder), (made, f"{made}.pub"), strict=True):
            (folder / new).replace(half)
    except OSError as error:
        raise storage_error("the key pair", folder, error) from error


def _refuse_full(folder: Path) -> None:
    """Raise StorageError where a full disk is why a command failed."""
    with contextlib.closing(HeldFolder(folder)) as held:
        held.refuse_full()


def _hosts_text(hosts: tuple[VirtualHost, ...]) -> str:
    lines = ["127.0.0.1 localhost", f"{BRIDGE_ADDRESS} bridge"]
    return "".join(f"{line}\n" for line in [*lines, *(f"{h.address} {h.name}" for h in hosts)])


def _start_root(layout: Layout) -> subprocess.Popen[bytes]:
    own = () if layout.is_root else ("--user", "--map-root-user")
    spaces = ("--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc")
    folder = Path(layout.folder)
    with output_file(folder / "namespace_root.log") as log:
        return spawn(
            [
                *("unshare", *own, *spaces, "--kill-child=KILL"),
                *(sys.executable, "-m", "weft.cluster.local.namespace_root", layout.folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**ENVIRONMENT, MARKER: layout.folder},
            cwd="/",
        )


def _keys(process: subprocess.Popen[bytes], folder: Path) -> dict[str, str]:
    """The hosts' public keys, once the first process reports them. Raises MissingError."""
    assert process.stdout is not None
    with process.stdout as out:
        ready, _, _ = select.select([out], [], [], UP_LIMIT_S)
        line = out.readline() if ready else b""
    try:
        result = json.loads(line)
    except ValueError:
        result = {"error": _last_line(folder / "namespace_root.log") or "no message"}
    if "error" in result:
        _refuse_full(folder)
        raise MissingError(
            f"no virtual cluster can be made here: {result['error']}",
            where=str(folder / "namespace_root.log"),
            expected="namespaces of users, networks, mounts and processes",
            hint="as root they work wherever the kernel has them; without root the kernel must"
            " allow user namespaces (sysctl kernel.unprivileged_userns_clone,"
            " user.max_user_namespaces; AppArmor may restrict them)",
        )
    return dict(result["keys"])


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else ""


def _ssh_config(layout: Layout) -> str:
    """For `ssh -F`: from here into the cluster's network, by strict host keys."""
    from weft.cluster.local.connect import __file__ as connect

    folder = Path(layout.folder)
    through = [sys.executable, "-I", "-S", "-E", str(connect), str(folder / ROOT_FILE)]
    words = " ".join(_for_ssh(word) for word in through)
    return (
        f"Host {' '.join(host.name for host in layout.hosts)}\n"
        f"  User {layout.user}\n"
        f"  IdentityFile {config_path(folder / KEY)}\n"
        "  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {config_path(folder / KNOWN_HOSTS)}\n"
        "  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n"
        "  BatchMode yes\n"
        f"  ProxyCommand {words} %h %p\n"
    )


def _for_ssh(word: str) -> str:
    """A word of a ProxyCommand: ssh expands '%', then a shell reads it."""
    return "'" + word.replace("%", "%%").replace("'", "'\\''") + "'"


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where there is no such process."""
    try:
        text = Path("/proc", str(pid), "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _marked() -> Iterator[tuple[int, str]]:
    """Processes of the virtual clusters of this state folder, with the cluster's name. Who only has
    the variable in the environment, in the network that this process is in, is none of them."""
    wanted = f"{MARKER}={clusters_folder()}/".encode()
    own = _network("self")
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.geteuid() or _network(entry.name) == own:
                continue
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for setting in environment:
            name = setting.removeprefix(wanted).decode(errors="replace")
            if setting.startswith(wanted) and is_name(name) and _started(int(entry.name)):
                yield int(entry.name), name


def _network(pid: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/net")


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def has_layout(folder: Path) -> bool:
    """Whether a folder is a virtual cluster's."""
    return (folder / LAYOUT_FILE).exists()
