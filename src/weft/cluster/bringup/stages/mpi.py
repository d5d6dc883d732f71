"""One MPI at one path on every host: the site's, or the one that weft brings."""

import importlib.metadata
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cluster.bringup.model import Cluster, Outcome, failed, mended, right, unanswered, would
from weft.cluster.bringup.stages.account import most_common
from weft.cluster.bringup.stages.packages import install, wrapper_of
from weft.cluster.remote import SshResult, each, printable_line
from weft.cluster.tar_archive import packed
from weft.launch.mpi import classify, launcher_name_of, version_in_words

LOOK_S = 60.0
COPY_S = 300.0
DISTRIBUTION = "mpich"
MOST_LINES = 100
DISK_HINT = "let its home folder be written, and look at its free space (df -h ~)"
NAMES = ("mpicc", "launcher", "version", "library", "mpi", "launcher_kind")

LOOK = r"""
mpicc=$1
case "$mpicc" in */*) ;; *) mpicc=$(command -v "$mpicc") || exit 3 ;; esac
[ -x "$mpicc" ] || exit 3
folder=$(dirname "$mpicc")
ending=${mpicc##*/mpicc}
for name in mpiexec mpirun; do
    [ -x "$folder/$name$ending" ] && launcher="$folder/$name$ending" && break
done
[ -n "${launcher-}" ] || exit 4
printf 'mpicc\t%s\nlauncher\t%s\n' "$mpicc" "$launcher"
"$launcher" --version 2>&1 | head -n 20 | sed 's/^/version\t/'
"$mpicc" -show 2>&1 | head -n 5 | sed 's/^/library\t/'
"""

WITH_MODULE = r"""
module load "$1" >&2 || exit 5
shift
printf 'path\t%s\nlibrary_path\t%s\n' "$PATH" "${LD_LIBRARY_PATH-}"
"""
"""In a login shell, where sites define 'module'."""

UNPACK = r"""
set -u
folder=$1
new="$folder.$(uname -n).$$"
mkdir -p "$new" && tar -xf - -C "$new" || { rm -rf "$new"; exit 1; }
mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new"
[ -x "$folder/bin/mpiexec" ]
"""


def agree_on_mpi(
    cluster: Cluster, hosts: Sequence[str], *, asked: str | None, module: str | None, sudo: bool
) -> Mapping[str, Outcome]:
    """Look for it, copy or install it where it is missing and may be, compare versions.

    `asked` is a wrapper's name or path on the hosts, 'site' for the mpicc of their PATH, None for
    the MPI that weft brings. `module` is the site's module that has it. With `sudo` `asked` is a
    product, 'openmpi' or 'mpich', of which the distribution's packages are installed where they
    are missing.
    """
    if sudo:
        return _from_packages(cluster, hosts, asked or "openmpi")
    if module is not None or asked is not None:
        wrapper = "mpicc" if asked in (None, "site") else str(asked)
        result = _look_each(cluster, dict.fromkeys(hosts, wrapper), module)
        if module is not None:
            cluster.agreed["module"] = module
        return _compared(cluster, result, brought=frozenset())
    return _own(cluster, hosts)


def _own(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """The MPI that weft was installed with: where it is here, else copied below home."""
    here = str(Path(sys.prefix) / "bin/mpicc")
    result = _look_each(cluster, dict.fromkeys(hosts, here))
    if all(one.ok for one in result.values()):
        return _compared(cluster, result, brought=frozenset())
    number = importlib.metadata.version(DISTRIBUTION)
    folder = f"{cluster.agreed['home']}/.local/share/weft/mpi/{DISTRIBUTION}-{number}"
    result = _look_each(cluster, dict.fromkeys(hosts, f"{folder}/bin/mpicc"))
    missing = [host for host in hosts if result[host].code in (3, 4)]
    if not cluster.mend:
        needed = would(f"copy {DISTRIBUTION} {number} to {folder}")
        return _compared(cluster, result, frozenset()) | dict.fromkeys(missing, needed)
    files = _packed() if missing else b""
    words = ("sh", "-c", UNPACK, "sh", folder)
    unpacked = each(
        missing, lambda host: cluster.ssh.run(host, words, stdin=files, timeout_s=COPY_S)
    )
    result |= _look_each(cluster, dict.fromkeys(missing, f"{folder}/bin/mpicc"))
    unwritten = {
        host: failed(one.last_line or "it cannot be unpacked there", DISK_HINT)
        for host, one in unpacked.items()
        if not one.ok
    }
    return _compared(cluster, result, brought=frozenset(missing)) | unwritten


def _from_packages(cluster: Cluster, hosts: Sequence[str], product: str) -> Mapping[str, Outcome]:
    """The distribution's, whose packages are installed where it is missing."""
    wrappers = {host: wrapper_of(cluster.facts[host], product) for host in hosts}
    known = [host for host in hosts if wrappers[host]]
    result = _look_each(cluster, {host: str(wrappers[host]) for host in known})
    missing = [host for host in known if result[host].code in (3, 4)]
    refused = install(cluster, missing, product)
    brought = [host for host in missing if host not in refused]
    result |= _look_each(cluster, {host: str(wrappers[host]) for host in brought})
    unknown = failed("weft knows no packages of its distribution", "name --mpi")
    outcomes = dict.fromkeys((host for host in hosts if host not in known), unknown)
    return outcomes | _compared(cluster, result, brought=frozenset(brought)) | refused


def _look_each(
    cluster: Cluster, wrappers: Mapping[str, str], module: str | None = None
) -> dict[str, SshResult]:
    def look(host: str) -> SshResult:
        words: tuple[str, ...] = ("sh", "-c", LOOK, "sh", wrappers[host])
        if module is not None:
            words = ("bash", "-lc", WITH_MODULE + LOOK, "bash", module, wrappers[host])
        return cluster.ssh.run(host, words, timeout_s=LOOK_S)

    return dict(each(wrappers, look))


def _compared(
    cluster: Cluster, result: Mapping[str, SshResult], brought: frozenset[str]
) -> dict[str, Outcome]:
    """The hosts agree on the MPI that most of them have."""
    found = {host: mine for host, one in result.items() if one.ok and (mine := _read(one))}
    agreed: tuple[str, ...] = ()
    if found:
        agreed = most_common(found.values())
        cluster.agreed |= dict(zip(NAMES, agreed, strict=True))
        cluster.agreed |= _settings(next(result[host] for host in found if found[host] == agreed))
    outcomes = {}
    for host, one in result.items():
        if host not in found:
            outcomes[host] = _missing(one)
        elif found[host] != agreed:
            mine = found[host]
            outcomes[host] = failed(
                f"its MPI is {mine[2]} at {mine[0]}, elsewhere"
                f" {cluster.agreed['version']} at {cluster.agreed['mpicc']}",
                "name one that all hosts have (--mpi), or leave --mpi out",
            )
        elif host in brought:
            outcomes[host] = mended(f"{found[host][2]} brought to {found[host][0]}")
        else:
            outcomes[host] = right(found[host][2])
    return outcomes


def _read(result: SshResult) -> tuple[str, ...] | None:
    """mpicc, launcher, version in words, compile line, implementation, syntax of the launcher;
    None for other output."""
    lines = [line.partition("\t") for line in result.out.splitlines()[:MOST_LINES]]
    paths = {key: v for key, _, v in lines if v.startswith("/") and v.isprintable()}
    if not {"mpicc", "launcher"} <= paths.keys():
        return None
    version = "\n".join(printable_line(value) for key, _, value in lines if key == "version")
    library = " ".join(value for key, _, value in lines if key == "library").strip()
    launcher = Path(paths["launcher"])
    kind = classify(version, library, launcher.name)
    words = version_in_words(kind, launcher, version)
    return (paths["mpicc"], str(launcher), words, library, kind, launcher_name_of(kind))


def _settings(result: SshResult) -> dict[str, str]:
    """PATH and the path of libraries as the site's module leaves them."""
    lines = [line.partition("\t") for line in result.out.splitlines()[:MOST_LINES]]
    wanted = ("path", "library_path")
    return {key: v for key, _, v in lines if key in wanted and v and v.isprintable()}


def _missing(result: SshResult) -> Outcome:
    if result.code == 5:
        return failed(f"no such module: {result.last_line}", "see 'module avail' there")
    if result.code == 4:
        return failed("its MPI has no launcher next to mpicc", "install the whole of it")
    if result.code == 3:
        hint = "name the site's module (--mpi-module) or its mpicc (--mpi), or leave --mpi out"
        return failed("that MPI is not there", hint)
    return unanswered(result)


def _packed() -> bytes:
    """The MPI that weft was installed with: its files by their place below its prefix."""
    prefix = Path(sys.prefix)
    found, programs = {}, set()
    for file in importlib.metadata.files(DISTRIBUTION) or []:
        path = Path(str(file.locate())).resolve()
        if path.is_file() and path.is_relative_to(prefix) and "site-packages" not in path.parts:
            name = str(path.relative_to(prefix))
            found[name] = path.read_bytes()
            if os.access(path, os.X_OK):
                programs.add(name)
    return packed(found, programs)
