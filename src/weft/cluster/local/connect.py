"""Standard input and output joined to a port of a virtual host: the ProxyCommand of its ssh.

Run as a script, without weft's other modules: `connect.py ROOT_FILE HOST PORT`. The cluster has a
network of its own; this process enters it.
"""

import contextlib
import ctypes
import json
import os
import select
import socket
import sys

CONNECT_S = 3
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
CHUNK = 1 << 16


def main(root_file: str, host: str, port: int) -> int:
    """Ends when either side does."""
    with open(root_file) as file:
        root = json.load(file)
    pid = int(root["pid"])
    if _started(pid) != int(root["started"]):
        print("the virtual cluster is not running", file=sys.stderr)
        return 1
    address = _address(os.path.join(os.path.dirname(root_file), "hosts"), host)
    if os.geteuid() != 0:
        _enter(pid, "user", CLONE_NEWUSER)
    _enter(pid, "net", CLONE_NEWNET)
    try:
        connection = socket.create_connection((address, port), timeout=CONNECT_S)
    except OSError as error:
        print(f"{host}: {error.strerror or error}", file=sys.stderr)
        return 1
    with connection:
        connection.settimeout(None)
        with contextlib.suppress(ConnectionError):
            _copy(connection)
    return 0


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except OSError:
        return None


def _address(hosts_file: str, host: str) -> str:
    with open(hosts_file) as file:
        for line in file:
            address, name = line.split()
            if name == host:
                return address
    raise SystemExit(f"no virtual host {host}")


def _enter(pid: int, kind: str, flag: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
    if libc.setns(descriptor, flag) != 0:
        raise SystemExit(f"setns {kind}: {os.strerror(ctypes.get_errno())}")
    os.close(descriptor)


def _copy(connection: socket.socket) -> None:
    while True:
        ready, _, _ = select.select([0, connection.fileno()], [], [])
        if 0 in ready:
            chunk = os.read(0, CHUNK)
            if not chunk:
                return
            connection.sendall(chunk)
        if connection.fileno() in ready:
            chunk = connection.recv(CHUNK)
            if not chunk:
                return
            _write(chunk)


def _write(chunk: bytes) -> None:
    while chunk:
        chunk = chunk[os.write(1, chunk) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
