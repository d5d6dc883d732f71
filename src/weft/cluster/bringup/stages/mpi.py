"""One MPI at one path on every host: the site's, or the one that weft brings."""

import importlib.metadata
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cluster.bringup.model import Cluster, Outcome, StageState, unanswered
from weft.cluster.bringup.stages.account import most_common
from weft.cluster.bringup.stages.packages import install, wrapper_of
from weft.cluster.remote import SshResult, each, printable_line
from weft.cluster.tar_archive import packed
from weft.launch.mpi import LAUNCHER_KINDS, classify, version_in_words

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


class MpiStage:
    """See the module. `asked` is a wrapper's name or path on the hosts, 'site' for the mpicc of
    their PATH, None for the MPI that weft brings. `module` is the site's module that has it. With
    `sudo` `asked` is a product, 'openmpi' or 'mpich', of which the distribution's packages are
    installed where they are missing."""

    name = "mpi"
    says = "the same MPI at the same path"

    def __init__(
        self, asked: str | None = None, module: str | None = None, *, sudo: bool = False
    ) -> None:
        self._asked = asked
        self._module = module
        self._sudo = sudo

    def __call__(self, cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
        """Looks for it, brings it where it may and it is missing, and compares versions."""
        if self._sudo:
            return _from_packages(cluster, hosts, self._asked or "openmpi")
        if self._module is not None or self._asked is not None:
            wrapper = "mpicc" if self._asked in (None, "site") else str(self._asked)
            result = _look(cluster, hosts, wrapper, self._module)
            if self._module is not None:
                cluster.agreed["module"] = self._module
            return _compared(cluster, result, mended=frozenset())
        return _own(cluster, hosts)


def _own(cluster: Cluster, hosts: Sequence[str]) -> Mapping[str, Outcome]:
    """The MPI that weft was installed with: where it is here, else copied below home."""
    here = str(Path(sys.prefix) / "bin/mpicc")
    result = _look(cluster, hosts, here)
    if all(one.ok for one in result.values()):
        return _compared(cluster, result, mended=frozenset())
    number = importlib.metadata.version(DISTRIBUTION)
    folder = f"{cluster.agreed['home']}/.local/share/weft/mpi/{DISTRIBUTION}-{number}"
    result = _look(cluster, hosts, f"{folder}/bin/mpicc")
    missing = [host for host in hosts if result[host].code in (3, 4)]
    if not cluster.mend:
        would = Outcome(StageState.WOULD, f"copy {DISTRIBUTION} {number} to {folder}")
        return _compared(cluster, result, frozenset()) | dict.fromkeys(missing, would)
    files = _packed() if missing else b""
    words = ("sh", "-c", UNPACK, "sh", folder)
    unpacked = each(
        missing, lambda host: cluster.ssh.run(host, words, stdin=files, timeout_s=COPY_S)
    )
    result = {**result, **_look(cluster, missing, f"{folder}/bin/mpicc")}
    unwritten = {
        host: Outcome(StageState.FAILED, one.last_line or "it cannot be unpacked there", DISK_HINT)
        for host, one in unpacked.items()
        if not one.ok
    }
    return _compared(cluster, result, mended=frozenset(missing)) | unwritten


def _from_packages(cluster: Cluster, hosts: Sequence[str], product: str) -> Mapping[str, Outcome]:
    """The distribution's, whose packages are installed where it is missing."""
    wrappers = {host: wrapper_of(cluster.facts[host], product) for host in hosts}
    known = [host for host in hosts if wrappers[host]]
    result = _look_each(cluster, {host: str(wrappers[host]) for host in known})
    missing = [host for host in known if result[host].code in (3, 4)]
    failed = install(cluster, missing, product)
    mended = [host for host in missing if host not in failed]
    result |= _look_each(cluster, {host: str(wrappers[host]) for host in mended})
    unknown = Outcome(StageState.FAILED, "weft knows no packages of its distribution", "name --mpi")
    outcomes = dict.fromkeys((host for host in hosts if host not in known), unknown)
    return outcomes | _compared(cluster, result, mended=frozenset(mended)) | failed


def _look(
    cluster: Cluster, hosts: Sequence[str], wrapper: str, module: str | None = None
) -> dict[str, SshResult]:
    return _look_each(cluster, dict.fromkeys(hosts, wrapper), module)


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
    cluster: Cluster, result: Mapping[str, SshResult], mended: frozenset[str]
) -> dict[str, Outcome]:
    """Of the hosts that have one: what most of them have is agreed on."""
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
            outcomes[host] = Outcome(
                StageState.FAILED,
                f"its MPI is {mine[2]} at {mine[0]}, elsewhere"
                f" {cluster.agreed['version']} at {cluster.agreed['mpicc']}",
                "name one that all hosts have (--mpi), or leave --mpi out",
            )
        elif host in mended:
            outcomes[host] = Outcome(
                StageState.MENDED, f"{found[host][2]} brought to {found[host][0]}"
            )
        else:
            outcomes[host] = Outcome(StageState.RIGHT, found[host][2])
    return outcomes


def _read(result: SshResult) -> tuple[str, ...] | None:
    """mpicc, launcher, version in words, compile line, implementation, syntax of the launcher;
    None where it is something else that was said."""
    lines = [line.partition("\t") for line in result.out.splitlines()[:MOST_LINES]]
    paths = {key: v for key, _, v in lines if v.startswith("/") and v.isprintable()}
    if not {"mpicc", "launcher"} <= paths.keys():
        return None
    version = "\n".join(printable_line(value) for key, _, value in lines if key == "version")
    library = " ".join(value for key, _, value in lines if key == "library").strip()
    launcher = Path(paths["launcher"])
    kind = classify(version, library, launcher.name)
    words = version_in_words(kind, launcher, version)
    return (paths["mpicc"], str(launcher), words, library, kind, LAUNCHER_KINDS[kind])


def _settings(result: SshResult) -> dict[str, str]:
    """PATH and the path of libraries as the site's module leaves them."""
    lines = [line.partition("\t") for line in result.out.splitlines()[:MOST_LINES]]
    wanted = ("path", "library_path")
    return {key: v for key, _, v in lines if key in wanted and v and v.isprintable()}


def _missing(result: SshResult) -> Outcome:
    if result.code == 5:
        return Outcome(
            StageState.FAILED, f"no such module: {result.last_line}", "see 'module avail' there"
        )
    if result.code == 4:
        return Outcome(
            StageState.FAILED, "its MPI has no launcher beside mpicc", "install the whole of it"
        )
    if result.code == 3:
        hint = "name the site's module (--mpi-module) or its mpicc (--mpi), or leave --mpi out"
        return Outcome(StageState.FAILED, "that MPI is not there", hint)
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
