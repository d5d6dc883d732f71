"""The first process of a virtual cluster: makes the bridges and the hosts, and waits for them.

It runs in namespaces of its own, as their process 1: when it ends, by whatever signal, the kernel
ends everything in them and takes networks and mounts away.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from weft.cluster.local.layout import (
    BRIDGE,
    BRIDGE_ADDRESS,
    PREFIX_LENGTH,
    Layout,
    leaf_bridge,
    read_layout,
    uplink_ends,
)
from weft.cluster.local.namespace_commands import (
    ENVIRONMENT,
    NamespaceError,
    mount_tmpfs,
    reap,
    run,
)
from weft.core.process import spawn

SHARED_HOME = "home"


def main(folder: Path) -> int:
    """Prints one line when all hosts are up: their public keys, or what went wrong."""
    layout = read_layout(folder)
    try:
        keys = _make(layout)
    except NamespaceError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps({"keys": keys}), flush=True)
    os.close(1)
    while reap() is not None:
        pass
    return 0


def _make(layout: Layout) -> dict[str, str]:
    run("mount", "--make-rprivate", "/")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{BRIDGE_ADDRESS}/{PREFIX_LENGTH}", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    for leaf in layout.leaves:
        _add_leaf(leaf)
    if layout.shared_home:
        mount_tmpfs(Path(layout.folder) / SHARED_HOME, "0700")
    hosts = [(host.name, _start(layout, host.name)) for host in layout.hosts]
    for host, (_, process) in zip(layout.hosts, hosts, strict=True):
        _read_line(host.name, process, "waits")
        far_end = ("peer", "name", "eth0", "netns", str(process.pid))
        run("ip", "link", "add", host.port, "type", "veth", *far_end)
        run("ip", "link", "set", host.port, "master", host.bridge, "up")
        assert process.stdin is not None
        process.stdin.write(b"connected\n")
        process.stdin.close()
    return {name: _read_line(name, process, "key") for name, process in hosts}


def _add_leaf(leaf: int) -> None:
    """A bridge, and its one cable to the spine."""
    bridge, (up, down) = leaf_bridge(leaf), uplink_ends(leaf)
    run("ip", "link", "add", bridge, "type", "bridge")
    run("ip", "link", "add", up, "type", "veth", "peer", "name", down)
    run("ip", "link", "set", up, "master", bridge, "up")
    run("ip", "link", "set", down, "master", BRIDGE, "up")
    run("ip", "link", "set", bridge, "up")


def _start(layout: Layout, name: str) -> subprocess.Popen[bytes]:
    """A host's first process, in namespaces of its own; it waits for its cable."""
    spaces = ("--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--mount-proc")
    with (Path(layout.folder) / f"{name}.log").open("wb") as log:
        return spawn(
            [
                *("unshare", *spaces, "--kill-child=KILL"),
                *(sys.executable, "-m", "weft.cluster.local.host", layout.folder, name),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=ENVIRONMENT,
        )


def _read_line(name: str, process: subprocess.Popen[bytes], what: str) -> str:
    """The next line of a host: that it waits for its cable, or its public key."""
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        result = json.loads(line)
    except ValueError:
        raise NamespaceError(f"{name} ended before it was up (its log says more)") from None
    if "error" in result:
        raise NamespaceError(f"{name}: {result['error']}")
    return str(result[what])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
