"""weft's kernel, compiled once on the first host and copied to the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.cluster.bringup.model import (
    RIGHT,
    Cluster,
    Outcome,
    StageState,
    doubtful,
    failed,
    mended,
    would,
)
from weft.cluster.record import agreed_mpi, with_settings
from weft.cluster.remote import SshResult, each, printable_line
from weft.cluster.tar_archive import packed
from weft.launch.kernel import COMPILE_TIMEOUT_S, COMPILER_FLAGS, digest, kernel_sources
from weft.launch.mpi import compiler_env

LOOK_S = 30.0
COPY_S = 120.0
MOST_BYTES = 64 << 20
MOST_TRIED = 3

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
mkdir -p "${1%/*}" || exit 1
base64 -d > "$new" && chmod 755 "$new" && mv -f "$new" "$1" || { rm -f "$new"; exit 1; }
"""


def bring_kernel(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """Look for this very kernel; compile and copy it where it is missing."""
    if "mpicc" not in cluster.agreed:
        return dict.fromkeys(hosts, would("compile it with the MPI"))
    name = f"weft-kernel-{digest(agreed_mpi(cluster.agreed), kernel_sources())[:20]}"
    path = f"{cluster.agreed['home']}/.local/share/weft/kernels/{name}"
    cluster.agreed["kernel"] = path
    outcomes = dict.fromkeys(hosts, RIGHT)
    missing = _missing(cluster, hosts, path)
    if not cluster.mend:
        needed = would("compile it, or copy it from the first host")
        return outcomes | dict.fromkeys(missing, needed)
    if len(missing) == len(hosts):
        refused = _compile(cluster, hosts, path)
        outcomes |= refused
        missing = _missing(cluster, hosts, path)
        head = next((host for host in hosts if host not in missing), None)
        if head is None:
            return dict.fromkeys(hosts, refused[hosts[0]])
        outcomes[head] = mended("compiled")
    if missing:
        outcomes |= _copy(cluster, hosts, missing, path)
    return outcomes


def _missing(cluster: Cluster, hosts: Sequence[str], path: str) -> list[str]:
    look = ("test", "-x", path)
    there = each(hosts, lambda host: cluster.ssh.run(host, look, timeout_s=LOOK_S).ok)
    return [host for host in hosts if not there[host]]


def _compile(cluster: Cluster, hosts: Sequence[str], path: str) -> dict[str, Outcome]:
    """Compile on the first host that can; the outcome of those before it."""
    mpi, agreed = agreed_mpi(cluster.agreed), cluster.agreed
    env = with_settings(agreed, compiler_env(mpi))
    words = ("sh", "-c", COMPILE, "sh", path, *env, str(mpi.mpicc))
    stdin = packed({source.name: source.read_bytes() for source in kernel_sources()})
    refused = {}
    for host in hosts[:MOST_TRIED]:
        done = cluster.ssh.run(
            host, (*words, *COMPILER_FLAGS), stdin=stdin, timeout_s=COMPILE_TIMEOUT_S
        )
        if done.ok:
            break
        why = f"it does not compile on {host}: {_error(done)}"
        remedy = f"install a C compiler on {host}, or name its MPI with --mpi"
        refused[host] = doubtful(why, remedy)
    if len(refused) == len(hosts[:MOST_TRIED]):
        return {host: replace(one, state=StageState.FAILED) for host, one in refused.items()}
    return refused


def _copy(
    cluster: Cluster, hosts: Sequence[str], missing: Sequence[str], path: str
) -> Mapping[str, Outcome]:
    head = next(host for host in hosts if host not in missing)
    run = cluster.ssh.run
    read = run(head, ("base64", path), timeout_s=COPY_S, max_bytes=MOST_BYTES)

    def copy(host: str) -> Outcome:
        if not read.ok:
            why = f"it cannot be read on {head}: {read.last_line}"
            return failed(why, f"look at the load and the ssh of {head}")
        words = ("sh", "-c", PUT, "sh", path)
        done = run(host, words, stdin=read.out.encode(), timeout_s=COPY_S)
        if done.ok:
            return mended(f"copied from {head}")
        return failed(
            done.last_line or "it cannot be written",
            "let its home folder be written",
        )

    return each(missing, copy)


def _error(done: SshResult) -> str:
    """The first error of the compiler; its last line only reports the end."""
    errors = (line for line in done.err.splitlines() if " error: " in line)
    return printable_line(next(errors, "")) or done.last_line
