"""weft's kernel, compiled once on the first host and brought to the others."""

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cluster.bringup.model import RIGHT, Cluster, Outcome, State
from weft.cluster.record import agreed_mpi
from weft.cluster.remote import each
from weft.launch.kernel import COMPILE_TIMEOUT_S, COMPILER_FLAGS, digest, kernel_sources

LOOK_S = 30.0
COPY_S = 120.0

COMPILE = r"""
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
tar -xf - -C "$folder" && cd "$folder" || exit 1
target=$1
shift
"$@" -o weft-kernel ./*.c -ldl -lm >&2 || exit 1
mkdir -p "$(dirname "$target")" && mv -f weft-kernel "$target"
"""
PUT = """\
new="$1.$(uname -n).$$"
mkdir -p "${1%/*}" && base64 -d > "$new" && chmod 755 "$new" && mv -f "$new" "$1"
"""


class Kernel:
    """See the module."""

    name = "kernel"
    says = "weft's kernel is there"

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Looks for this very kernel; compiles and copies it where it is missing."""
        mpi = agreed_mpi(cluster.agreed)
        sources = kernel_sources()
        name = f"weft-kernel-{digest(mpi, sources)[:20]}"
        path = f"{cluster.agreed['home']}/.local/share/weft/kernels/{name}"
        cluster.agreed["kernel"] = path
        run = cluster.ssh.run
        there = each(hosts, lambda host: run(host, ("test", "-x", path), timeout_s=LOOK_S).ok)
        missing = [host for host in hosts if not there[host]]
        if not missing:
            return dict.fromkeys(hosts, RIGHT)
        if not cluster.mend:
            would = Outcome(State.WOULD, "compile it, or copy it from the first host")
            return {host: RIGHT if there[host] else would for host in hosts}
        head = next((host for host in hosts if there[host]), None)
        if head is None:
            head = hosts[0]
            argv = (str(mpi.mpicc), *COMPILER_FLAGS)
            words = ("sh", "-c", COMPILE, "sh", path, *argv)
            done = run(head, words, given=_packed(sources), timeout_s=COMPILE_TIMEOUT_S)
            if not done.ok:
                why = Outcome(
                    State.FAILED,
                    f"it does not compile on {head}: {done.last_line}",
                    f"install a C compiler on {head}, or name its MPI with --mpi",
                )
                return dict.fromkeys(hosts, why)
            missing.remove(head)
        read = ("base64", path)
        kernel = run(head, read, timeout_s=COPY_S).out.encode() if missing else b""

        def copy(host: str) -> Outcome:
            done = run(host, ("sh", "-c", PUT, "sh", path), given=kernel, timeout_s=COPY_S)
            if done.ok:
                return Outcome(State.MENDED, f"copied from {head}")
            return Outcome(State.FAILED, done.last_line, "let its home folder be written")

        copied = each(missing, copy)
        compiled = {} if there[head] else {head: Outcome(State.MENDED, "compiled")}
        return dict.fromkeys(hosts, RIGHT) | compiled | dict(copied)


def _packed(sources: Sequence[Path]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sources:
            archive.add(path, path.name, recursive=False)
    return out.getvalue()
